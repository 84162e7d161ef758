// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The output of a command that runs programs: lines go to the command's streams as they come; on a terminal they stand
/// above a table that is redrawn. The command never waits for whoever reads them (prompt_stream.h).
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "launch/inbox.h"
#include "launch/live_table.h"
#include "launch/prompt_stream.h"
#include "safe_text.h"
#include "shoal/base/time.h"
#include "shoal/cli/text_output.h"

namespace shoal::cli::launch {

class Screen {
 public:
  /// Makes the table's lines for a terminal of this size.
  using Lines = std::function<std::vector<std::string>(TableSize size)>;
  /// `lines` supplies the table, if there is one. `json`: nothing but results() goes to standard output. `name` stands before
  /// the command's own lines.
  Screen(Context& context, bool table, bool json, Lines lines, std::string name = "launch");

  bool has_table() const { return table_.has_value(); }
  /// The streams for tasks' standard output and standard error. Call these functions again after the table has ended, since
  /// the streams change then.
  TextOutput& output();
  TextOutput& errors();
  /// Writes a line of the command's own. It may have text of tasks and files: clean_lines() is applied. The output of tasks
  /// itself goes to output() and errors() as it is, since programs may colour it.
  void say(const std::string& text) { errors() << "[" + name_ + "] " + clean_lines(text) + "\n"; }
  /// The stream for the command's results: standard output.
  TextOutput& results() { return out().lines(); }

  /// The time of the next update().
  std::optional<SteadyTime> next_update() const;
  /// Writes what the streams have got, as far as their readers accept it: update() never waits. Draws the table if its time
  /// has come.
  void update(SteadyTime now);
  /// The descriptors that make an update() useful as soon as they accept bytes.
  std::vector<int> writers() const;
  /// Until when no more output of tasks should be read, since the readers of this process are slow; nothing: read it. A reader
  /// that takes nothing is not waited for for long: the tasks' output has to be read, or they would stop.
  std::optional<SteadyTime> waits_for_readers_until(SteadyTime now) const;

  /// Call it when all tasks have ended. What the command itself has to say then is not lost even if earlier lines are.
  void begin_end();
  /// Draws the table for the last time, and leaves it there.
  void leave_table(SteadyTime now);
  /// Removes the table from the terminal.
  void remove_table();
  /// Waits until the readers have taken everything, as a pager does when its user pages on. Once a signal has asked this
  /// process to end, a reader gets a second at most.
  void finish(SignalInbox& inbox);

 private:
  PromptStream& out() { return out_ ? *out_ : err_; }
  void draw(SteadyTime now);
  void send(SteadyTime now);

  const bool json_;
  const Lines lines_;
  const std::string name_;
  PromptStream err_;
  std::optional<PromptStream> out_{};  // Nothing if both streams are one: then err_ gets all text, in order.
  std::optional<LiveTable> table_{};
  SteadyTime next_draw_{};
};

}  // namespace shoal::cli::launch
