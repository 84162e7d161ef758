// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Watches SIGINT, SIGTERM and SIGHUP of this process.
#include "shoal/base/function.h"

namespace shoal {

/// While a watch lives, the first SIGINT, SIGTERM or SIGHUP calls `first` on a separate thread, so that a busy strand
/// causes no delay; the argument is true for SIGTERM and SIGHUP. A second signal ends the process at once with status 128 +
/// its number, also if nobody reads standard error. A SIGHUP that was ignored before stays ignored: the user who started the
/// process by nohup wants it to outlive the terminal. There may be any number of watches, made on any threads; a signal calls
/// all of them, one after another. A watch that is made after the first signal, while older watches live, is called at once.
/// After the last watch is destroyed, the next signal counts as a first one again.
class SignalWatch {
 public:
  using First = UniqueFunction<void(bool terminates)>;
  explicit SignalWatch(First first);
  /// If `first` is running, waits for its end. The last watch restores the former signal handlers.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  friend class SignalWatchers;
  First first_;
  bool told_ = false;  // True once first_ has been called. Guarded by SignalWatchers::mutex_.
};

}  // namespace shoal
