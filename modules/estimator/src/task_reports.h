// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tasks of this process know at their end, as one result of the program.
#include <mutex>
#include <optional>
#include <string>

#include "shoal/estimator/run.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Called on any thread.
class TaskReports {
 public:
  void add(const TaskReport& report);
  /// True if a task gave way: the job has not ended.
  bool gave_way() const;
  /// One line, as shoal::run() documents it, for a program that was called with this command line.
  std::string to_json(const CommandLine& line) const;
  /// "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if no task of this process evaluated. After an
  /// interrupt: "Interrupted at global step 1200; the last evaluation: accuracy 0.97, loss 0.11".
  std::string to_text() const;

 private:
  mutable std::mutex mutex_;
  // What follows is guarded by mutex_.
  Metrics metrics_;
  Metrics best_;  // The evaluation with the lowest loss.
  std::string model_dir_;
  std::optional<int64_t> seed_;
  std::optional<uint64_t> global_step_;
  std::optional<double> examples_per_second_;  // The rate of all trainers together.
  std::optional<double> seconds_;
  bool interrupted_ = false;
  bool gave_way_ = false;
};

}  // namespace shoal
