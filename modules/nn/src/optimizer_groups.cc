// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/optimizer_groups.h"

#include <algorithm>

#include "shoal/graph/name_pattern.h"

namespace shoal::nn {

TrainOp minimize_by_groups(Value loss, const std::vector<OptimizerGroup>& groups) {
  if (!loss.valid()) raise(invalid_argument("minimize_by_groups: there is no loss"));
  std::vector<std::string> left;
  std::string all;
  for (const Variable& variable : loss.graph().variables()) {
    if (!variable.trainable) continue;
    left.push_back(variable.name);
    all += (all.empty() ? "" : ", ") + variable.name;
  }
  std::vector<TrainOp> parts;
  for (const OptimizerGroup& group : groups) {
    auto pattern = NamePattern::make(group.pattern);
    if (!pattern) raise(std::move(pattern).error().with_context("minimize_by_groups"));
    std::vector<std::string> chosen;
    std::erase_if(left, [&](const std::string& name) {
      if (!pattern->matches(name)) return false;
      chosen.push_back(name);
      return true;
    });
    const auto is_named = [&](const Variable& variable) { return variable.trainable && pattern->names(variable.name); };
    if (std::ranges::none_of(loss.graph().variables(), is_named) && !chosen.empty()) {
      raise(invalid_argument("minimize_by_groups: \"" + group.pattern +
                             "\" leaves out no trainable variable; the model has: " + all));
    }
    if (chosen.empty()) {
      raise(invalid_argument("minimize_by_groups: no trainable variable is left for \"" + group.pattern +
                             "\"; the model has: " + (all.empty() ? "none" : all)));
    }
    parts.push_back(group.optimizer.minimize(loss, chosen));
  }
  if (parts.empty()) raise(invalid_argument("minimize_by_groups: there are no groups"));
  return nn::group(std::move(parts));
}

}  // namespace shoal::nn
