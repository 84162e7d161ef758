// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tables of text for a terminal, in columns as wide as their longest text.
#include <cstddef>
#include <string>
#include <vector>

namespace shoal::cli::launch {

/// How much room a terminal has.
struct TableSize {
  int columns = 80;
  int lines = 24;
};

struct TextColumn {
  std::string title;
  bool right = false;  ///< True for numbers: their last digits stand below each other.
  std::vector<std::string> cells{};
};

/// The titles, and a line for each row, each at most one character narrower than a terminal of `columns` characters: a full line would
/// wrap. A character that moves the cursor becomes a space.
std::vector<std::string> text_table(const std::vector<TextColumn>& table, int columns);

/// At most so much of a line as fits, with no character of UTF-8 cut in two, and without spaces at its end.
std::string fitted_line(std::string line, int columns);

}  // namespace shoal::cli::launch
