// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends the process after an exhaustion (of memory, threads, ...) where no caller can receive an error.

#include <optional>

#include "shoal/base/error.h"

namespace shoal {

/// If raise_exhausted() raised the exception being handled, returns its error. Call it inside a catch block.
std::optional<Error> raised_exhaustion() noexcept;

/// If the exception being handled says that memory, threads or descriptors ran out, prints "error: ..." and ends the
/// process with the exit status of that error's kind; else returns. Call it inside a catch block or a terminate handler.
void end_if_exhausted(const char* where) noexcept;

}  // namespace shoal
