// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The text of a checkpoint's index around a body (docs/formats.md): with the checksum that no chance finds.
#include <string>
#include <string_view>

#include "shoal/checkpoint/checksum.h"

namespace shoal::fuzz {

inline constexpr std::string_view kIndexBegin = "{\"format\":\"shoal checkpoint\",\"version\":1,\"checksum\":\"";
inline constexpr std::string_view kIndexMiddle = "\",\"manifest\":\n";
inline constexpr std::string_view kIndexEnd = "\n}\n";

inline std::string sealed_index(std::string_view body) {
  std::string text(kIndexBegin);
  text.append(checkpoint::to_hex(checkpoint::checksum_of(body))).append(kIndexMiddle).append(body).append(kIndexEnd);
  return text;
}

}  // namespace shoal::fuzz
