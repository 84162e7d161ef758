// SPDX-License-Identifier: Apache-2.0
// A program that links the CMake target shoal::tools gets this file compiled into it. The initializer calls use_tools().
#include "shoal/cli/tools.h"

namespace {
[[maybe_unused]] const bool kHasTools = shoal::use_tools();
}
