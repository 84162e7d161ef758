#pragma once
/// Heads: from logits (and labels, example weights) to loss, predictions, metrics and train op.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/graph/graph.h"
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
  /// How to train (kTrain only): exactly one of the two.
  std::optional<Optimizer> optimizer = {};
  std::function<TrainOp(Value loss)> train_op = {};
};

/// What an EstimatorSpec is made of.
struct HeadOutput {
  Mode mode = Mode::kTrain;
  Value loss = {};  ///< A scalar, regularization included. Invalid in kPredict.
  /// Set in every mode, with keys as in CONTRACT's table.
  std::vector<std::pair<std::string, Value>> predictions = {};
  std::vector<TextPrediction> text_predictions = {};         ///< Further predictions, made from those.
  std::vector<std::pair<std::string, Metric>> metrics = {};  ///< Set in kEval only.
  std::optional<TrainOp> train_op = {};                      ///< Set in kTrain only.
  LabelMapping label_mapping = LabelMapping();               ///< It maps each batch's labels before they are fed.
};

/// Turns a model's last layer into something to train, evaluate and predict with. Immutable; any thread may use it.
class Head {
 public:
  virtual ~Head() = default;
  /// "" if it has none.
  virtual std::string_view name() const = 0;
  /// How many logits per example the model has to provide.
  virtual int64_t logits_dimension() const = 0;
  /// Adds what the mode needs to the logits' graph. Raises InvalidArgument where shapes or types do not fit (with both
  /// shapes), labels are missing in kTrain or kEval, the weight column is missing, or in kTrain not exactly one of
  /// optimizer and train_op is given.
  virtual HeadOutput build(const HeadInput& input) const = 0;
};

struct MultiClassHeadOptions {
  int64_t n_classes = 0;                           ///< More than 2. It has no default.
  std::string weight_column = {};                  ///< The name of the feature with example weights. "": all are 1.
  std::vector<std::string> label_vocabulary = {};  ///< The n_classes names: labels are text. Empty: labels are ids.
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  std::string name = {};  ///< It is appended to metric names: "accuracy/<name>".
};

/// Softmax over n_classes exclusive classes.
///
///   logits   [batch, n_classes]  float32
///   labels   [batch] or [batch, 1]  ids in [0, n_classes), int64, int32 or uint8; text with a vocabulary becomes
///            int64 ids by label_mapping
///   weights  [batch] or [batch, 1]
///
/// Predictions: logits, probabilities [batch, n_classes], class_ids [batch, 1], all_class_ids [batch, n_classes]; as text
/// classes and all_classes. Metrics: average_loss, accuracy (both weighted by example), and regularization_loss where
/// the graph has some. A label out of range ends the step with InvalidArgument, naming row and value.
/// Raises InvalidArgument if n_classes <= 2, or the vocabulary has not n_classes distinct names.
std::unique_ptr<Head> multi_class_head(MultiClassHeadOptions options);

}  // namespace shoal::nn
