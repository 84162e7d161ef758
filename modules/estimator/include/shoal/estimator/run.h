// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program's main: reads the command line, finds this process's place in a cluster (or makes a cluster of threads), calls
/// the program once per task, prints errors as sentences and maps them to exit statuses.
///
///   int main(int argc, char** argv) {
///     return shoal::run(argc, argv, [](shoal::RunConfig config) { ... train_and_evaluate(...) ... });
///   }
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/boxed.h"
#include "shoal/base/std_function.h"
#include "shoal/estimator/params.h"
#include "shoal/estimator/plugins.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// A flag of the program's own: "--learning-rate", say. Its type is that of its default.
///
///   {"hidden-units", "Units of each hidden layer", std::vector<int64_t>{64, 32}, {}}  // --hidden-units 128,64
///
/// Commas separate the elements of a list; blanks around elements are ignored. A text that contains commas or quotes, or
/// has blanks at its ends, is written in double quotes, and each quote in it is written twice: --names 'oak,"pine,
/// dry",""'. The empty text as a whole value ("") is an empty list. It is an error if an element is missing, for example
/// after a comma at the end, or if an element of a list of numbers is not a number. The error names the element's position.
struct ProgramFlag {
  std::string name = {};  ///< The name without dashes: "learning-rate".
  std::string help = {};
  Boxed<Params::Item> otherwise = {};
  std::vector<std::string> choices{};  ///< The texts that the flag accepts, as its value or in its list; empty: any text.
};

/// Describes a program: its text for --help, its own flags, and defaults of the flags that every program has. These
/// defaults suit runs of minutes; those of RunConfig and EvalSpec (intervals of ten minutes) suit runs of hours.
struct ProgramInfo {
  std::string description = {};  ///< The first line of --help.
  std::vector<ProgramFlag> flags{};
  std::optional<int64_t> steps = {};                   ///< The default of --steps; None: until the input ends.
  int64_t batch = 32;                                  ///< The default of --batch.
  std::optional<int64_t> save_checkpoints_steps = {};  ///< Global steps between checkpoints; None: one every 60 s.
  int64_t throttle_secs = 60;                          ///< The default of --throttle-secs.
  Plugins plugins = {};  ///< Backends and transports of the program's own, which --backend and --transport take too.
};

/// The values of the parsed flags, except those that are in the RunConfig.
struct CommandLine {
  std::optional<int64_t> steps = {};         ///< The flag --steps, meant for TrainSpec::max_steps.
  int64_t batch = 32;                        ///< The flag --batch: examples per trainer and step.
  int64_t throttle_secs = 60;                ///< The flag --throttle-secs, meant for EvalSpec::throttle_secs.
  std::optional<std::string> data_dir = {};  ///< The flag --data-dir, else the environment's SHOAL_DATA.
  bool json = false;                         ///< The flag --json.
  Params flags = {};                         ///< The program's own flags, by name.

  /// The path of `file`, which may lie in the folder data_dir or in its sub-folder `data_set`. Raises InvalidArgument
  /// without data_dir, and NotFound, naming both places.
  std::string data_file(const std::string& data_set, const std::string& file) const;
};

/// The function that runs one task. With --cluster several threads call it at once, one per task. So make what belongs to
/// one task (the Estimator, hooks, listeners, exporters) inside, and only read what tasks share (data in memory).
using ProgramBody = std::function<void(RunConfig config, const CommandLine& command_line)>;

/// The exit status: 0 clean end; 2 wrong usage or configuration; 3 NaN loss; 4 damaged data or checkpoint;
/// 5 deadline; 143 the task stops and is to be started again (OnSigterm::kLeave); 1 anything else. SIGINT, SIGTERM and
/// SIGHUP are handled while a task runs. SIGPIPE and SIGXFSZ become errors of the write that caused them. Log lines and
/// results that cannot be written, because their reader has gone, say, are dropped without effect on training and exit
/// status. With --json the last line on standard output is an ExperimentReport as one JSON object. It has what the tasks of
/// this process know: the metrics of the last evaluation (counts as whole numbers), global_step, examples_per_second and
/// seconds; as "best" the metrics of the evaluation in model_dir with the lowest loss; model_dir, the values of the
/// program's "flags", the seed of the run, and Shoal's version. Without --json and --quiet, a process that evaluated prints
/// the metrics as a last line of text.
///
/// The same object goes to the file that SHOAL_REPORT_FILE names, if that is set, and to `report.json` in model_dir, by the
/// process whose task led the training. So `shoal launch`, sweepers and pipelines learn the results. A program that fails
/// after its body was called writes it, too, with the status "failed" and the error; one that ended with 143 or was killed
/// does not. A start that trains first removes the report.json of an earlier start.
///
/// With --predict FILE nothing is trained. The program reads FILE by predict_input of its TrainSpec or EvalSpec, predicts
/// with the newest checkpoint in model_dir, and writes to standard output: CSV or, with --json, one JSON object per row.
/// FailedPrecondition (2) without a predict_input, NotFound (2) without a checkpoint.
///
/// With --measure-input SECONDS nothing is trained either. After the first batch the program reads training batches for
/// that time, then writes their rate, the cost of each stage and the slowest stage to standard output, with --json as one
/// JSON object (docs/formats.md). `shoal data bench` passes this flag.
int run(int argc, const char* const* argv, const ProgramInfo& program, const ProgramBody& body);
/// A run() for programs whose body takes only the RunConfig. Flags that a body would have to obey (--steps, --batch,
/// --throttle-secs, --data-dir) have no effect in such programs, so --help does not list them, and the command line refuses
/// them with an error message.
int run(int argc, const char* const* argv, const std::function<void(RunConfig config)>& body);

}  // namespace shoal
