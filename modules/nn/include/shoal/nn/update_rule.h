// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Update rules: how the next value of a variable is computed from its value, its slots and the pushed values. A rule is
/// data (a kind and constants), so that a parameter server can apply it without knowing the model (apply_update.h).
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::nn {

struct UpdateRule {
  /// The numbers are stored in checkpoints and sent over the network, so they never change.
  enum class Kind : uint8_t {
    kNone = 0,           ///< The variable never changes.
    kSgd = 1,            ///< No constants, no slots.
    kMomentum = 2,       ///< Constants: momentum, nesterov (0 or 1). Slot 0: accumulated gradient.
    kAdagrad = 3,        ///< Constants: initial accumulator, epsilon. Slot 0: sum of squares.
    kAdam = 4,           ///< Constants: beta1, beta2, epsilon. Slots: first and second moment.
    kAssign = 5,         ///< The pushed value replaces the variable.
    kAdd = 6,            ///< The pushed value is added.
    kMovingAverage = 7,  ///< Constants: decay. The rule is v = decay * v + (1 - decay) * pushed.
    kAdamW = 8,          ///< Constants: beta1, beta2, epsilon, weight decay. Slots: first and second moment.
    /// Constants: decay, momentum, epsilon, centered (0 or 1). Slots: mean of squares, then the accumulated step if
    /// momentum > 0, then the mean gradient if centered.
    kRmsProp = 9,
    /// Constants: initial accumulator, l1, l2, l2 shrinkage, beta. Slots: sum of squares, linear term.
    kFtrl = 10,
    /// Constants: beta1, beta2, epsilon, weight decay. Slots: first and second moment. The rule needs the whole variable
    /// (needs_whole_variable()).
    kLamb = 11,
  };
  static constexpr int kConstantsMax = 6;

  Kind kind = Kind::kNone;
  std::array<double, kConstantsMax> constants{};
  /// The index of this rule's learning rate among the scalars that a trainer pushes (if uses_learning_rate()).
  int32_t learning_rate_scalar = 0;
  /// The index of the pushed scalar by which the gradient is multiplied first (clipping by a norm); -1: none.
  int32_t gradient_scale_scalar = -1;
  friend bool operator==(const UpdateRule&, const UpdateRule&) = default;
};

std::string_view to_string(UpdateRule::Kind kind);
bool uses_learning_rate(const UpdateRule& rule);
/// True if an element's next value depends on other elements of the variable (LAMB's norms). Such a variable is never
/// divided among servers, and each of its updates is applied in one call.
bool needs_whole_variable(const UpdateRule& rule);
constexpr int kSlotsMax = 3;
/// The number of slots that the rule keeps beside the variable; at most kSlotsMax. Each slot is float32 and has the
/// variable's shape.
int slot_count(const UpdateRule& rule);
/// Returns the name of a slot: "momentum", "accumulator", "m", "v" and so on. A checkpoint appends it to the name of the
/// variable: "dense/kernel/momentum".
std::string_view slot_name(const UpdateRule& rule, int slot);
/// The initial value of every element of a slot.
float slot_start(const UpdateRule& rule, int slot);
/// InvalidArgument for unknown kinds or constants out of range; needed because rules also come from messages and files.
Result<void> validate(const UpdateRule& rule);

}  // namespace shoal::nn
