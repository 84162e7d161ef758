// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Losses per example, and their reduction to the one number that is minimised. Losses take their operands by name
/// (labels_and.h): squared_error({.labels = y, .predictions = net}).
#include <cstdint>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/labels_and.h"

namespace shoal::nn {

struct CrossEntropyOptions {
  /// The fraction, in [0, 1), of a label's probability that is spread evenly over all classes.
  /// Source: Szegedy et al., "Rethinking the Inception architecture" (2016), section 7.
  double label_smoothing = 0;
};

/// Cross-entropy between softmax(logits) and the labelled class, one value per label.
///
///   labels   [batch, ...]           int64, int32 or uint8, each in [0, classes); for [batch, classes] also [batch, 1]
///   logits   [batch, ..., classes]  float32, any scale (the maximum of each row is subtracted first)
///   returns  [batch, ...]           float32, in nats, never negative
///
/// Labels may also be probabilities of the classes: float32 [batch, ..., classes], not checked, such as mixtures of one-hot
/// vectors (data::mix_up). The loss of a row is then -sum(label * log(softmax(logits))), and the gradient for its logits is
/// sum(label) * softmax(logits) - label. Smoothing makes label * (1 - s) + s / classes of each label.
///
/// Raises InvalidArgument while the graph is built if ranks, types or sizes do not fit, or label_smoothing is out of range.
/// A label out of range ends the step with InvalidArgument, naming row and value. The gradient for logits is, for class ids,
/// softmax(logits) - onehot(labels). Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.3.
Value softmax_cross_entropy(const LabelsAndLogits& of, const CrossEntropyOptions& options = {});

/// Cross-entropy between the probability sigmoid(logit) and a label, element by element: for two classes, or several labels
/// at once. Computed without overflow.
///
///   labels   any shape   float32 in [0, 1] (not checked), or integers 0 and 1
///   logits   that shape  float32
///   returns  that shape  float32, in nats
///
/// Smoothing moves labels towards 1/2: label * (1 - s) + s / 2. Raises InvalidArgument if shapes or types do not fit, or
/// label_smoothing is out of range. Source: as softmax_cross_entropy(), section 6.2.2.2.
Value sigmoid_cross_entropy(const LabelsAndLogits& of, const CrossEntropyOptions& options = {});

// Errors of predicted numbers, element by element. All raise InvalidArgument unless both operands are float32 of one shape.

/// (prediction - label)^2.
Value squared_error(const LabelsAndPredictions& of);
/// |prediction - label|; the gradient at 0 is 0.
Value absolute_error(const LabelsAndPredictions& of);

struct HuberOptions {
  double delta = 1;  ///< A finite number > 0. The loss is linear for errors above it.
};
/// error^2 / 2 up to delta, beyond it delta * (|error| - delta / 2).
/// Source: Huber, "Robust estimation of a location parameter" (Annals of Mathematical Statistics 35, 1964).
Value huber_loss(const LabelsAndPredictions& of, const HuberOptions& options = {});

struct LabelsAndLogRates {
  MembersByName by_name = MembersByName();
  Value labels;
  Value log_rates;
};
struct PoissonLossOptions {
  /// Whether the loss includes the term that depends on the label only, log(label!) by Stirling's approximation: label
  /// log(label) - label + log(2 pi label) / 2 for labels above 1, else 0. It does not affect gradients.
  bool full = false;
};
/// e^log_rate - label * log_rate: the negative logarithm of the probability that a Poisson variable with this rate equals
/// the label, up to a term that depends on the label only.
Value poisson_loss(const LabelsAndLogRates& of, const PoissonLossOptions& options = {});

/// How losses per example are reduced to one loss.
enum class LossReduction : uint8_t {
  /// The sum of (weight * loss) / number of losses (not divided by the sum of the weights).
  kSumOverBatchSize = 1,
  kSum = 2,  ///< The sum of (weight * loss).
};
std::string_view to_string(LossReduction reduction);  ///< Returns "sum_over_batch_size" or "sum".
/// InvalidArgument for any other name; for "none", the error explains that a loss has to be one number.
Result<LossReduction> parse_loss_reduction(std::string_view name);

struct ReduceLossOptions {
  /// Nothing, one weight per loss (of the same shape), or one per example: [batch] or [batch, 1]; any numeric type.
  Value weights = {};
  LossReduction reduction = LossReduction::kSumOverBatchSize;
};
/// Reduces losses to a scalar. `losses` is float32; with weights per example it is [batch] or [batch, 1]. Raises
/// InvalidArgument, naming both shapes, if losses and weights do not fit.
Value reduce_loss(Value losses, const ReduceLossOptions& options = {});

/// The sum of the graph's regularization losses (regularizer.h), a scalar; an invalid Value if there are none. Heads add this
/// sum to their loss. If your loss comes from no head, add this sum to it.
Value regularization_loss(Graph& graph);

}  // namespace shoal::nn
