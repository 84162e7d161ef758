// SPDX-License-Identifier: Apache-2.0
/// The table of update rules. update_rule.cc and apply_update.cc contain the code that all rules have in common.
#include "update_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "folded_gradient.h"
#include "update_kernels.h"

namespace shoal::nn {
namespace {

using Kind = UpdateRule::Kind;

/// Refuses constants with which an element whose gradients are all 0 would become 0 / 0: a step divides by sqrt(s) +
/// epsilon, and s starts at the initial accumulator.
Result<void> check_adagrad(const UpdateRule& rule) {
  if (float(rule.constants[0]) != 0 || float(rule.constants[1]) != 0) return {};
  return out_of_range(rule, "epsilon", rule.constants[1], "more than 0 where the initial accumulator is 0");
}

/// Refuses constants with which an element whose gradients are all 0 would become 0 / 0: the formula of ftrl() divides by
/// (sqrt(s) + beta) / rate + 2 * l2, and s starts at the initial accumulator.
Result<void> check_ftrl(const UpdateRule& rule) {
  const auto& c = rule.constants;
  if (float(c[0]) != 0 || float(c[2]) != 0 || float(c[4]) != 0) return {};
  return out_of_range(rule, "initial accumulator", c[0], "more than 0 where l2 and beta are 0");
}

/// base^exponent by squaring. It only multiplies, so the bits are equal with every C library.
double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

kernels::AdamConstants adam_constants(const Update& update) {
  const auto& [rule, learning_rate, update_count] = update;
  const double beta1 = rule.constants[0];
  const double beta2 = rule.constants[1];
  const double correction = std::sqrt(1 - power(beta2, update_count)) / (1 - power(beta1, update_count));
  return {float(learning_rate * correction), float(beta1), float(1 - beta1), float(beta2), float(1 - beta2),
          float(rule.constants[2])};
}

kernels::LambConstants lamb_constants(const Update& update) {
  const auto& [rule, learning_rate, update_count] = update;
  const double beta1 = rule.constants[0];
  const double beta2 = rule.constants[1];
  return {float(beta1),
          float(1 - beta1),
          float(beta2),
          float(1 - beta2),
          float(1 / (1 - power(beta1, update_count))),
          float(1 / (1 - power(beta2, update_count))),
          float(rule.constants[2]),
          float(rule.constants[3])};
}

int32_t apply_sgd(const Update& update, const Pass& pass, const float* g) {
  return kernels::sgd(pass.count, float(update.learning_rate), g, pass.current, pass.next);
}

int32_t apply_momentum(const Update& update, const Pass& pass, const float* g) {
  const auto& c = update.rule.constants;
  const auto kernel = c[1] != 0 ? kernels::nesterov : kernels::momentum;
  return kernel(pass.count, float(update.learning_rate), float(c[0]), g, pass.current, pass.next, pass.slots[0]);
}

int32_t apply_adagrad(const Update& update, const Pass& pass, const float* g) {
  return kernels::adagrad(pass.count, float(update.learning_rate), float(update.rule.constants[1]), g, pass.current,
                          pass.next, pass.slots[0]);
}

int32_t apply_adam(const Update& update, const Pass& pass, const float* g) {
  return kernels::adam(pass.count, adam_constants(update), g, pass.current, pass.next, pass.slots[0], pass.slots[1]);
}

int32_t apply_adamw(const Update& update, const Pass& pass, const float* g) {
  return kernels::adamw(pass.count, adam_constants(update), float(1 - update.learning_rate * update.rule.constants[3]), g,
                        pass.current, pass.next, pass.slots[0], pass.slots[1]);
}

int32_t apply_assign(const Update&, const Pass& pass, const float* g) { return kernels::assign(pass.count, g, pass.next); }

int32_t apply_add(const Update&, const Pass& pass, const float* g) {
  return kernels::add(pass.count, g, pass.current, pass.next);
}

int32_t apply_moving_average(const Update& update, const Pass& pass, const float* g) {
  const double decay = update.rule.constants[0];
  return kernels::moving_average(pass.count, float(decay), float(1 - decay), g, pass.current, pass.next);
}

int32_t apply_rmsprop(const Update& update, const Pass& pass, const float* g) {
  const auto& c = update.rule.constants;
  const double decay = c[0];
  const bool momentum = c[1] > 0, centered = c[3] != 0;
  float* const step = momentum ? pass.slots[1] : nullptr;
  float* const mean = centered ? pass.slots[momentum ? 2 : 1] : nullptr;
  const kernels::RmsPropConstants constants{float(update.learning_rate), float(decay), float(1 - decay), float(c[1]),
                                            float(c[2])};
  return kernels::rmsprop(pass.count, constants, g, pass.current, pass.next, pass.slots[0], step, mean);
}

int32_t apply_ftrl(const Update& update, const Pass& pass, const float* g) {
  const auto& c = update.rule.constants;
  const auto inverse_rate = float(1 / update.learning_rate);
  if (std::isinf(inverse_rate)) {  // With a rate of 0 nothing changes, not even the rule's sums.
    if (pass.next != pass.current) std::memcpy(pass.next, pass.current, size_t(pass.count) * sizeof(float));
    return 0;
  }
  const kernels::FtrlConstants constants{inverse_rate, float(c[1]), float(2 * c[2]), float(2 * c[3]), float(c[4])};
  return kernels::ftrl(pass.count, constants, g, pass.current, pass.next, pass.slots[0], pass.slots[1]);
}

/// The trust ratio is |w| / |step|, or 1 if either is 0 (otherwise a variable that starts at 0 would stay 0).
int32_t apply_lamb(const Update& update, const Pass& whole, const Contributions& contributions) {
  const kernels::LambConstants constants = lamb_constants(update);
  alignas(64) float room[kFoldElements];
  kernels::LambSums sums;
  int32_t largest = 0;
  for (int64_t first = 0; first < whole.count; first += kFoldElements) {
    const Pass part = whole.at(first, std::min(kFoldElements, whole.count - first));
    const float* g = gradient_at(contributions, first, part.count, room);
    largest = std::max(largest,
                       kernels::lamb_moments(part.count, constants, g, part.current, part.slots[0], part.slots[1], sums));
  }
  const bool either_zero = sums.variable == 0 || sums.step == 0;
  const double ratio = either_zero ? 1.0 : std::sqrt(sums.variable / sums.step);
  const auto rate = float(update.learning_rate * ratio);
  return std::max(
      largest, kernels::lamb_step(whole.count, constants, rate, whole.current, whole.next, whole.slots[0], whole.slots[1]));
}

constexpr ConstantRow kBeta1{"beta1", Range::kFraction}, kBeta2{"beta2", Range::kFraction},
    kEpsilon{"epsilon", Range::kPositive}, kWeightDecay{"weight decay"};

constexpr RuleRow kRows[] = {
    {.kind = Kind::kNone, .name = "none", .uses_learning_rate = false},
    {.kind = Kind::kSgd, .name = "sgd", .apply = apply_sgd},
    {.kind = Kind::kMomentum,
     .name = "momentum",
     .constants = {{{"momentum", Range::kFraction}, {"nesterov", Range::kFlag}}},
     .slots = {{{"momentum"}}},
     .apply = apply_momentum},
    {.kind = Kind::kAdagrad,
     .name = "adagrad",
     .constants = {{{"initial accumulator"}, {"epsilon"}}},
     .slots = {{{.name = "accumulator", .starts_with = 0}}},
     .check = check_adagrad,
     .apply = apply_adagrad},
    {.kind = Kind::kAdam,
     .name = "adam",
     .counts_updates = true,
     .constants = {{kBeta1, kBeta2, kEpsilon}},
     .slots = {{{"m"}, {"v"}}},
     .apply = apply_adam},
    {.kind = Kind::kAssign, .name = "assign", .uses_learning_rate = false, .apply = apply_assign},
    {.kind = Kind::kAdd, .name = "add", .uses_learning_rate = false, .apply = apply_add},
    {.kind = Kind::kMovingAverage,
     .name = "moving_average",
     .uses_learning_rate = false,
     .constants = {{{"decay", Range::kUnit}}},
     .apply = apply_moving_average},
    {.kind = Kind::kAdamW,
     .name = "adamw",
     .counts_updates = true,
     .constants = {{kBeta1, kBeta2, kEpsilon, kWeightDecay}},
     .slots = {{{"m"}, {"v"}}},
     .apply = apply_adamw},
    {.kind = Kind::kRmsProp,
     .name = "rmsprop",
     .constants = {{{"decay", Range::kFraction}, {"momentum", Range::kFraction}, kEpsilon, {"centered", Range::kFlag}}},
     .slots = {{{"mean_square"}, {.name = "momentum", .only_with = 1}, {.name = "mean_gradient", .only_with = 3}}},
     .apply = apply_rmsprop},
    {.kind = Kind::kFtrl,
     .name = "ftrl",
     .constants = {{{"initial accumulator"}, {"l1"}, {"l2"}, {"l2 shrinkage"}, {"beta"}}},
     .slots = {{{.name = "accumulator", .starts_with = 0}, {"linear"}}},
     .check = check_ftrl,
     .apply = apply_ftrl},
    {.kind = Kind::kLamb,
     .name = "lamb",
     .counts_updates = true,
     .constants = {{kBeta1, kBeta2, kEpsilon, kWeightDecay}},
     .slots = {{{"m"}, {"v"}}},
     .apply_whole = apply_lamb},
};

}  // namespace

const RuleRow* find_row(Kind kind) {
  const auto* row = std::ranges::find(kRows, kind, &RuleRow::kind);
  return row == std::end(kRows) ? nullptr : row;
}

const RuleRow& row_of(const UpdateRule& rule) {
  static constexpr RuleRow kUnknown{.name = "unknown"};
  const RuleRow* row = find_row(rule.kind);
  return row ? *row : kUnknown;
}

Error out_of_range(const UpdateRule& rule, std::string_view constant, double value, std::string_view range) {
  return invalid_argument("update rule " + std::string(to_string(rule.kind)) + ": " + std::string(constant) + " is " +
                          std::to_string(value) + ", expected " + std::string(range));
}

}  // namespace shoal::nn
