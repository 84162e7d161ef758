// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Estimator: a model and where its results go. Trains, evaluates, predicts, exports; train_and_evaluate drives it.
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

struct TrainOptions {
  std::optional<int64_t> steps = {};      ///< Steps from the step at start: two calls of 10 make 20.
  std::optional<int64_t> max_steps = {};  ///< A global step: of two calls with the same one the second does nothing.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::vector<std::shared_ptr<CheckpointListener>> saving_listeners{};
};

struct EvaluateOptions {
  std::optional<int64_t> steps = {};  ///< How many batches; None for all until the input ends.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::optional<std::string> checkpoint = {};  ///< The prefix of a checkpoint; by default the newest.
  std::optional<std::string> name = {};        ///< Results go to eval_<name>.
};

struct PredictOptions {
  std::vector<std::string> keys{};  ///< Only these predictions; empty for all.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::optional<std::string> checkpoint = {};  ///< The prefix of a checkpoint; by default the newest.
  bool yield_single_examples = true;           ///< False for one result per batch.
};

/// Lazily yields predictions, in input order. Holds all that it needs: the estimator may go first, or train on meanwhile. One
/// thread at a time, which may be another one each time; a call beside another one is FailedPrecondition.
class Predictions {
 public:
  virtual ~Predictions() = default;
  /// The next result, by prediction name; nothing at the end of the input.
  std::optional<data::TensorMap> next();
  virtual Result<std::optional<data::TensorMap>> try_next() = 0;
};

struct ExportOptions {
  std::optional<std::string> checkpoint = {};      ///< The prefix of a checkpoint; by default the newest.
  std::map<std::string, std::string> assets = {};  ///< Maps a relative destination to a source file.
  ExportFormat format = ExportFormat::kShoal;      ///< What is added to the files that Shoal loads.
  ExportProof proof = {};                          ///< For a format: what its file has to show before it is published.
};

/// Axes of inputs whose sizes change from batch to batch. By input ("features" or "labels" for a lone tensor,
/// "features/<name>" and "labels/<name>" for others): names for the axes from the second on, "" for one that keeps the size
/// that it has in the first batch. The first axis is the batch, and may always change.
using VaryingAxes = std::map<std::string, std::vector<std::string>>;

struct MetricsInput;
struct TrainedWeights;
using NamedMetrics = std::vector<std::pair<std::string, nn::Metric>>;

/// Errors are raised as shoal::Exception; what the user's own functions throw comes out unchanged. The `try_` forms give the
/// same errors as values, for programs that are built without exceptions (docs/errors.md). Copies share nothing but immutable
/// parts. Several threads at once may call what is const (evaluate(), predict(), export_model(), ...): each call has a model of
/// its own, and what it calls of the user's, the same functions, has to allow it (model_fn.h). train(), warm_start(), vary() and
/// assignments want the object for themselves.
///
/// Weights of a checkpoint are of use with the words, classes, buckets and boundaries that they were trained with: train(),
/// evaluate(), predict() and export_model() raise FailedPrecondition, naming what differs, where the model has others, unless
/// RunConfigOptions::accept_changed_model is set.
class Estimator {
 public:
  /// `model_dir`: here, in `config`, or both if they agree. Neither: local mode makes a temporary folder and warns with its
  /// path; a distributed task raises InvalidArgument. Raises InvalidArgument without a model_fn.
  Estimator(ModelFn model_fn, RunConfig config, Params params = {}, std::optional<std::string> model_dir = std::nullopt);
  static Result<Estimator> try_make(ModelFn model_fn, RunConfig config, Params params = {},
                                    std::optional<std::string> model_dir = std::nullopt);

  /// Where there is no checkpoint yet, the variables start from those of another model; replaces what was said before.
  /// Raises InvalidArgument for what is wrong whatever the model; see WarmStart for what comes later. Returns the
  /// estimator.
  Estimator& warm_start(WarmStart start);
  /// Null: not from another model.
  const WarmStart* warm_start() const { return warm_start_.get(); }

  /// Sequences of any length: says which axes vary; replaces what was said before. In one batch all axes of one name have
  /// one size. In model_fn they are symbols, as the batch is.
  ///
  ///   estimator.vary({{"features/words", {"time"}}, {"labels", {"time"}}});   // both [batch, time]
  ///
  /// Each combination of sizes that comes is compiled, and the eight last used are kept: a few lengths (multiples of 16,
  /// say) are faster than any. Raises InvalidArgument for the name "batch"; train(), evaluate(), ... raise it for an input
  /// or axes that are not there. Returns the estimator.
  Estimator& vary(VaryingAxes axes);
  const VaryingAxes& varying() const;

  /// Ops of your own that model_fn may use, beside those of Shoal; replaces what was said before:
  ///
  ///   estimator.use_ops({squash(), squash_grad()});          // functions of yours that make OpDefs
  ///   ... x.graph().add("squash", {x}, {{"slope", 2.0}})[0]   // in model_fn
  ///
  /// All tasks of a job need the same ones, and so does whoever loads an export of the model (exported_model.h). Raises
  /// InvalidArgument for a definition that OpCatalogue::add() refuses. Returns the estimator.
  Estimator& use_ops(std::vector<OpDef> ops);
  /// Shoal's ops and those. Null: Shoal's alone.
  const std::shared_ptr<const OpCatalogue>& ops() const { return ops_; }

  /// The same model in the same folder with another configuration, whose model_dir does not count.
  Estimator with_config(RunConfig config) const;

  const RunConfig& config() const { return config_; }
  const Params& params() const { return params_; }
  const ModelFn& model_fn() const { return model_fn_; }
  const std::string& model_dir() const { return model_dir_; }

  /// Trains in this process until steps or max_steps, or the input ends. The input goes on where the checkpoint left it;
  /// where it had ended, a new pass begins. InvalidArgument if both are given or one is <= 0,
  /// for a null hook or listener, or for listeners with checkpoints disabled; FailedPrecondition in a ps or evaluator task.
  Estimator& train(const InputFn& input_fn, TrainOptions options = {});
  Result<void> try_train(const InputFn& input_fn, TrainOptions options = {});
  /// The model's metrics, `loss` (plain mean over batches) and `global_step`. Without a checkpoint: the freshly initialized
  /// or warm-started model at step 0.
  Metrics evaluate(const InputFn& input_fn, EvaluateOptions options = {}) const;
  Result<Metrics> try_evaluate(const InputFn& input_fn, EvaluateOptions options = {}) const;
  /// Runs until the input ends. If the input function gives pairs, labels are dropped. Without a checkpoint as evaluate().
  std::unique_ptr<Predictions> predict(const InputFn& input_fn, PredictOptions options = {}) const;
  Result<std::unique_ptr<Predictions>> try_predict(const InputFn& input_fn, PredictOptions options = {}) const;
  /// Writes `base_dir/<ten digits>/`, the graph of PREDICT and the weights, loadable by load_exported_model(). The digits are
  /// those of the seconds since 1970, or of one more than the largest number there, whichever is larger. `serving_input` gives
  /// one batch of the features that the exported model takes. After train() with checkpoints off: the weights that this estimator
  /// has just trained, which it keeps in memory (evaluate() and predict() read checkpoints alone). Without a checkpoint: the
  /// warm-started model at step 0; NotFound, if there is no warm start. FailedPrecondition where 9999999999 is there, and where the
  /// proof that is asked for fails: then nothing is published. InvalidArgument for a model that options.format cannot say. Returns
  /// the folder.
  std::string export_model(const std::string& base_dir, const InputFn& serving_input, ExportOptions options = {}) const;
  /// Every reason why options.format cannot say the model, each naming node and op; nothing if it can. Needs no weights.
  std::vector<std::string> export_obstacles(ExportFormat format, const InputFn& serving_input) const;
  Result<std::vector<std::string>> try_export_obstacles(ExportFormat format, const InputFn& serving_input) const;
  Result<std::string> try_export_model(const std::string& base_dir, const InputFn& serving_input,
                                       ExportOptions options = {}) const;

  /// Names of what the newest checkpoint has: variables, and what the optimizer keeps beside them. Raises NotFound if
  /// there is none.
  std::vector<std::string> variable_names() const;
  Result<std::vector<std::string>> try_variable_names() const;
  /// The value in the newest checkpoint. Raises NotFound if there is none, or it has no such variable.
  Tensor variable_value(const std::string& name) const;
  Result<Tensor> try_variable_value(const std::string& name) const;
  std::optional<std::string> latest_checkpoint() const;  ///< The prefix of the newest checkpoint, if there is one.
  Result<std::optional<std::string>> try_latest_checkpoint() const;
  /// Where results of evaluations go: `model_dir/eval`, or `model_dir/eval_<name>`.
  std::string eval_dir(const std::optional<std::string>& name = std::nullopt) const;

 private:
  Estimator() = default;
  friend Estimator add_metrics(Estimator estimator, std::function<NamedMetrics(const MetricsInput&)> metrics);
  ModelFn model_fn_;
  RunConfig config_;
  Params params_;
  std::string model_dir_;
  std::shared_ptr<const WarmStart> warm_start_;
  std::shared_ptr<const VaryingAxes> varying_;  // Null: none vary.
  std::shared_ptr<const OpCatalogue> ops_;
  std::shared_ptr<const TrainedWeights> trained_;  // Weights that train() left, with checkpoints off.
};

}  // namespace shoal
