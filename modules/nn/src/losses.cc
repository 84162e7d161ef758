#include "shoal/nn/losses.h"

#include <string>

#include "example_values.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

/// Operands of ops broadcast, which for [batch] and [batch, 1] would be a table of all pairs.
void check_equal_shapes(const std::string& who, Value predictions, Value labels) {
  for (const Value& value : {predictions, labels}) {
    if (!value.valid()) raise(invalid_argument(who + ": the predictions or the labels are no value of a graph"));
  }
  if (predictions.shape() == labels.shape()) return;
  raise(invalid_argument(who + ": labels have shape " + to_string(labels.shape()) + ", predictions " +
                         to_string(predictions.shape()) + "; they must be equal"));
}

}  // namespace

Value softmax_cross_entropy(Value logits, Value labels) {
  const std::string who = "softmax_cross_entropy";
  if (!logits.valid() || logits.rank() != 2 || logits.dtype() != DType::kFloat32) {
    raise(invalid_argument(who + ": expected float32 logits of shape [batch, classes], got " +
                           (logits.valid() ? std::string(to_string(logits.dtype())) + " " + to_string(logits.shape())
                                           : std::string("no value"))));
  }
  Value ids = per_example(who, "labels", labels, "logits", logits);
  if (ids.dtype() == DType::kInt32 || ids.dtype() == DType::kUInt8) ids = ops::cast(ids, DType::kInt64);
  if (ids.dtype() != DType::kInt64) {
    raise(invalid_argument(who + ": labels are " + std::string(to_string(ids.dtype())) +
                           ", expected class ids of type int64, int32 or uint8"));
  }
  return ops::softmax_cross_entropy(logits, ids).loss;
}

Value squared_error(Value predictions, Value labels) {
  check_equal_shapes("squared_error", predictions, labels);
  return ops::square(ops::sub(predictions, labels));
}

std::string_view to_string(LossReduction reduction) {
  switch (reduction) {
    case LossReduction::kSumOverBatchSize: return "sum_over_batch_size";
    case LossReduction::kSum: return "sum";
  }
  return "unknown";
}

Result<LossReduction> loss_reduction_from_string(std::string_view name) {
  for (const LossReduction reduction : {LossReduction::kSumOverBatchSize, LossReduction::kSum}) {
    if (name == to_string(reduction)) return reduction;
  }
  if (name == "none") {
    return invalid_argument("loss reduction \"none\" is refused: training needs one number; use sum_over_batch_size or sum");
  }
  return invalid_argument("no loss reduction is named \"" + std::string(name) + "\"; there are: sum_over_batch_size, sum");
}

Value reduce_loss(Value losses, const ReduceLossOptions& options) {
  const std::string who = "reduce_loss";
  if (!losses.valid()) raise(invalid_argument(who + ": the losses are no value of a graph"));
  Value weighted = losses;
  if (options.weights.valid()) {
    const Value weights = per_example(who, "weights", options.weights, "losses", losses);
    const Value per_row = per_example(who, "losses", losses, "weights", weights);
    weighted = ops::mul(per_row, weights.dtype() == DType::kFloat32 ? weights : ops::cast(weights, DType::kFloat32));
  }
  switch (options.reduction) {
    case LossReduction::kSumOverBatchSize: return ops::reduce_mean(weighted);
    case LossReduction::kSum: return ops::reduce_sum(weighted);
  }
  raise(invalid_argument(who + ": unknown reduction " + std::to_string(int(options.reduction))));
}

Value regularisation_loss(Graph& graph) {
  Value sum;
  for (const Value& loss : graph.regularisation_losses()) sum = sum.valid() ? ops::add(sum, loss) : loss;
  return sum;
}

}  // namespace shoal::nn
