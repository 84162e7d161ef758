// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Less memory for activations, for more time.
#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Returns block(x). What the block computes on the way is not kept for the gradients: they compute it a second time, from x, when they
/// need it. So a training step holds the inner values of one block at a time, and of the others only what they return; it takes about
/// a third more time where all of a model is in such blocks. Every bit of the results is the same with it and without, also behind
/// dropout, and variables keep their names: a run may go on with another choice. All trainers of a job make the same one.
///
///   y = nn::recompute(y, [&](Value x) { return nn::residual_block(x, mode, {.filters = 64}); });
///
/// The block may use other values and add variables, losses and moving averages. Values of it that are used outside of it, beside
/// what it returns, are kept as usual. Within another block, it has no effect of its own. Evaluation and predictions have no gradients,
/// so nothing changes for them.
///
/// Source: Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost" (2016).
Value recompute(Value x, const std::function<Value(Value)>& block);

}  // namespace shoal::nn
