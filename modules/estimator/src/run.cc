// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/run.h"

#include <cstdio>

#include "cluster_of_threads.h"
#include "flag_values.h"
#include "flags.h"
#include "print_error.h"
#include "report_files.h"
#include "shoal/base/error_border.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/path_error.h"
#include "shoal/base/process_info.h"
#include "shoal/base/resident_bytes.h"
#include "shoal/base/standard_descriptors.h"
#include "shoal/base/storage.h"
#include "shoal/base/write_signals.h"
#include "shoal/cluster/launched.h"
#include "shoal/cluster/named_size.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/estimator/program_commands.h"
#include "shoal/estimator/task_host.h"
#include "shoal/monitor/progress.h"
#include "task/metered_task.h"
#include "task_reports.h"

namespace shoal {
namespace {

/// A call of a program with its parsed command line.
struct ProgramCall {
  const ParsedFlags& flags;
  const CommandLine command_line;
  const RunConfigOptions config;
  const ProgramBody& body;
  TaskReports& reports;

  void begin_task(RunConfig task) const {
    reports.start(task);
    body(std::move(task), command_line);
  }
};

/// The logger for lines before the tasks begin, and for lines about all tasks.
Logger logger_of(const TaskHost& host) { return Logger(host.sink, "", read_wall_clock); }

/// How the tasks of a program have ended.
struct Ending {
  int status = 0;
  std::optional<std::string> failure = {};  ///< The name of the first task that failed, and its error message.
};

/// Runs the tasks as threads until all have ended, and returns the first error.
Ending run_threads(const ProgramCall& call, const TaskHost& host) {
  Logger log = logger_of(host);
  const cluster::TrainerRoom room = cluster::room_on_cores(read_process_info().usable_cores);
  const cluster::FittedSize fitted = value_or_raise(cluster::parse_cluster_size(*call.flags.cluster, room));
  const cluster::ClusterSize& size = fitted.size;
  if (fitted.warning) log.warning(*fitted.warning);
  for (const cluster::TaskConfig& task : cluster::in_process_tasks(size, "cluster")) {
    value_or_raise(cluster::check_runnable(task));
  }
  if (!size.evaluator && !size.master) {
    cluster::ClusterSize evaluated = size;
    evaluated.evaluator = true;
    log.warning(
        "this cluster has neither an evaluator nor a master, so nothing is evaluated or exported; with one: --cluster " +
        to_string(evaluated));
  }
  const auto outcomes =
      run_cluster_of_threads(size, call.config, host, [&](RunConfig config) { call.begin_task(std::move(config)); });
  Ending ending;
  for (const TaskOutcome& outcome : outcomes) {
    // Skips tasks that succeeded, and tasks that only ended to be started again (Cancelled).
    if (outcome.result || outcome.result.error().kind() == ErrorKind::kCancelled) continue;
    const int own = print_error(outcome.result.error(), outcome.task);
    if (ending.status == 0) ending = {own, outcome.task + ": " + outcome.result.error().message()};
  }
  return ending;
}

/// Opens the endpoint for monitoring systems before the program does anything.
RunConfig with_own_endpoint(const RunConfig& config, Logger& log) {
  auto host = std::make_shared<TaskHost>(*config.host());
  host->metrics_endpoint = value_or_raise(open_own_metrics_endpoint(config, *host, log));
  return config.with_host(std::move(host));
}

Ending run_one(const ProgramCall& call, const TaskHost& host) {
  Logger log = logger_of(host);
  const auto variables = [&call](std::string_view name) {
    const auto flag = call.flags.variables.find(name);
    return flag == call.flags.variables.end() ? cluster::process_getenv(name) : std::optional(flag->second);
  };
  RunConfig config = RunConfig::from_environment(call.config, variables, &log, std::make_shared<TaskHost>(host));
  if (!host.predict && !host.measure_input) config = with_own_endpoint(config, log);
  if (config.task_type() == cluster::kPsRole) give_back_code();  // Frees memory, since a server mostly waits.
  call.begin_task(std::move(config));
  return {};
}

/// Refuses flags that assign this process to a job if `shoal launch` started it: its TF_CONFIG assigns it already.
Result<void> check_place_of_launched(const ParsedFlags& flags) {
  if (!cluster::was_launched(cluster::process_getenv)) return {};
  constexpr const char* kHasPlace =
      "shoal launch has started this process as a task of its job, by TF_CONFIG; leave the flag out, or unset TF_CONFIG "
      "for a "
      "run that has nothing to do with that job";
  if (flags.cluster) {
    return invalid_argument("--cluster " + *flags.cluster + " would make a cluster of threads in each task: " + kHasPlace);
  }
  for (const auto& [name, flag] : {std::pair("SHOAL_RANK", "--rank"), std::pair("SHOAL_SOURCE", "--source")}) {
    const auto said = flags.variables.find(name);
    if (said == flags.variables.end() || said->second == to_string(cluster::ConfigSource::kTfConfig)) continue;
    return invalid_argument(flag + (" " + said->second) +
                            " says another place than the one that this task has: " + kHasPlace);
  }
  return {};
}

/// The flags that distinguish runs of a program: its own flags, and the flags for training that every program has.
Params flags_of_run(const CommandLine& line) {
  Params flags = line.flags;
  if (line.steps) flags.set("steps", *line.steps);
  flags.set("batch", line.batch);
  return flags;
}

void print_warning(const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); }

/// Writes the report for the process that started this one (SHOAL_REPORT_FILE), and into model_dir. A failed write does not
/// make the program fail.
void write_results(const TaskReports& reports, const CommandLine& line, const ExperimentReport& report,
                   const std::optional<std::string>& failure) {
  for (const std::string& complaint : write_folder_reports(reports, line, failure)) {
    print_warning(complaint);
  }
  const std::string file = cluster::process_getenv("SHOAL_REPORT_FILE").value_or("");
  if (file.empty()) return;
  if (auto written = make_file_storage()->write_atomically(file, report.to_json() + "\n"); !written) {
    print_warning("SHOAL_REPORT_FILE: " + written.error().message());
  }
}

/// Prints the results. A failed write does not make the program fail: the reader may have gone, as `| head` does.
void print_results(const ExperimentReport& report, const ParsedFlags& flags) {
  const std::string text = flags.command_line.json ? report.to_json() : flags.quiet ? "" : results_text(report);
  if (text.empty() || (std::puts(text.c_str()) >= 0 && std::fflush(stdout) == 0)) return;
  print_warning("the results could not be written to standard output; is its disk full, or its reader gone?");
}

/// The exit status of a program that has predicted for a file and has ended without an error.
int predicted(const PredictFile& request) {
  if (request.done) return 0;
  return print_error(
      failed_precondition("--predict: this program has ended without train_and_evaluate, which alone heeds it"));
}

/// The exit status of a program that has measured its input and has ended without an error.
int measured(const MeasureInput& request) {
  if (request.done) return 0;
  return print_error(
      failed_precondition("--measure-input: this program has ended without a training, which alone has an input"));
}

/// Delivers the results of a program whose tasks have ended, and returns its exit status.
int end_program(const TaskReports& reports, const ParsedFlags& flags, const CommandLine& line,
                const Result<Ending>& called) {
  const Ending ending = called ? *called : Ending{print_error(called.error()), called.error().message()};
  if (!reports.has_started() || flags.predict || flags.measure_input) return ending.status;
  const ExperimentReport report = program_report(reports, line, ending.failure);
  if (const std::string unused = flags_not_used(report, reports.merged(line)); !unused.empty()) {
    print_warning("nothing was left to train in " + report.model_dir + ", so these flags had no effect: " + unused +
                  "; the results are those of the start that trained, with its flags; another --model-dir trains anew");
  }
  write_results(reports, line, report, ending.failure);
  if (ending.status == 0) print_results(report, flags);
  return ending.status;
}

/// What a program does when its body has ended, `called`, and the exit status of the program.
int status_of(const ProgramCall& call, const TaskHost& host, const Result<Ending>& called) {
  host.progress->finish();
  const bool cancelled = !called && called.error().kind() == ErrorKind::kCancelled;
  const bool ended_well = cancelled || (called && called->status == 0);
  if (host.predict && ended_well) return predicted(*host.predict);
  if (host.measure_input && ended_well) return measured(*host.measure_input);
  if (call.reports.gave_way() && ended_well) return kGaveWayStatus;
  if (cancelled) {  // A signal ended the wait for the other tasks.
    logger_of(host).info("interrupted before training began");
    return 0;
  }
  return end_program(call.reports, call.flags, call.command_line, called);
}

int run_flags(int argc, const char* const* argv, const ProgramInfo& program, FlagReader reader, const ProgramBody& body) {
  const Result<FlagsOutcome> parsed = parse_flags(program, reader, argc, argv);
  if (!parsed) return print_error(parsed.error());
  if (parsed->exit_status) return *parsed->exit_status;
  const ParsedFlags& flags = parsed->flags;
  if (Result<void> path = check_path(flags.command_line.data_dir.value_or("")); !path) {
    return print_error(std::move(path).error().with_context("--data-dir"));
  }
  if (const auto fits = check_place_of_launched(flags); !fits) return print_error(fits.error());
  Result<TaskHost> host = task_host(flags);
  if (!host) return print_error(host.error());
  TaskReports reports;
  if (flags.predict) {
    host->predict = std::make_shared<PredictFile>(
        PredictFile{.path = *flags.predict, .json_lines = flags.command_line.json, .out = stdout});
  }
  if (flags.measure_input) {
    host->measure_input = std::make_shared<MeasureInput>(
        MeasureInput{.seconds = *flags.measure_input, .json = flags.command_line.json, .out = stdout});
  }
  CommandLine line = command_line(program, flags);
  if (reader == FlagReader::kBody) host->flags = std::make_shared<const Params>(flags_of_run(line));
  host->report = [&reports](const TaskReport& report) { reports.add(report); };
  host->leads = [&reports](const LedFolder& folder) { reports.lead(folder); };
  Result<RunConfigOptions> config = run_config_options(program, flags);
  if (!config) return print_error(config.error());
  const ProgramCall call{flags, std::move(line), *std::move(config), body, reports};
  const ErrorBorder border([&](const Error& error) { return status_of(call, *host, error); });
  return status_of(call, *host, call_user("the program", [&] {
                     return flags.cluster ? run_threads(call, *host) : run_one(call, *host);
                   }));
}

int run_program(int argc, const char* const* argv, const ProgramInfo& program, FlagReader reader, const ProgramBody& body) {
  if (const ProgramCommands* const commands = program_commands(); commands && argc > 1 && commands->has(argv[1])) {
    return commands->run(argc, argv);
  }
  const StandardDescriptors standard_descriptors;
  const WriteSignalsAsErrors write_errors;
  const ExhaustionAsError exhaustion_errors;
  const Result<int> status = call_user("the program", [&] { return run_flags(argc, argv, program, reader, body); });
  return status ? *status : print_error(status.error());
}

}  // namespace

std::string CommandLine::data_file(const std::string& data_set, const std::string& file) const {
  if (!data_dir) raise(invalid_argument("there is no data: give --data-dir, or set SHOAL_DATA"));
  const std::vector<std::string> places{join_path(*data_dir, file), join_path(join_path(*data_dir, data_set), file)};
  const auto storage = make_file_storage();
  for (const std::string& place : places) {
    if (storage->exists(place)) return place;
  }
  raise(not_found("there is neither " + places[0] + " nor " + places[1] + "; --data-dir names the folder of the data set " +
                  data_set + ", or the one that this is in"));
}

int run(int argc, const char* const* argv, const ProgramInfo& program, const ProgramBody& body) {
  return run_program(argc, argv, program, FlagReader::kBody, body);
}

int run(int argc, const char* const* argv, const std::function<void(RunConfig config)>& body) {
  return run_program(argc, argv, {.description = "A program that trains a model with Shoal"}, FlagReader::kNobody,
                     [&body](RunConfig config, const CommandLine&) { body(std::move(config)); });
}

}  // namespace shoal
