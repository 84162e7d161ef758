// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Short ssh sessions, one with each of many hosts at once.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/child_group.h"
#include "launch/inbox.h"

namespace shoal::cli::launch {

struct Session {
  Program program;  ///< ssh.
  std::string mark, script;
  std::string_view file{};  ///< What comes behind the script.
};

struct SessionOutcome {
  std::vector<std::string> said;  ///< What the script said.
  std::string errors;             ///< What ssh wrote to standard error.
  bool in_time = true;            ///< False: it was killed, since nothing had moved for too long.

  /// What the script said behind its `verb`; nothing if it did not.
  std::optional<std::string> said_of(std::string_view verb) const;
};

/// Runs them to their ends; one in which nothing moves for `patience` is killed. In the order of `sessions`. Cancelled: a
/// signal came that asks this process to leave, and all were killed.
Result<std::vector<SessionOutcome>> run_sessions(const std::vector<Session>& sessions, Duration patience,
                                                 SignalInbox& inbox);

}  // namespace shoal::cli::launch
