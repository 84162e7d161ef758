// SPDX-License-Identifier: Apache-2.0
#include "state/codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "shoal/base/half.h"
#include "shoal/base/vector_loop.h"

namespace shoal::cluster {
namespace {

using transport::Encoding;

constexpr int64_t kBlock = 256;
constexpr uint64_t kAlign = 64;
constexpr int kLevels = 127;

uint64_t padded(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
uint64_t floats_of(const ShardSpec& spec) { return spec.arena_bytes / sizeof(float); }
int64_t blocks_of(const Segment& segment) { return (segment.elements() + kBlock - 1) / kBlock; }
uint64_t blocks_of(const ShardSpec& spec) {
  uint64_t blocks = 0;
  for (const Segment& segment : spec.segments) blocks += uint64_t(blocks_of(segment));
  return blocks;
}

SHOAL_VECTOR_LOOP void all_to_bfloat16(const float* from, uint16_t* to, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = to_bfloat16(from[i]);
}
SHOAL_VECTOR_LOOP void all_from_bfloat16(const uint16_t* from, float* to, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = from_bfloat16(from[i]);
}
SHOAL_VECTOR_LOOP void all_to_float16(const float* from, uint16_t* to, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = to_float16(from[i]);
}
SHOAL_VECTOR_LOOP void all_from_float16(const uint16_t* from, float* to, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = from_float16(from[i]);
}

/// Returns the bits of the largest magnitude. As integers, the bits of magnitudes are in the same order as the magnitudes
/// themselves, and those of a NaN are larger than those of all numbers.
SHOAL_VECTOR_LOOP uint32_t largest_bits(const float* from, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(from[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}
SHOAL_VECTOR_LOOP void quantise(const float* from, int8_t* to, int64_t count, float per_unit) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float level = from[i] * per_unit;
    to[i] = int8_t(int32_t(level + (level < 0 ? -0.5f : 0.5f)));
  }
}
SHOAL_VECTOR_LOOP void dequantise(const int8_t* from, float* to, int64_t count, float unit) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = float(from[i]) * unit;
}

/// Writes the numbers of a block, as multiples of the block's scale. Returns the scale.
float quantise_block(const float* from, int8_t* to, int64_t count) {
  const auto largest = std::bit_cast<float>(largest_bits(from, count));
  const bool finite = std::isfinite(largest);
  if (!finite || largest < FLT_MIN * kLevels) {  // The block is all zeros, not finite, or too small to divide by.
    std::fill_n(to, count, int8_t(finite ? 0 : 1));
    return finite ? 0.0f : NAN;
  }
  const float unit = largest / kLevels;
  quantise(from, to, count, 1.0f / unit);
  return unit;
}

/// Where the three parts of a kTopK payload begin: the number of values, their positions in the arena, the values.
struct Picks {
  uint64_t count = 0;
  size_t places_at = kAlign;
  size_t values_at = 0;
  size_t bytes = 0;
  explicit Picks(uint64_t n)
      : count(n), values_at(kAlign + padded(n * sizeof(uint32_t))), bytes(values_at + n * sizeof(float)) {}
};

/// True if the rule adds gradients up, so that values of a gradient may be left out of a push and added to a later one.
/// False for updates that replace a variable or change a moving average: these have to be sent whole, since the server
/// would take a value that is not sent for 0.
bool adds_up(const nn::UpdateRule& rule) {
  return rule.kind != nn::UpdateRule::Kind::kAssign && rule.kind != nn::UpdateRule::Kind::kMovingAverage;
}

/// The number of a segment's values that are sent. All are sent if `fraction` is a half or more, or if the update rule does
/// not add gradients up (see adds_up()).
int64_t picks_of(const Segment& segment, double fraction) {
  const int64_t elements = segment.elements();
  if (!adds_up(segment.variable.rule)) return elements;
  const auto wanted = std::max<int64_t>(1, int64_t(std::ceil(fraction * double(elements))));
  return 2 * wanted >= elements ? elements : wanted;
}

Picks picks_of(const ShardSpec& spec, double fraction) {
  uint64_t count = 0;
  for (const Segment& segment : spec.segments) count += uint64_t(picks_of(segment, fraction));
  return Picks(count);
}

const float* floats(std::span<const std::byte> bytes) { return reinterpret_cast<const float*>(bytes.data()); }
float* floats(std::span<std::byte> bytes) { return reinterpret_cast<float*>(bytes.data()); }

void encode_int8(const ShardSpec& spec, const float* from, std::span<std::byte> payload) {
  const uint64_t scales = blocks_of(spec) * sizeof(float);
  // Zeroes the gaps between segments, too. No block fills them, and old contents of memory must not be sent.
  std::memset(payload.data() + scales, 0, payload.size() - scales);
  float* scale = floats(payload);
  auto* const levels = reinterpret_cast<int8_t*>(payload.data() + padded(scales));
  for (const Segment& segment : spec.segments) {
    const auto first = int64_t(segment.offset / sizeof(float));
    for (int64_t done = 0; done < segment.elements(); done += kBlock) {
      const int64_t count = std::min(kBlock, segment.elements() - done);
      *scale++ = quantise_block(from + first + done, levels + first + done, count);
    }
  }
}

void decode_int8(const ShardSpec& spec, std::span<const std::byte> payload, std::span<std::byte> arena) {
  std::memset(arena.data(), 0, arena.size());
  const float* scale = floats(payload);
  const auto* const levels = reinterpret_cast<const int8_t*>(payload.data() + padded(blocks_of(spec) * sizeof(float)));
  for (const Segment& segment : spec.segments) {
    const auto first = int64_t(segment.offset / sizeof(float));
    for (int64_t done = 0; done < segment.elements(); done += kBlock) {
      const int64_t count = std::min(kBlock, segment.elements() - done);
      dequantise(levels + first + done, floats(arena) + first + done, count, *scale++);
    }
  }
}

Result<void> decode_top_k(const ShardSpec& spec, std::span<const std::byte> payload, std::span<std::byte> arena) {
  uint64_t count = 0;
  if (payload.size() >= kAlign) std::memcpy(&count, payload.data(), sizeof count);
  if (count > floats_of(spec) || payload.size() < kAlign || payload.size() != Picks(count).bytes) {
    return invalid_argument("a payload of " + std::to_string(payload.size()) + " bytes does not hold " +
                            std::to_string(count) + " values of the shard");
  }
  const Picks picks(count);
  const auto* const places = reinterpret_cast<const uint32_t*>(payload.data() + picks.places_at);
  const float* const values = floats(payload.subspan(picks.values_at));
  std::memset(arena.data(), 0, arena.size());
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t place = places[i];
    if (place < next || place >= floats_of(spec))
      return invalid_argument("the places of a payload's values are not ascending");
    next = uint64_t(place) + 1;
    floats(arena)[place] = values[i];
  }
  return {};
}

}  // namespace

uint64_t encoded_bytes(const ShardSpec& spec, Encoding encoding, double fraction) {
  switch (encoding) {
    case Encoding::kBfloat16:
    case Encoding::kFloat16: return spec.arena_bytes / 2;
    case Encoding::kInt8: return padded(blocks_of(spec) * sizeof(float)) + floats_of(spec);
    case Encoding::kTopK: return picks_of(spec, fraction).bytes;
    case Encoding::kDense:
    case Encoding::kSparseRows: break;
  }
  return spec.arena_bytes;
}

void encode(const ShardSpec& spec, Encoding encoding, std::span<const std::byte> arena, std::span<std::byte> payload) {
  SHOAL_CHECK(arena.size() == spec.arena_bytes && payload.size() == encoded_bytes(spec, encoding));
  const auto count = int64_t(floats_of(spec));
  auto* const halves = reinterpret_cast<uint16_t*>(payload.data());
  switch (encoding) {
    case Encoding::kBfloat16: return all_to_bfloat16(floats(arena), halves, count);
    case Encoding::kFloat16: return all_to_float16(floats(arena), halves, count);
    case Encoding::kInt8: return encode_int8(spec, floats(arena), payload);
    default: SHOAL_CHECK(!"an encoding of its own");
  }
}

Result<void> decode(const ShardSpec& spec, Encoding encoding, std::span<const std::byte> payload,
                    std::span<std::byte> arena) {
  SHOAL_CHECK(arena.size() == spec.arena_bytes);
  if (encoding == Encoding::kTopK) return decode_top_k(spec, payload, arena);
  if (encoding == Encoding::kDense || encoding == Encoding::kSparseRows)
    return invalid_argument("a payload of encoding " + std::to_string(int(encoding)) + " is not to be decoded");
  if (payload.size() != encoded_bytes(spec, encoding)) {
    return invalid_argument("a payload of " + std::to_string(payload.size()) + " bytes; in this encoding the shard has " +
                            std::to_string(encoded_bytes(spec, encoding)));
  }
  const auto count = int64_t(floats_of(spec));
  const auto* const halves = reinterpret_cast<const uint16_t*>(payload.data());
  if (encoding == Encoding::kBfloat16) all_from_bfloat16(halves, floats(arena), count);
  if (encoding == Encoding::kFloat16) all_from_float16(halves, floats(arena), count);
  if (encoding == Encoding::kInt8) decode_int8(spec, payload, arena);
  return {};
}

TopK::TopK(const ShardSpec& spec, double fraction, BufferPool& pool)
    : spec_(spec), fraction_(fraction), pool_(pool), residual_(zeros()), before_(zeros()) {}

Ref<Buffer> TopK::zeros() const {
  Ref<Buffer> arena = pool_.get(spec_.arena_bytes);
  std::memset(arena->data(), 0, arena->size());
  return arena;
}

void TopK::clear() { residual_ = zeros(); }

void TopK::resume(std::span<const std::byte> arena) {
  SHOAL_CHECK(arena.size() == spec_.arena_bytes);
  residual_ = zeros();
  std::ranges::copy(arena, residual_->data());
}

/// Stores the values, rather than adds them: encode() left a zero in the residual wherever it took a value out.
void TopK::take_back(std::span<const std::byte> payload) {
  const Picks picks = picks_of(spec_, fraction_);
  SHOAL_CHECK(payload.size() == picks.bytes);
  if (!residual_->unique()) {
    Ref<Buffer> copy = zeros();
    std::ranges::copy(residual_->bytes(), copy->data());
    residual_ = std::move(copy);
  }
  const auto* places = reinterpret_cast<const uint32_t*>(payload.data() + picks.places_at);
  const float* values = floats(payload.subspan(picks.values_at));
  for (uint64_t i = 0; i < picks.count; ++i) floats(residual_->bytes())[places[i]] = values[i];
}

std::span<const float> TopK::residual() const { return {floats(residual_->bytes()), size_t(floats_of(spec_))}; }

void TopK::encode(std::span<const std::byte> gradient, std::span<std::byte> payload) {
  const Picks picks = picks_of(spec_, fraction_);
  SHOAL_CHECK(gradient.size() == spec_.arena_bytes && payload.size() == picks.bytes);
  std::memset(payload.data(), 0, picks.values_at);
  std::memcpy(payload.data(), &picks.count, sizeof picks.count);
  auto* places = reinterpret_cast<uint32_t*>(payload.data() + picks.places_at);
  float* values = floats(payload.subspan(picks.values_at));
  Ref<Buffer> next = before_->unique() ? std::move(before_) : zeros();
  for (const Segment& segment : spec_.segments) {
    const uint64_t first = segment.offset / sizeof(float);
    float* const rest = floats(next->bytes()) + first;
    const float* const old = floats(residual_->bytes()) + first;
    const float* const fresh = floats(gradient) + first;
    // Where the update rule adds gradients up, values that earlier pushes did not send (`old`) are added to the gradient.
    // Other rules need only the newest values, so `old` is ignored. (It may be nonzero after take_back(), which puts the
    // values of a dropped push there.)
    if (adds_up(segment.variable.rule)) {
      for (int64_t i = 0; i < segment.elements(); ++i) rest[i] = old[i] + fresh[i];
    } else {
      std::copy_n(fresh, segment.elements(), rest);
    }
    select(segment, rest, places, values);
    places += picks_of(segment, fraction_);
    values += picks_of(segment, fraction_);
  }
  before_ = std::exchange(residual_, std::move(next));
}

/// Takes the `wanted` values of largest magnitude out of the segment's residual. First finds the smallest magnitude to
/// take: a histogram over the leading bits gives its bin, and nth_element finds it among the values of that bin.
void TopK::select(const Segment& segment, float* rest, uint32_t* places, float* values) {
  constexpr int kBinBits = 11, kShift = 31 - kBinBits;
  const int64_t elements = segment.elements(), wanted = picks_of(segment, fraction_);
  if (wanted == 0) return;
  const auto first = uint32_t(segment.offset / sizeof(float));
  const auto magnitude = [rest](int64_t i) { return std::bit_cast<uint32_t>(rest[i]) & 0x7fffffffu; };

  std::array<uint32_t, size_t(1) << kBinBits> bins{};
  for (int64_t i = 0; i < elements; ++i) ++bins[magnitude(i) >> kShift];
  size_t bin = bins.size();
  int64_t counted = 0;  // How many elements are in the histogram bins from `bin` up.
  while (counted < wanted) counted += bins[--bin];
  const int64_t of_bin = wanted - (counted - int64_t(bins[bin]));
  candidates_.clear();
  for (int64_t i = 0; i < elements; ++i) {
    if (magnitude(i) >> kShift == bin) candidates_.push_back(magnitude(i));
  }
  const auto last = candidates_.begin() + of_bin - 1;
  std::nth_element(candidates_.begin(), last, candidates_.end(), std::greater<>());
  const uint32_t least = *last;
  // How many elements of magnitude `least` are still to be taken.
  int64_t equal = std::count(candidates_.begin(), last + 1, least);

  for (int64_t i = 0; i < elements; ++i) {
    if (magnitude(i) < least || (magnitude(i) == least && equal-- <= 0)) continue;
    *places++ = first + uint32_t(i);
    *values++ = std::exchange(rest[i], 0.0f);
  }
}

}  // namespace shoal::cluster
