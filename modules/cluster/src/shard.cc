#include "shoal/cluster/shard.h"

#include <algorithm>
#include <cstring>

#include "row_sums.h"
#include "shoal/nn/initialisers.h"

namespace shoal::cluster {
namespace {

float* floats(std::span<std::byte> arena, uint64_t offset) { return reinterpret_cast<float*>(arena.data() + offset); }
const float* floats(std::span<const std::byte> arena, uint64_t offset) {
  return reinterpret_cast<const float*>(arena.data() + offset);
}

}  // namespace

void zero_padding(const ShardSpec& spec, std::span<std::byte> arena) {
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    const uint64_t end = spec.segments[i].offset + spec.segments[i].bytes;
    const uint64_t next = i + 1 < spec.segments.size() ? spec.segments[i + 1].offset : spec.arena_bytes;
    std::memset(arena.data() + end, 0, next - end);
  }
  if (spec.segments.empty()) std::memset(arena.data(), 0, spec.arena_bytes);
}

Shard::Shard(ShardSpec spec, BufferPool& pool) : spec_(std::move(spec)), pool_(pool) {
  for (int32_t i = 0; i < spec_.slot_count; ++i) {
    slots_.push_back(pool_.get(spec_.arena_bytes));
    std::memset(slots_.back()->data(), 0, spec_.arena_bytes);
  }
  slot_pointers_.resize(size_t(spec_.slot_count));
}

Result<void> Shard::initialise(std::span<std::byte> weights) {
  SHOAL_CHECK(weights.size() == spec_.arena_bytes);
  std::memset(weights.data(), 0, weights.size());
  for (const Segment& segment : spec_.segments) {
    const VariableSpec& variable = segment.variable;
    MutableTensorView view{variable.dtype, Shape{segment.elements()}, weights.data() + segment.offset};
    SHOAL_TRY_VOID(nn::initialise(variable.initialiser, variable.key, segment.first_element(), view));
    for (int slot = 0; slot < nn::slot_count(variable.rule); ++slot) {
      std::fill_n(floats(mutable_slot(slot), segment.offset), segment.elements(), nn::slot_start(variable.rule, slot));
    }
  }
  counters_ = {};
  return {};
}

std::span<std::byte> Shard::mutable_slot(int slot) {
  Ref<Buffer>& buffer = slots_[size_t(slot)];
  if (!buffer->unique()) {  // a snapshot holds it: leave that state to it
    Ref<Buffer> copy = pool_.get(spec_.arena_bytes);
    std::memcpy(copy->data(), buffer->data(), spec_.arena_bytes);
    buffer = std::move(copy);
  }
  return buffer->bytes();
}

Result<void> Shard::apply(std::span<const std::byte> current, std::span<std::byte> next,
                          std::span<const std::span<const std::byte>> pushes, std::span<const double> scalars,
                          std::span<const RowSums* const> row_sums) {
  SHOAL_CHECK(current.size() == spec_.arena_bytes && next.size() == spec_.arena_bytes && !pushes.empty());
  if (scalars.size() != size_t(spec_.scalar_count)) {
    return invalid_argument("push with " + std::to_string(scalars.size()) + " scalars; the shard takes " +
                            std::to_string(spec_.scalar_count));
  }
  for (std::span<const std::byte> push : pushes) {
    if (push.size() != spec_.arena_bytes) {
      return invalid_argument("push of " + std::to_string(push.size()) + " bytes; the shard has " +
                              std::to_string(spec_.arena_bytes));
    }
  }
  gradients_.resize(pushes.size());
  scales_.assign(pushes.size(), 1.0f);
  for (int slot = 0; slot < spec_.slot_count; ++slot) mutable_slot(slot);
  ++counters_.update_count;
  ++counters_.version;
  const Update update{current, next, pushes, scalars};
  for (size_t i = 0; i < spec_.segments.size(); ++i) {
    update_segment(spec_.segments[i], update, i < row_sums.size() ? row_sums[i] : nullptr);
  }
  if (next.data() != current.data()) zero_padding(spec_, next);
  return {};
}

void Shard::update_segment(const Segment& segment, const Update& update, const RowSums* row_sums) {
  const bool untouched = segment.variable.rule.kind == nn::UpdateRule::Kind::kNone;
  const bool lazy = segment.variable.lazy_rows;
  if ((untouched || lazy) && update.next.data() != update.current.data()) {
    std::memcpy(update.next.data() + segment.offset, update.current.data() + segment.offset, segment.bytes);
  }
  if (untouched) return;
  if (!lazy) {
    for (size_t i = 0; i < update.pushes.size(); ++i) gradients_[i] = floats(update.pushes[i], segment.offset);
    return update_elements(segment, update, 0, segment.elements());
  }
  if (!row_sums) return update_rows_pushed(segment, update);
  gradients_.resize(1);
  for (size_t i = 0; i < row_sums->touched().size(); ++i) {
    const int64_t row = row_sums->touched()[i] - segment.row_begin;
    gradients_[0] = row_sums->sum(i);
    if (!all_zero(gradients_[0], row_sums->width())) {
      update_elements(segment, update, row * row_sums->width(), row_sums->width());
    }
  }
  gradients_.resize(update.pushes.size());
}

/// Of a dense push: neighbouring rows that have a gradient in one pass.
void Shard::update_rows_pushed(const Segment& segment, const Update& update) {
  const int64_t rows = segment.row_end - segment.row_begin;
  const int64_t width = rows == 0 ? 0 : segment.elements() / rows;
  auto has_gradient = [&](int64_t row) {
    return std::any_of(update.pushes.begin(), update.pushes.end(), [&](std::span<const std::byte> push) {
      return !all_zero(floats(push, segment.offset) + row * width, width);
    });
  };
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row;
    while (row < rows && has_gradient(row)) ++row;
    if (row == first) continue;
    for (size_t i = 0; i < update.pushes.size(); ++i) {
      gradients_[i] = floats(update.pushes[i], segment.offset) + first * width;
    }
    update_elements(segment, update, first * width, (row - first) * width);
  }
}

/// Elements first .. first + count of the segment, whose gradients are gradients_.
void Shard::update_elements(const Segment& segment, const Update& update, int64_t first, int64_t count) {
  const nn::UpdateRule& rule = segment.variable.rule;
  for (size_t i = 0; i < slots_.size(); ++i) slot_pointers_[i] = floats(slots_[i]->bytes(), segment.offset) + first;
  const auto scalar = size_t(rule.learning_rate_scalar);  // rules without a learning rate may name none
  const double learning_rate = scalar < update.scalars.size() ? update.scalars[scalar] : 0.0;
  const std::span<const float* const> gradients(gradients_);
  const nn::Contributions contributions{gradients, std::span<const float>(scales_).first(gradients.size()),
                                        1.0f / float(update.pushes.size())};
  nn::apply_update(rule, learning_rate, counters_.update_count, count, floats(update.current, segment.offset) + first,
                   floats(update.next, segment.offset) + first,
                   std::span<float* const>(slot_pointers_.data(), size_t(nn::slot_count(rule))), contributions);
}

}  // namespace shoal::cluster
