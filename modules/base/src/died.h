// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The end of a thread or coroutine that let an exception out.

namespace shoal {

/// Prints "shoal: `where` let an exception out: ..." and aborts: user code is entered through call_user(), so this is a
/// mistake of ours. If memory, threads or descriptors ran out, it is none, and the process ends with a sentence and its
/// status. From inside a catch block (or unhandled_exception()).
[[noreturn]] void died_of_current_exception(const char* where) noexcept;

}  // namespace shoal
