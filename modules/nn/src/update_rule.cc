// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/update_rule.h"

#include <algorithm>
#include <cmath>

#include "update_rows.h"

namespace shoal::nn {
namespace {

bool is_kept(const SlotRow& slot, const UpdateRule& rule) {
  return !slot.name.empty() && (slot.only_with < 0 || rule.constants[size_t(slot.only_with)] != 0);
}

/// The description of slot number `slot`. Slots that `rule` does not have, because a constant is 0, are not counted.
const SlotRow& slot_row(const UpdateRule& rule, int slot) {
  for (const SlotRow& row : row_of(rule).slots) {
    if (is_kept(row, rule) && slot-- == 0) return row;
  }
  SHOAL_CHECK(false && "the rule has no such slot");
}

/// Empty if `value` is in the range, else a description of the range.
std::string_view expected_in(Range range, double value) {
  switch (range) {
    case Range::kFraction: return value >= 0 && value < 1 ? "" : "a number in [0, 1)";
    case Range::kUnit: return value >= 0 && value <= 1 ? "" : "a number in [0, 1]";
    case Range::kFlag: return value == 0 || value == 1 ? "" : "0 or 1";
    case Range::kNotNegative:
    case Range::kPositive: break;
  }
  if (!(value >= 0 && std::isfinite(value))) return "a finite number >= 0";
  return range == Range::kPositive && float(value) == 0 ? "more than 0" : "";
}

Result<void> check_scalars(const UpdateRule& rule, std::string_view name) {
  if (rule.learning_rate_scalar < 0) {
    return invalid_argument("update rule " + std::string(name) + ": learning rate is scalar number " +
                            std::to_string(rule.learning_rate_scalar) + ", expected 0 or more");
  }
  if (rule.gradient_scale_scalar < -1) {
    return invalid_argument("update rule " + std::string(name) + ": gradient scale is scalar number " +
                            std::to_string(rule.gradient_scale_scalar) + ", expected -1 (none) or more");
  }
  return {};
}

}  // namespace

std::string_view to_string(UpdateRule::Kind kind) { return row_of({.kind = kind}).name; }

bool uses_learning_rate(const UpdateRule& rule) { return row_of(rule).uses_learning_rate; }

bool needs_whole_variable(const UpdateRule& rule) { return row_of(rule).apply_whole != nullptr; }

int slot_count(const UpdateRule& rule) {
  return int(std::ranges::count_if(row_of(rule).slots, [&](const SlotRow& slot) { return is_kept(slot, rule); }));
}

std::string_view slot_name(const UpdateRule& rule, int slot) { return slot_row(rule, slot).name; }

float slot_start(const UpdateRule& rule, int slot) {
  const int constant = slot_row(rule, slot).starts_with;
  return constant < 0 ? 0.0f : float(rule.constants[size_t(constant)]);
}

Result<void> validate(const UpdateRule& rule) {
  SHOAL_TRY_VOID(check_scalars(rule, to_string(rule.kind)));
  const RuleRow* row = find_row(rule.kind);
  if (!row) {
    return invalid_argument("update rule of unknown kind " + std::to_string(int(rule.kind)) +
                            "; it may come from a newer version of Shoal");
  }
  for (size_t i = 0; i < row->constants.size() && !row->constants[i].name.empty(); ++i) {
    const std::string_view expected = expected_in(row->constants[i].range, rule.constants[i]);
    if (!expected.empty()) return out_of_range(rule, row->constants[i].name, rule.constants[i], expected);
  }
  return row->check ? row->check(rule) : Result<void>();
}

}  // namespace shoal::nn
