// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The progress of each task of a job, read from the lines that the task writes. The texts of lines are stable: tests and
/// this code search for these texts.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/policy.h"

namespace shoal::cli::launch {

/// What a task is doing, according to the latest lines that its process has printed.
struct TaskProgress {
  bool works = false;              ///< The task has said that it trains, serves, or evaluates.
  std::optional<int64_t> step{};   ///< The last step of a trainer, or the step that an evaluator evaluated last.
  std::string steps_per_second{};  ///< The rate as the task's line prints it, "85.1"; empty: unknown.
  std::string examples_per_second{};
  std::string waiting_for{};  ///< What the task says it waits for; empty: nothing.
};

/// The kind of a line that a task wrote.
enum class LineKind : uint8_t {
  kOwn,          ///< A line of the program's own, not of Shoal.
  kProgress,     ///< A line such as "step 1,200/2,000  loss 0.0312  85.1 steps/s ..."
  kInformation,  ///< A log line that users need not read.
  kWarning,      ///< A warning or an error, which users should read.
};
LineKind kind_of(std::string_view line);

class JobProgress {
 public:
  explicit JobProgress(std::vector<Role> roles) : roles_(std::move(roles)), tasks_(roles_.size()) {}
  /// Call it when a new process of the task begins.
  void started(size_t task) { tasks_[task] = {}; }
  /// Reads a line that the task wrote.
  void heed(size_t task, std::string_view line);
  const TaskProgress& of(size_t task) const { return tasks_[task]; }

 private:
  void heed_message(size_t task, std::string_view message);
  void came_to(size_t task, int64_t step);

  std::vector<Role> roles_;
  std::vector<TaskProgress> tasks_;
  int64_t job_step_ = 0;
};

/// The state in one word or a few: "training", "again in 4 s", "done".
std::string state_text(const TaskState& state, Role role, const TaskProgress& progress, SteadyTime now);

}  // namespace shoal::cli::launch
