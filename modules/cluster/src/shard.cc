#include "shoal/cluster/shard.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "shoal/nn/initialisers.h"

namespace shoal::cluster {
namespace {

float* floats(std::span<std::byte> arena, uint64_t offset) { return reinterpret_cast<float*>(arena.data() + offset); }
const float* floats(std::span<const std::byte> arena, uint64_t offset) {
  return reinterpret_cast<const float*>(arena.data() + offset);
}

float gradient_scale(const nn::UpdateRule& rule, std::span<const double> scalars) {
  const auto scalar = size_t(rule.gradient_scale_scalar);  // -1: none
  return scalar < scalars.size() ? float(scalars[scalar]) : 1.0f;
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
  scales_.resize(pushes.size());
  begin_update();
  for (const Segment& segment : spec_.segments) {
    if (segment.variable.rule.kind == nn::UpdateRule::Kind::kNone) continue;
    for (size_t i = 0; i < pushes.size(); ++i) gradients_[i] = floats(pushes[i], segment.offset);
    std::fill(scales_.begin(), scales_.end(), gradient_scale(segment.variable.rule, scalars));
    update_segment(segment, 0, segment.elements(), current, next, scalars,
                   {gradients_, scales_, 1.0f / float(pushes.size())});
  }
  finish_update(current, next);
  return {};
}

void Shard::begin_update() {
  for (int slot = 0; slot < spec_.slot_count; ++slot) mutable_slot(slot);
  ++counters_.update_count;
  ++counters_.version;
}

void Shard::update_part(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> current,
                        std::span<std::byte> next, const float* gradient, std::span<const double> scalars) const {
  const float scale = gradient_scale(segment.variable.rule, scalars);
  update_segment(segment, first, count, current, next, scalars, {{&gradient, 1}, {&scale, 1}, 1.0f});
}

void Shard::finish_update(std::span<const std::byte> current, std::span<std::byte> next) const {
  if (next.data() == current.data()) return;
  for (const Segment& segment : spec_.segments) {
    if (segment.variable.rule.kind != nn::UpdateRule::Kind::kNone) continue;
    std::memcpy(next.data() + segment.offset, current.data() + segment.offset, segment.bytes);
  }
  zero_padding(spec_, next);
}

void Shard::update_segment(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> current,
                           std::span<std::byte> next, std::span<const double> scalars,
                           const nn::Contributions& contributions) const {
  const nn::UpdateRule& rule = segment.variable.rule;
  std::array<float*, nn::kSlotsMax> slots{};
  const auto slot_count = size_t(nn::slot_count(rule));
  for (size_t i = 0; i < slot_count; ++i) slots[i] = floats(slots_[i]->bytes(), segment.offset) + first;
  const auto scalar = size_t(rule.learning_rate_scalar);  // rules without a learning rate may name none
  const double learning_rate = scalar < scalars.size() ? scalars[scalar] : 0.0;
  nn::apply_update(rule, learning_rate, counters_.update_count, count, floats(current, segment.offset) + first,
                   floats(next, segment.offset) + first, {slots.data(), slot_count}, contributions);
}

}  // namespace shoal::cluster
