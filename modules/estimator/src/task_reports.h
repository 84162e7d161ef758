// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the reports of this process's tasks, and joins them to one report of the program.
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/experiment_report.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Any thread may call the functions.
class TaskReports {
 public:
  /// Records that a task of this process has started, and the model_dir and trial of its config.
  void start(const RunConfig& config);
  /// Records that a task of this process leads the training in a folder.
  void lead(LedFolder folder);
  void add(const TaskReport& report);

  bool has_started() const;
  /// True if a task gave way, that is, ended only to be started again: then the job has not ended.
  bool gave_way() const;
  /// The folders whose training this process led, each once. The last one is that of the training that began last.
  std::vector<LedFolder> led_folders() const;
  /// The folder with the evaluations of `model_dir`; empty if no task of this folder has ended yet.
  std::string eval_dir(const std::string& model_dir) const;

  /// The joint report of all tasks, for a program that was called with this command line.
  ExperimentReport merged(const CommandLine& line) const;
  /// The joint report of the tasks of one model_dir only.
  ExperimentReport merged(const CommandLine& line, const std::string& model_dir) const;
  bool has_report_of(const std::string& model_dir) const;

 private:
  mutable std::mutex mutex_;
  // mutex_ guards the members below.
  std::vector<TaskReport> reports_;
  std::vector<LedFolder> folders_;
  std::string model_dir_;  // The config's model_dir, for programs that fail before any task has reported one.
  std::optional<std::string> trial_;
  bool has_started_ = false;
};

/// The results in one line: "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if no task of this process
/// evaluated. After an interrupt: "Interrupted at global step 1200; the last evaluation: accuracy 0.97, loss 0.11".
std::string results_text(const ExperimentReport& report);

}  // namespace shoal
