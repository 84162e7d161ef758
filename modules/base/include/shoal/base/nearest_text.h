// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a mistyped word was meant to be, for errors.
#include <span>
#include <string>
#include <string_view>

namespace shoal {

/// The one of `known` that differs least from `text`, by letters put in, left out, changed, or exchanged with their
/// neighbours (Damerau, "A technique for computer detection and correction of spelling errors", 1964): at most one for
/// each three letters. Empty if there is none.
std::string nearest_text(std::string_view text, std::span<const std::string> known);

/// "; did you mean X?", or nothing.
std::string did_you_mean(std::string_view text, std::span<const std::string> known);

}  // namespace shoal
