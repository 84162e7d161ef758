// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends a program of a build without exceptions (SHOAL_EXCEPTIONS=OFF), in which raise() cannot throw.
#include "shoal/base/error.h"
#include "shoal/base/function.h"

namespace shoal {

/// While an object of this class lives, an error that raise() gets on this thread is passed to `end`, and the process ends
/// with the exit status that `end` returns. Without such an object, or on another thread, raise() prints the error and ends
/// the process with the error's own exit status. No destructor of the raising functions runs in either case.
///
/// Builds with exceptions never call `end`: there the error reaches the caller of raise() as an exception. One object per
/// thread.
class ErrorBorder {
 public:
  explicit ErrorBorder(UniqueFunction<int(const Error&)> end);
  ~ErrorBorder();
  ErrorBorder(const ErrorBorder&) = delete;
  ErrorBorder& operator=(const ErrorBorder&) = delete;

  /// Ends the process as described above. For raise() alone.
  [[noreturn]] static void end_process(const Error& error);

 private:
  UniqueFunction<int(const Error&)> end_;
};

}  // namespace shoal
