// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The launcher's side of an ssh session in which a script runs a task on another machine (scripts.h). Sends commands to
/// the script and stores what the script reports.
#include <optional>
#include <string>
#include <string_view>

#include "launch/hosts/marked_lines.h"
#include "launch/hosts/outbox.h"
#include "launch/policy.h"

namespace shoal::cli::launch {

class SessionLink {
 public:
  static constexpr Duration kBeatEvery = std::chrono::seconds(10);
  /// How long a session may take to end after the launcher has asked it to kill its task.
  static constexpr Duration kKillLimit = std::chrono::seconds(5);

  /// `to`: the session's input. `mark`: the random word that begins each report of `script` (scripts.h).
  SessionLink(Descriptor to, std::string script, std::string mark, SteadyTime now)
      : outbox_(std::move(to), std::move(script)), lines_(std::move(mark)), next_beat_(now + kBeatEvery) {}

  /// Asks the script to send a signal to the task's program. Returns false if the script has not yet reported the start of
  /// the program. Then the caller has to end the session, which also ends the program if it has started meanwhile.
  bool send(int signal, SteadyTime now);
  void write() { outbox_.send(); }
  int number() const { return outbox_.number(); }
  int waits_to_write() const { return outbox_.waits_for(); }
  std::optional<SteadyTime> next_time() const { return kill_at_ ? std::min(*kill_at_, next_beat_) : next_beat_; }
  /// Tells the script every kBeatEvery that the launcher still runs. Returns false if SIGKILL was sent to the task and the
  /// session has not ended within kKillLimit; then the caller has to kill the session.
  bool time_passed(SteadyTime now);

  /// Takes bytes that the session printed: output of the program, and reports of the script. Returns those of the program.
  std::string take(std::string_view bytes);
  std::string finish() { return lines_.finish(); }

  /// How the task ended; call it once the session has ended. If the script reported no end, the connection was lost.
  Ending ending() const;
  bool listens() const { return listens_; }
  const std::optional<std::string>& report() const { return report_; }
  const std::optional<std::string>& complaint() const { return complaint_; }

 private:
  void heed(std::string_view sentence);

  Outbox outbox_;
  MarkedLines lines_;
  SteadyTime next_beat_;
  std::optional<SteadyTime> kill_at_{};
  int sent_before_begin_ = 0;  // The last signal for which send() was called before the program had begun; 0: none.
  bool killed_ = false, begun_ = false, listens_ = false;
  std::optional<Ending> ending_{};
  std::optional<std::string> report_{}, complaint_{};
};

}  // namespace shoal::cli::launch
