// SPDX-License-Identifier: Apache-2.0
// Implements `shoal tune [OPTIONS] -- PROGRAM ARGS...`.
#include <algorithm>
#include <array>

#include "command.h"
#include "launch/hosts/ssh_command.h"
#include "launch/metrics_ports.h"
#include "launch/program_command.h"
#include "shoal/arguments/command.h"
#include "shoal/base/number_text.h"
#include "shoal/base/process_info.h"
#include "shoal/cluster/launched.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/monitor/metrics_endpoint.h"
#include "this_program.h"
#include "tune/search_run.h"
#include "tune/trial_command.h"

namespace shoal::cli {
namespace {

using tune::TuneOptions;
using tuning::Algorithm;
using tuning::Goal;

constexpr int64_t kTrialsMax = 1'000'000;
constexpr uint64_t kSpaceBytesMax = uint64_t(16) << 20;

constexpr const char* kTuneAbout =
    "Searches for hyper-parameters: shoal tune [OPTIONS] -- PROGRAM [ARGUMENTS...] trains PROGRAM many times, each time "
    "with other values of its flags, and reports the best ones. After any interruption the same command continues the "
    "search";

constexpr const char* kTuneExamples = R"(
Examples:
  shoal tune --dir s --param learning-rate=1e-4..1e-1:log --param hidden-units='64,32|128,64' --trials 32 -- ./train
  shoal tune --dir s --param learning-rate=1e-4..1e-1:log:4 --param batch='32|64' --algorithm grid -- ./train
  shoal tune --dir s --param optimizer='sgd|adam' --param 'momentum=0.5..0.99 if optimizer=sgd' \
      --algorithm asha --max-steps 8100 --min-steps 300 --metric auc --trials 64 -- ./train

A parameter is a range of numbers (LOW..HIGH, with :int for whole numbers, :log for a logarithmic scale, and for a grid a
count of points, as :4), a list of texts (A|B|C), or one text, and may have a condition behind it ( if OTHER=A|B).

PROGRAM is a program on shoal::run(). Each trial is a process of it with the parameters as flags, --model-dir DIR/trials/0007, and
one compute thread (--threads). What it writes is in log.txt there, and its results are in report.json.
)";

struct TuneArguments {
  std::vector<std::string> parameters{};
  std::optional<std::string> space_file{};
  std::string algorithm = "random";
  std::optional<int64_t> trials{};
  std::string metric = "loss";
  std::optional<std::string> goal{};
  int64_t seed = 1;
  std::optional<int> parallel{};
  int64_t threads = 1;
  uint64_t memory_bytes = 0;
  std::string folder{};
  std::optional<int64_t> min_steps{}, max_steps{};
  int64_t eta = 3;
  int retries = tuning::TunerOptions().retries;
  std::optional<double> time_limit_secs{};
  std::optional<std::string> launch{};
  bool json = false, quiet = false;
};

Result<tuning::Space> space_from(Storage& storage, const TuneArguments& arguments) {
  if (arguments.space_file) {
    if (!arguments.parameters.empty()) return invalid_argument("--space and --param exclude each other: give one of them");
    SHOAL_TRY(const std::string text, storage.read_all(*arguments.space_file, kSpaceBytesMax));
    return tuning::Space::from_json(text, *arguments.space_file);
  }
  std::vector<tuning::Parameter> parameters;
  for (const std::string& text : arguments.parameters) {
    auto parameter = tuning::parse_parameter(text);
    if (!parameter) return std::move(parameter).error().with_context("--param");
    parameters.push_back(*std::move(parameter));
  }
  return tuning::Space::create(std::move(parameters));
}

/// Sets how many steps a trial trains: --max-steps, or the program's own --steps.
Result<void> take_steps(const TuneArguments& arguments, tuning::SearchHeader& header) {
  const std::optional<std::string> own = launch::read_command(header.program).value("--steps");
  if (own && arguments.max_steps)
    return invalid_argument("--max-steps and the program's --steps say the same: give one of them");
  header.max_steps = arguments.max_steps.value_or(own ? number_from<int64_t>(*own).value_or(0) : 0);
  if (header.algorithm != Algorithm::kAsha) {
    if (arguments.min_steps) return invalid_argument("--min-steps is for --algorithm asha alone: leave it out");
    if (own) header.max_steps = 0;  // 0: trials get no step limit from the search, since the program has --steps.
    return {};
  }
  if (header.max_steps < 2) {
    return invalid_argument(
        "--algorithm asha needs to know how many steps a trial takes that is not ended early: give --max-steps");
  }
  header.eta = arguments.eta;
  header.min_steps = arguments.min_steps.value_or(tuning::default_min_steps(header.max_steps, arguments.eta));
  auto asha = tuning::Asha::create({.min_steps = header.min_steps, .max_steps = header.max_steps, .eta = header.eta});
  if (!asha) return std::move(asha).error().with_context("--algorithm asha");
  return {};
}

/// Returns `launch` and its options, up to the program. A job without an evaluator gets a master, because otherwise no task
/// would evaluate.
Result<std::vector<std::string>> launch_words(const TuneArguments& arguments) {
  if (!arguments.launch) return std::vector<std::string>();
  auto options = launch::words_of(*arguments.launch);
  if (!options) return std::move(options).error().with_context("--launch");
  std::vector<std::string> words{file_of_this_program("shoal"), "launch"};
  words.insert(words.end(), options->begin(), options->end());
  const bool evaluates = std::ranges::any_of(*options, [](const std::string& word) {
    return word == "--evaluator" || word == "--master" || word == "--size" || word.starts_with("--size=");
  });
  if (!evaluates) words.emplace_back("--master");
  words.insert(words.end(), {"--no-logs", "--no-table", "--"});
  return words;
}

int trials_at_once(const TuneArguments& arguments) {
  if (arguments.parallel) return *arguments.parallel;
  if (arguments.launch) return 1;
  return int(std::max<int64_t>(1, read_process_info().usable_cores / std::max<int64_t>(1, arguments.threads)));
}

/// Trials that run at the same time cannot all listen at one port.
Result<void> check_metrics(const std::vector<std::string>& program, int parallel) {
  const auto given = launch::given_metrics(launch::read_command(program), cluster::process_getenv);
  if (!given || parallel == 1) return {};
  const auto address = monitor::parse_metrics_address(*given);
  if (!address || address->port == 0) return {};  // The program itself refuses or accepts a text that is no address.
  return invalid_argument(
      "metrics " + *given + ": " + std::to_string(parallel) +
      " trials run at the same time, and one of them alone could listen at that port: give port 0, which is one that "
      "is free, or --parallel 1");
}

Result<TuneOptions> tune_options_from(const Context& context, const TuneArguments& arguments) {
  TuneOptions options{.folder = arguments.folder,
                      .header = {},
                      .tuner = {},
                      .threads = arguments.threads,
                      .memory_bytes = arguments.memory_bytes};
  while (options.folder.size() > 1 && options.folder.ends_with('/')) options.folder.pop_back();
  options.json = arguments.json;
  options.quiet = arguments.quiet;
  tuning::SearchHeader& header = options.header;
  SHOAL_TRY(header.space, space_from(context.storage, arguments));
  SHOAL_TRY(header.algorithm, tuning::parse_algorithm(arguments.algorithm));
  header.metric = arguments.metric;
  auto goal = arguments.goal ? tuning::parse_goal(*arguments.goal) : tuning::goal_of(arguments.metric);
  if (!goal) return std::move(goal).error().with_context("--goal");
  header.goal = *goal;
  header.seed = arguments.seed;
  header.program = context.program;
  SHOAL_TRY_VOID(tune::check_program(context.program, header.space));
  SHOAL_TRY_VOID(take_steps(arguments, header));
  SHOAL_TRY(options.launch, launch_words(arguments));
  options.launches_itself = context.program_is_own && arguments.launch.has_value();
  if (arguments.launch && arguments.memory_bytes > 0) {
    return invalid_argument(
        "--memory counts processes of this search, and not those of the jobs of --launch: leave one out");
  }
  if (header.algorithm != Algorithm::kGrid) options.tuner.trials = arguments.trials.value_or(20);
  if (header.algorithm == Algorithm::kGrid) options.tuner.trials = arguments.trials;
  options.tuner.parallel = trials_at_once(arguments);
  SHOAL_TRY_VOID(check_metrics(context.program, options.tuner.parallel));
  options.tuner.retries = arguments.retries;
  options.tuner.goal = header.goal;
  if (arguments.time_limit_secs) options.tuner.time_limit = seconds_to_duration(*arguments.time_limit_secs);
  return options;
}

Result<int> tune_program(Context& context, const TuneArguments& arguments) {
  if (context.program.empty()) {
    return invalid_argument(
        "the program to tune is missing: it stands behind --, as in shoal tune --dir s --param "
        "learning-rate=1e-4..1e-1:log -- ./train");
  }
  if (cluster::was_launched(cluster::process_getenv)) {
    return invalid_argument(
        "this process is a task that shoal launch has started; shoal tune launches jobs by its own option --launch");
  }
  SHOAL_TRY(const TuneOptions options, tune_options_from(context, arguments));
  return tune::run_search(context, options);
}

void add_search_options(arguments::Command& app, TuneArguments& arguments) {
  app.add("--dir", arguments.folder, "Folder of the search: its journal, its trials, its results")
      .path("FOLDER")
      .required()
      .group("Search");
  app.add("--param", arguments.parameters, "A parameter and its values, as learning-rate=1e-4..1e-1:log")
      .type("NAME=VALUES")
      .group("Search");
  app.add("--space", arguments.space_file,
          "A JSON file of parameters, {\"learning-rate\": \"1e-4..1e-1:log\"}, in the place of --param")
      .path("FILE")
      .group("Search");
  app.add("--algorithm", arguments.algorithm,
          "How trials are chosen: grid, random, or asha, which ends the worse ones early")
      .shows_default()
      .group("Search");
  app.add("--trials", arguments.trials, "How many trials; more of them may be given later")
      .check(arguments::in_range(int64_t(1), kTrialsMax))
      .shows("20; of a grid: all")
      .group("Search");
  app.add("--metric", arguments.metric, "The metric of the last evaluation that is compared")
      .shows_default()
      .group("Search");
  app.add("--goal", arguments.goal, "min or max: which value of the metric is the best")
      .shows("min of losses and errors, max of accuracies, AUCs, precisions and recalls")
      .group("Search");
  app.add("--seed", arguments.seed, "The seed of the values that are drawn").shows_default().group("Search");
}

void add_asha_options(arguments::Command& app, TuneArguments& arguments) {
  app.add("--max-steps", arguments.max_steps, "Steps that a trial trains (--steps of the program)")
      .check(arguments::in_range(int64_t(1), INT64_MAX))
      .group("Early ends");
  app.add("--min-steps", arguments.min_steps, "With asha: steps before the first comparison")
      .check(arguments::in_range(int64_t(1), INT64_MAX))
      .shows("max-steps / eta^3")
      .group("Early ends");
  app.add("--eta", arguments.eta, "With asha: one trial in ETA continues after each comparison, for ETA times the steps")
      .check(arguments::in_range(int64_t(2), int64_t(1000)))
      .shows_default()
      .group("Early ends");
}

void add_trial_options(arguments::Command& app, TuneArguments& arguments) {
  app.add("--parallel", arguments.parallel, "How many trials run at the same time")
      .check(arguments::in_range(1, 10'000))
      .shows("cores of this machine / threads; 1 with --launch")
      .group("Trials");
  app.add("--threads", arguments.threads, "Compute threads of each trial; 0: trials choose")
      .check(arguments::in_range(int64_t(0), int64_t(1024)))
      .shows_default()
      .group("Trials");
  app.add_call("--memory", arguments::stores(arguments.memory_bytes, arguments::read_bytes),
               "Memory of all trials together, in bytes or as 2GiB: as many run at a time as fit, by the largest so far")
      .type("BYTES")
      .group("Trials");
  app.add("--retries", arguments.retries, "How often a trial is restarted after failures that may be temporary")
      .check(arguments::in_range(0, 1'000'000))
      .shows_default()
      .group("Trials");
  app.add("--time-limit", arguments.time_limit_secs, "Seconds that a trial may run; then it is ended, and its value counts")
      .check(arguments::in_range(0.001, 1e9))
      .group("Trials");
  app.add("--launch", arguments.launch,
          "Each trial is a job of shoal launch with these options, as in --launch '--ps 1 --workers 2'")
      .type("OPTIONS")
      .group("Trials");
}

}  // namespace

void add_tune_command(arguments::Command& app, Action& selected) {
  arguments::Command& command = app.add_command("tune", kTuneAbout);
  command.set_footer(kTuneExamples);
  const auto arguments = std::make_shared<TuneArguments>();
  add_search_options(command, *arguments);
  add_asha_options(command, *arguments);
  add_trial_options(command, *arguments);
  command.add_switch("--json", arguments->json, "The results as one line of JSON on standard output").group("Output");
  command.add_switch("--quiet", arguments->quiet, "No lines and no table while trials run").group("Output");
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return tune_program(context, *arguments); }; });
}

}  // namespace shoal::cli
