#pragma once
/// Base64 of RFC 4648, section 4, with padding: any bytes inside JSON.
#include <optional>
#include <string>
#include <string_view>

namespace shoal::checkpoint {

std::string to_base64(std::string_view bytes);
/// Nothing if `text` is not exactly what to_base64() makes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace shoal::checkpoint
