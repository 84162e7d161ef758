// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace shoal {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "shoal: broken invariant at %s:%d: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace shoal
