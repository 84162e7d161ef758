// SPDX-License-Identifier: Apache-2.0
#include "job/quote.h"

#include <algorithm>

namespace shoal::cluster {
namespace {

constexpr size_t kNameBytesMax = 80;
constexpr size_t kNamesMax = 20;

/// The longest prefix of `text` that has at most `bytes` bytes and does not cut a UTF-8 sequence.
std::string_view clipped(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

std::string in_quotes(std::string_view text, size_t bytes_max) {
  std::string line(clipped(text, bytes_max));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return "\"" + line + (line.size() < text.size() ? "...\"" : "\"");
}

std::string listed(std::span<const std::string> names) {
  if (names.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) {
    if (i > 0) text += ", ";
    text += clipped(names[i], kNameBytesMax);
  }
  if (names.size() > kNamesMax) text += " and " + std::to_string(names.size() - kNamesMax) + " more";
  return text;
}

}  // namespace shoal::cluster
