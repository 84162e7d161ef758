// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/losses.h"

#include <cmath>
#include <string>
#include <vector>

#include "example_values.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/ops_reduce.h"

namespace shoal::nn {
namespace {

constexpr double kHalfLogTwoPi = 0.91893853320467274178;  // log(2 pi) / 2

/// Raises InvalidArgument unless the shapes are equal. The ops of a loss accept unequal shapes, since their operands
/// broadcast: [1, batch] and [batch, 1] would give a table of all pairs.
void check_equal_shapes(const std::string& who, const std::string& what, Value predictions, Value labels) {
  if (!predictions.valid()) raise(invalid_argument(who + ": " + what + " are no value of a graph"));
  if (!labels.valid()) raise(invalid_argument(who + ": labels are no value of a graph"));
  if (predictions.shape() == labels.shape()) return;
  raise(invalid_argument(who + ": labels have shape " + to_string(labels.shape()) + ", " + what + " " +
                         to_string(predictions.shape()) + "; they must be equal"));
}

void check_smoothing(const std::string& who, double smoothing) {
  if (smoothing >= 0 && smoothing < 1) return;
  raise(invalid_argument(who + ": label_smoothing is " + std::to_string(smoothing) + ", expected a number in [0, 1)"));
}

/// Checks labels that belong to rows of logits: their shape is that of the logits without the last axis.
Value per_row(const std::string& who, Value labels, Value logits) {
  if (logits.rank() == 2) return per_example(who, "labels", labels, "logits", logits);
  std::vector<Dim> rows = logits.shape().dims();
  rows.pop_back();
  if (!labels.valid()) raise(invalid_argument(who + ": labels are no value of a graph"));
  if (labels.shape().dims() == rows) return labels;
  raise(invalid_argument(who + ": labels have shape " + to_string(labels.shape()) + ", logits " +
                         to_string(logits.shape()) + "; expected labels of shape " + to_string(DimShape(rows))));
}

/// The cross-entropy for labels that are a probability of each class.
Value soft_cross_entropy(const std::string& who, const LabelsAndLogits& of, double smoothing) {
  if (of.labels.shape() != of.logits.shape()) {
    raise(invalid_argument(who + ": labels are float32 " + to_string(of.labels.shape()) +
                           "; class ids have type int64, int32 or uint8 (ops::cast converts them), and probabilities of "
                           "type float32 have the shape of the logits, " +
                           to_string(of.logits.shape())));
  }
  Value probabilities = of.labels;
  if (smoothing > 0) {
    const Dim classes = of.logits.shape().dims().back();
    if (classes.is_symbol()) {
      raise(invalid_argument(who + ": label_smoothing needs a number of classes, and the logits have shape " +
                             to_string(of.logits.shape())));
    }
    probabilities = ops::scale(probabilities, 1 - smoothing) + smoothing / double(classes.size());
  }
  return ops::scale(ops::reduce_sum(ops::mul(probabilities, ops::log_softmax(of.logits)), {.axes = {-1}}), -1);
}

}  // namespace

Value softmax_cross_entropy(const LabelsAndLogits& of, const CrossEntropyOptions& options) {
  const Value logits = of.logits;
  const std::string who = "softmax_cross_entropy";
  check_smoothing(who, options.label_smoothing);
  if (!logits.valid() || logits.rank() < 2 || logits.dtype() != DType::kFloat32) {
    raise(invalid_argument(who + ": expected float32 logits of shape [batch, ..., classes], got " +
                           (logits.valid() ? std::string(to_string(logits.dtype())) + " " + to_string(logits.shape())
                                           : std::string("no value"))));
  }
  if (of.labels.valid() && of.labels.dtype() == DType::kFloat32)
    return soft_cross_entropy(who, of, options.label_smoothing);
  Value ids = per_row(who, of.labels, logits);
  if (ids.dtype() == DType::kInt32 || ids.dtype() == DType::kUInt8) ids = ops::cast(ids, DType::kInt64);
  if (ids.dtype() != DType::kInt64) {
    raise(invalid_argument(who + ": labels are " + std::string(to_string(ids.dtype())) +
                           ", expected class ids of type int64, int32 or uint8, or probabilities of type float32"));
  }
  return ops::softmax_cross_entropy({.labels = ids, .logits = logits}, {.label_smoothing = options.label_smoothing}).loss;
}

Value sigmoid_cross_entropy(const LabelsAndLogits& of, const CrossEntropyOptions& options) {
  const std::string who = "sigmoid_cross_entropy";
  check_smoothing(who, options.label_smoothing);
  check_equal_shapes(who, "logits", of.logits, of.labels);
  Value targets = as_floats(of.labels);
  if (options.label_smoothing > 0) {
    targets = ops::scale(targets, 1 - options.label_smoothing) + options.label_smoothing / 2;
  }
  return ops::sigmoid_cross_entropy({.labels = targets, .logits = of.logits});
}

Value squared_error(const LabelsAndPredictions& of) {
  check_equal_shapes("squared_error", "predictions", of.predictions, of.labels);
  return ops::square(ops::sub(of.predictions, of.labels));
}

Value absolute_error(const LabelsAndPredictions& of) {
  check_equal_shapes("absolute_error", "predictions", of.predictions, of.labels);
  return ops::abs(ops::sub(of.predictions, of.labels));
}

Value huber_loss(const LabelsAndPredictions& of, const HuberOptions& options) {
  check_equal_shapes("huber_loss", "predictions", of.predictions, of.labels);
  if (!(options.delta > 0 && std::isfinite(options.delta))) {
    raise(invalid_argument("huber_loss: delta is " + std::to_string(options.delta) + ", expected a finite number > 0"));
  }
  // With q = min(|error|, delta), the loss is q (|error| - q / 2) on both sides of delta.
  const Value size = ops::abs(ops::sub(of.predictions, of.labels));
  const Value bounded = ops::minimum(size, size.graph().constant(float(options.delta)));
  return ops::mul(bounded, ops::sub(size, ops::scale(bounded, 0.5)));
}

Value poisson_loss(const LabelsAndLogRates& of, const PoissonLossOptions& options) {
  const Value labels = of.labels, log_rates = of.log_rates;
  check_equal_shapes("poisson_loss", "log_rates", log_rates, labels);
  const Value loss = ops::sub(ops::exp(log_rates), ops::mul(labels, log_rates));
  if (!options.full) return loss;
  Graph& graph = labels.graph();
  const Value log_of_root = ops::scale(ops::log(labels), 0.5) + kHalfLogTwoPi;
  const Value log_factorial = ops::sub(ops::mul(labels, ops::log(labels)), labels) + log_of_root;
  const Value above_one = ops::greater(labels, graph.constant(1.0f));
  return ops::add(loss, ops::select(above_one, log_factorial, ops::scale(labels, 0)));
}

std::string_view to_string(LossReduction reduction) {
  switch (reduction) {
    case LossReduction::kSumOverBatchSize: return "sum_over_batch_size";
    case LossReduction::kSum: return "sum";
  }
  return "unknown";
}

Result<LossReduction> parse_loss_reduction(std::string_view name) {
  for (const LossReduction reduction : {LossReduction::kSumOverBatchSize, LossReduction::kSum}) {
    if (name == to_string(reduction)) return reduction;
  }
  if (name == "none") {
    return invalid_argument(
        "loss reduction \"none\" is refused: training needs one number; use sum_over_batch_size or sum");
  }
  return invalid_argument("no loss reduction is named \"" + std::string(name) + "\"; there are: sum_over_batch_size, sum");
}

Value reduce_loss(Value losses, const ReduceLossOptions& options) {
  const std::string who = "reduce_loss";
  if (!losses.valid()) raise(invalid_argument(who + ": the losses are no value of a graph"));
  Value weighted = losses;
  if (options.weights.valid() && options.weights.shape() == losses.shape()) {
    weighted = ops::mul(losses, as_floats(options.weights));
  } else if (options.weights.valid()) {
    const Value weights = per_example(who, "weights", options.weights, "losses", losses);
    const Value example_losses = per_example(who, "losses", losses, "weights", weights);
    weighted = ops::mul(example_losses, as_floats(weights));
  }
  switch (options.reduction) {
    case LossReduction::kSumOverBatchSize: return ops::reduce_mean(weighted);
    case LossReduction::kSum: return ops::reduce_sum(weighted);
  }
  raise(invalid_argument(who + ": unknown reduction " + std::to_string(int(options.reduction))));
}

Value regularization_loss(Graph& graph) {
  Value sum;
  for (const Value& loss : graph.regularization_losses()) sum = sum.valid() ? ops::add(sum, loss) : loss;
  return sum;
}

}  // namespace shoal::nn
