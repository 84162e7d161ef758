// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes to a stream whose reader may have stopped reading without closing it: a pager at its first page, a terminal after
/// Ctrl-S, a remote login or a collector of logs that hangs.
#include <chrono>
#include <cstddef>
#include <string_view>

namespace shoal {

struct PromptWrite {
  size_t bytes = 0;  ///< How many bytes of the text were written.
  int error = 0;     ///< 0: all bytes were written. EAGAIN: the reader does not accept more now. Else the errno of write().
};

/// Writes `text` to `descriptor`, and waits at most `patience` in total for its reader. A plain write() to a full pipe or a
/// stopped terminal would wait for ever.
///
/// Never changes the flags of the descriptor, since other processes may share it: O_NONBLOCK would hold for them, too. A pipe
/// or a terminal is opened a second time for this call instead. If that is not allowed (the pipe belongs to another user, or
/// /proc is missing), it is asked before each small write whether it accepts bytes; such a write can still wait if another
/// process takes the room first, or if a terminal has room for a part of the text only.
///
/// Async-signal-safe and thread-safe. Keeps errno.
PromptWrite write_promptly(int descriptor, std::string_view text, std::chrono::milliseconds patience = {});

}  // namespace shoal
