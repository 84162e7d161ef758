// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a launch shows on a terminal while its job runs: a row for each task, which renew themselves, and above them the
/// lines that somebody should read.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "launch/text_table.h"

namespace shoal::cli::launch {

struct TableRow {
  std::string task{}, host{}, state{}, step{}, steps_per_second{}, examples_per_second{}, restarts{}, memory{},
      waiting_for{};
  bool settled = true;  ///< Nothing is the matter with it: it may be left out where there is no room for all.
};

/// The lines of the table, its head first, each at most as wide as the terminal; a column that is empty in all rows is left
/// out. If there are more rows than the terminal has room for, the last line says how many are left out.
std::vector<std::string> table_lines(const std::vector<TableRow>& rows, TableSize size);

/// The part of the terminal that renews itself.
class LiveTable {
 public:
  /// Where lines are written to that shall stand above the table; whole ones.
  std::ostream& above() { return above_; }
  /// What is to be written to a terminal of so many columns, so that what has come is above, and `lines` are the table.
  std::string redraw(const std::vector<std::string>& lines, int columns);
  /// The same without a table.
  std::string close(int columns);
  /// What was drawn is somewhere above now: others have written to the terminal.
  void leave_behind() { drawn_.clear(); }

 private:
  std::string take_back(int columns);

  std::ostringstream above_;
  std::vector<size_t> drawn_;  // The widths of the table's lines on the terminal.
};

}  // namespace shoal::cli::launch
