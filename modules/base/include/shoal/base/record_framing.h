// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TFRecord framing: u64 length, u32 masked CRC-32C of the length, payload, u32 masked CRC-32C of the payload;
/// little-endian.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/crc32c.h"

namespace shoal {

inline constexpr size_t kRecordHeadBytes = 12;
inline constexpr size_t kRecordTailBytes = 4;

template <class T>
void append_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += char(value >> (8 * i) & 255);
}
template <class T>
T load_little_endian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= T(uint8_t(bytes[i])) << (8 * i);
  return value;
}

inline void append_record(std::string& out, std::string_view payload) {
  std::string length;
  append_little_endian(length, uint64_t(payload.size()));
  out += length;
  append_little_endian(out, masked_crc(crc32c(length)));
  out += payload;
  append_little_endian(out, masked_crc(crc32c(payload)));
}

}  // namespace shoal
