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

/// The arrays of one pass; at() moves them all.
struct Pass {
  int64_t count;
  const float* current;
  float* next;
  std::array<float*, 2> slots;

  Pass at(int64_t first, int64_t count_here) const {
    Pass part{count_here, current + first, next + first, {}};
    for (size_t s = 0; s < slots.size(); ++s) part.slots[s] = slots[s] == nullptr ? nullptr : slots[s] + first;
    return part;
  }
};

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

/// Elements that are folded at a time: the sum stays in the first-level cache, so memory is still passed once.
constexpr int64_t kFoldElements = 2048;

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
  }
  return "unknown";
}

int slot_count(const UpdateRule& rule) {
  switch (rule.kind) {
    case Kind::kMomentum:
    case Kind::kAdagrad: return 1;
    case Kind::kAdam: return 2;
    default: return 0;
  }
}

std::string_view slot_name(const UpdateRule& rule, int slot) {
  SHOAL_CHECK(slot >= 0 && slot < slot_count(rule));
  switch (rule.kind) {
    case Kind::kMomentum: return "momentum";
    case Kind::kAdagrad: return "accumulator";
    default: return slot == 0 ? "m" : "v";
  }
}

float slot_start(const UpdateRule& rule, int slot) {
  SHOAL_CHECK(slot >= 0 && slot < slot_count(rule));
  return rule.kind == Kind::kAdagrad ? float(rule.constants[0]) : 0.0f;
}

Result<void> validate(const UpdateRule& rule) {
  if (rule.learning_rate_scalar < 0) {
    return invalid_argument("update rule " + std::string(to_string(rule.kind)) + ": learning rate is scalar number " +
                            std::to_string(rule.learning_rate_scalar) + ", expected 0 or more");
  }
  switch (rule.kind) {
    case Kind::kNone:
    case Kind::kSgd:
    case Kind::kAssign:
    case Kind::kAdd: return {};
    case Kind::kMomentum: return validate_momentum(rule);
    case Kind::kAdagrad: return validate_adagrad(rule);
    case Kind::kAdam: return validate_adam(rule);
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
  SHOAL_CHECK(update_count > 0 || rule.kind != Kind::kAdam);
  Pass whole{count, current, next, {}};
  for (int s = 0; s < slot_count(rule); ++s) whole.slots[size_t(s)] = slots[size_t(s)];

  const bool alone = contributions.gradients.size() == 1 && contributions.scales[0] == 1.0f && contributions.factor == 1.0f;
  if (alone) return apply_rule(rule, learning_rate, update_count, whole, contributions.gradients[0]);
  alignas(64) float g[kFoldElements];
  for (int64_t first = 0; first < count; first += kFoldElements) {
    const int64_t here = std::min(kFoldElements, count - first);
    fold(contributions, first, here, g);
    apply_rule(rule, learning_rate, update_count, whole.at(first, here), g);
  }
}

}  // namespace shoal::nn
