// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts text between UTF-32, as in NumPy's arrays of str, and UTF-8 (RFC 3629).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shoal::data {

/// Replaces `text` by the characters of `utf32`, four bytes each, without the zeros at the end. Returns the first number
/// that is no character, if there is one: half of a surrogate pair, or a number beyond U+10FFFF.
std::optional<uint32_t> utf8_from_utf32(std::span<const std::byte> utf32, bool big_endian, std::string& text);

/// The number of characters of `utf8`, which must be valid.
size_t characters_in(std::string_view utf8);

/// Appends the characters of `utf8`, which must be valid, as four bytes each, little-endian.
void append_utf32(std::string_view utf8, std::string& out);

}  // namespace shoal::data
