// SPDX-License-Identifier: Apache-2.0
#include "state/row_codec.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace shoal::cluster {
namespace {

constexpr uint64_t kRowAlign = 64;
uint64_t padded_rows(uint64_t bytes) { return (bytes + kRowAlign - 1) / kRowAlign * kRowAlign; }

uint64_t row_bytes(const Segment& segment) { return uint64_t(row_width(segment)) * sizeof(float); }

/// The layout of an encoded segment with `count` rows: the offsets of the row numbers, of the rows' values and of the end,
/// counted from the segment's start.
struct Layout {
  uint64_t rows_at = kRowAlign;
  uint64_t values_at;
  uint64_t end;
  Layout(const Segment& segment, uint64_t count)
      : values_at(kRowAlign + padded_rows(count * sizeof(uint32_t))),
        end(values_at + padded_rows(count * row_bytes(segment))) {}
};

/// Copies `bytes` bytes to offset `at` of the payload, and zeroes the padding from there to the next multiple of 64.
void write(std::span<std::byte> payload, uint64_t at, const void* from, uint64_t bytes) {
  if (bytes > 0) std::memcpy(payload.data() + at, from, bytes);
  std::memset(payload.data() + at + bytes, 0, padded_rows(bytes) - bytes);
}

Error does_not_fit(const Segment& segment, const std::string& what) {
  return invalid_argument("the rows of variable " + segment.variable.name + " in a payload: " + what);
}

Result<uint64_t> decode_segment(const Segment& segment, std::span<const std::byte> payload, SegmentRows& to) {
  uint64_t count = 0;
  if (payload.size() >= kRowAlign) std::memcpy(&count, payload.data(), sizeof count);
  const auto rows = uint64_t(segment.row_end - segment.row_begin);
  if (payload.size() < kRowAlign || count > rows) return does_not_fit(segment, "there are no " + std::to_string(count));
  const Layout layout(segment, count);
  if (layout.end > payload.size()) return does_not_fit(segment, "cut short");
  const auto* const numbers = reinterpret_cast<const uint32_t*>(payload.data() + layout.rows_at);
  const auto* const values = reinterpret_cast<const float*>(payload.data() + layout.values_at);
  const int64_t width = row_width(segment);
  int64_t next = segment.row_begin;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t row = numbers[i];
    if (row < next || row >= segment.row_end) return does_not_fit(segment, "not ascending, or not of this server");
    next = row + 1;
    to.rows.push_back(numbers[i]);
    to.values.push_back(values + int64_t(i) * width);
  }
  return layout.end;
}

}  // namespace

int64_t row_width(const Segment& segment) {
  const int64_t rows = segment.row_end - segment.row_begin;
  return rows == 0 ? 0 : segment.elements() / rows;
}

void take_rows(const Segment& segment, const RowSums& sums, SegmentRows& to) {
  to.clear();
  for (int64_t row : sums.touched()) {
    if (row >= segment.row_begin && row < segment.row_end) to.rows.push_back(uint32_t(row));
  }
  std::sort(to.rows.begin(), to.rows.end());
  for (size_t i = 0; i < to.rows.size(); ++i) {
    if (i + kRowsAhead < to.rows.size()) sums.ask_for(to.rows[i + kRowsAhead]);
    to.values.push_back(sums.sum_of(to.rows[i]));
  }
}

void take_rows(const Segment& segment, std::vector<uint32_t> rows, std::span<const std::byte> arena, SegmentRows& to) {
  to.clear();
  to.rows = std::move(rows);
  const auto* const first = reinterpret_cast<const float*>(arena.data() + segment.offset);
  const int64_t width = row_width(segment);
  for (uint32_t row : to.rows) to.values.push_back(first + (int64_t(row) - segment.row_begin) * width);
}

uint64_t row_payload_bytes(const ShardSpec& spec, std::span<const SegmentRows> rows) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    const Segment& segment = spec.segments[i];
    bytes += segment.variable.lazy_rows ? Layout(segment, rows[i].rows.size()).end : padded_rows(segment.bytes);
  }
  return bytes;
}

void encode_rows(const ShardSpec& spec, std::span<const std::byte> arena, std::span<const SegmentRows> rows,
                 std::span<std::byte> payload) {
  SHOAL_CHECK(arena.size() == spec.arena_bytes && payload.size() == row_payload_bytes(spec, rows));
  uint64_t at = 0;
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    const Segment& segment = spec.segments[i];
    if (!segment.variable.lazy_rows) {
      write(payload, at, arena.data() + segment.offset, segment.bytes);
      at += padded_rows(segment.bytes);
      continue;
    }
    const uint64_t count = rows[i].rows.size();
    const Layout layout(segment, count);
    write(payload, at, &count, sizeof count);
    write(payload, at + layout.rows_at, rows[i].rows.data(), count * sizeof(uint32_t));
    std::byte* to = payload.data() + at + layout.values_at;
    const uint64_t bytes = row_bytes(segment);
    for (size_t k = 0; k < count; ++k, to += bytes) {
      if (k + kRowsAhead < count) __builtin_prefetch(rows[i].values[k + kRowsAhead]);
      std::memcpy(to, rows[i].values[k], bytes);
    }
    std::memset(to, 0, size_t(payload.data() + at + layout.end - to));
    at += layout.end;
  }
}

Result<void> decode_rows(const ShardSpec& spec, std::span<const std::byte> payload, std::span<std::byte> arena,
                         std::span<SegmentRows> rows) {
  SHOAL_CHECK(arena.size() == spec.arena_bytes && rows.size() == spec.segments.size());
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    const Segment& segment = spec.segments[i];
    rows[i].clear();
    uint64_t bytes = padded_rows(segment.bytes);
    if (segment.variable.lazy_rows) {
      SHOAL_TRY(bytes, decode_segment(segment, payload, rows[i]));
    } else if (bytes > payload.size()) {
      return does_not_fit(segment, "cut short");
    } else if (segment.bytes > 0) {
      std::memcpy(arena.data() + segment.offset, payload.data(), segment.bytes);
    }
    payload = payload.subspan(bytes);
  }
  if (!payload.empty())
    return invalid_argument("a payload of rows has " + std::to_string(payload.size()) + " bytes too many");
  return {};
}

void store_rows(const ShardSpec& spec, std::span<const SegmentRows> rows, std::span<std::byte> arena) {
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    const Segment& segment = spec.segments[i];
    const uint64_t bytes = row_bytes(segment);
    const std::vector<uint32_t>& numbers = rows[i].rows;
    const auto place = [&](size_t k) {
      return arena.data() + segment.offset + uint64_t(int64_t(numbers[k]) - segment.row_begin) * bytes;
    };
    for (size_t k = 0; k < numbers.size(); ++k) {
      if (k + kRowsAhead < numbers.size()) __builtin_prefetch(place(k + kRowsAhead), 1);
      std::memcpy(place(k), rows[i].values[k], bytes);
    }
  }
}

}  // namespace shoal::cluster
