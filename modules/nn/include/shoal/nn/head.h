// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Heads turn logits (and labels, and example weights) into the loss, predictions, metrics and train op of a model.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/export_signature.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/metrics.h"
#include "shoal/nn/mode.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/text_classes.h"
#include "shoal/nn/train_op.h"
#include "shoal/nn/value_map.h"

namespace shoal::nn {

struct HeadInput {
  Mode mode = Mode::kTrain;
  ValueMap features = {};  ///< Needed only for a weight column.
  ValueMap labels = {};    ///< Empty in kPredict.
  Value logits = {};
  /// How to train (kTrain only): set either `optimizer` or `train_op`.
  std::optional<Optimizer> optimizer = {};
  std::function<TrainOp(Value loss)> train_op = {};
};

/// The parts of an EstimatorSpec (the description of a model in one mode) that a head makes.
struct HeadOutput {
  Mode mode = Mode::kTrain;  ///< Set by build().
  Value loss = {};           ///< A scalar. Invalid in kPredict.
  /// Pairs of a key and the predictions, set in every mode. The comment at each kind of head lists its keys.
  std::vector<std::pair<std::string, Value>> predictions{};
  std::vector<TextPrediction> text_predictions{};         ///< Predictions of text, made from the predictions above.
  std::vector<ExportSignature> signatures{};              ///< Set in kPredict only. The default signature is the first.
  std::vector<std::pair<std::string, Metric>> metrics{};  ///< Set in kEval only.
  std::optional<TrainOp> train_op = {};                   ///< Set in kTrain only.
};

/// Turns the logits of a model into losses, metrics and predictions. Immutable; any thread may use it.
class Head {
 public:
  virtual ~Head() = default;
  /// "" if the head has no name.
  virtual std::string_view name() const = 0;
  /// The number of logits that the model has to provide for each example.
  virtual int64_t logits_dimension() const = 0;
  /// Builds this head's own parts in the logits' graph: predictions in every mode; in kTrain and kEval the loss, without
  /// regularization; in kEval metrics; in kPredict signatures, unless a single one with all predictions is enough. Raises
  /// InvalidArgument if shapes or types do not fit (naming both), if labels are missing in kTrain or kEval, or if the
  /// weight column is missing.
  virtual HeadOutput describe(const HeadInput& input) const = 0;

  /// Calls describe() and completes its result: adds regularization losses to the loss, the metric `regularization_loss` if
  /// the graph has such losses, and in kTrain the train op. Raises what describe() raises, and InvalidArgument if in kTrain
  /// not exactly one of optimizer and train_op is given.
  HeadOutput build(const HeadInput& input) const;
};

// The heads below take logits [D0, ..., DN, k], labels [D0, ..., DN, L] or, if L is 1, [D0, ..., DN], and weights [D0, ...,
// DN] or [D0, ..., DN, 1]. `name` is appended to the names of the metrics: "accuracy/<name>". Average losses and other
// metrics are weighted by the example weights; the loss is reduced as LossReduction says.
//
// Signatures of an export: `predict` has all predictions. The `classification` of heads with classes has `scores` (the
// probabilities) and `classes` (the names of all classes), and is their default. `regression` has `outputs` (predictions;
// `logistic` in a binary_head()), and is the default of the regression heads.

struct MultiClassHeadOptions {
  int64_t n_classes = 0;           ///< More than 2. There is no default.
  std::string weight_column = {};  ///< The name of the feature with example weights. "": all are 1.
  /// The names of the n_classes classes, if labels are text. Empty: labels are ids.
  std::vector<std::string> label_vocabulary{};
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};
  /// A factor >= 0 for each class, which multiplies the loss of its examples. Metrics ignore it. Empty: all are 1.
  std::vector<double> class_weights{};
};

/// Classification into n_classes exclusive classes, by softmax.
///
///   logits   [..., n_classes]  float32
///   labels   [...] or [..., 1]  ids in [0, n_classes), int64, int32 or uint8; text with a vocabulary
///            [..., n_classes]   float32: a probability of each class (not checked), such as the labels of data::mix_up();
///                               accuracy then compares with the most probable class
///
/// Predictions: logits, probabilities [..., n_classes], class_ids [..., 1], all_class_ids [..., n_classes]; as text:
/// classes and all_classes. Metrics: average_loss, accuracy. A label out of range, or a text that the vocabulary lacks,
/// ends the step with InvalidArgument, which names row and value.
/// Raises InvalidArgument if n_classes <= 2, the vocabulary does not have n_classes distinct names, or class_weights are
/// given although labels are probabilities.
std::unique_ptr<Head> multi_class_head(MultiClassHeadOptions options);

struct BinaryHeadOptions {
  std::string weight_column = {};  ///< The name of the feature with example weights. "": all are 1.
  /// The names of classes 0 and 1, if labels are text. Empty: labels are 0 and 1.
  std::vector<std::string> label_vocabulary{};
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};
  /// Numbers in (0, 1): further probabilities above which accuracy, precision and recall count an example as class 1.
  std::vector<double> thresholds{};
  std::vector<double> class_weights{};  ///< Factors of the loss for classes 0 and 1; see MultiClassHeadOptions.
};

/// Classification into two classes. The probability of class 1 is the sigmoid of a single logit.
///
///   logits   [..., 1]          float32
///   labels   [...] or [..., 1]  0 and 1, any numeric type; text with a vocabulary
///
/// Predictions: logits, logistic [..., 1], probabilities [..., 2], class_ids [..., 1] (1 above one half), all_class_ids
/// [..., 2]; as text: classes and all_classes. Metrics: average_loss, accuracy, precision, recall, auc,
/// auc_precision_recall, accuracy_baseline, label/mean, prediction/mean; for each threshold t
/// accuracy/positive_threshold_<t>, precision/..., recall/.... A label that is neither 0 nor 1, or a text that the
/// vocabulary lacks, ends the step with InvalidArgument, which names row and value.
/// Raises InvalidArgument for a threshold outside (0, 1), or a vocabulary without two distinct names.
std::unique_ptr<Head> binary_head(BinaryHeadOptions options = {});

struct RegressionHeadOptions {
  int64_t label_dimension = 1;     ///< The number of values predicted for each example, at least 1.
  std::string weight_column = {};  ///< The name of the feature with weights, per example or per number. "": all are 1.
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};
  /// Computes losses of the logits' shape [..., label_dimension]. Empty: the squared error.
  ///
  ///   .loss = [](const LabelsAndLogits& of) { return huber_loss({.labels = of.labels, .predictions = of.logits}); }
  std::function<Value(const LabelsAndLogits& of)> loss = {};
  /// Computes predictions from logits. Empty: the logits are the predictions.
  std::function<Value(Value logits)> inverse_link = {};
};

/// Regression: predicts numbers.
///
///   logits   [..., label_dimension]  float32
///   labels   the same shape, or without the last axis if label_dimension is 1; any numeric type
///
/// Predictions: predictions, and logits if there is an inverse link. Metrics: average_loss, label/mean,
/// prediction/mean. Raises InvalidArgument if label_dimension < 1.
std::unique_ptr<Head> regression_head(RegressionHeadOptions options = {});

struct PoissonRegressionHeadOptions {
  int64_t label_dimension = 1;
  std::string weight_column = {};
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};
  bool full_loss = true;  ///< Whether the loss includes the term that depends on the label only.
};

/// regression_head() for counts: prediction = e^logits, and the loss is poisson_loss(). A label below 0 ends the step with
/// InvalidArgument, which names row and value.
std::unique_ptr<Head> poisson_regression_head(PoissonRegressionHeadOptions options = {});

struct LogisticRegressionHeadOptions {
  std::string weight_column = {};
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};
};

/// regression_head() for a number in [0, 1]: prediction = sigmoid(logits), and the loss is sigmoid_cross_entropy(). A label
/// outside of [0, 1] ends the step with InvalidArgument, which names row and value.
std::unique_ptr<Head> logistic_regression_head(LogisticRegressionHeadOptions options = {});

struct MultiLabelHeadOptions {
  int64_t n_classes = 0;                        ///< At least 2. There is no default.
  std::string weight_column = {};               ///< The name of the feature with example weights. "": all are 1.
  std::vector<std::string> label_vocabulary{};  ///< The names of the n_classes classes, if labels are text.
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};
  std::vector<double> thresholds{};  ///< As in BinaryHeadOptions.
  /// True: labels are lists of ids, padded with -1. False: labels have a 0 or 1 for each class.
  bool labels_are_ids = false;
  /// The ids of the classes for which separate metrics are reported.
  std::vector<int64_t> classes_for_class_based_metrics{};
};

/// Classification into any number of n_classes classes at once: a sigmoid for each class.
///
///   logits   [..., n_classes]  float32
///   labels   [..., n_classes]  0 and 1, any numeric type
///            [..., L]          or a list of the classes of each example: with labels_are_ids, ids, padded with -1; with a
///                              vocabulary, names, padded with ""
///
/// Predictions: logits, probabilities; as text: classes, names of all classes. Metrics: average_loss (for an example the
/// mean over classes), auc, auc_precision_recall over all pairs of example and class; thresholds as in binary_head(); for
/// each class of classes_for_class_based_metrics probability_mean/<class>, auc/<class>, auc_precision_recall/<class>, where
/// <class> is its name in the vocabulary or, without one, "class<id>". A label out of range ends the step with
/// InvalidArgument, which names row and value. Raises InvalidArgument if n_classes < 2, for a threshold outside of (0, 1),
/// a class outside of [0, n_classes), or a vocabulary without n_classes distinct names.
std::unique_ptr<Head> multi_label_head(MultiLabelHeadOptions options);

struct MultiHeadOptions {
  std::vector<double> loss_weights{};  ///< A factor >= 0 for each head. Empty: all are 1.
  std::string name = {};
};

/// Combines several heads on one model.
///
///   logits   [..., the sum of the heads' logits_dimension()], in the heads' order
///   labels   by head name
///
/// The loss is the weighted sum of the heads' losses. Predictions: "<head name>/<key>". Metrics: those of each head, and
/// loss/<head name>. Signatures: the default is the first head's default; "<head name>" is each head's default, "<head
/// name>/<signature>" its others, and `predict` has all predictions. Raises InvalidArgument without heads, for a null head,
/// for missing or equal names, or for loss_weights that do not fit; describe() raises it if labels of a head are missing.
std::unique_ptr<Head> multi_head(std::vector<std::shared_ptr<const Head>> heads, MultiHeadOptions options = {});

}  // namespace shoal::nn
