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
  std::shared_ptr<ProgressHook>
      progress;  ///< Shows the share of the time that goes by with waiting. Null: nobody shows it.
  /// Gets that share of each window as the scalar "input_wait", where it is a tenth or more, and once after. Null: no events.
  monitor::EventWriter* events = nullptr;
  int cores = 1;                               ///< How many threads the advice may count on.
  Duration window = std::chrono::seconds(10);  ///< The time that each look is about.
};

/// The training loop calls it on the compute thread.
class InputWatch {
 public:
  InputWatch(Environment& env, InputWatchOptions options) : env_(env), options_(std::move(options)) {}

  /// The batch of a step took `waited` to come.
  void waited(Duration waited) { waited_ += waited; }
  /// Called at the end of each step: looks at the window if it is full. Called with `ends` at the end of the training: looks also at a
  /// window of which a fifth or more is over.
  Result<void> stepped(uint64_t global_step, const data::Iterator& input, bool ends = false);
  /// Begins a new window with the next step: until then the training waits for servers, and not for its input.
  void restart() { begin_.reset(); }
  /// The share of the last full window that went by waiting, 0 to 1. Nothing before the first window is full.
  const std::optional<double>& share() const { return share_; }

 private:
  Result<void> look(uint64_t global_step, const data::Iterator& input, Duration time);
  void warn(double share, const data::Iterator& input, Duration time);

  Environment& env_;
  const InputWatchOptions options_;
  std::optional<SteadyTime> begin_;  // Of the window.
  Duration waited_{};                // In the window.
  std::optional<double> share_;      // Of the last full window.
  bool told_ = false;                // Of the window before.
  bool warned_ = false;
};

}  // namespace shoal
