// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/time.h"

#include <algorithm>

namespace shoal {

Duration seconds_to_duration(double seconds) {
  constexpr double kCentury = 100.0 * 366 * 24 * 3600;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, -kCentury, kCentury)));
}

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace shoal
