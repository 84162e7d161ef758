// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two implementations behind crc32c(), declared for its test.
#include <cstdint>
#include <string_view>

namespace shoal {

/// Uses tables and works on every processor, at about 1.5 GB/s.
uint32_t crc32c_by_table(std::string_view bytes);

/// Uses the processor's instruction for this polynomial (SSE4.2 on x86-64, the CRC extension on arm64), at about 15 GB/s.
/// Call it only if has_crc32c_instruction() is true.
uint32_t crc32c_by_instruction(std::string_view bytes);

/// True if this build contains crc32c_by_instruction() and this processor has the instruction.
bool has_crc32c_instruction();

}  // namespace shoal
