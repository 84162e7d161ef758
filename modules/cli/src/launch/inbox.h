// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The events that a launcher waits for: signals, and bytes from its tasks.
#include <signal.h>

#include <optional>
#include <span>
#include <vector>

#include "launch/descriptor.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

/// The present time, by the clock for the time limits in the functions below.
SteadyTime steady_now();
WallTime wall_now();

/// While this object lives, it receives SIGINT, SIGTERM, SIGHUP and SIGCHLD on its thread, instead of their usual effects.
/// SIGPIPE is ignored. SIGHUP and SIGINT stay ignored if they were ignored before.
class SignalInbox {
 public:
  static Result<SignalInbox> open();
  SignalInbox(SignalInbox&& other) noexcept;
  SignalInbox& operator=(SignalInbox&&) = delete;
  ~SignalInbox();

  int descriptor() const { return reader_.number(); }
  /// The numbers of the signals that came, in order. A signal that came twice since the last call is listed once.
  std::vector<int> take();
  /// The last signal that take() has returned and that asks this process to end; 0: there was none.
  int stop_signal() const { return stop_signal_; }

 private:
  SignalInbox() = default;
  int stop_signal_ = 0;
  Descriptor reader_;
  sigset_t blocked_before_{};
  struct sigaction pipe_before_ {
  }, child_before_{};
};

/// Waits until one of `descriptors` can be read or has reached its end, one of `writers` accepts bytes, or the time `until`
/// has come (none: no limit). Element i of the result is true if descriptors[i] can be read or has reached its end. A
/// descriptor of -1 is never ready.
std::vector<bool> wait_for_input(std::span<const int> descriptors, std::optional<SteadyTime> until,
                                 std::span<const int> writers = {});

}  // namespace shoal::cli::launch
