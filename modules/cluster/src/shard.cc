#include "shoal/cluster/shard.h"

#include <cstring>

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
                          std::span<const std::span<const std::byte>> pushes, std::span<const double> scalars) {
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
  for (const Segment& segment : spec_.segments) update_segment(segment, current, next, pushes, scalars);
  if (next.data() != current.data()) zero_padding(spec_, next);
  return {};
}

void Shard::update_segment(const Segment& segment, std::span<const std::byte> current, std::span<std::byte> next,
                           std::span<const std::span<const std::byte>> pushes, std::span<const double> scalars) {
  const nn::UpdateRule& rule = segment.variable.rule;
  if (rule.kind == nn::UpdateRule::Kind::kNone) {
    if (next.data() != current.data()) {
      std::memcpy(next.data() + segment.offset, current.data() + segment.offset, segment.bytes);
    }
    return;
  }
  for (size_t i = 0; i < pushes.size(); ++i) gradients_[i] = floats(pushes[i], segment.offset);
  for (size_t i = 0; i < slots_.size(); ++i) slot_pointers_[i] = floats(slots_[i]->bytes(), segment.offset);
  const auto scalar = size_t(rule.learning_rate_scalar);  // rules without a learning rate may name none
  const double learning_rate = scalar < scalars.size() ? scalars[scalar] : 0.0;
  const nn::Contributions contributions{gradients_, scales_, 1.0f / float(pushes.size())};
  nn::apply_update(rule, learning_rate, counters_.update_count, segment.elements(), floats(current, segment.offset),
                   floats(next, segment.offset), std::span<float* const>(slot_pointers_.data(), size_t(nn::slot_count(rule))),
                   contributions);
}

}  // namespace shoal::cluster
