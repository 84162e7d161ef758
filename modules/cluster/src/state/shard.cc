// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/shard.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "shoal/base/finite.h"
#include "shoal/nn/initializers.h"
#include "state/row_codec.h"
#include "state/row_sums.h"

namespace shoal::cluster {
namespace {

float* floats(std::span<std::byte> arena, uint64_t offset) { return reinterpret_cast<float*>(arena.data() + offset); }
const float* floats(std::span<const std::byte> arena, uint64_t offset) {
  return reinterpret_cast<const float*>(arena.data() + offset);
}

/// The shape of the segment: the variable's shape, but with the segment's number of rows.
Shape shape_of_rows(const Segment& segment) {
  const Shape& whole = segment.variable.shape;
  return whole.rank() == 0 ? whole : whole.with(0, segment.row_end - segment.row_begin);
}

/// The number of elements in one row of the segment; 0 if the segment has no rows.
int64_t elements_in_row(const Segment& segment) {
  const int64_t rows = segment.row_end - segment.row_begin;
  return rows == 0 ? 0 : segment.elements() / rows;
}

/// Runs body(begin, end) for ranges that together cover [0, count): in parallel, if `parallel_for` is set.
template <class Body>
void run_pieces(const ParallelFor& parallel_for, size_t count, Body&& body) {
  if (!parallel_for || count < 2) return body(0, int64_t(count));
  parallel_for(int64_t(count), UniqueFunction<void(int64_t, int64_t)>(std::forward<Body>(body)));
}

float gradient_scale(const nn::UpdateRule& rule, std::span<const double> scalars) {
  // A rule that does not scale gradients has the index -1. As size_t this is larger than every index, so the function
  // returns 1.
  const auto scalar = size_t(rule.gradient_scale_scalar);
  return scalar < scalars.size() ? float(scalars[scalar]) : 1.0f;
}

/// The contribution's rows for a segment; null if the contribution has the whole segment.
const SegmentRows* rows_of(const Contribution& contribution, size_t segment) {
  return segment < contribution.rows.size() ? contribution.rows[segment] : nullptr;
}

/// Finds the rows of a dense gradient that are not all zero.
void find_rows(const Segment& segment, const float* gradient, SegmentRows& to) {
  const int64_t width = row_width(segment);
  for (int64_t row = 0; row < segment.row_end - segment.row_begin; ++row) {
    if (all_zero(gradient + row * width, width)) continue;
    to.rows.push_back(uint32_t(segment.row_begin + row));
    to.values.push_back(gradient + row * width);
  }
}

void copy_elements(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> from,
                   std::span<std::byte> to) {
  if (to.data() == from.data()) return;
  const uint64_t offset = segment.offset + uint64_t(first) * sizeof(float);
  std::memcpy(to.data() + offset, from.data() + offset, size_t(count) * sizeof(float));
}

/// Fills the segment with initial values, in ranges of whole rows that threads share. The orthogonal initializer gets a
/// single range, since each range would cost as much as the whole.
Result<void> initialize_variable(const Segment& segment, std::span<std::byte> weights, const ParallelFor& parallel_for) {
  constexpr int64_t kPieceElements = int64_t(1) << 18;
  const VariableSpec& variable = segment.variable;
  const Shape shape = shape_of_rows(segment);
  std::byte* const bytes = weights.data() + segment.offset;
  const int64_t width = elements_in_row(segment);
  const int64_t rows = segment.row_end - segment.row_begin;
  const bool whole = variable.initializer.kind == Initializer::Kind::kOrthogonal || shape.rank() == 0 || width == 0;
  const int64_t rows_at_once = whole ? rows : std::max<int64_t>(1, kPieceElements / width);
  if (whole || rows_at_once >= rows) {
    return nn::initialize(variable.initializer, variable.key, segment.first_element(), {variable.dtype, shape, bytes});
  }
  std::vector<Result<void>> results(size_t((rows - 1) / rows_at_once + 1));
  run_pieces(parallel_for, results.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i * rows_at_once;
      const MutableTensorView view{variable.dtype, shape.with(0, std::min(rows_at_once, rows - row)),
                                   bytes + row * width * int64_t(size_of(variable.dtype))};
      results[size_t(i)] = nn::initialize(variable.initializer, variable.key, segment.first_element() + row * width, view);
    }
  });
  const auto failed = std::ranges::find_if(results, [](const Result<void>& result) { return !result; });
  return failed == results.end() ? Result<void>() : std::move(*failed);
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

Shard::Shard(ShardSpec spec, BufferPool& pool)
    : spec_(std::move(spec)),
      pool_(pool),
      pieces_(pieces_of(spec_)),
      exempt_(spec_.segments.size(), true),
      poisoned_(std::make_unique<std::atomic<size_t>>(spec_.segments.size())) {
  for (int32_t i = 0; i < spec_.slot_count; ++i) {
    slots_.push_back(pool_.get(spec_.arena_bytes));
    std::memset(slots_.back()->data(), 0, spec_.arena_bytes);
  }
}

/// Divides the update into pieces. They are small enough to divide evenly among threads, and so large that handing one to a
/// thread costs little in comparison.
std::vector<Shard::Piece> Shard::pieces_of(const ShardSpec& spec) {
  constexpr int64_t kPieceElements = int64_t(1) << 16;
  std::vector<Piece> pieces;
  for (size_t s = 0; s < spec.segments.size(); ++s) {
    const Segment& segment = spec.segments[s];
    const nn::UpdateRule& rule = segment.variable.rule;
    if (rule.kind == nn::UpdateRule::Kind::kNone) continue;
    const int64_t elements = segment.elements();
    int64_t most = nn::needs_whole_variable(rule) ? elements : kPieceElements;
    const int64_t width = elements_in_row(segment);
    if (segment.variable.lazy_rows && width > 0) most = std::max(width, most / width * width);
    for (int64_t first = 0; first < elements; first += most) {
      pieces.push_back({s, first, std::min(most, elements - first)});
    }
  }
  return pieces;
}

Result<void> Shard::initialize(std::span<std::byte> weights, const ParallelFor& parallel_for) {
  SHOAL_CHECK(weights.size() == spec_.arena_bytes);
  std::memset(weights.data(), 0, weights.size());
  for (const Segment& segment : spec_.segments) {
    SHOAL_TRY_VOID(initialize_variable(segment, weights, parallel_for));
    const nn::UpdateRule& rule = segment.variable.rule;
    for (int slot = 0; slot < nn::slot_count(rule); ++slot) {
      std::fill_n(floats(mutable_slot(slot), segment.offset), segment.elements(), nn::slot_start(rule, slot));
    }
  }
  counters_ = {};
  return {};
}

void Shard::begin(std::span<const std::byte> weights) {
  SHOAL_CHECK(weights.size() == spec_.arena_bytes);
  poisoned_->store(spec_.segments.size(), std::memory_order_relaxed);
  for (size_t i = 0; i < spec_.segments.size(); ++i) {
    const Segment& segment = spec_.segments[i];
    const auto is_sound = [&segment](std::span<const std::byte> arena) {
      return all_finite({floats(arena, segment.offset), size_t(segment.elements())});
    };
    exempt_[i] = segment.variable.dtype != DType::kFloat32 || !is_sound(weights);
    for (int slot = 0; slot < nn::slot_count(segment.variable.rule) && !exempt_[i]; ++slot) {
      exempt_[i] = !is_sound(slots_[size_t(slot)]->bytes());
    }
  }
}

const Segment* Shard::poisoned() const {
  const size_t index = poisoned_->load(std::memory_order_relaxed);
  return index < spec_.segments.size() ? &spec_.segments[index] : nullptr;
}

/// Notes a segment with a NaN or an infinity. Keeps the smallest index, so that reports do not depend on threads' order.
void Shard::note_poison(const Segment& segment) const {
  const auto index = size_t(&segment - spec_.segments.data());
  if (exempt_[index]) return;
  size_t first = poisoned_->load(std::memory_order_relaxed);
  while (index < first && !poisoned_->compare_exchange_weak(first, index, std::memory_order_relaxed)) {
  }
}

std::span<std::byte> Shard::mutable_slot(int slot) {
  Ref<Buffer>& buffer = slots_[size_t(slot)];
  if (!buffer->unique()) {  // Copies the slot: a snapshot still needs the old values.
    Ref<Buffer> copy = pool_.get(spec_.arena_bytes);
    std::memcpy(copy->data(), buffer->data(), spec_.arena_bytes);
    buffer = std::move(copy);
  }
  return buffer->bytes();
}

Result<void> Shard::apply(std::span<const std::byte> current, std::span<std::byte> next,
                          std::span<const Contribution> contributions, const ParallelFor& parallel_for) {
  SHOAL_CHECK(current.size() == spec_.arena_bytes && next.size() == spec_.arena_bytes && !contributions.empty());
  for (const Contribution& contribution : contributions) {
    if (contribution.scalars.size() != size_t(spec_.scalar_count)) {
      return invalid_argument("push with " + std::to_string(contribution.scalars.size()) + " scalars; the shard takes " +
                              std::to_string(spec_.scalar_count));
    }
    if (contribution.gradients.size() != spec_.arena_bytes) {
      return invalid_argument("push of " + std::to_string(contribution.gradients.size()) + " bytes; the shard has " +
                              std::to_string(spec_.arena_bytes));
    }
  }
  gradients_.resize(pieces_.size() * contributions.size());
  scales_.resize(pieces_.size() * contributions.size());
  begin_update();
  const Update update{{current, next, contributions.front().scalars}, contributions, 1.0f / float(contributions.size())};
  run_pieces(parallel_for, pieces_.size(), [this, &update](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) update_piece(size_t(i), update);
  });
  finish(update);
  return {};
}

void Shard::update_piece(size_t index, const Update& update) {
  const ComputeMode mode(spec_.denormals);
  const Piece& piece = pieces_[index];
  const auto gives_rows = [&piece](const Contribution& contribution) { return rows_of(contribution, piece.segment); };
  if (std::ranges::any_of(update.contributions, gives_rows)) return;
  const Segment& segment = spec_.segments[piece.segment];
  const size_t count = update.contributions.size();
  const std::span<const float*> gradients(gradients_.data() + index * count, count);
  const std::span<float> scales(scales_.data() + index * count, count);
  for (size_t i = 0; i < count; ++i) {
    gradients[i] = floats(update.contributions[i].gradients, segment.offset) + piece.first;
    scales[i] = gradient_scale(segment.variable.rule, update.contributions[i].scalars);
  }
  const nn::Contributions contributions{gradients, scales, update.factor};
  if (!segment.variable.lazy_rows) {
    update_elements(segment, piece.first, piece.count, update.place, contributions);
  } else if (count == 1) {
    update_touched(segment, piece.first, piece.count, update.place, contributions);
  } else {
    update_touched_by_some(segment, piece.first, piece.count, update.place, contributions);
  }
}

bool Shard::slots_unheld() const {
  return std::ranges::all_of(slots_, [](const Ref<Buffer>& slot) { return slot->unique(); });
}

void Shard::begin_update() {
  for (int slot = 0; slot < spec_.slot_count; ++slot) mutable_slot(slot);
  ++counters_.update_count;
  ++counters_.version;
}

void Shard::withdraw_update() {
  --counters_.update_count;
  --counters_.version;
}

void Shard::update_part(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> current,
                        std::span<std::byte> next, const float* gradient, std::span<const double> scalars) const {
  const ComputeMode mode(spec_.denormals);
  const float scale = gradient_scale(segment.variable.rule, scalars);
  const nn::Contributions contributions{{&gradient, 1}, {&scale, 1}, 1.0f};
  const Place place{current, next, scalars};
  if (!segment.variable.lazy_rows) return update_elements(segment, first, count, place, contributions);
  update_touched(segment, first, count, place, contributions);
}

void Shard::finish_update(std::span<const std::byte> current, std::span<std::byte> next, std::span<const double> scalars,
                          std::span<const SegmentRows* const> rows) const {
  const Contribution contribution{{}, scalars, rows};
  finish({{current, next, scalars}, {&contribution, 1}, 1.0f});
}

void Shard::finish(const Update& update) const {
  const ComputeMode mode(spec_.denormals);
  const Place& place = update.place;
  const bool elsewhere = place.next.data() != place.current.data();
  for (size_t i = 0; i < spec_.segments.size(); ++i) {
    const Segment& segment = spec_.segments[i];
    const bool untouched = segment.variable.rule.kind == nn::UpdateRule::Kind::kNone;
    const auto gives_rows = [i](const Contribution& contribution) { return rows_of(contribution, i); };
    const bool given = std::ranges::any_of(update.contributions, gives_rows);
    if ((untouched || given) && elsewhere) {
      std::memcpy(place.next.data() + segment.offset, place.current.data() + segment.offset, segment.bytes);
    }
    if (!untouched && given) update_given_rows(i, update);
  }
  if (elsewhere) zero_padding(spec_, place.next);
}

/// Updates the rows that contributors sent. A contributor that sent the whole segment counts as if it had sent those of its
/// rows that are not all zero.
void Shard::update_given_rows(size_t index, const Update& update) const {
  const Segment& segment = spec_.segments[index];
  const nn::UpdateRule& rule = segment.variable.rule;
  if (update.contributions.size() == 1) {
    const Contribution& only = update.contributions.front();
    return update_rows(segment, *rows_of(only, index), update.place, gradient_scale(rule, only.scalars), update.factor);
  }
  std::vector<SegmentRows> found(update.contributions.size());
  std::vector<GivenRows> given;
  for (size_t i = 0; i < update.contributions.size(); ++i) {
    const Contribution& contribution = update.contributions[i];
    const SegmentRows* rows = rows_of(contribution, index);
    if (!rows) {
      find_rows(segment, floats(contribution.gradients, segment.offset), found[i]);
      rows = &found[i];
    }
    given.push_back({rows, gradient_scale(rule, contribution.scalars)});
  }
  update_rows(segment, given, update.place, update.factor);
}

void Shard::update_rows(const Segment& segment, const SegmentRows& rows, const Place& place, float scale,
                        float factor) const {
  const int64_t width = row_width(segment);
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    if (i + kRowsAhead < rows.rows.size()) ask_for_row(segment, rows.rows[i + kRowsAhead], width, place);
    const float* gradient = rows.values[i];
    if (all_zero(gradient, width)) continue;
    const int64_t row = int64_t(rows.rows[i]) - segment.row_begin;
    update_elements(segment, row * width, width, place, {{&gradient, 1}, {&scale, 1}, factor});
  }
}

void Shard::ask_for_row(const Segment& segment, uint32_t row, int64_t width, const Place& place) const {
  const int64_t first = (int64_t(row) - segment.row_begin) * width;
  __builtin_prefetch(floats(place.next, segment.offset) + first, 1);
  for (int i = 0; i < nn::slot_count(segment.variable.rule); ++i) {
    __builtin_prefetch(floats(slots_[size_t(i)]->bytes(), segment.offset) + first, 1);
  }
}

/// Merges the lists of rows of all contributors, each in ascending order, and updates each row once.
void Shard::update_rows(const Segment& segment, std::span<const GivenRows> given, const Place& place, float factor) const {
  constexpr uint64_t kEnd = ~uint64_t(0);
  const int64_t width = row_width(segment);
  std::vector<size_t> at(given.size());
  std::vector<const float*> gradients;
  std::vector<float> scales;
  const auto row_at = [&](size_t i) {
    return at[i] < given[i].rows->rows.size() ? uint64_t(given[i].rows->rows[at[i]]) : kEnd;
  };
  for (;;) {
    uint64_t row = kEnd;
    for (size_t i = 0; i < given.size(); ++i) row = std::min(row, row_at(i));
    if (row == kEnd) return;
    gradients.clear();
    scales.clear();
    for (size_t i = 0; i < given.size(); ++i) {
      if (row_at(i) != row) continue;
      const std::vector<uint32_t>& rows = given[i].rows->rows;
      if (at[i] + kRowsAhead < rows.size()) ask_for_row(segment, rows[at[i] + kRowsAhead], width, place);
      const float* gradient = given[i].rows->values[at[i]++];
      if (all_zero(gradient, width)) continue;
      gradients.push_back(gradient);
      scales.push_back(given[i].scale);
    }
    const int64_t first = (int64_t(row) - segment.row_begin) * width;
    if (!gradients.empty()) update_elements(segment, first, width, place, {gradients, scales, factor});
  }
}

/// Updates the rows that are not all zero in one dense gradient; neighbouring rows are updated in one pass.
void Shard::update_touched(const Segment& segment, int64_t first, int64_t count, const Place& place,
                           const nn::Contributions& contributions) const {
  copy_elements(segment, first, count, place.current, place.next);
  const float* const gradient = contributions.gradients.front();
  const int64_t width = elements_in_row(segment);
  const int64_t rows = width == 0 ? 0 : count / width;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = row;
    while (row < rows && !all_zero(gradient + row * width, width)) ++row;
    if (row == begin) continue;
    const float* const from = gradient + begin * width;
    update_elements(segment, first + begin * width, (row - begin) * width, place,
                    {{&from, 1}, contributions.scales, contributions.factor});
  }
}

/// Updates row by row from several dense gradients. A contributor whose row is all zero is left out of that row's sum.
void Shard::update_touched_by_some(const Segment& segment, int64_t first, int64_t count, const Place& place,
                                   const nn::Contributions& contributions) const {
  copy_elements(segment, first, count, place.current, place.next);
  const int64_t width = elements_in_row(segment);
  const int64_t rows = width == 0 ? 0 : count / width;
  std::vector<const float*> gradients;
  std::vector<float> scales;
  for (int64_t row = 0; row < rows; ++row) {
    gradients.clear();
    scales.clear();
    for (size_t i = 0; i < contributions.gradients.size(); ++i) {
      const float* const gradient = contributions.gradients[i] + row * width;
      if (all_zero(gradient, width)) continue;
      gradients.push_back(gradient);
      scales.push_back(contributions.scales[i]);
    }
    if (gradients.empty()) continue;
    update_elements(segment, first + row * width, width, place, {gradients, scales, contributions.factor});
  }
}

/// Updates the elements first .. first + count of the segment.
void Shard::update_elements(const Segment& segment, int64_t first, int64_t count, const Place& place,
                            const nn::Contributions& contributions) const {
  const nn::UpdateRule& rule = segment.variable.rule;
  std::array<float*, nn::kSlotsMax> slots{};
  const auto slot_count = size_t(nn::slot_count(rule));
  for (size_t i = 0; i < slot_count; ++i) slots[i] = floats(slots_[i]->bytes(), segment.offset) + first;
  const auto scalar = size_t(rule.learning_rate_scalar);  // Rules without a learning rate ignore `learning_rate`.
  const double learning_rate = scalar < place.scalars.size() ? place.scalars[scalar] : 0.0;
  const bool sound =
      nn::apply_update(rule, learning_rate, counters_.update_count, count, floats(place.current, segment.offset) + first,
                       floats(place.next, segment.offset) + first, {slots.data(), slot_count}, contributions);
  if (!sound) note_poison(segment);
}

}  // namespace shoal::cluster
