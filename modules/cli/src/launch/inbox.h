// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a launcher waits for: signals, and bytes from its tasks.
#include <signal.h>

#include <optional>
#include <span>
#include <vector>

#include "launch/descriptor.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

/// The clock of all that follows.
SteadyTime steady_now();
WallTime wall_now();

/// SIGINT, SIGTERM, SIGHUP and SIGCHLD come here while it lives, to the thread that made it, instead of what they do
/// otherwise; SIGPIPE does nothing. SIGHUP and SIGINT do nothing where they were ignored before.
class SignalInbox {
 public:
  static Result<SignalInbox> open();
  SignalInbox(SignalInbox&& other) noexcept;
  SignalInbox& operator=(SignalInbox&&) = delete;
  ~SignalInbox();

  int descriptor() const { return reader_.number(); }
  /// Numbers of the signals that came, in order; one that came twice meanwhile is there once.
  std::vector<int> take();

 private:
  SignalInbox() = default;
  Descriptor reader_;
  sigset_t blocked_before_{};
  struct sigaction pipe_before_ {
  }, child_before_{};
};

/// Waits until one of `descriptors` can be read or has ended, or until `until` (nothing: no limit). True at the place of
/// each that can. A descriptor of -1 is never ready. It also returns once one of `writers` takes bytes.
std::vector<bool> wait_for_input(std::span<const int> descriptors, std::optional<SteadyTime> until,
                                 std::span<const int> writers = {});

}  // namespace shoal::cli::launch
