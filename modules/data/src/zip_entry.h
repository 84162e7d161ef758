// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace shoal::data {

/// A member of an archive, as described by the directory at the end.
struct ZipEntry {
  std::string name;  ///< In UTF-8.
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;  ///< CRC-32 of its bytes.
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;   ///< Unpacked.
  uint64_t offset = 0;  ///< Of its local header.
  uint64_t end = 0;     ///< The offset of the next member or of the directory: the member ends there at the latest.
};

}  // namespace shoal::data
