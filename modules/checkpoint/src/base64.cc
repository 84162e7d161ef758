#include "base64.h"

#include <algorithm>
#include <cstdint>

namespace shoal::checkpoint {
namespace {
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? uint8_t(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const size_t digit = text[i + k] == '=' ? 0 : kAlphabet.find(text[i + k]);
      if (digit == std::string_view::npos) return std::nullopt;
      group = group << 6 | uint32_t(digit);
    }
    const size_t padding = text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    for (size_t k = 0; k < 3 - padding; ++k) bytes += char(group >> (16 - 8 * k) & 255);
  }
  // Padding in the middle and stray bits are other spellings: refuse them by comparing with the one right spelling.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace shoal::checkpoint
