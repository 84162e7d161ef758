// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Suggests the intended word for a mistyped one, for errors.
#include <span>
#include <string>
#include <string_view>

namespace shoal {

/// The word of `known` that differs least from `text`, counted in letters inserted, left out, changed, or exchanged with
/// their neighbours (Damerau, "A technique for computer detection and correction of spelling errors", 1964): at most one
/// difference for each three letters. Empty if no word is so near.
std::string nearest_text(std::string_view text, std::span<const std::string> known);

/// "; did you mean X?", or nothing.
std::string did_you_mean(std::string_view text, std::span<const std::string> known);

}  // namespace shoal
