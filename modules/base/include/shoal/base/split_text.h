// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

namespace shoal {

/// The parts of `text` between blanks, tabs and line ends.
std::vector<std::string_view> split_at_blanks(std::string_view text);

/// The lines of `text`, without the characters that end them. A last line may lack its end.
std::vector<std::string_view> split_at_lines(std::string_view text);

}  // namespace shoal
