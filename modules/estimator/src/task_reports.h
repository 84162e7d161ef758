// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tasks of this process know at their end, as one result of the program.
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/experiment_report.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Called on any thread.
class TaskReports {
 public:
  /// The program is called for the task of this configuration.
  void start(const RunConfig& config);
  /// A task of this process leads the training of a folder.
  void lead(LedFolder folder);
  void add(const TaskReport& report);

  bool has_started() const;
  /// True if a task gave way: the job has not ended.
  bool gave_way() const;
  /// The folders whose training this process led, each once, the one that was begun last at the end.
  std::vector<LedFolder> led_folders() const;
  /// The folder with the evaluations of `model_dir`; empty if no task of this folder has ended yet.
  std::string eval_dir(const std::string& model_dir) const;

  /// What all tasks know together, for a program that was called with this command line.
  ExperimentReport merged(const CommandLine& line) const;
  /// The same of the tasks whose model_dir that is.
  ExperimentReport merged(const CommandLine& line, const std::string& model_dir) const;
  bool has_report_of(const std::string& model_dir) const;

 private:
  mutable std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::vector<TaskReport> reports_;
  std::vector<LedFolder> folders_;
  std::string model_dir_;  // That of the configuration, for programs that fail before any task has told one.
  std::optional<std::string> trial_;
  bool has_started_ = false;
};

/// "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if no task of this process evaluated. After an
/// interrupt: "Interrupted at global step 1200; the last evaluation: accuracy 0.97, loss 0.11".
std::string results_text(const ExperimentReport& report);

}  // namespace shoal
