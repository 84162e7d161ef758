// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CRC-32C (Castagnoli), the checksum of TFRecord framing.
#include <cstdint>
#include <string_view>

namespace shoal {

/// CRC-32C of `bytes`, as in RFC 3720, appendix B.4: "123456789" gives 0xe3069283.
uint32_t crc32c(std::string_view bytes);

/// The masked form of a CRC, which TFRecord files store: rotated and offset, so that a CRC over data that contain CRCs
/// stays useful. Source: TensorFlow, lib/hash/crc32c.h.
constexpr uint32_t masked_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace shoal
