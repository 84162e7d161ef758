// SPDX-License-Identifier: Apache-2.0
#include "npy_text.h"

#include <algorithm>

#include "shoal/base/record_framing.h"

namespace shoal::data {
namespace {

uint32_t unit_at(std::span<const std::byte> utf32, size_t i, bool big_endian) {
  uint32_t unit = 0;
  for (size_t k = 0; k < 4; ++k) unit |= uint32_t(utf32[4 * i + (big_endian ? 3 - k : k)]) << (8 * k);
  return unit;
}

void append_utf8(uint32_t character, std::string& text) {
  if (character < 0x80) return text.push_back(char(character));
  // The number of bytes after the first byte; each of them has 6 bits of the character.
  const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  // The first byte of a character begins with as many 1 bits as the character has bytes in UTF-8.
  const uint32_t mark = (0xff00U >> (more + 1)) & 0xff;
  text.push_back(char(mark | character >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text.push_back(char(0x80 | ((character >> (6 * i)) & 0x3f)));
}

bool begins_a_character(char byte) { return (uint8_t(byte) & 0xc0) != 0x80; }

}  // namespace

std::optional<uint32_t> utf8_from_utf32(std::span<const std::byte> utf32, bool big_endian, std::string& text) {
  text.clear();
  size_t count = utf32.size() / 4;
  while (count > 0 && unit_at(utf32, count - 1, big_endian) == 0) --count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t unit = unit_at(utf32, i, big_endian);
    if (unit > 0x10ffff || (unit >= 0xd800 && unit < 0xe000)) return unit;
    append_utf8(unit, text);
  }
  return std::nullopt;
}

size_t characters_in(std::string_view utf8) { return size_t(std::ranges::count_if(utf8, begins_a_character)); }

void append_utf32(std::string_view utf8, std::string& out) {
  for (size_t at = 0; at < utf8.size();) {
    const auto first = uint8_t(utf8[at++]);
    uint32_t character = first < 0x80 ? first : first < 0xe0 ? first & 0x1f : first < 0xf0 ? first & 0x0f : first & 0x07;
    for (; at < utf8.size() && !begins_a_character(utf8[at]); ++at) character = character << 6 | (uint8_t(utf8[at]) & 0x3f);
    append_little_endian(out, character);
  }
}

}  // namespace shoal::data
