// SPDX-License-Identifier: Apache-2.0
// The CMake target shoal::tools compiles this file into the program that links it.
#include "shoal/cli/tools.h"

namespace {
[[maybe_unused]] const bool kHasTools = shoal::use_tools();
}
