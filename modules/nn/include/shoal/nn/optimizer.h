// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An optimizer: an update rule, a learning rate, and the clipping of gradients. optimizers.h has the built-in ones.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/nn/learning_rate.h"
#include "shoal/nn/train_op.h"
#include "shoal/nn/update_rule.h"

namespace shoal::nn {

/// A value type; one optimizer may train any number of models.
class Optimizer {
 public:
  /// Raises InvalidArgument if the rule is invalid (see validate()).
  Optimizer(std::string name, UpdateRule rule, LearningRate learning_rate);

  /// Makes the train op that lowers `loss` by changing the trainable variables of its graph; adds gradient nodes. Variables
  /// that the loss does not depend on are left out. Variables that it depends on through ops::embedding_lookup alone are
  /// updated by rows, each row as if it were a variable of its own (VariableUpdate::rows). If gradients are clipped, or the
  /// rule needs the whole variable (LAMB), such tables are updated whole. The train op also updates the moving averages of
  /// layers (Graph::moving_averages()). Raises InvalidArgument if loss is not one float32 element, there are no trainable
  /// variables, or the loss depends on none of them.
  TrainOp minimize(Value loss) const;
  /// Like minimize(loss), but changes only these variables, given by their full names. Also raises InvalidArgument if
  /// one does not exist or is not trainable.
  TrainOp minimize(Value loss, const std::vector<std::string>& variables) const;

  /// Returns this optimizer with clipped gradients: `nn::adam().clip_by_global_norm(1).minimize(loss)`. Clips each element
  /// to the range from -limit to limit.
  Optimizer clip_by_value(double limit) const;
  /// Multiplies each variable's gradient g by min(1, limit / |g|), where |g| is its Euclidean norm.
  Optimizer clip_by_norm(double limit) const;
  /// Multiplies all gradients by min(1, limit / n), where n is the Euclidean norm of all of them together. Source: Pascanu,
  /// Mikolov, Bengio, "On the difficulty of training recurrent neural networks" (ICML 2013).
  ///
  /// The norm is taken over the variables of one minimize(). If a norm is NaN, gradients stay as they are, so that the NaN
  /// is noticed; if it is infinite, they become 0 (and NaN where they were infinite).
  /// The three clip functions raise InvalidArgument unless limit is finite and > 0, or if the optimizer clips already.
  Optimizer clip_by_global_norm(double limit) const;

  const std::string& name() const { return name_; }
  const UpdateRule& rule() const { return rule_; }
  const LearningRate& learning_rate() const { return learning_rate_; }

 private:
  enum class Clip : uint8_t { kNone, kValue, kNorm, kGlobalNorm };
  Optimizer clipped(Clip clip, std::string_view how, double limit) const;
  void add_clipping(TrainOp& op) const;

  std::string name_;
  UpdateRule rule_;
  LearningRate learning_rate_;
  Clip clip_ = Clip::kNone;
  double clip_limit_ = 0;
};

}  // namespace shoal::nn
