// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs work that was passed to Shoal's loops and threads. An uncaught exception is printed and ends the process.
#include <optional>

#include "died.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/function.h"

namespace shoal {

inline void run_guarded(Work& work, [[maybe_unused]] const char* what) noexcept {
#if defined(__cpp_exceptions)
  try {
    work();
  } catch (...) {
    died_of_current_exception(what);
  }
#else
  work();
#endif
}

#if defined(__cpp_exceptions)
/// The error of the exception that is being handled, if raise() threw it; nothing for any other exception.
inline std::optional<Error> raised_error() {
  try {
    throw;
  } catch (const Exception& raised) {
    return raised.error();
  } catch (...) {
    return std::nullopt;
  }
}
#endif

/// Like run_guarded(), for work whose result a coroutine awaits. If the work raises an error, or memory, threads or
/// descriptors run out, returns this error, which the coroutine then gets.
inline Result<void> run_awaited(Work& work, [[maybe_unused]] const char* what) noexcept {
#if defined(__cpp_exceptions)
  try {
    work();
  } catch (...) {
    if (std::optional<Error> error = exhaustion_of_current_exception(what)) return *std::move(error);
    if (std::optional<Error> error = raised_error()) return *std::move(error);
    died_of_current_exception(what);
  }
#else
  work();
#endif
  return {};
}

}  // namespace shoal
