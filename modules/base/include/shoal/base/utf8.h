// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text from outside (names of columns, words, classes) that has to be UTF-8, since JSON and other programs take nothing else.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// Where `text` stops being UTF-8 (RFC 3629: the shortest form of each character, no surrogates, nothing beyond U+10FFFF): the
/// position of the first byte that is part of no character. None: all of it is UTF-8.
std::optional<size_t> find_no_utf8(std::string_view text);

/// InvalidArgument unless `text` is UTF-8: `<what> ("h\xF6he") is no UTF-8: its byte 1 (counted from 0) is 0xF6; <remedy>`.
Result<void> check_utf8(std::string_view text, std::string_view what, std::string_view remedy);

/// What helps where a file was written in another encoding.
inline constexpr std::string_view kConvertToUtf8 =
    "make what it comes from UTF-8, for example with iconv -f LATIN1 -t UTF-8";

}  // namespace shoal
