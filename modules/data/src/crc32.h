// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CRC-32, the checksum of zip archives. Shoal computes it itself, so that builds without zlib check it, too.
#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal::data {

/// Continues a CRC-32 with `bytes`: `before` is the CRC-32 of the bytes before them, or 0 if there are none. The polynomial
/// is 0x04c11db7, reflected, as in ISO 3309 and in RFC 1952, section 8: "123456789" gives 0xcbf43926.
uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace shoal::data
