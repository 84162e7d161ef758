// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks that text from outside (names of columns, words, classes) is UTF-8: JSON and other programs take nothing else.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// The position of the first byte of `text` that is not part of a UTF-8 character (RFC 3629: the shortest form of each
/// character, no surrogates, nothing beyond U+10FFFF). Nothing: all of `text` is UTF-8.
std::optional<size_t> find_no_utf8(std::string_view text);

/// InvalidArgument unless `text` is UTF-8: `<what> ("h\xF6he") is no UTF-8: its byte 1 (counted from 0) is 0xF6; <remedy>`.
Result<void> check_utf8(std::string_view text, std::string_view what, std::string_view remedy);

/// The remedy for a file that was written in another encoding.
inline constexpr std::string_view kConvertToUtf8 =
    "make what it comes from UTF-8, for example with iconv -f LATIN1 -t UTF-8";

}  // namespace shoal
