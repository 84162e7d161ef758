// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/experiment.h"

#include "report_files.h"
#include "shoal/base/environment.h"
#include "shoal/estimator/task_host.h"
#include "shoal/estimator/train_and_evaluate.h"

namespace shoal {
namespace {

/// Returns `config` with a TaskHost that passes the task's reports to `reports`, too.
Result<RunConfig> with_reports(const RunConfig& config, const std::shared_ptr<TaskReports>& reports) {
  std::shared_ptr<const TaskHost> given = config.host();
  if (!given) {
    SHOAL_TRY(given, process_host());
  }
  auto host = std::make_shared<TaskHost>(*given);
  host->report = [reports, given](const TaskReport& report) {
    reports->add(report);
    if (given->report) given->report(report);
  };
  host->leads = [reports, given](const LedFolder& folder) {
    reports->lead(folder);
    if (given->leads) given->leads(folder);
  };
  return config.with_host(std::move(host));
}

}  // namespace

int run_experiment(int argc, const char* const* argv, const ProgramInfo& program, const ExperimentFn& make) {
  return run(argc, argv, program,
             [&make](RunConfig config, const CommandLine& line) { run_experiment(make, std::move(config), line); });
}

ExperimentReport run_experiment(const ExperimentFn& make, RunConfig config, const CommandLine& line) {
  return value_or_raise(try_run_experiment(make, std::move(config), line));
}

Result<ExperimentReport> try_run_experiment(const ExperimentFn& make, RunConfig config, const CommandLine& line) {
  if (!make) return invalid_argument("run_experiment: a function that makes the experiment is required");
  const auto reports = std::make_shared<TaskReports>();  // Shared with copies of the config, which may outlive this call.
  SHOAL_TRY(const RunConfig reporting, with_reports(config, reports));
  reports->start(reporting);
  SHOAL_TRY(Experiment experiment,
            call_user("the function that makes the experiment", [&] { return make(reporting, line); }));
  SHOAL_TRY_VOID(
      try_train_and_evaluate(experiment.estimator, std::move(experiment.train_spec), std::move(experiment.eval_spec)));
  return program_report(*reports, line);
}

}  // namespace shoal
