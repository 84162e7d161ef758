// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The definition of the update rules: a table with a row for each UpdateRule::Kind.
#include <array>
#include <cstdint>
#include <string_view>

#include "shoal/nn/apply_update.h"

namespace shoal::nn {

/// The range in which a constant of an update rule, such as beta1 of Adam, must lie.
enum class Range : uint8_t { kFraction, kUnit, kNotNegative, kPositive, kFlag };

/// One constant of a rule. Its index in RuleRow::constants is also its index in UpdateRule::constants.
struct ConstantRow {
  std::string_view name;
  Range range = Range::kNotNegative;
};

/// One slot of a rule. `only_with` and `starts_with` are indexes into RuleRow::constants; -1: none.
struct SlotRow {
  std::string_view name;
  int only_with = -1;    ///< The slot exists only if the constant with this index is not 0.
  int starts_with = -1;  ///< The index of the constant that is the initial value of every element. None: 0.
};

/// The arrays that one call of a rule reads and writes. at() returns the part of each array that begins at element `first`.
struct Pass {
  int64_t count;
  const float* current;
  float* next;
  std::array<float*, kSlotsMax> slots;  ///< The slots of the rule, in the order of RuleRow::slots.

  Pass at(int64_t first, int64_t count_here) const {
    Pass part{count_here, current + first, next + first, {}};
    for (size_t s = 0; s < slots.size(); ++s) part.slots[s] = slots[s] == nullptr ? nullptr : slots[s] + first;
    return part;
  }
};

/// The inputs of one update of one variable, apart from the variable's weights, slots and gradients.
struct Update {
  const UpdateRule& rule;
  double learning_rate;
  uint64_t update_count;
};

struct RuleRow {
  UpdateRule::Kind kind = UpdateRule::Kind::kNone;
  std::string_view name;
  bool uses_learning_rate = true;
  bool counts_updates = false;                                        ///< True if the rule depends on Update::update_count.
  std::array<ConstantRow, UpdateRule::kConstantsMax> constants = {};  ///< Entries without a name are unused.
  std::array<SlotRow, kSlotsMax> slots = {};                          ///< Entries without a name are unused.
  /// Checks conditions that involve several constants.
  Result<void> (*check)(const UpdateRule& rule) = nullptr;
  /// Updates each element independently of the others; `g` is the gradient. Returns the largest magnitude that was written,
  /// as the bits of a float (shoal/base/finite.h).
  int32_t (*apply)(const Update& update, const Pass& pass, const float* g) = nullptr;
  /// Used instead of `apply` if the next value of an element depends on other elements of the variable.
  int32_t (*apply_whole)(const Update& update, const Pass& whole, const Contributions& contributions) = nullptr;
};

/// The row for `kind` in the table of update rules. Null for an unknown kind, which may come from a newer version.
const RuleRow* find_row(UpdateRule::Kind kind);
/// Returns the row of the table for the kind of `rule`. An unknown kind gets a row without slots, because rules that a
/// server has received are used before they are validated.
const RuleRow& row_of(const UpdateRule& rule);

/// Makes an error such as "update rule adam: beta1 is 1.000000, expected a number in [0, 1)".
Error out_of_range(const UpdateRule& rule, std::string_view constant, double value, std::string_view range);

}  // namespace shoal::nn
