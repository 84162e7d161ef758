#include "shoal/nn/update_rule.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "update_kernels.h"

namespace shoal::nn {
namespace {

using Kind = UpdateRule::Kind;

// Constants by position; see UpdateRule::Kind.
double momentum_of(const UpdateRule& rule) { return rule.constants[0]; }
double epsilon_of_adagrad(const UpdateRule& rule) { return rule.constants[1]; }

Error out_of_range(Kind kind, std::string_view constant, double value, std::string_view range) {
  return invalid_argument("update rule " + std::string(to_string(kind)) + ": " + std::string(constant) + " is " +
                          std::to_string(value) + ", expected " + std::string(range));
}

Result<void> check_fraction(const UpdateRule& rule, size_t index, std::string_view constant) {
  const double value = rule.constants[index];
  if (!(value >= 0 && value < 1)) return out_of_range(rule.kind, constant, value, "a number in [0, 1)");
  return {};
}

Result<void> check_not_negative(const UpdateRule& rule, size_t index, std::string_view constant) {
  const double value = rule.constants[index];
  if (!(value >= 0 && std::isfinite(value))) return out_of_range(rule.kind, constant, value, "a finite number >= 0");
  return {};
}

Result<void> validate_momentum(const UpdateRule& rule) {
  SHOAL_TRY_VOID(check_fraction(rule, 0, "momentum"));
  const double nesterov = rule.constants[1];
  if (nesterov != 0 && nesterov != 1) return out_of_range(rule.kind, "nesterov", nesterov, "0 or 1");
  return {};
}

Result<void> validate_adagrad(const UpdateRule& rule) {
  SHOAL_TRY_VOID(check_not_negative(rule, 0, "initial accumulator"));
  SHOAL_TRY_VOID(check_not_negative(rule, 1, "epsilon"));
  // Otherwise an element whose gradient is 0 from the start becomes 0 / 0.
  if (float(rule.constants[0]) == 0 && float(rule.constants[1]) == 0) {
    return out_of_range(rule.kind, "epsilon", rule.constants[1], "more than 0 where the initial accumulator is 0");
  }
  return {};
}

Result<void> validate_adam(const UpdateRule& rule) {
  SHOAL_TRY_VOID(check_fraction(rule, 0, "beta1"));
  SHOAL_TRY_VOID(check_fraction(rule, 1, "beta2"));
  SHOAL_TRY_VOID(check_not_negative(rule, 2, "epsilon"));
  if (float(rule.constants[2]) == 0) return out_of_range(rule.kind, "epsilon", rule.constants[2], "more than 0");
  return {};
}

Result<void> validate_adamw(const UpdateRule& rule) {
  SHOAL_TRY_VOID(validate_adam(rule));
  return check_not_negative(rule, 3, "weight decay");
}

Result<void> validate_rmsprop(const UpdateRule& rule) {
  SHOAL_TRY_VOID(check_fraction(rule, 0, "decay"));
  SHOAL_TRY_VOID(check_fraction(rule, 1, "momentum"));
  SHOAL_TRY_VOID(check_not_negative(rule, 2, "epsilon"));
  // Otherwise an element whose gradient is 0 from the start becomes 0 / 0.
  if (float(rule.constants[2]) == 0) return out_of_range(rule.kind, "epsilon", rule.constants[2], "more than 0");
  const double centered = rule.constants[3];
  if (centered != 0 && centered != 1) return out_of_range(rule.kind, "centered", centered, "0 or 1");
  return {};
}

Result<void> validate_ftrl(const UpdateRule& rule) {
  constexpr std::string_view kNames[] = {"initial accumulator", "l1", "l2", "l2 shrinkage", "beta"};
  for (size_t i = 0; i < std::size(kNames); ++i) SHOAL_TRY_VOID(check_not_negative(rule, i, kNames[i]));
  // Otherwise an element whose gradient is 0 from the start becomes 0 / 0.
  const bool divides_by_zero =
      float(rule.constants[0]) == 0 && float(rule.constants[2]) == 0 && float(rule.constants[4]) == 0;
  if (divides_by_zero) {
    return out_of_range(rule.kind, "initial accumulator", rule.constants[0], "more than 0 where l2 and beta are 0");
  }
  return {};
}

/// base^exponent by squaring: multiplications only, so equal bits with every C library.
double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

kernels::AdamConstants adam_constants(const UpdateRule& rule, double learning_rate, uint64_t update_count) {
  const double beta1 = rule.constants[0];
  const double beta2 = rule.constants[1];
  const double correction = std::sqrt(1 - power(beta2, update_count)) / (1 - power(beta1, update_count));
  return {float(learning_rate * correction), float(beta1), float(1 - beta1), float(beta2), float(1 - beta2),
          float(rule.constants[2])};
}

kernels::RmsPropConstants rmsprop_constants(const UpdateRule& rule, double learning_rate) {
  const double decay = rule.constants[0];
  return {float(learning_rate), float(decay), float(1 - decay), float(rule.constants[1]), float(rule.constants[2])};
}

kernels::FtrlConstants ftrl_constants(const UpdateRule& rule, float inverse_rate) {
  const auto& c = rule.constants;
  return {inverse_rate, float(c[1]), float(2 * c[2]), float(2 * c[3]), float(c[4])};
}

kernels::LambConstants lamb_constants(const UpdateRule& rule, uint64_t update_count) {
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

/// The arrays of one pass; at() moves them all.
struct Pass {
  int64_t count;
  const float* current;
  float* next;
  std::array<float*, kSlotsMax> slots;

  Pass at(int64_t first, int64_t count_here) const {
    Pass part{count_here, current + first, next + first, {}};
    for (size_t s = 0; s < slots.size(); ++s) part.slots[s] = slots[s] == nullptr ? nullptr : slots[s] + first;
    return part;
  }
};

void apply_rmsprop(const UpdateRule& rule, double learning_rate, const Pass& pass, const float* g) {
  const bool momentum = rule.constants[1] > 0, centered = rule.constants[3] != 0;
  float* const step = momentum ? pass.slots[1] : nullptr;
  float* const mean = centered ? pass.slots[momentum ? 2 : 1] : nullptr;
  kernels::rmsprop(pass.count, rmsprop_constants(rule, learning_rate), g, pass.current, pass.next, pass.slots[0], step,
                   mean);
}

void apply_ftrl(const UpdateRule& rule, double learning_rate, const Pass& pass, const float* g) {
  const auto inverse_rate = float(1 / learning_rate);
  if (std::isinf(inverse_rate)) {  // a rate of 0: nothing moves, the rule's sums neither
    if (pass.next != pass.current) std::memcpy(pass.next, pass.current, size_t(pass.count) * sizeof(float));
    return;
  }
  kernels::ftrl(pass.count, ftrl_constants(rule, inverse_rate), g, pass.current, pass.next, pass.slots[0], pass.slots[1]);
}

void apply_rule(const UpdateRule& rule, double learning_rate, uint64_t update_count, const Pass& pass, const float* g) {
  const auto rate = float(learning_rate);
  switch (rule.kind) {
    case Kind::kNone:
      return;
    case Kind::kSgd:
      return kernels::sgd(pass.count, rate, g, pass.current, pass.next);
    case Kind::kMomentum: {
      const auto kernel = rule.constants[1] != 0 ? kernels::nesterov : kernels::momentum;
      return kernel(pass.count, rate, float(momentum_of(rule)), g, pass.current, pass.next, pass.slots[0]);
    }
    case Kind::kAdagrad:
      return kernels::adagrad(pass.count, rate, float(epsilon_of_adagrad(rule)), g, pass.current, pass.next, pass.slots[0]);
    case Kind::kAdam:
      return kernels::adam(pass.count, adam_constants(rule, learning_rate, update_count), g, pass.current, pass.next,
                           pass.slots[0], pass.slots[1]);
    case Kind::kAssign:
      std::memmove(pass.next, g, size_t(pass.count) * sizeof(float));
      return;
    case Kind::kAdd:
      return kernels::add(pass.count, g, pass.current, pass.next);
    case Kind::kMovingAverage: {
      const double decay = rule.constants[0];
      return kernels::moving_average(pass.count, float(decay), float(1 - decay), g, pass.current, pass.next);
    }
    case Kind::kAdamW:
      return kernels::adamw(pass.count, adam_constants(rule, learning_rate, update_count),
                            float(1 - learning_rate * rule.constants[3]), g, pass.current, pass.next, pass.slots[0],
                            pass.slots[1]);
    case Kind::kRmsProp: return apply_rmsprop(rule, learning_rate, pass, g);
    case Kind::kFtrl: return apply_ftrl(rule, learning_rate, pass, g);
    case Kind::kLamb: break;  // not by parts: apply_lamb()
  }
  SHOAL_CHECK(false && "rules are validated before they are applied");
}

void fold(const Contributions& contributions, int64_t first, int64_t count, float* g) {
  kernels::fold_first(count, contributions.scales[0], contributions.gradients[0] + first, g);
  for (size_t i = 1; i < contributions.gradients.size(); ++i) {
    kernels::fold_next(count, contributions.scales[i], contributions.gradients[i] + first, g);
  }
  if (contributions.factor != 1.0f) kernels::multiply(count, contributions.factor, g);
}

bool counts_updates(Kind kind) { return kind == Kind::kAdam || kind == Kind::kAdamW || kind == Kind::kLamb; }

/// Elements that are folded at a time: the sum stays in the first-level cache, so memory is still passed once.
constexpr int64_t kFoldElements = 2048;

/// One gradient, to be taken as it is.
bool is_alone(const Contributions& contributions) {
  return contributions.gradients.size() == 1 && contributions.scales[0] == 1.0f && contributions.factor == 1.0f;
}

/// The gradient of elements [first, first + count), folded into `room` unless it is alone.
const float* gradient_at(const Contributions& contributions, int64_t first, int64_t count, float* room) {
  if (is_alone(contributions)) return contributions.gradients[0] + first;
  fold(contributions, first, count, room);
  return room;
}

/// The trust ratio is |w| / |step|, and 1 where either is 0 (a variable that starts at 0 could never leave it).
void apply_lamb(const UpdateRule& rule, double learning_rate, uint64_t update_count, const Pass& whole,
                const Contributions& contributions) {
  const kernels::LambConstants constants = lamb_constants(rule, update_count);
  alignas(64) float room[kFoldElements];
  kernels::LambSums sums;
  for (int64_t first = 0; first < whole.count; first += kFoldElements) {
    const Pass part = whole.at(first, std::min(kFoldElements, whole.count - first));
    const float* g = gradient_at(contributions, first, part.count, room);
    kernels::lamb_moments(part.count, constants, g, part.current, part.slots[0], part.slots[1], sums);
  }
  const bool either_zero = sums.variable == 0 || sums.step == 0;
  const double ratio = either_zero ? 1.0 : std::sqrt(sums.variable / sums.step);
  kernels::lamb_step(whole.count, constants, float(learning_rate * ratio), whole.current, whole.next, whole.slots[0],
                     whole.slots[1]);
}

}  // namespace

std::string_view to_string(UpdateRule::Kind kind) {
  switch (kind) {
    case Kind::kNone: return "none";
    case Kind::kSgd: return "sgd";
    case Kind::kMomentum: return "momentum";
    case Kind::kAdagrad: return "adagrad";
    case Kind::kAdam: return "adam";
    case Kind::kAssign: return "assign";
    case Kind::kAdd: return "add";
    case Kind::kMovingAverage: return "moving_average";
    case Kind::kAdamW: return "adamw";
    case Kind::kRmsProp: return "rmsprop";
    case Kind::kFtrl: return "ftrl";
    case Kind::kLamb: return "lamb";
  }
  return "unknown";
}

bool uses_learning_rate(const UpdateRule& rule) {
  switch (rule.kind) {
    case Kind::kNone:
    case Kind::kAssign:
    case Kind::kAdd:
    case Kind::kMovingAverage: return false;
    default: return true;
  }
}

bool needs_whole_variable(const UpdateRule& rule) { return rule.kind == Kind::kLamb; }

int slot_count(const UpdateRule& rule) {
  switch (rule.kind) {
    case Kind::kMomentum:
    case Kind::kAdagrad: return 1;
    case Kind::kAdam:
    case Kind::kAdamW:
    case Kind::kFtrl:
    case Kind::kLamb: return 2;
    case Kind::kRmsProp: return 1 + (rule.constants[1] > 0) + (rule.constants[3] != 0);
    default: return 0;
  }
}

std::string_view slot_name(const UpdateRule& rule, int slot) {
  SHOAL_CHECK(slot >= 0 && slot < slot_count(rule));
  switch (rule.kind) {
    case Kind::kMomentum: return "momentum";
    case Kind::kAdagrad: return "accumulator";
    case Kind::kFtrl: return slot == 0 ? "accumulator" : "linear";
    case Kind::kRmsProp: {
      if (slot == 0) return "mean_square";
      return slot == 1 && rule.constants[1] > 0 ? "momentum" : "mean_gradient";
    }
    default: return slot == 0 ? "m" : "v";
  }
}

float slot_start(const UpdateRule& rule, int slot) {
  SHOAL_CHECK(slot >= 0 && slot < slot_count(rule));
  const bool accumulates = (rule.kind == Kind::kAdagrad || rule.kind == Kind::kFtrl) && slot == 0;
  return accumulates ? float(rule.constants[0]) : 0.0f;
}

Result<void> validate(const UpdateRule& rule) {
  if (rule.learning_rate_scalar < 0) {
    return invalid_argument("update rule " + std::string(to_string(rule.kind)) + ": learning rate is scalar number " +
                            std::to_string(rule.learning_rate_scalar) + ", expected 0 or more");
  }
  if (rule.gradient_scale_scalar < -1) {
    return invalid_argument("update rule " + std::string(to_string(rule.kind)) + ": gradient scale is scalar number " +
                            std::to_string(rule.gradient_scale_scalar) + ", expected -1 (none) or more");
  }
  switch (rule.kind) {
    case Kind::kNone:
    case Kind::kSgd:
    case Kind::kAssign:
    case Kind::kAdd: return {};
    case Kind::kMomentum: return validate_momentum(rule);
    case Kind::kAdagrad: return validate_adagrad(rule);
    case Kind::kAdam: return validate_adam(rule);
    case Kind::kAdamW:
    case Kind::kLamb: return validate_adamw(rule);
    case Kind::kRmsProp: return validate_rmsprop(rule);
    case Kind::kFtrl: return validate_ftrl(rule);
    case Kind::kMovingAverage: {
      const double decay = rule.constants[0];
      if (!(decay >= 0 && decay <= 1)) return out_of_range(rule.kind, "decay", decay, "a number in [0, 1]");
      return {};
    }
  }
  return invalid_argument("update rule of unknown kind " + std::to_string(int(rule.kind)) +
                          "; it may come from a newer version of Shoal");
}

void apply_update(const UpdateRule& rule, double learning_rate, uint64_t update_count, int64_t count,
                  const float* current, float* next, std::span<float* const> slots,
                  const Contributions& contributions) {
  if (count == 0) return;
  if (rule.kind == Kind::kNone) {
    if (next != current) std::memcpy(next, current, size_t(count) * sizeof(float));
    return;
  }
  SHOAL_CHECK(int(slots.size()) >= slot_count(rule));
  SHOAL_CHECK(!contributions.gradients.empty() && contributions.gradients.size() == contributions.scales.size());
  SHOAL_CHECK(update_count > 0 || !counts_updates(rule.kind));
  Pass whole{count, current, next, {}};
  for (int s = 0; s < slot_count(rule); ++s) whole.slots[size_t(s)] = slots[size_t(s)];
  if (rule.kind == Kind::kLamb) return apply_lamb(rule, learning_rate, update_count, whole, contributions);
  if (is_alone(contributions)) return apply_rule(rule, learning_rate, update_count, whole, contributions.gradients[0]);
  alignas(64) float g[kFoldElements];
  for (int64_t first = 0; first < count; first += kFoldElements) {
    const int64_t here = std::min(kFoldElements, count - first);
    fold(contributions, first, here, g);
    apply_rule(rule, learning_rate, update_count, whole.at(first, here), g);
  }
}

}  // namespace shoal::nn
