// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/base64.h"

#include <algorithm>
#include <array>

namespace shoal {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kGroupBytes = 3, kGroupLetters = 4;
constexpr uint8_t kNoLetter = 64;

using Values = std::array<uint8_t, 256>;

constexpr Values values_of(std::string_view letters) {
  Values values{};
  values.fill(kNoLetter);
  for (size_t i = 0; i < letters.size(); ++i) values[uint8_t(letters[i])] = uint8_t(i);
  return values;
}
constexpr Values kValues = values_of(kLetters), kUrlValues = values_of(kUrlLetters);

/// `text` without its padding. Nothing if its length is not a multiple of four.
std::optional<std::string_view> without_padding(std::string_view text) {
  if (text.size() % kGroupLetters != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view base64_letters(Base64 dialect) { return dialect == Base64::kUrl ? kUrlLetters : kLetters; }

std::string to_base64(std::string_view bytes, Base64 dialect) {
  const std::string_view letters = base64_letters(dialect);
  std::string text;
  text.reserve((bytes.size() + 2) / kGroupBytes * kGroupLetters);
  for (size_t i = 0; i < bytes.size(); i += kGroupBytes) {
    const size_t count = std::min(kGroupBytes, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < kGroupBytes; ++k) group = group << 8 | (k < count ? uint8_t(bytes[i + k]) : 0u);
    for (size_t k = 0; k <= count; ++k) text += letters[group >> (18 - 6 * k) & 63];
    if (dialect == Base64::kPadded) text.append(kGroupBytes - count, '=');
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text, Base64 dialect) {
  if (dialect == Base64::kPadded) {
    const auto letters = without_padding(text);
    if (!letters) return std::nullopt;
    text = *letters;
  }
  if (text.size() % kGroupLetters == 1) return std::nullopt;
  const Values& values = dialect == Base64::kUrl ? kUrlValues : kValues;
  std::string bytes;
  bytes.reserve((text.size() + 3) / kGroupLetters * kGroupBytes);
  for (size_t i = 0; i < text.size(); i += kGroupLetters) {
    const size_t letters = std::min(kGroupLetters, text.size() - i), count = letters - 1;
    uint32_t group = 0;
    for (size_t k = 0; k < kGroupLetters; ++k) {
      const uint8_t value = k < letters ? values[uint8_t(text[i + k])] : 0;
      if (value == kNoLetter) return std::nullopt;
      group = group << 6 | value;
    }
    const uint32_t unused = (1u << (8 * (kGroupBytes - count))) - 1;
    if ((group & unused) != 0) return std::nullopt;  // The bits that belong to no byte must be 0.
    for (size_t k = 0; k < count; ++k) bytes += char(group >> (16 - 8 * k) & 0xff);
  }
  return bytes;
}

}  // namespace shoal
