// SPDX-License-Identifier: Apache-2.0
#include "plot/clean_text.h"

#include "shoal/json/fields.h"

namespace shoal::cli::plot {
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

}  // namespace

std::string clean_text(std::string_view text) {
  const std::string valid = json::as_utf8(std::string(text));
  std::string clean;
  for (size_t begin = 0; begin < valid.size();) {
    size_t end = begin + 1;
    while (end < valid.size() && !begins_character(valid[end])) ++end;
    const std::string_view character = std::string_view(valid).substr(begin, end - begin);
    clean += is_refused(character) ? kReplacement : character;
    begin = end;
  }
  return clean;
}

std::string shortened(const std::string& text, size_t characters) {
  size_t surplus = characters_in(text);
  if (surplus <= characters || characters == 0) return text;
  surplus -= characters - 1;
  size_t begin = 0;
  for (; begin < text.size(); ++begin) {
    if (begins_character(text[begin]) && surplus-- == 0) break;
  }
  return "…" + text.substr(begin);
}

std::string cut_text(const std::string& text, size_t characters) {
  if (characters_in(text) <= characters) return text;
  if (characters == 0) return {};
  return text.substr(0, byte_behind(text, 0, characters - 1)) + "…";
}

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char byte : clean_text(text)) {
    switch (byte) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += byte;
    }
  }
  return escaped;
}

}  // namespace shoal::cli::plot
