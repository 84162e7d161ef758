// SPDX-License-Identifier: Apache-2.0
#include "latencies.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace shoal::bench {

double Latencies::percentile(double share) {
  if (seconds_.empty()) return 0;
  std::sort(seconds_.begin(), seconds_.end());
  return seconds_[std::min(seconds_.size() - 1, size_t(share * double(seconds_.size())))];
}

double now_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t repetitions(double seconds_of_one, double budget, int64_t least, int64_t most) {
  if (!(seconds_of_one > 0)) return most;
  return int64_t(std::clamp(budget / seconds_of_one, double(least), double(most)));
}

}  // namespace shoal::bench
