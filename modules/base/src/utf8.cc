// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/utf8.h"

#include <algorithm>
#include <cstdio>

namespace shoal {
namespace {

/// One kind of UTF-8 character (RFC 3629, section 4): the range of its first byte, the number of further bytes, and the
/// range of the second byte.
struct Lead {
  uint8_t from, to;  // The least and the greatest first byte.
  size_t more;
  uint8_t second_from, second_to;
};
constexpr Lead kLeads[] = {{0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF}, {0xE1, 0xEC, 2, 0x80, 0xBF},
                           {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF},
                           {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F}};

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

/// The number of bytes of the character at `at`; 0 if no character begins there.
size_t character_bytes(std::string_view text, size_t at) {
  const uint8_t first = byte_at(text, at);
  if (first < 0x80) return 1;
  const auto* lead = std::find_if(std::begin(kLeads), std::end(kLeads),
                                  [first](const Lead& one) { return first >= one.from && first <= one.to; });
  if (lead == std::end(kLeads) || text.size() - at <= lead->more) return 0;
  const uint8_t second = byte_at(text, at + 1);
  if (second < lead->second_from || second > lead->second_to) return 0;
  for (size_t i = 2; i <= lead->more; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  }
  return lead->more + 1;
}

std::string hex(uint8_t byte, const char* format) {
  char text[8];
  std::snprintf(text, sizeof text, format, unsigned(byte));
  return text;
}

/// Returns the part of `text` around byte `at`, for an error. A byte that is not part of a UTF-8 character is written as
/// \xF6.
std::string shown_around(std::string_view text, size_t at) {
  constexpr size_t kShownBefore = 40, kShownBehind = 20;
  size_t begin = at > kShownBefore ? at - kShownBefore : 0;
  while (begin > 0 && (byte_at(text, begin) & 0xC0) == 0x80) --begin;  // Back to the character's first byte.
  const size_t end = std::min(text.size(), at + kShownBehind);
  std::string shown = begin > 0 ? "..." : "";
  for (size_t i = begin; i < end;) {
    const size_t bytes = character_bytes(text, i);
    shown += bytes == 0 ? hex(byte_at(text, i), "\\x%02X") : std::string(text.substr(i, bytes));
    i += std::max<size_t>(bytes, 1);
  }
  return end < text.size() ? shown + "..." : shown;
}

}  // namespace

std::optional<size_t> find_no_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text, at);
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

Result<void> check_utf8(std::string_view text, std::string_view what, std::string_view remedy) {
  const std::optional<size_t> at = find_no_utf8(text);
  if (!at) return {};
  return invalid_argument(std::string(what) + " (\"" + shown_around(text, *at) + "\") is no UTF-8: its byte " +
                          std::to_string(*at) + " (counted from 0) is " + hex(byte_at(text, *at), "0x%02X") + "; " +
                          std::string(remedy));
}

}  // namespace shoal
