// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A standard stream of a command that runs programs. The command goes on with its work if nobody reads the stream.
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/time.h"
#include "shoal/cli/text_output.h"

namespace shoal::cli::launch {

/// Text on its way to a file or a pipe. Writing never waits. Text that the reader does not accept yet is kept, up to a limit;
/// what comes beyond that is lost, and a line in its place says how many lines are missing.
class PromptStream {
 public:
  /// How long waits_for_reader() lets a command wait for a reader that takes nothing. Shorter than the patience of a task's
  /// log (stderr_sink()), so that a slow reader costs no lines of the tasks.
  static constexpr Duration kPatience = std::chrono::seconds(2);

  /// `to`, which must outlive this object, may be a text in memory. `name` stands before the line about missing lines.
  PromptStream(TextOutput& to, std::string name) : to_(to), name_(std::move(name)) {}

  /// The stream to append whole lines to. send() writes them.
  TextOutput& lines() { return lines_; }
  /// Writes as much as the reader accepts now. A failed write drops the text, and makes ok() of the file false.
  void send(SteadyTime now);
  /// The descriptor that accepts the kept text once it can be written; -1: there is none, or send() is due at next_time().
  int waits_for() const;
  /// The time of the next send() if waits_for() cannot tell when.
  std::optional<SteadyTime> next_time() const { return retry_at_; }

  /// Keeps all text from now on, however much is kept already. For the command's last lines, which are few and matter most.
  void keep_all() { keeps_all_ = true; }
  bool has_kept_text() const { return !kept_.empty(); }
  /// True if text that comes now would be lost.
  bool loses_text() const { return lost_count_ > 0; }
  /// Until when a command should not produce more text: the limit is reached, and the reader has taken text not long ago.
  /// Nothing: the command should go on.
  std::optional<SteadyTime> waits_for_reader_until(SteadyTime now) const;
  /// The last time at which the reader took text, or there was none to take.
  SteadyTime taken_at() const { return taken_at_; }

 private:
  void keep_or_lose();
  void lose(std::string& text);

  TextOutput& to_;
  const std::string name_;
  std::string new_;  // Text that send() has not seen yet.
  TextOutput lines_{new_};
  std::string kept_;
  bool keeps_all_ = false;
  bool in_line_ = false;     // True if the last byte that was written is not the end of a line.
  uint64_t lost_count_ = 0;  // The lines that are missing behind kept_.
  uint64_t told_count_ = 0;  // The lines whose absence a line within kept_ tells.
  SteadyTime taken_at_{};
  std::optional<SteadyTime> retry_at_{};
};

/// True if both are the same pipe, terminal or socket, as after the shell's `2>&1`.
bool are_one_stream(const TextOutput& first, const TextOutput& second);

}  // namespace shoal::cli::launch
