#pragma once
/// The Environment of tests: any number of tasks on one thread, with virtual time. Time passes only when nothing is left
/// to run, by jumping to the next timer; so a test of ten minutes takes milliseconds, and the same seed replays exactly.
#include <memory>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/production.h"

namespace shoal {

struct VirtualTaskOptions {
  std::string task;
  LogSink sink;                 ///< default: drops lines
  TransportTable transports;    ///< tcp is not possible here
  Duration offload_duration{};  ///< virtual time that each offloaded work takes
};

class VirtualWorld {
 public:
  using TaskOptions = VirtualTaskOptions;
  explicit VirtualWorld(uint64_t seed = 1);
  ~VirtualWorld();

  /// The environment of one task; the world keeps it. Its offload() and pool() run inline, storage is the file system.
  Environment& add_task(TaskOptions options = {});
  /// The task dies: nothing of it runs any more, its calls return Cancelled.
  void kill(Environment& task);
  /// As a signal would.
  void interrupt(Environment& task);

  SteadyTime now() const;
  /// Runs until nothing can run any more or virtual time would pass `until`. Returns false if work is left.
  bool run_until(SteadyTime until);
  bool run_for(Duration duration);

  struct State;  // for the implementation
 private:
  std::shared_ptr<State> state_;
};

}  // namespace shoal
