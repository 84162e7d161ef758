// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends the process when an exception has left a thread or coroutine.

namespace shoal {

/// Prints "shoal: `where` ended with an uncaught exception: ..." and aborts. call_user() catches exceptions of user code,
/// so this is a bug of Shoal. If memory, threads or descriptors ran out, it is no bug: the process then ends with a
/// sentence and that error's exit status. Call it inside a catch block (or unhandled_exception()).
[[noreturn]] void died_of_current_exception(const char* where) noexcept;

}  // namespace shoal
