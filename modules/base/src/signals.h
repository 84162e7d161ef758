// SPDX-License-Identifier: Apache-2.0
#pragma once
/// SIGINT, SIGTERM and SIGHUP of this process.
#include "shoal/base/function.h"

namespace shoal {

/// While a watch lives, the first SIGINT, SIGTERM or SIGHUP runs `first`, with true for a SIGTERM or SIGHUP, on a thread of its
/// own, so that a busy strand does not hold it up. The second signal ends the process at once with status 128 + its number.
/// A SIGHUP that was ignored before stays ignored: whoever started the process by nohup wants it to outlive the terminal. Any number
/// of watches at a time, on any threads: a signal is for all, one after another. One that is made while the process is about
/// to end, since others that live have had the first signal, is told at once; when the last one is gone, the next signal is
/// a first one again.
class SignalWatch {
 public:
  using First = UniqueFunction<void(bool terminates)>;
  explicit SignalWatch(First first);
  /// Waits until `first` has run, if it is running. The last watch puts back the handlers that were there before.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  friend class SignalWatchers;
  First first_;
  bool told_ = false;  // Guarded by the watchers' mutex.
};

}  // namespace shoal
