// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What every update rule is: a table with a row for each UpdateRule::Kind.
#include <array>
#include <cstdint>
#include <string_view>

#include "shoal/nn/apply_update.h"

namespace shoal::nn {

/// Where a constant may lie.
enum class Range : uint8_t { kFraction, kUnit, kNotNegative, kPositive, kFlag };

/// One constant of a rule; its place in the row is its place in UpdateRule::constants.
struct ConstantRow {
  std::string_view name;
  Range range = Range::kNotNegative;
};

/// One slot. Constants are named by their place, -1 is none.
struct SlotRow {
  std::string_view name;
  int only_with = -1;    ///< Kept only where this constant is not 0.
  int starts_with = -1;  ///< The constant that every element starts at. None: at 0.
};

/// The arrays of one pass; at() moves them all.
struct Pass {
  int64_t count;
  const float* current;
  float* next;
  std::array<float*, kSlotsMax> slots;  ///< Those that the rule keeps, in order.

  Pass at(int64_t first, int64_t count_here) const {
    Pass part{count_here, current + first, next + first, {}};
    for (size_t s = 0; s < slots.size(); ++s) part.slots[s] = slots[s] == nullptr ? nullptr : slots[s] + first;
    return part;
  }
};

/// One update of one variable, beside its arrays and gradients.
struct Update {
  const UpdateRule& rule;
  double learning_rate;
  uint64_t update_count;
};

struct RuleRow {
  UpdateRule::Kind kind = UpdateRule::Kind::kNone;
  std::string_view name;
  bool uses_learning_rate = true;
  bool counts_updates = false;                                        ///< True if it depends on Update::update_count.
  std::array<ConstantRow, UpdateRule::kConstantsMax> constants = {};  ///< Those without a name are not there.
  std::array<SlotRow, kSlotsMax> slots = {};                          ///< Those without a name are not there.
  /// What no constant tells by itself.
  Result<void> (*check)(const UpdateRule& rule) = nullptr;
  /// Elements by themselves, from the gradient `g`. Gives the largest magnitude that was written, as bits
  /// (shoal/base/finite.h).
  int32_t (*apply)(const Update& update, const Pass& pass, const float* g) = nullptr;
  /// Used in the place of `apply`, where an element depends on others of its variable.
  int32_t (*apply_whole)(const Update& update, const Pass& whole, const Contributions& contributions) = nullptr;
};

/// The row of a kind. Null for an unknown one: it may come from a newer version.
const RuleRow* find_row(UpdateRule::Kind kind);
/// The same, but a row without slots for an unknown kind: what is sent is asked before it is validated.
const RuleRow& row_of(const UpdateRule& rule);

/// An error such as "update rule adam: beta1 is 1.000000, expected a number in [0, 1)".
Error out_of_range(const UpdateRule& rule, std::string_view constant, double value, std::string_view range);

}  // namespace shoal::nn
