#pragma once
/// Losses per example, and how they become the one number that is minimised.
#include <cstdint>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Cross-entropy between softmax(logits) and the labelled class, one value per example.
///
///   logits   [batch, classes]  float32, any scale (the row maximum is subtracted first)
///   labels   [batch] or [batch, 1]  int64, int32 or uint8, each in [0, classes)
///   returns  [batch]           float32, in nats, never negative
///
/// Raises InvalidArgument while the graph is built if ranks, types or batch sizes differ. A label out of range ends the
/// step with InvalidArgument, naming row and value. The gradient for logits is softmax(logits) - onehot(labels).
/// Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.3.
Value softmax_cross_entropy(Value logits, Value labels);

/// (predictions - labels)^2, element by element. Raises InvalidArgument unless both are float32 of one shape.
Value squared_error(Value predictions, Value labels);

/// How losses per example become one loss.
enum class LossReduction : uint8_t {
  kSumOverBatchSize = 1,  ///< sum of (weight * loss) / number of losses (not divided by the sum of the weights)
  kSum = 2,               ///< sum of (weight * loss)
};
std::string_view to_string(LossReduction reduction);  ///< "sum_over_batch_size", "sum"
/// InvalidArgument for any other name; "none" is refused with a sentence of its own, since a loss is one number.
Result<LossReduction> loss_reduction_from_string(std::string_view name);

struct ReduceLossOptions {
  Value weights;  ///< none, or one per example: [batch] or [batch, 1], any numeric type
  LossReduction reduction = LossReduction::kSumOverBatchSize;
};
/// A scalar. `losses` is float32; with weights it is [batch] or [batch, 1]. Raises InvalidArgument with both shapes if
/// they do not fit.
Value reduce_loss(Value losses, const ReduceLossOptions& options = {});

/// The sum of the graph's regularisation losses, a scalar; invalid if there are none.
Value regularisation_loss(Graph& graph);

}  // namespace shoal::nn
