// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/apply_update.h"

#include <algorithm>
#include <cstring>

#include "folded_gradient.h"
#include "shoal/base/finite.h"
#include "update_rows.h"

namespace shoal::nn {

bool apply_update(const UpdateRule& rule, double learning_rate, uint64_t update_count, int64_t count, const float* current,
                  float* next, std::span<float* const> slots, const Contributions& contributions) {
  if (count == 0) return true;
  if (rule.kind == UpdateRule::Kind::kNone) {
    if (next != current) std::memcpy(next, current, size_t(count) * sizeof(float));
    return true;
  }
  const RuleRow& row = row_of(rule);
  SHOAL_CHECK((row.apply || row.apply_whole) && "rules are validated before they are applied");
  const int kept = slot_count(rule);
  SHOAL_CHECK(int(slots.size()) >= kept);
  SHOAL_CHECK(!contributions.gradients.empty() && contributions.gradients.size() == contributions.scales.size());
  SHOAL_CHECK(update_count > 0 || !row.counts_updates);
  const Update update{rule, learning_rate, update_count};
  Pass whole{count, current, next, {}};
  std::copy_n(slots.begin(), kept, whole.slots.begin());
  if (row.apply_whole) return row.apply_whole(update, whole, contributions) < kInfinityBits;
  if (is_alone(contributions)) return row.apply(update, whole, contributions.gradients[0]) < kInfinityBits;
  int32_t largest = 0;
  alignas(64) float room[kFoldElements];
  for (int64_t first = 0; first < count; first += kFoldElements) {
    const int64_t here = std::min(kFoldElements, count - first);
    largest = std::max(largest, row.apply(update, whole.at(first, here), gradient_at(contributions, first, here, room)));
  }
  return largest < kInfinityBits;
}

}  // namespace shoal::nn
