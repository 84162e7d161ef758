// SPDX-License-Identifier: Apache-2.0
// Computes CRC-32 for eight bytes at a time by eight tables: M. E. Kounavis and F. L. Berry, "A Systematic Approach to
// Building High Performance Software-based CRC Generators", 2005 ("slicing by 8").
#include "crc32.h"

#include <array>

namespace shoal::data {
namespace {

constexpr size_t kSlices = 8;
using CrcTable = std::array<uint32_t, 256>;

/// tables[k][b] is what byte b does to the checksum when k bytes follow.
constexpr std::array<CrcTable, kSlices> make_crc_tables() {
  std::array<CrcTable, kSlices> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < kSlices; ++k) {
    for (size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
  }
  return tables;
}
constexpr std::array<CrcTable, kSlices> kCrcTables = make_crc_tables();

}  // namespace

uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (; bytes.size() >= kSlices; bytes = bytes.subspan(kSlices)) {
    uint32_t next = 0;
    for (size_t i = 0; i < kSlices; ++i) {
      const uint32_t byte = uint32_t(bytes[i]) ^ (i < 4 ? crc >> (8 * i) & 0xff : 0);
      next ^= kCrcTables[kSlices - 1 - i][byte];
    }
    crc = next;
  }
  for (const std::byte byte : bytes) crc = crc >> 8 ^ kCrcTables[0][(crc ^ uint32_t(byte)) & 0xff];
  return ~crc;
}

}  // namespace shoal::data
