// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/manifest.h"

#include <algorithm>

#include "shoal/base/number_text.h"

namespace shoal::checkpoint {
namespace {
constexpr std::string_view kNamePrefix = "model.ckpt-";
}

uint64_t TensorEntry::row_bytes() const {
  uint64_t elements = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) elements *= uint64_t(shape[axis]);
  return elements * size_of(dtype);
}

const TensorEntry* Manifest::find(std::string_view name) const {
  const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                   [](const TensorEntry& entry, std::string_view key) { return entry.name < key; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

uint64_t Manifest::data_bytes() const {
  uint64_t sum = 0;
  for (const DataFile& file : files) sum += file.bytes;
  return sum;
}

std::string checkpoint_name(int64_t global_step) { return std::string(kNamePrefix) + std::to_string(global_step); }

std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  const auto step = number_from<int64_t>(name.substr(kNamePrefix.size()));
  // Numbers with leading zeros ("model.ckpt-007") are refused, since checkpoint_name() writes none.
  if (!step || *step < 0 || checkpoint_name(*step) != name) return std::nullopt;
  return step;
}

}  // namespace shoal::checkpoint
