// SPDX-License-Identifier: Apache-2.0
#include "print_error.h"

#include <cstdio>
#include <string>

namespace shoal {

int print_error(const Error& error, std::string_view task) {
  std::fprintf(stderr, "error: %s%s%s\n", std::string(task).c_str(), task.empty() ? "" : ": ", error.message().c_str());
  return exit_status(error.kind());
}

}  // namespace shoal
