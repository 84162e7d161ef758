// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two ways in which crc32c() works, for it and for its test.
#include <cstdint>
#include <string_view>

namespace shoal {

/// By tables, on every processor: about 1.5 GB/s.
uint32_t crc32c_by_table(std::string_view bytes);

/// Computes the checksum by the processor's instruction for this polynomial, which x86-64 has with SSE4.2 and arm64 with its CRC extension,
/// at about 15 GB/s. May be called only where has_crc32c_instruction() is true.
uint32_t crc32c_by_instruction(std::string_view bytes);

/// Whether this program knows such an instruction, and this processor has it.
bool has_crc32c_instruction();

}  // namespace shoal
