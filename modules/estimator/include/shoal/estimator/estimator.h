// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Estimator joins a model and the folder of its results. It trains, evaluates, predicts and exports;
/// train_and_evaluate() drives it.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/std_function.h"
#include "shoal/data/element.h"
#include "shoal/estimator/export_form.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/model_fn.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/warm_start.h"
#include "shoal/graph/op.h"

namespace shoal {

namespace checkpoint {
class Reader;
}  // namespace checkpoint

struct TrainOptions {
  // Training goes on at the step of the newest checkpoint. With checkpoints disabled each call begins anew, at step 0.
  std::optional<int64_t> steps = {};      ///< How many steps this call makes: two calls with 10 make 20 steps.
  std::optional<int64_t> max_steps = {};  ///< The global step to end at: a second call with the same value does nothing.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::vector<std::shared_ptr<CheckpointListener>> saving_listeners{};
};

struct EvaluateOptions {
  std::optional<int64_t> steps = {};  ///< How many batches to evaluate; None: until the input ends.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::optional<std::string> checkpoint = {};  ///< The prefix of a checkpoint; by default the newest.
  std::optional<std::string> name = {};        ///< Results go to the folder eval_<name>; without a name, to eval.
};

struct PredictOptions {
  std::vector<std::string> keys{};  ///< The names of the predictions to return; empty: all.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::optional<std::string> checkpoint = {};  ///< The prefix of a checkpoint; by default the newest.
  bool yield_single_examples = true;           ///< True: one result per example. False: one result per batch.
};

/// Yields predictions one by one, in the order of the input, and computes each when it is asked for. The object holds all
/// that it needs: the estimator may be destroyed, or train on meanwhile. One thread at a time may call it, and another
/// thread may call it next; two calls at once are FailedPrecondition.
class Predictions {
 public:
  virtual ~Predictions() = default;
  /// The next result by prediction name; nothing at the end of the input. After an error all later calls give that error
  /// (but a call that was refused because another one was under way changes nothing).
  std::optional<data::TensorMap> next();
  virtual Result<std::optional<data::TensorMap>> try_next() = 0;
};

struct ExportOptions {
  std::optional<std::string> checkpoint = {};      ///< The prefix of a checkpoint; by default the newest.
  std::map<std::string, std::string> assets = {};  ///< Files to copy: maps a path in assets/ to a source file.
  ExportFormat format = ExportFormat::kShoal;      ///< The format adds further files to those that Shoal itself loads.
  ExportProof proof = {};  ///< How to check that the files which `format` adds compute the same as the model.
};

/// Names of input axes whose sizes change from batch to batch. The key is the input: "features" or "labels" for a lone
/// tensor, "features/<name>" and "labels/<name>" otherwise. The value names the axes from the second on; "" marks an axis
/// that keeps the size which it has in the first batch. The first axis is the batch and may always change.
using VaryingAxes = std::map<std::string, std::vector<std::string>>;

struct MetricsInput;
struct TrainedWeights;
using NamedMetrics = std::vector<std::pair<std::string, nn::Metric>>;

/// A model together with its configuration, hyper-parameters and folder.
///
/// The functions raise errors as shoal::Exception; exceptions of the user's own functions leave them unchanged. The `try_`
/// forms return the same errors as values, for programs that are built without exceptions (docs/errors.md).
///
/// Copies share only immutable parts. Several threads may call the const functions at once (evaluate(), predict(),
/// export_model(), ...): each call builds its own model, but all call the same functions of the user, which have to allow
/// that (model_fn.h). train(), warm_start(), vary() and assignments need the object for themselves.
///
/// The weights of a checkpoint fit only the words, classes, buckets and boundaries that they were trained with. Where the
/// model has others, train(), evaluate(), predict() and export_model() raise FailedPrecondition and name the difference,
/// unless RunConfigOptions::accept_changed_model is set.
class Estimator {
 public:
  /// `model_dir` may be given here, in `config`, or in both if they agree. If neither has it, local mode makes a temporary
  /// folder and logs a warning with its path (the last copy of the estimator removes it if it is empty), and a distributed
  /// task raises InvalidArgument. Raises InvalidArgument without a model_fn.
  Estimator(ModelFn model_fn, RunConfig config, Params params = {}, std::optional<std::string> model_dir = std::nullopt);
  static Result<Estimator> try_make(ModelFn model_fn, RunConfig config, Params params = {},
                                    std::optional<std::string> model_dir = std::nullopt);

  /// Lets the variables start from those of another model if there is no checkpoint yet; replaces an earlier choice.
  /// Raises InvalidArgument for mistakes that can be found before the model is built. WarmStart names the later errors.
  /// Returns the estimator.
  Estimator& warm_start(WarmStart start);
  /// The warm start that was set; null if there is none.
  const WarmStart* warm_start() const { return warm_start_.get(); }

  /// Declares axes of varying size, for sequences of any length; replaces an earlier declaration. Within one batch all axes
  /// of one name have one size. In model_fn their sizes are symbols, as the size of the batch is.
  ///
  ///   estimator.vary({{"features/words", {"time"}}, {"labels", {"time"}}});   // both [batch, time]
  ///
  /// Each combination of sizes that occurs is compiled, and the eight most recently used ones are kept, so inputs with few
  /// different lengths (multiples of 16, say) train faster than inputs with many. Raises InvalidArgument for the name
  /// "batch"; train(), evaluate() and so on raise it for an input or axes that do not exist. Returns the estimator.
  Estimator& vary(VaryingAxes axes);
  const VaryingAxes& varying() const;

  /// Lets model_fn use these ops of the program beside those of Shoal; replaces an earlier list:
  ///
  ///   estimator.use_ops({squash(), squash_grad()});          // functions of yours that make OpDefs
  ///   ... x.graph().add("squash", {x}, {{"slope", 2.0}})[0]   // in model_fn
  ///
  /// All tasks of a job need the same ops, and so does every program that loads an export of the model (exported_model.h).
  /// Raises InvalidArgument for a definition that OpCatalogue::add() refuses. Returns the estimator.
  Estimator& use_ops(std::vector<OpDef> ops);
  /// The ops of Shoal and those of use_ops(). Null: only the ops of Shoal.
  const std::shared_ptr<const OpCatalogue>& ops() const { return ops_; }

  /// Returns an estimator of the same model and folder with another configuration. The model_dir of `config` is ignored.
  Estimator with_config(RunConfig config) const;

  const RunConfig& config() const { return config_; }
  const Params& params() const { return params_; }
  const ModelFn& model_fn() const { return model_fn_; }
  const std::string& model_dir() const { return model_dir_; }

  /// Trains in this process until steps or max_steps is reached, or the input ends. The input continues at the position
  /// that the checkpoint holds; if that is the end of the input, a new pass begins. Raises InvalidArgument if both limits
  /// are given or one is <= 0, for a null hook or listener, and for listeners with checkpoints disabled; FailedPrecondition
  /// in a ps or evaluator task, and if model_dir cannot be written at the start.
  ///
  /// If the input is empty, train() makes no step and logs a warning; hooks are called and checkpoints are saved as in any
  /// other training. If the types of an empty input are unknown (data::Dataset::typical_element()), the model cannot be
  /// built: train() raises InvalidArgument, or, if it is local and the folder has a checkpoint, logs a warning and calls no
  /// hook.
  Estimator& train(const InputFn& input_fn, TrainOptions options = {});
  Result<void> try_train(const InputFn& input_fn, TrainOptions options = {});
  /// Returns the model's metrics with `loss` (the plain mean over batches) and `global_step`. Without a checkpoint the
  /// freshly initialized or warm-started model is evaluated, at step 0. Where only the file `checkpoint` is missing, a
  /// warning is logged, and the newest intact checkpoint of the folder is taken, as by train(); so do the functions below.
  /// Raises InvalidArgument if the input is empty. Event files leave out a metric that is NaN, with a warning.
  Metrics evaluate(const InputFn& input_fn, EvaluateOptions options = {}) const;
  Result<Metrics> try_evaluate(const InputFn& input_fn, EvaluateOptions options = {}) const;
  /// Predicts until the input ends. Labels in the input are dropped. Without a checkpoint the freshly initialized or
  /// warm-started model predicts. Logs a warning if the input is empty.
  std::unique_ptr<Predictions> predict(const InputFn& input_fn, PredictOptions options = {}) const;
  Result<std::unique_ptr<Predictions>> try_predict(const InputFn& input_fn, PredictOptions options = {}) const;
  /// Writes the folder `base_dir/<ten digits>/` with the graph for kPredict and the weights, for load_exported_model()
  /// to load. The digits are the seconds since 1970 or one more than the largest number there, whichever is larger.
  /// `serving_input` gives one batch of the features that the exported model takes. After train() with checkpoints off, the
  /// weights that this estimator has just trained are exported from memory (evaluate() and predict() only read
  /// checkpoints, and warn). Without a checkpoint the warm-started model is exported, at step 0. Returns the folder.
  ///
  /// Raises NotFound if there is neither checkpoint nor warm start; FailedPrecondition if the number 9999999999 is taken,
  /// or if the requested proof fails, and then publishes nothing; InvalidArgument for a model that options.format cannot
  /// express.
  std::string export_model(const std::string& base_dir, const InputFn& serving_input, ExportOptions options = {}) const;
  /// Returns every reason why options.format cannot express the model, each with node and op; an empty list if there is
  /// none. It needs no weights.
  std::vector<std::string> export_obstacles(ExportFormat format, const InputFn& serving_input) const;
  Result<std::vector<std::string>> try_export_obstacles(ExportFormat format, const InputFn& serving_input) const;
  Result<std::string> try_export_model(const std::string& base_dir, const InputFn& serving_input,
                                       ExportOptions options = {}) const;

  /// Names in the newest checkpoint: the variables, and the optimizer's own values beside them. Raises NotFound if there is
  /// no checkpoint.
  std::vector<std::string> variable_names() const;
  Result<std::vector<std::string>> try_variable_names() const;
  /// The value of a variable in the newest checkpoint. Raises NotFound if there is no checkpoint, or no such variable in
  /// it.
  Tensor variable_value(const std::string& name) const;
  Result<Tensor> try_variable_value(const std::string& name) const;
  std::optional<std::string> latest_checkpoint() const;  ///< The prefix of the newest checkpoint, if there is one.
  Result<std::optional<std::string>> try_latest_checkpoint() const;
  /// The folder of evaluation results: `model_dir/eval`, or `model_dir/eval_<name>`.
  std::string eval_dir(const std::optional<std::string>& name = std::nullopt) const;

 private:
  Estimator() = default;
  friend class Evaluating;  // Sets held_checkpoint_, in a copy that it gives to evaluation and exporters.
  friend Result<std::shared_ptr<const checkpoint::Reader>> open_checkpoint(Environment& env, const Estimator& estimator,
                                                                           const std::optional<std::string>& prefix);
  friend Estimator add_metrics(Estimator estimator, std::function<NamedMetrics(const MetricsInput&)> metrics);
  ModelFn model_fn_;
  RunConfig config_;
  Params params_;
  std::string model_dir_;
  std::shared_ptr<const void> temporary_model_dir_;  // Removes a temporary folder, if nothing was written into it.
  std::shared_ptr<const WarmStart> warm_start_;
  std::shared_ptr<const VaryingAxes> varying_;  // Null: no axis varies.
  std::shared_ptr<const OpCatalogue> ops_;
  std::shared_ptr<const TrainedWeights> trained_;  // The weights that train() left in memory, with checkpoints off.
  // The checkpoint that is evaluated now. Null: none is. While it is open it can be read, although training deletes it.
  std::shared_ptr<const checkpoint::Reader> held_checkpoint_;
};

}  // namespace shoal
