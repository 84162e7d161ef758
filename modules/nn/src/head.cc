// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/head.h"

#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

std::string titled(const Head& head) { return head.name().empty() ? "head" : "head \"" + std::string(head.name()) + "\""; }

TrainOp train_op_of(const Head& head, const HeadInput& input, Value loss) {
  if (input.optimizer.has_value() == bool(input.train_op)) {
    raise(invalid_argument(titled(head) + ": training needs an optimizer or a train_op function, " +
                           (input.optimizer ? "not both" : "and neither was given")));
  }
  return input.optimizer ? input.optimizer->minimize(loss) : train_op(input.train_op(loss));
}

}  // namespace

HeadOutput Head::build(const HeadInput& input) const {
  HeadOutput output = describe(input);
  output.mode = input.mode;
  if (input.mode == Mode::kPredict) return output;
  if (!output.loss.valid()) raise(invalid_argument(titled(*this) + ": describe() gave no loss"));
  const Value penalty = regularization_loss(output.loss.graph());
  if (penalty.valid()) output.loss = ops::add(output.loss, penalty);
  if (input.mode == Mode::kEval && penalty.valid()) {
    const std::string tag = name().empty() ? "" : "/" + std::string(name());
    output.metrics.emplace_back("regularization_loss" + tag, mean(penalty));
  }
  if (input.mode == Mode::kTrain) output.train_op = train_op_of(*this, input, output.loss);
  return output;
}

}  // namespace shoal::nn
