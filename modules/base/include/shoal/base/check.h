// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Assertions about Shoal's own code, active in release builds too. Bad input is never asserted: it is an Error.

namespace shoal {
/// Prints the violated invariant with its source line and aborts. Restarting from a checkpoint is the recovery.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace shoal

#define SHOAL_CHECK(condition) ((condition) ? static_cast<void>(0) : ::shoal::check_failed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define SHOAL_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define SHOAL_DCHECK(condition) SHOAL_CHECK(condition)
#endif
