#pragma once
/// Bytes as text (RFC 4648, section 4, with padding), for constants in graph descriptions.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

std::string base64_encode(std::span<const std::byte> bytes);
/// None if the text is not what base64_encode() writes.
std::optional<std::vector<std::byte>> base64_decode(std::string_view text);

}  // namespace shoal
