// SPDX-License-Identifier: Apache-2.0
#pragma once
/// gzip data for tests of programs that are not linked with zlib.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/check.h"

namespace shoal {

/// `contents`, at most 65,535 bytes, as one gzip member (RFC 1952) with one block that is not compressed (RFC 1951, 3.2.4).
inline std::string stored_gzip(std::string_view contents) {
  SHOAL_CHECK(contents.size() <= UINT16_MAX);
  std::string bytes("\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11);
  const auto put = [&bytes](uint32_t number, int size) {
    for (int i = 0; i < size; ++i) bytes += char(uint8_t(number >> (8 * i)));
  };
  put(uint32_t(contents.size()), 2);
  put(~uint32_t(contents.size()), 2);
  bytes += contents;
  uint32_t crc = ~uint32_t(0);
  for (const char byte : contents) {
    crc ^= uint8_t(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0xedb88320u : 0);
  }
  put(~crc, 4);
  put(uint32_t(contents.size()), 4);
  return bytes;
}

}  // namespace shoal
