// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/check.h"

#include "died.h"

namespace shoal {

void check_failed(const char* condition, const char* file, int line) {
  abort_with_line("shoal: broken invariant at %s:%d: %s\n", file, line, condition);
}

}  // namespace shoal
