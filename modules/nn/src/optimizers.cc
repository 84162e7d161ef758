// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/optimizers.h"

namespace shoal::nn {
namespace {

using Kind = UpdateRule::Kind;

struct NamedOptimizer {
  std::string_view name;
  Optimizer (*make)(std::optional<LearningRate> learning_rate);
};

template <class Options, Optimizer (*Make)(Options)>
Optimizer make_with(std::optional<LearningRate> learning_rate) {
  Options options;
  if (learning_rate) options.learning_rate = *std::move(learning_rate);
  return Make(std::move(options));
}

constexpr NamedOptimizer kOptimizers[] = {
    {"SGD", &make_with<SgdOptions, sgd>},
    {"Adagrad", &make_with<AdagradOptions, adagrad>},
    {"Adam", &make_with<AdamOptions, adam>},
    {"AdamW", &make_with<AdamWOptions, adamw>},
    {"RMSProp", &make_with<RmsPropOptions, rmsprop>},
    {"Ftrl", &make_with<FtrlOptions, ftrl>},
    {"LAMB", &make_with<LambOptions, lamb>},
};

}  // namespace

Optimizer sgd(SgdOptions options) {
  if (options.momentum == 0) {
    if (options.nesterov) raise(invalid_argument("SGD: nesterov needs a momentum above 0"));
    return {"SGD", {.kind = Kind::kSgd}, std::move(options.learning_rate)};
  }
  const UpdateRule rule{.kind = Kind::kMomentum, .constants = {options.momentum, options.nesterov ? 1.0 : 0.0}};
  return {"SGD", rule, std::move(options.learning_rate)};
}

Optimizer adagrad(AdagradOptions options) {
  const UpdateRule rule{.kind = Kind::kAdagrad, .constants = {options.initial_accumulator, options.epsilon}};
  return {"Adagrad", rule, std::move(options.learning_rate)};
}

Optimizer adam(AdamOptions options) {
  const UpdateRule rule{.kind = Kind::kAdam, .constants = {options.beta1, options.beta2, options.epsilon}};
  return {"Adam", rule, std::move(options.learning_rate)};
}

Optimizer adamw(AdamWOptions options) {
  const UpdateRule rule{.kind = Kind::kAdamW,
                        .constants = {options.beta1, options.beta2, options.epsilon, options.weight_decay}};
  return {"AdamW", rule, std::move(options.learning_rate)};
}

Optimizer rmsprop(RmsPropOptions options) {
  const UpdateRule rule{.kind = Kind::kRmsProp,
                        .constants = {options.decay, options.momentum, options.epsilon, options.centered ? 1.0 : 0.0}};
  return {"RMSProp", rule, std::move(options.learning_rate)};
}

Optimizer ftrl(FtrlOptions options) {
  const UpdateRule rule{
      .kind = Kind::kFtrl,
      .constants = {options.initial_accumulator, options.l1, options.l2, options.l2_shrinkage, options.beta}};
  return {"Ftrl", rule, std::move(options.learning_rate)};
}

Optimizer lamb(LambOptions options) {
  const UpdateRule rule{.kind = Kind::kLamb,
                        .constants = {options.beta1, options.beta2, options.epsilon, options.weight_decay}};
  return {"LAMB", rule, std::move(options.learning_rate)};
}

Result<Optimizer> make_optimizer(std::string_view name, std::optional<LearningRate> learning_rate) {
  std::string known;
  for (const NamedOptimizer& entry : kOptimizers) {
    if (entry.name == name) return entry.make(std::move(learning_rate));
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return invalid_argument("no optimizer is named \"" + std::string(name) + "\"; there are: " + known +
                          " (upper and lower case matter)");
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const NamedOptimizer& entry : kOptimizers) names.emplace_back(entry.name);
  return names;
}

}  // namespace shoal::nn
