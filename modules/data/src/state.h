// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The bytes of a Position: each stage writes little-endian base-128 numbers (at most ten bytes each) behind the numbers
/// of the previous stage.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::data {

class StateWriter {
 public:
  /// Appends to `out`.
  explicit StateWriter(std::string& out) : out_(out) {}
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(char(value | 0x80));
    out_.push_back(char(value));
  }
  void flag(bool value) { number(value); }
  void raw(std::string_view bytes) { out_.append(bytes); }
  /// Writes bytes of any length.
  void text(std::string_view bytes) {
    number(bytes.size());
    raw(bytes);
  }

 private:
  std::string& out_;
};

inline Error damaged_position() { return failed_precondition("the saved input position does not fit this input pipeline"); }

class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : left_(bytes) {}
  Result<uint64_t> number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = uint8_t(left_.front());
      left_.remove_prefix(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return damaged_position();
  }
  /// Reads a number that fits int64 and is at most `max`.
  Result<int64_t> count(int64_t max = INT64_MAX) {
    SHOAL_TRY(const uint64_t value, number());
    if (value > uint64_t(max)) return damaged_position();
    return int64_t(value);
  }
  Result<bool> flag() {
    SHOAL_TRY(const uint64_t value, number());
    if (value > 1) return damaged_position();
    return value == 1;
  }
  Result<std::string_view> raw(size_t bytes) {
    if (bytes > left_.size()) return damaged_position();
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  /// Reads the next text that StateWriter::text() wrote, as a view into the bytes.
  Result<std::string_view> text() {
    SHOAL_TRY(const int64_t size, count());
    return raw(size_t(size));
  }
  size_t left() const { return left_.size(); }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

}  // namespace shoal::data
