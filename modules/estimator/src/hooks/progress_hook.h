// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shows the progress of training, and measures the speed that a task reports.
#include <memory>
#include <optional>
#include <string>

#include "shoal/estimator/hook.h"
#include "shoal/monitor/progress.h"

namespace shoal {

/// Measures the speed of training and shows it on `display`; null: shows nothing.
class ProgressHook final : public Hook {
 public:
  ProgressHook(std::shared_ptr<monitor::ProgressDisplay> display, std::optional<int64_t> max_steps)
      : display_(std::move(display)), max_steps_(max_steps) {}
  void after_ready(RunContext& run) override {
    if (!started_) started_ = run.now();
  }
  void after_step(RunContext& run, const StepValues& values) override {
    examples_ += values.examples();
    loss_ = values.loss();
    ended_ = run.now();
    if (!display_) return;
    display_->update(run.now(), {.global_step = int64_t(run.global_step()),
                                 .max_steps = max_steps_,
                                 .examples = examples_,
                                 .loss = values.loss(),
                                 .note = note()});
  }
  /// Sets the note at the end of the progress line, from the next step on.
  void set_note(std::string note) { note_ = std::move(note); }
  /// Sets a note about the input, which follows the first note in the progress line; empty: none.
  void set_input_note(std::string note) { input_note_ = std::move(note); }
  int64_t examples() const { return examples_; }
  /// The loss of the last step; nothing before the first step.
  std::optional<double> loss() const { return loss_; }
  double seconds() const { return started_ && ended_ > *started_ ? to_seconds(ended_ - *started_) : 0; }

 private:
  std::string note() const {
    return note_.empty() || input_note_.empty() ? note_ + input_note_ : note_ + ", " + input_note_;
  }

  std::shared_ptr<monitor::ProgressDisplay> display_;
  std::optional<int64_t> max_steps_;
  std::optional<SteadyTime> started_;
  SteadyTime ended_{};
  int64_t examples_ = 0;
  std::optional<double> loss_;
  std::string note_, input_note_;
};

}  // namespace shoal
