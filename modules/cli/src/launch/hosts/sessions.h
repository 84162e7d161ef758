// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs short ssh sessions with many hosts at once.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/child_group.h"
#include "launch/inbox.h"

namespace shoal::cli::launch {

struct Session {
  Program program;  ///< The ssh command.
  std::string mark, script;
  std::string_view file{};  ///< Bytes that ssh's standard input has after the script.
};

struct SessionOutcome {
  std::vector<std::string> said;  ///< The reports that the script on the host has printed, such as "ready".
  std::string errors;             ///< The text that ssh wrote to standard error.
  bool in_time = true;            ///< False: the session was killed, because it took too long to end.

  /// The script's report that begins with `verb`, without that word; nothing if there was none.
  std::optional<std::string> said_of(std::string_view verb) const;
};

enum class OnSignal : uint8_t { kGiveUp, kGoOn };

/// Runs the sessions to their ends. Returns the outcomes in the order of `sessions`. Kills a session that has not ended
/// `patience` after its last input was sent. Cancelled, only with kGiveUp: a signal asked this process to end, and all
/// sessions were killed.
Result<std::vector<SessionOutcome>> run_sessions(const std::vector<Session>& sessions, Duration patience,
                                                 SignalInbox& inbox, OnSignal on_signal = OnSignal::kGiveUp);

}  // namespace shoal::cli::launch
