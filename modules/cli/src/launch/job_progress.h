// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How far each task of a job has come, by the lines that it writes (CONTRACT IN-2: words in them are stable).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/policy.h"

namespace shoal::cli::launch {

/// What the lines of a task's process have told last.
struct TaskProgress {
  bool works = false;              ///< It has said that it trains, serves, or evaluates.
  std::optional<int64_t> step{};   ///< Of a trainer its last step, of an evaluator the one that it evaluated last.
  std::string steps_per_second{};  ///< As in the line, "85.1"; empty: not known.
  std::string examples_per_second{};
  std::string waiting_for{};  ///< Empty: it does not wait, as far as it has said.
};

/// What a line is that a task wrote.
enum class LineKind : uint8_t {
  kOwn,          ///< The program's own: whatever Shoal did not write.
  kProgress,     ///< "step 1,200/2,000  loss 0.0312  85.1 steps/s ..."
  kInformation,  ///< A log line that nobody has to read.
  kWarning,      ///< One that somebody should, errors too.
};
LineKind kind_of(std::string_view line);

class JobProgress {
 public:
  explicit JobProgress(std::vector<Role> roles) : roles_(std::move(roles)), tasks_(roles_.size()) {}
  /// A new process of the task begins.
  void started(size_t task) { tasks_[task] = {}; }
  /// A line that it wrote.
  void heed(size_t task, std::string_view line);
  const TaskProgress& of(size_t task) const { return tasks_[task]; }

 private:
  void heed_message(size_t task, std::string_view message);
  void came_to(size_t task, int64_t step);

  std::vector<Role> roles_;
  std::vector<TaskProgress> tasks_;
  int64_t job_step_ = 0;
};

/// One or two words: "training", "again in 4 s", "done".
std::string state_text(const TaskState& state, Role role, const TaskProgress& progress, SteadyTime now);

}  // namespace shoal::cli::launch
