// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include "shoal/base/time.h"

namespace shoal {

// Older C++ libraries for 32-bit machines read the clock into 32 bits, which overflow in January 2038. The C library has a
// 64-bit clock for these machines too, if _TIME_BITS is 64; all of Shoal is compiled so.
static_assert(sizeof(std::timespec::tv_sec) >= 8,
              "compile Shoal with _TIME_BITS=64 and _FILE_OFFSET_BITS=64, as its build does");

WallTime read_wall_clock() {
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return WallTime(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

}  // namespace shoal
