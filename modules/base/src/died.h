// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends the process when an exception has left a thread or coroutine, or when something is broken.

namespace shoal {

/// Prints "shoal: `where` ended with an uncaught exception: ..." and aborts. call_user() catches exceptions of user code,
/// so this is a bug of Shoal. If memory, threads or descriptors ran out, it is no bug: the process then ends with a
/// sentence and that error's exit status. Call it inside a catch block (or unhandled_exception()).
[[noreturn]] void died_of_current_exception(const char* where) noexcept;

/// Prints a line to standard error, cut after about 4 KB, and aborts. `format` is that of printf, and ends the line. Aborts
/// within a second also if nobody reads standard error.
[[noreturn, gnu::format(printf, 1, 2)]] void abort_with_line(const char* format, ...) noexcept;

}  // namespace shoal
