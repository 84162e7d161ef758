// SPDX-License-Identifier: Apache-2.0
#include "safe_text.h"

#include <cstdint>

#include "shoal/json/fields.h"

namespace shoal::cli {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// True for C0 and C1 controls, DEL, marks that change the direction of writing, U+FFFE and U+FFFF.
bool is_refused(std::string_view character) {
  const auto byte = [&](size_t at) { return uint8_t(character[at]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3) return false;
  const bool turns = byte(0) == 0xe2 && ((byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
                                         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
  return turns || (byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe);
}

/// Returns `text` in UTF-8, with U+FFFD for each refused character that is not in `kept`.
std::string cleaned(std::string_view text, std::string_view kept) {
  const std::string valid = json::as_utf8(std::string(text));
  std::string clean;
  for (size_t begin = 0; begin < valid.size();) {
    size_t end = begin + 1;
    while (end < valid.size() && (uint8_t(valid[end]) & 0xc0) == 0x80) ++end;  // Bytes that continue a character of UTF-8.
    const std::string_view character = std::string_view(valid).substr(begin, end - begin);
    clean += is_refused(character) && kept.find(character) == kept.npos ? kReplacement : character;
    begin = end;
  }
  return clean;
}

}  // namespace

std::string clean_text(std::string_view text) { return cleaned(text, ""); }

std::string clean_lines(std::string_view text) { return cleaned(text, "\n\t"); }

}  // namespace shoal::cli
