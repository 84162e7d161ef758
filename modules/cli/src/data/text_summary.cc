// SPDX-License-Identifier: Apache-2.0
#include "data/text_summary.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/base/random.h"

namespace shoal::cli {

void TextSummary::add(std::string_view text) {
  ++count_;
  bytes_ += text.size();
  bytes_least_ = std::min<uint64_t>(bytes_least_, text.size());
  bytes_most_ = std::max<uint64_t>(bytes_most_, text.size());
  if (distinct_max_ == 0) return;
  constexpr size_t kKeptBytes = 256, kShownBytes = 100;
  key_ = text.substr(0, text.size() > kKeptBytes ? kShownBytes : kKeptBytes);
  if (text.size() > kKeptBytes) {
    key_ += formatted("... (%zu bytes, XXH3 %016llx)", text.size(), static_cast<unsigned long long>(hash64(text)));
  }
  if (const auto found = counts_.find(key_); found != counts_.end()) {
    ++found->second;
  } else if (counts_.size() < distinct_max_) {
    counts_.emplace(key_, 1);
  } else {
    // The new text and one of each that is kept go away together.
    overflowed_ = true;
    for (auto at = counts_.begin(); at != counts_.end();) at = --at->second == 0 ? counts_.erase(at) : std::next(at);
  }
}

std::vector<std::pair<std::string, int64_t>> TextSummary::most_frequent(size_t count) const {
  std::vector<std::pair<int64_t, std::string>> all;
  all.reserve(counts_.size());
  for (const auto& [text, times] : counts_) all.emplace_back(-times, text);
  const auto end = all.begin() + ptrdiff_t(std::min(count, all.size()));
  std::partial_sort(all.begin(), end, all.end());
  std::vector<std::pair<std::string, int64_t>> first;
  for (auto at = all.begin(); at != end; ++at) first.emplace_back(std::move(at->second), -at->first);
  return first;
}

}  // namespace shoal::cli
