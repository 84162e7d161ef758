// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Assertions about our own code, on in release too. Never for input: that is an Error.

namespace shoal {
/// Prints the broken invariant with its place and aborts: restart and checkpoints are the recovery.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace shoal

#define SHOAL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::shoal::check_failed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define SHOAL_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define SHOAL_DCHECK(condition) SHOAL_CHECK(condition)
#endif
