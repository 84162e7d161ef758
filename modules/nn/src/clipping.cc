// SPDX-License-Identifier: Apache-2.0
/// Clipping of gradients before they are applied.
#include <algorithm>
#include <cmath>

#include "shoal/base/finite.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/optimizer.h"

namespace shoal::nn {
namespace {

/// The factor by which gradients with the norm `norm` are multiplied. It is always finite, since servers refuse any other.
/// If the norm itself is not finite, a trainer makes no update (StepScalar::norm_of), unless RunConfig::allow_non_finite is
/// true.
double clip_factor(double limit, float norm) {
  if (is_nan(norm)) return 1;
  return norm > limit ? limit / double(norm) : 1;  // The factor is 0 if the norm is infinite.
}

}  // namespace

Optimizer Optimizer::clip_by_value(double limit) const { return clipped(Clip::kValue, "clip_by_value", limit); }
Optimizer Optimizer::clip_by_norm(double limit) const { return clipped(Clip::kNorm, "clip_by_norm", limit); }
Optimizer Optimizer::clip_by_global_norm(double limit) const {
  return clipped(Clip::kGlobalNorm, "clip_by_global_norm", limit);
}

Optimizer Optimizer::clipped(Clip clip, std::string_view how, double limit) const {
  const std::string who = name_ + ": " + std::string(how);
  if (clip_ != Clip::kNone) raise(invalid_argument(who + ": gradients are clipped already"));
  if (!(limit > 0 && std::isfinite(limit))) {
    raise(invalid_argument(who + ": limit is " + std::to_string(limit) + ", expected a finite number above 0"));
  }
  Optimizer copy = *this;
  copy.clip_ = clip;
  copy.clip_limit_ = limit;
  return copy;
}

void Optimizer::add_clipping(TrainOp& op) const {
  const auto of_norm = [limit = clip_limit_](float norm) { return clip_factor(limit, norm); };
  const auto add_scalar = [&](std::string name, Value norm, std::string norm_of) {
    op.scalars.push_back(
        {.name = std::move(name), .at = {}, .value = norm, .of_value = of_norm, .norm_of = std::move(norm_of)});
    return int32_t(op.scalars.size()) - 1;
  };
  switch (clip_) {
    case Clip::kNone: return;
    case Clip::kValue:
      for (VariableUpdate& update : op.updates) update.update = ops::clip(update.update, -clip_limit_, clip_limit_);
      return;
    case Clip::kNorm:
      for (VariableUpdate& update : op.updates) {
        const Value norm = ops::global_norm({update.update});
        update.rule.gradient_scale_scalar =
            add_scalar("gradient_scale/" + update.variable, norm, "the gradient of " + update.variable);
      }
      return;
    case Clip::kGlobalNorm: {
      std::vector<Value> all;
      for (const VariableUpdate& update : op.updates) all.push_back(update.update);
      const int32_t scalar = add_scalar("gradient_scale", ops::global_norm(all), "all gradients");
      for (VariableUpdate& update : op.updates) update.rule.gradient_scale_scalar = scalar;
      return;
    }
  }
}

}  // namespace shoal::nn
