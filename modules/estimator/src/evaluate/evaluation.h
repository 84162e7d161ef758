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

/// The variables of a graph in one block of memory, for programs of evaluation and prediction.
class LoadedVariables {
 public:
  /// Loads all variables from `reader`. InvalidArgument, naming a variable that the checkpoint lacks or has in another
  /// shape.
  static Result<LoadedVariables> load(Environment& env, const Graph& graph, const checkpoint::Reader& reader);
  /// Writes the value of `variable` to `place`, the memory of the variable.
  using Fill = std::function<Result<void>(const Variable& variable, std::span<std::byte> place)>;
  /// Loads all variables by `fill`. Errors: those of `fill`.
  static Result<LoadedVariables> load(Environment& env, const Graph& graph, const Fill& fill);
  /// The values that training would begin with if there were no checkpoint. Errors: those of source.read().
  static Result<LoadedVariables> initialize(Environment& env, const BuiltModel& model, InitialSource& source);
  /// The memory of a program's variables, in the program's order.
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
  std::vector<Place> places_;  // Where each variable of the graph lies in memory, in the graph's order.
};

/// Loads the variables of `model`, which belongs to `estimator`, from `reader`. If `reader` is null, makes the values that
/// training would begin with. FailedPrecondition if the weights in `reader` belong to a model with another meaning
/// (vocabularies, classes), or with other versions of the user's own ops (check_meaning.h).
Result<LoadedVariables> load_variables(Environment& env, const Estimator& estimator, Mode mode, const BuiltModel& model,
                                       const checkpoint::Reader* reader);
/// Warns that `call` ("evaluation") does not use the weights that train() has left in memory. Does nothing if `trained` is
/// null.
void warn_of_weights_in_memory(Environment& env, const std::string& call, const TrainedWeights* trained);
/// Returns words for logs that say which model load_variables() makes if there is no checkpoint: "no checkpoint, so the
/// freshly initialized model", or a similar text for a warm-started model.
std::string without_checkpoint(const Estimator& estimator);

/// The folder of an evaluation's results: "eval", or "eval_<name>", in `model_dir`.
std::string eval_folder(const std::string& model_dir, const std::optional<std::string>& name);

/// Checks options. InvalidArgument, naming `call`, for options that no evaluation can have.
Result<void> check_options(const std::string& call, const EvaluateOptions& options);

struct Evaluation {
  Metrics metrics;
  int64_t batches = 0;  ///< How many batches were evaluated.
  /// True if the evaluation ended because it had made the requested `steps`, and not because the input ended or a hook
  /// stopped it. Never true for an endless input.
  bool ended_by_steps = false;
  std::optional<int64_t> input_batches = {};  ///< The number of batches in the input, where it is known.
};
/// Evaluates the checkpoint that `options` name. Runs on the compute thread. `estimator` outlives the call. If `stop` stops
/// before the last batch, the result is Cancelled and nothing is written.
Result<Evaluation> run_evaluation(Environment& env, const Estimator& estimator, const InputFn& input_fn,
                                  const EvaluateOptions& options, const StopToken& stop = {});

/// The weights of an evaluation.
struct WeightsToEvaluate {
  uint64_t global_step = 0;
  std::string checkpoint = {};  ///< The prefix of the checkpoint that the weights come from; empty if they come from none.
  std::function<Result<LoadedVariables>(const BuiltModel&)> load;
};
/// As run_evaluation(), with these weights instead of the checkpoint that `options` name.
Result<Evaluation> run_evaluation_of(Environment& env, const WeightsToEvaluate& weights, const Estimator& estimator,
                                     const InputFn& input_fn, const EvaluateOptions& options, const StopToken& stop = {});

/// How a task of this config iterates over an input. `run_seed` and `stop` are those of IterateOptions.
data::IterateOptions iterate_options(const RunConfig& config, Mode mode, const std::optional<int64_t>& run_seed,
                                     const StopToken& stop);

/// The result of open_input(): the dataset that `input_fn` gives this task for `mode`, and an iterator over it. `run_seed`
/// and `stop` of open_input() are those of IterateOptions.
struct OpenedInput {
  std::optional<data::Dataset> dataset;
  std::unique_ptr<data::Iterator> iterator;
};
Result<OpenedInput> open_input(Environment& env, const Estimator& estimator, const InputFn& input_fn, Mode mode,
                               const std::optional<int64_t>& run_seed, const StopToken& stop);
/// Makes the backend that the config asks for. NotFound, listing the available backends, if none has this name;
/// FailedPrecondition if the backend cannot compute in the type that the config asks for.
Result<std::unique_ptr<backends::Backend>> make_configured_backend(const RunConfig& config);
/// Gives `model` the backend, threads and memory limit of the config. Call it in evaluations and predictions before weights
/// are loaded. FailedPrecondition if the weights alone exceed the limit; also the errors of make_configured_backend().
Result<void> set_up_computation(const Environment& env, const RunConfig& config, BuiltModel& model);

}  // namespace shoal
