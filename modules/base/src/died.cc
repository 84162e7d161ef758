// SPDX-License-Identifier: Apache-2.0
#include "died.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "exhaustion.h"

namespace shoal {

void died_of_current_exception(const char* where) noexcept {
  end_if_exhausted(where);
#if defined(__cpp_exceptions)
  try {
    throw;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "shoal: %s ended with an uncaught exception: %s\n", where, exception.what());
  } catch (...) {
    std::fprintf(stderr, "shoal: %s ended with an uncaught exception that is no std::exception\n", where);
  }
#else
  std::fprintf(stderr, "shoal: %s ended with an uncaught exception\n", where);
#endif
  std::fflush(stderr);
  std::abort();
}

}  // namespace shoal
