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
/// Elements of a list stand between commas; blanks around them do not count. Texts with commas, quotes or blanks at their
/// ends stand in double quotes, with each quote twice: --names 'oak,"pine, dry",""'. No element at all ("") is an empty
/// list, while an element that is left out, as behind a comma at the end, is an error that names its place, as is one that
/// is no number.
struct ProgramFlag {
  std::string name = {};  ///< The name without dashes: "learning-rate".
  std::string help = {};
  Boxed<Params::Item> otherwise = {};
  std::vector<std::string> choices{};  ///< What a text, or each text of a list, may be; empty for anything.
};

/// What the program says of itself, and what the flags that every program has default to. The defaults suit runs of
/// minutes, while those of RunConfig and EvalSpec, which are ten minutes each, suit runs of hours.
struct ProgramInfo {
  std::string description = {};  ///< The first line of --help.
  std::vector<ProgramFlag> flags{};
  std::optional<int64_t> steps = {};                   ///< The default of --steps; None until the input ends.
  int64_t batch = 32;                                  ///< The default of --batch.
  std::optional<int64_t> save_checkpoints_steps = {};  ///< None for a checkpoint every 60 s.
  int64_t throttle_secs = 60;                          ///< The default of --throttle-secs.
  Plugins plugins = {};  ///< Backends and transports of the program's own, which --backend and --transport take too.
};

/// The flags, parsed. Beside these there are those that went into the RunConfig.
struct CommandLine {
  std::optional<int64_t> steps = {};         ///< The flag --steps: TrainSpec::max_steps.
  int64_t batch = 32;                        ///< The flag --batch: examples per trainer and step.
  int64_t throttle_secs = 60;                ///< The flag --throttle-secs, for EvalSpec::throttle_secs.
  std::optional<std::string> data_dir = {};  ///< The flag --data-dir, else the environment's SHOAL_DATA.
  bool json = false;                         ///< The flag --json.
  Params flags = {};                         ///< The program's own flags, by name.

  /// Where `file` of a data set lies: in the folder data_dir, or in that one's folder `data_set`. Raises InvalidArgument
  /// without data_dir, and NotFound, naming both places.
  std::string data_file(const std::string& data_set, const std::string& file) const;
};

/// Called once per task; with --cluster several times at once, on a thread each. So what belongs to one task (the
/// Estimator, hooks, listeners, exporters) is made inside, and what is shared (data in memory) is only read.
using ProgramBody = std::function<void(RunConfig config, const CommandLine& command_line)>;

/// The exit status: 0 clean end; 2 wrong usage or configuration; 3 NaN loss; 4 damaged data or checkpoint;
/// 5 deadline; 143 the task gave way, and is to be started again (OnSigterm::kLeave); 1 anything else. SIGINT, SIGTERM and
/// SIGHUP are handled while a task runs; SIGPIPE and SIGXFSZ become errors of the write, so that a log whose reader has
/// gone ends no training: lines and results that cannot be written are dropped, and the status stays. With --json the last
/// line on standard output is one JSON object with what the tasks of this process know: the last evaluation's metrics
/// (counts as whole numbers), global_step, examples_per_second, seconds; as "best" those of the evaluation in model_dir
/// that has the lowest loss; model_dir, the values of the program's "flags", the seed of the run, and Shoal's version: an
/// ExperimentReport. Without it (and without --quiet) a process that evaluated ends with the metrics as a line of text there.
///
/// That object is also written to the file that SHOAL_REPORT_FILE names, where that is set, and to `report.json` in model_dir by
/// the process whose task led the training there. So `shoal launch`, sweepers and pipelines learn the results, whatever else a
/// program prints. A program that fails once its body has been called writes them, too, with the status "failed" and the error. One
/// that gave way (143) or was killed writes none, and a start that begins to train removes the report.json of the start before.
///
/// With --predict FILE nothing is trained: what the newest checkpoint in model_dir predicts for the rows of that file, read
/// by predict_input of the program's TrainSpec or EvalSpec, goes to standard output, as CSV or, with --json, as one JSON
/// object per row. FailedPrecondition (2) where the program has none, NotFound (2) where there is no checkpoint.
///
/// With --measure-input SECONDS nothing is trained either: batches of what would be trained on are read for so long, behind the
/// first one, and how fast they came, what each stage cost and which one is the slowest goes to standard output, with --json as one
/// JSON object (docs/formats.md). `shoal data bench` gives this flag.
int run(int argc, const char* const* argv, const ProgramInfo& program, const ProgramBody& body);
/// A run() for programs that take from the command line only what RunConfig holds. The flags that a body would have to
/// heed (--steps, --batch, --throttle-secs, --data-dir) have no effect in them, so they are not listed, and refused
/// with a sentence.
int run(int argc, const char* const* argv, const std::function<void(RunConfig config)>& body);

}  // namespace shoal
