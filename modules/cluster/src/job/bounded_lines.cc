// SPDX-License-Identifier: Apache-2.0
#include "job/bounded_lines.h"

#include <algorithm>
#include <utility>

#include "job/quote.h"

namespace shoal::cluster {

void BoundedLines::log(LogLevel level, const std::string& sentence) {
  constexpr auto kLineEvery = std::chrono::seconds(1);
  constexpr int kLinesAtOnce = 20;
  constexpr size_t kBytesMax = 2000;
  const SteadyTime now = env_.now();
  logged_until_ = std::max(logged_until_, now);
  if (logged_until_ >= now + kLinesAtOnce * kLineEvery) {
    ++unlogged_;
    return;
  }
  logged_until_ += kLineEvery;
  const std::string quoted = in_quotes(sentence, kBytesMax);
  const int64_t others = std::exchange(unlogged_, 0);
  env_.log().log(
      level, quoted.substr(1, quoted.size() - 2) + (others > 0 ? " (and " + std::to_string(others) + " more before)" : ""));
}

}  // namespace shoal::cluster
