#pragma once
/// This program once more, as a peer that can be killed.
#include <sys/types.h>

#include "shoal/transport/transport.h"

namespace shoal::transport {

class ChildProcess {
 public:
  /// It connects to `endpoint`.
  explicit ChildProcess(const Endpoint& endpoint);
  ~ChildProcess();  ///< kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  void kill();  ///< kill -9

 private:
  pid_t id_ = -1;
};

/// What the child does: connects, says a word, then sends a message of kHeldBytes and keeps every message that it gets,
/// with a word for each, until it is killed.
int child_process(const char* endpoint);
inline constexpr size_t kHeldBytes = size_t(2) << 20;

}  // namespace shoal::transport
