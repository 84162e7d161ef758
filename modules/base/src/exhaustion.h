// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The end of a process that has run out of something where no error can be given to anybody.

#include <optional>

#include "shoal/base/error.h"

namespace shoal {

/// The error of raise_exhausted(), if that has raised the exception being handled. From inside a catch block.
std::optional<Error> raised_exhaustion() noexcept;

/// If the exception being handled says that memory, threads or descriptors ran out: prints "error: ..." and ends the process
/// with the status of that kind. Else returns. From inside a catch block, or a terminate handler.
void end_if_exhausted(const char* where) noexcept;

}  // namespace shoal
