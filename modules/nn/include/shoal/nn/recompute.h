// SPDX-License-Identifier: Apache-2.0
#pragma once
/// recompute() saves memory for activations by computing them a second time.
#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Returns block(x). The inner values of the block are not kept for the gradients. When the gradients need them, they are
/// computed a second time, from x. So a training step has the inner values of only one block in memory at a time, and only
/// the results of the others. Steps take about a third longer if all of a model is in such blocks. The results have the
/// same bits with and without recompute(), also after dropout, and variables keep their names, so a run may be continued
/// with recompute() added or removed. All trainers of a job must use it alike.
///
///   y = nn::recompute(y, [&](Value x) { return nn::residual_block(x, mode, {.filters = 64}); });
///
/// The block may use other values, and may add variables, losses and moving averages. Inner values that are used outside of
/// the block, other than its result, are kept as usual. A block inside of another block has no further effect. Evaluation
/// and prediction have no gradients, so nothing changes for them.
///
/// Source: Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost" (2016).
Value recompute(Value x, const std::function<Value(Value)>& block);

}  // namespace shoal::nn
