// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One evaluation of one checkpoint: builds the model, loads the weights, runs the batches, writes the results.
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "model/initial_source.h"
#include "model/model.h"
#include "shoal/base/environment.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/estimator/estimator.h"

namespace shoal {

/// The variables of a graph in one arena, for programs of evaluation and prediction.
class LoadedVariables {
 public:
  /// Loads from `reader`. InvalidArgument naming a variable that the checkpoint lacks or has in another shape.
  static Result<LoadedVariables> load(Environment& env, const Graph& graph, const checkpoint::Reader& reader);
  /// Writes the value of a variable to its place.
  using Fill = std::function<Result<void>(const Variable& variable, std::span<std::byte> place)>;
  /// The same from elsewhere. Errors: those of `fill`.
  static Result<LoadedVariables> load(Environment& env, const Graph& graph, const Fill& fill);
  /// The values that training begins with, where there is no checkpoint. Errors: read()'s of `source`.
  static Result<LoadedVariables> initialize(Environment& env, const BuiltModel& model, InitialSource& source);
  /// The values, in the order of the program's variables.
  Result<std::vector<backends::Pieces>> bind(const backends::Program& program) const;
  std::span<const std::byte> bytes_of(std::string_view variable) const;

 private:
  struct Place {
    std::string name;
    backends::Piece piece;
    std::span<std::byte> bytes;
  };
  static LoadedVariables make_places(Environment& env, const Graph& graph);

  Ref<Buffer> arena_;
  std::vector<Place> places_;  // One for each variable of the graph, in its order.
};

/// Variables for `model`, which is one of `estimator`: those of `reader`, or, where it is null, what training would begin
/// with. FailedPrecondition if those of `reader` are of a model with another meaning, or with other versions of the user's own ops
/// (check_meaning.h).
Result<LoadedVariables> load_variables(Environment& env, const Estimator& estimator, Mode mode, const BuiltModel& model,
                                       const checkpoint::Reader* reader);
/// "no checkpoint, so the freshly initialized model", or what else load_variables() makes without one.
std::string without_checkpoint(const Estimator& estimator);

/// Where an evaluation's results go: "eval", or "eval_<name>", in `model_dir`.
std::string eval_folder(const std::string& model_dir, const std::optional<std::string>& name);

/// InvalidArgument, naming `call`, for options that no evaluation can have.
Result<void> check_options(const std::string& call, const EvaluateOptions& options);

struct Evaluation {
  Metrics metrics;
  int64_t batches = 0;          ///< How many were evaluated.
  bool ended_by_steps = false;  ///< True if `steps` ended it, and not the input or a hook; never of an endless input.
  std::optional<int64_t> input_batches = {};  ///< How many batches the input has, where that is known.
};
/// Evaluates the checkpoint that `options` name. Runs on the compute thread. `estimator` outlives the call. Cancelled, and
/// nothing is written, if `stop` stops before the last batch.
Result<Evaluation> run_evaluation(Environment& env, const Estimator& estimator, const InputFn& input_fn,
                                  const EvaluateOptions& options, const StopToken& stop = {});

/// What is evaluated.
struct WeightsToEvaluate {
  uint64_t global_step = 0;
  std::string checkpoint = {};  ///< The prefix of the checkpoint that they come from; empty if from none.
  std::function<Result<LoadedVariables>(const BuiltModel&)> load;
};
/// The same for these weights, whatever checkpoint `options` name.
Result<Evaluation> run_evaluation_of(Environment& env, const WeightsToEvaluate& weights, const Estimator& estimator,
                                     const InputFn& input_fn, const EvaluateOptions& options, const StopToken& stop = {});

/// Opens the input of `mode` for this task. `run_seed`, `stop`: those of IterateOptions.
struct OpenedInput {
  std::optional<data::Dataset> dataset;
  std::unique_ptr<data::Iterator> iterator;
};
Result<OpenedInput> open_input(Environment& env, const Estimator& estimator, const InputFn& input_fn, Mode mode,
                               const std::optional<int64_t>& run_seed, const StopToken& stop);
/// The backend that the config asks for. NotFound listing the backends there are; FailedPrecondition if it cannot
/// compute in what the config asks for.
Result<std::unique_ptr<backends::Backend>> make_configured_backend(const RunConfig& config);
/// Lets `model` compute as the config says, within its memory limit. FailedPrecondition if the weights alone are more, and what
/// make_configured_backend() gives. For evaluations and predictions, before their weights are loaded.
Result<void> set_up_computation(const Environment& env, const RunConfig& config, BuiltModel& model);

}  // namespace shoal
