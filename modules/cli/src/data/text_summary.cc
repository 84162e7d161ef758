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
    // No room for another text. The algorithm of Misra and Gries drops the new text, and reduces the count of each text in
    // counts_ by one. Counts are no longer exact.
    overflowed_ = true;
    for (auto at = counts_.begin(); at != counts_.end();) at = --at->second == 0 ? counts_.erase(at) : std::next(at);
  }
}

std::vector<std::pair<std::string, int64_t>> most_frequent(const TextCounts& counts, size_t size_max, int64_t count_min) {
  std::vector<const TextCounts::value_type*> order;
  for (const auto& text : counts) {
    if (text.second >= count_min) order.push_back(&text);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second != b->second ? a->second > b->second : a->first < b->first;
  });
  order.resize(std::min(size_max, order.size()));
  std::vector<std::pair<std::string, int64_t>> first;
  for (const auto* text : order) first.emplace_back(*text);
  return first;
}

}  // namespace shoal::cli
