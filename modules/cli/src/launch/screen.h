// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The output of a command that runs programs: lines go to the command's streams as they come; on a terminal they stand
/// above a table that is redrawn.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "launch/live_table.h"
#include "shoal/base/time.h"
#include "shoal/cli/text_output.h"

namespace shoal::cli::launch {

class Screen {
 public:
  /// Makes the table's lines for a terminal of this size.
  using Lines = std::function<std::vector<std::string>(TableSize size)>;
  /// `lines` supplies the table, if there is one. `json`: nothing goes to standard output. `name` stands before the
  /// command's own lines.
  Screen(Context& context, bool table, bool json, Lines lines, std::string name = "launch");

  bool has_table() const { return table_.has_value(); }
  /// The streams for tasks' standard output and standard error. Call these functions again after the table has ended, since
  /// the streams change then.
  TextOutput& output();
  TextOutput& errors();
  /// Writes a line of the command's own.
  void say(const std::string& text) { errors() << "[" + name_ + "] " + text + "\n"; }

  /// The time of the next update().
  std::optional<SteadyTime> next_update() const { return table_ ? std::optional(next_draw_) : std::nullopt; }
  /// Flushes the streams. Draws the table if next_update() has come.
  void update(SteadyTime now);
  /// Draws the table for the last time, and leaves it there.
  void leave_table(SteadyTime now);
  /// Removes the table from the terminal.
  void remove_table();

 private:
  void draw(SteadyTime now);

  Context& context_;
  const bool json_;
  const Lines lines_;
  const std::string name_;
  std::optional<LiveTable> table_{};
  SteadyTime next_draw_{};
};

}  // namespace shoal::cli::launch
