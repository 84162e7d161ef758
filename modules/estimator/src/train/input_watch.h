// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Says when a trainer waits for its input, for which stage most, and what to change.
#include <memory>
#include <optional>
#include <string>

#include "hooks/progress_hook.h"
#include "shoal/base/environment.h"
#include "shoal/data/iterator.h"
#include "shoal/monitor/event_writer.h"

namespace shoal {

struct InputWatchOptions {
  std::shared_ptr<ProgressHook> progress;  ///< May be null, as the next.
  monitor::EventWriter* events =
      nullptr;  ///< Gets the scalar "input_wait", the share of a window that went by with waiting, where that is a tenth or more, and once after.
  int cores = 1;                               ///< What advice goes by.
  Duration window = std::chrono::seconds(10);  ///< How much time each look is about.
};

/// It is used on the compute thread.
class InputWatch {
 public:
  InputWatch(Environment& env, InputWatchOptions options) : env_(env), options_(std::move(options)) {}

  /// The batch of a step took `waited` to come.
  void waited(Duration waited) { waited_ += waited; }
  /// At the end of each step, and with `ends` at the end of the training: looks where the window is full, or the training was at least a fifth of one.
  Result<void> stepped(uint64_t global_step, const data::Iterator& input, bool ends = false);
  /// What goes by before the next step is no part of a window: the training waits for others.
  void restart() { begin_.reset(); }

 private:
  Result<void> look(uint64_t global_step, const data::Iterator& input, Duration time);
  void warn(double share, const data::Iterator& input, Duration time);

  Environment& env_;
  const InputWatchOptions options_;
  std::optional<SteadyTime> begin_;  // Of the window.
  Duration waited_{};                // In the window.
  bool told_ = false;                // Of the window before.
  bool warned_ = false;
};

}  // namespace shoal
