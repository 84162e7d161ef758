// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The near end of a supervising session (scripts.h): what is said to it, and what it has said.
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
  /// How long a session has to end once its task was to be killed.
  static constexpr Duration kKillLimit = std::chrono::seconds(5);

  /// `to`: the session's input. `mark`: that of `script`.
  SessionLink(Descriptor to, std::string script, std::string mark, SteadyTime now)
      : outbox_(std::move(to), std::move(script)), lines_(std::move(mark)), next_beat_(now + kBeatEvery) {}

  /// Passes the signal on. False: nothing runs there as far as is known, so it is the session that has to be ended, by
  /// whose end whatever has begun meanwhile ends, too.
  bool send(int signal, SteadyTime now);
  void write() { outbox_.send(); }
  int number() const { return outbox_.number(); }
  int waits_to_write() const { return outbox_.waits_for(); }
  std::optional<SteadyTime> next_time() const { return kill_at_ ? std::min(*kill_at_, next_beat_) : next_beat_; }
  /// False: the session should have ended by now, and is to be killed.
  bool time_passed(SteadyTime now);

  /// What of these bytes is the program's.
  std::string take(std::string_view bytes);
  std::string finish() { return lines_.finish(); }

  /// Once the session has ended: how the task did. Without a word of that the connection is lost.
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
  int sent_before_begin_ = 0;  // A signal that came before anything ran.
  bool killed_ = false, begun_ = false, listens_ = false;
  std::optional<Ending> ending_{};
  std::optional<std::string> report_{}, complaint_{};
};

}  // namespace shoal::cli::launch
