// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The output of a launch on a terminal while its job runs: a table with a row for each task, which is redrawn, and above
/// the table the messages to the user.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cli/text_output.h"
#include "text_table.h"

namespace shoal::cli::launch {

struct TableRow {
  std::string task{}, host{}, state{}, step{}, steps_per_second{}, examples_per_second{}, restarts{}, memory{},
      waiting_for{};
  bool settled = true;  ///< True: all is well with the task, so its row may be left out if rows do not fit.
};

/// Returns the lines of the table: the titles of the columns, then the rows. Each line is at most as wide as the terminal.
/// A column that is empty in all rows is left out. If the terminal has too few lines, the last line says how many rows are
/// left out.
std::vector<std::string> table_lines(const std::vector<TableRow>& rows, TableSize size);

/// A table on a terminal, redrawn in the same place.
class LiveTable {
 public:
  /// The stream for lines that shall stand above the table. Callers write whole lines only.
  TextOutput& above() { return above_; }
  /// How many bytes above() has got since the last redraw() or close().
  size_t bytes_above() const { return text_above_.size(); }
  /// Returns the text that draws the new lines of above() and, below them, the table `lines` on a terminal of this width.
  std::string redraw(const std::vector<std::string>& lines, int columns);
  /// Returns the text that removes the table and shows the new lines from above().
  std::string close(int columns);
  /// Makes the next redraw() draw the table anew below, without erasing the old one. For use after other programs have
  /// written to the terminal.
  void leave_behind() { drawn_.clear(); }

 private:
  std::string take_back(int columns);

  std::string text_above_;
  TextOutput above_{text_above_};
  std::vector<size_t> drawn_;  // The widths of the table's lines on the terminal.
};

}  // namespace shoal::cli::launch
