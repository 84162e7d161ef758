#pragma once
/// SIGINT and SIGTERM of this process.
#include <thread>

#include "shoal/base/function.h"

namespace shoal {

/// While it lives, the first SIGINT or SIGTERM runs `first` (on a thread of its own, so that a strand that is busy does
/// not hold it up), and the second ends the process at once with status 128 + its number. One at a time in a process.
class SignalWatch {
 public:
  explicit SignalWatch(Work first);
  ~SignalWatch();  ///< puts back the handlers that were there
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  Work first_;
  std::thread thread_;
};

}  // namespace shoal
