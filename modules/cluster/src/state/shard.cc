#include "shoal/cluster/shard.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "shoal/nn/initialisers.h"
#include "state/row_codec.h"
#include "state/row_sums.h"

namespace shoal::cluster {
namespace {

float* floats(std::span<std::byte> arena, uint64_t offset) { return reinterpret_cast<float*>(arena.data() + offset); }
const float* floats(std::span<const std::byte> arena, uint64_t offset) {
  return reinterpret_cast<const float*>(arena.data() + offset);
}

/// The variable's, but for the rows.
Shape shape_of_rows(const Segment& segment) {
  const Shape& whole = segment.variable.shape;
  return whole.rank() == 0 ? whole : whole.with(0, segment.row_end - segment.row_begin);
}

/// Of the rows of a segment; 0 if it has none.
int64_t elements_in_row(const Segment& segment) {
  const int64_t rows = segment.row_end - segment.row_begin;
  return rows == 0 ? 0 : segment.elements() / rows;
}

/// body(begin, end) over [0, count).
template <class Body>
void run_pieces(const ParallelFor& parallel_for, size_t count, Body&& body) {
  if (!parallel_for || count < 2) return body(0, int64_t(count));
  parallel_for(int64_t(count), UniqueFunction<void(int64_t, int64_t)>(std::forward<Body>(body)));
}

float gradient_scale(const nn::UpdateRule& rule, std::span<const double> scalars) {
  const auto scalar = size_t(rule.gradient_scale_scalar);  // -1: none
  return scalar < scalars.size() ? float(scalars[scalar]) : 1.0f;
}

/// In pieces of whole rows, but for an initialiser of which each piece would cost all of it.
Result<void> initialise_variable(const Segment& segment, std::span<std::byte> weights, const ParallelFor& parallel_for) {
  constexpr int64_t kPieceElements = int64_t(1) << 18;
  const VariableSpec& variable = segment.variable;
  const Shape shape = shape_of_rows(segment);
  std::byte* const bytes = weights.data() + segment.offset;
  const int64_t width = elements_in_row(segment);
  const int64_t rows = segment.row_end - segment.row_begin;
  const bool whole = variable.initialiser.kind == Initialiser::Kind::kOrthogonal || shape.rank() == 0 || width == 0;
  const int64_t rows_at_once = whole ? rows : std::max<int64_t>(1, kPieceElements / width);
  if (whole || rows_at_once >= rows) {
    return nn::initialise(variable.initialiser, variable.key, segment.first_element(), {variable.dtype, shape, bytes});
  }
  std::vector<Result<void>> results(size_t((rows - 1) / rows_at_once + 1));
  run_pieces(parallel_for, results.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i * rows_at_once;
      const MutableTensorView view{variable.dtype, shape.with(0, std::min(rows_at_once, rows - row)),
                                   bytes + row * width * int64_t(size_of(variable.dtype))};
      results[size_t(i)] =
          nn::initialise(variable.initialiser, variable.key, segment.first_element() + row * width, view);
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

Shard::Shard(ShardSpec spec, BufferPool& pool) : spec_(std::move(spec)), pool_(pool), pieces_(pieces_of(spec_)) {
  for (int32_t i = 0; i < spec_.slot_count; ++i) {
    slots_.push_back(pool_.get(spec_.arena_bytes));
    std::memset(slots_.back()->data(), 0, spec_.arena_bytes);
  }
}

/// Pieces are small enough to share out evenly, and large enough that handing one out costs nothing beside it.
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

Result<void> Shard::initialise(std::span<std::byte> weights, const ParallelFor& parallel_for) {
  SHOAL_CHECK(weights.size() == spec_.arena_bytes);
  std::memset(weights.data(), 0, weights.size());
  for (const Segment& segment : spec_.segments) {
    SHOAL_TRY_VOID(initialise_variable(segment, weights, parallel_for));
    const nn::UpdateRule& rule = segment.variable.rule;
    for (int slot = 0; slot < nn::slot_count(rule); ++slot) {
      std::fill_n(floats(mutable_slot(slot), segment.offset), segment.elements(), nn::slot_start(rule, slot));
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
                          std::span<const SegmentRows* const> rows, const ParallelFor& parallel_for) {
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
  for (auto* table : {&gradients_, &rows_gradients_}) table->resize(pieces_.size() * pushes.size());
  scales_.resize(pieces_.size() * pushes.size());
  begin_update();
  const Update update{{current, next, scalars}, pushes, rows, 1.0f / float(pushes.size())};
  run_pieces(parallel_for, pieces_.size(), [this, &update](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) update_piece(size_t(i), update);
  });
  finish(update.place, rows, update.factor);
  return {};
}

void Shard::update_piece(size_t index, const Update& update) {
  const Piece& piece = pieces_[index];
  if (piece.segment < update.rows.size() && update.rows[piece.segment]) return;
  const Segment& segment = spec_.segments[piece.segment];
  const size_t count = update.pushes.size();
  const std::span<const float*> gradients(gradients_.data() + index * count, count);
  const std::span<float> scales(scales_.data() + index * count, count);
  for (size_t i = 0; i < count; ++i) gradients[i] = floats(update.pushes[i], segment.offset) + piece.first;
  std::ranges::fill(scales, gradient_scale(segment.variable.rule, update.place.scalars));
  const nn::Contributions contributions{gradients, scales, update.factor};
  if (segment.variable.lazy_rows) {
    const std::span<const float*> rows(rows_gradients_.data() + index * count, count);
    update_touched(segment, piece.first, piece.count, update.place, contributions, rows);
  } else {
    update_elements(segment, piece.first, piece.count, update.place, contributions);
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

void Shard::update_part(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> current,
                        std::span<std::byte> next, const float* gradient, std::span<const double> scalars) const {
  const float scale = gradient_scale(segment.variable.rule, scalars);
  const nn::Contributions contributions{{&gradient, 1}, {&scale, 1}, 1.0f};
  const Place place{current, next, scalars};
  if (!segment.variable.lazy_rows) return update_elements(segment, first, count, place, contributions);
  const float* rows_gradient = nullptr;
  update_touched(segment, first, count, place, contributions, {&rows_gradient, 1});
}

void Shard::finish_update(std::span<const std::byte> current, std::span<std::byte> next, std::span<const double> scalars,
                          std::span<const SegmentRows* const> rows) const {
  finish({current, next, scalars}, rows, 1.0f);
}

void Shard::finish(const Place& place, std::span<const SegmentRows* const> rows, float factor) const {
  const bool elsewhere = place.next.data() != place.current.data();
  for (size_t i = 0; i < spec_.segments.size(); ++i) {
    const Segment& segment = spec_.segments[i];
    const bool untouched = segment.variable.rule.kind == nn::UpdateRule::Kind::kNone;
    const SegmentRows* given = i < rows.size() ? rows[i] : nullptr;
    if ((untouched || given) && elsewhere) {
      std::memcpy(place.next.data() + segment.offset, place.current.data() + segment.offset, segment.bytes);
    }
    if (!untouched && given) update_rows(segment, *given, place, factor);
  }
  if (elsewhere) zero_padding(spec_, place.next);
}

void Shard::update_rows(const Segment& segment, const SegmentRows& rows, const Place& place, float factor) const {
  const float scale = gradient_scale(segment.variable.rule, place.scalars);
  const int64_t width = row_width(segment);
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const float* gradient = rows.values[i];
    if (all_zero(gradient, width)) continue;
    const int64_t row = int64_t(rows.rows[i]) - segment.row_begin;
    update_elements(segment, row * width, width, place, {{&gradient, 1}, {&scale, 1}, factor});
  }
}

/// Of dense gradients, the rows that have one: neighbouring rows in one pass. `rows_gradients` has room for as many
/// pointers as there are contributions.
void Shard::update_touched(const Segment& segment, int64_t first, int64_t count, const Place& place,
                           const nn::Contributions& contributions, std::span<const float*> rows_gradients) const {
  if (place.next.data() != place.current.data()) {
    const uint64_t offset = segment.offset + uint64_t(first) * sizeof(float);
    std::memcpy(place.next.data() + offset, place.current.data() + offset, size_t(count) * sizeof(float));
  }
  const int64_t width = elements_in_row(segment);
  const int64_t rows = width == 0 ? 0 : count / width;
  auto has_gradient = [&](int64_t row) {
    return std::any_of(contributions.gradients.begin(), contributions.gradients.end(),
                       [&](const float* gradient) { return !all_zero(gradient + row * width, width); });
  };
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = row;
    while (row < rows && has_gradient(row)) ++row;
    if (row == begin) continue;
    for (size_t i = 0; i < rows_gradients.size(); ++i) rows_gradients[i] = contributions.gradients[i] + begin * width;
    update_elements(segment, first + begin * width, (row - begin) * width, place,
                    {rows_gradients, contributions.scales, contributions.factor});
  }
}

/// Elements first .. first + count of the segment.
void Shard::update_elements(const Segment& segment, int64_t first, int64_t count, const Place& place,
                            const nn::Contributions& contributions) const {
  const nn::UpdateRule& rule = segment.variable.rule;
  std::array<float*, nn::kSlotsMax> slots{};
  const auto slot_count = size_t(nn::slot_count(rule));
  for (size_t i = 0; i < slot_count; ++i) slots[i] = floats(slots_[i]->bytes(), segment.offset) + first;
  const auto scalar = size_t(rule.learning_rate_scalar);  // rules without a learning rate may name none
  const double learning_rate = scalar < place.scalars.size() ? place.scalars[scalar] : 0.0;
  nn::apply_update(rule, learning_rate, counters_.update_count, count, floats(place.current, segment.offset) + first,
                   floats(place.next, segment.offset) + first, {slots.data(), slot_count}, contributions);
}

}  // namespace shoal::cluster
