// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the lines of a launch go: to its streams as they come, or to a terminal, above a table of the tasks.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "launch/live_table.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

class Screen {
 public:
  using Rows = std::function<std::vector<TableRow>()>;
  /// `rows` gives the table, where there is one. `json`: nothing goes to standard output.
  Screen(Context& context, bool table, bool json, Rows rows);

  bool has_table() const { return table_.has_value(); }
  /// For what tasks write to standard output, and to standard error. They are others once the table has ended.
  std::ostream& output();
  std::ostream& errors();
  /// A line of the launcher's own.
  void say(const std::string& text) { errors() << "[launch] " + text + "\n"; }

  /// When update() is to be called next, whatever else happens.
  std::optional<SteadyTime> next_update() const { return table_ ? std::optional(next_draw_) : std::nullopt; }
  /// Writes what has come.
  void update(SteadyTime now);
  /// The table is drawn for the last time, and stays.
  void leave_table(SteadyTime now);
  /// The table is taken away.
  void remove_table();

 private:
  void draw(SteadyTime now);

  Context& context_;
  const bool json_;
  const Rows rows_;
  std::optional<LiveTable> table_{};
  SteadyTime next_draw_{};
};

}  // namespace shoal::cli::launch
