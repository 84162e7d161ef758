// SPDX-License-Identifier: Apache-2.0
#include "plot/clean_text.h"

namespace shoal::cli::plot {

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
