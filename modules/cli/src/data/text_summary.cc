// SPDX-License-Identifier: Apache-2.0
#include "data/text_summary.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/base/random.h"

namespace shoal::cli {
namespace {

/// Returns the first `bytes_max` bytes of a text, or a few less, so that the cut is not inside of a character of UTF-8.
std::string_view beginning_of(std::string_view text, size_t bytes_max) {
  constexpr size_t kCharacterBytesMax = 4;
  if (text.size() <= bytes_max) return text;
  for (size_t size = bytes_max; size + kCharacterBytesMax > bytes_max; --size) {
    if ((text[size] & 0xc0) != 0x80) return text.substr(0, size);
  }
  return text.substr(0, bytes_max);  // The text is no UTF-8.
}

/// Returns pointers to the first `size_max` entries of `counts` that occur at least `count_min` times, in the order of
/// most_frequent(). `count_of` returns the count of an entry.
template <class Counts, class CountOf>
std::vector<const typename Counts::value_type*> first_in_order(const Counts& counts, size_t size_max, int64_t count_min,
                                                               const CountOf& count_of) {
  std::vector<const typename Counts::value_type*> order;
  for (const auto& entry : counts) {
    if (count_of(entry) >= count_min) order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    return count_of(*a) != count_of(*b) ? count_of(*a) > count_of(*b) : a->first < b->first;
  });
  order.resize(std::min(size_max, order.size()));
  return order;
}

}  // namespace

void TextSummary::add(std::string_view text) {
  ++count_;
  bytes_ += text.size();
  bytes_least_ = std::min<uint64_t>(bytes_least_, text.size());
  bytes_most_ = std::max<uint64_t>(bytes_most_, text.size());
  if (distinct_max_ == 0) return;
  constexpr size_t kKeptBytes = 256, kShownBytes = 100;
  key_ = beginning_of(text, text.size() > kKeptBytes ? kShownBytes : kKeptBytes);
  if (text.size() > kKeptBytes) {
    key_ += formatted("... (%zu bytes, XXH3 %016llx)", text.size(), static_cast<unsigned long long>(hash64(text)));
  }
  if (const auto found = counts_.find(key_); found != counts_.end()) {
    ++found->second.count;
  } else if (counts_.size() < distinct_max_) {
    counts_.emplace(key_, Counted{1, text.size()});
  } else {
    // No room for another text. The algorithm of Misra and Gries drops the new text, and reduces the count of each text in
    // counts_ by one. Counts are no longer exact.
    overflowed_ = true;
    for (auto at = counts_.begin(); at != counts_.end();) at = --at->second.count == 0 ? counts_.erase(at) : std::next(at);
  }
}

std::vector<std::pair<std::string, int64_t>> most_frequent(const TextCounts& counts, size_t size_max, int64_t count_min) {
  std::vector<std::pair<std::string, int64_t>> first;
  const auto count_of = [](const auto& entry) { return entry.second; };
  for (const auto* text : first_in_order(counts, size_max, count_min, count_of)) first.emplace_back(*text);
  return first;
}

std::vector<FrequentText> TextSummary::most_frequent(size_t size_max) const {
  std::vector<FrequentText> first;
  const auto count_of = [](const auto& entry) { return entry.second.count; };
  for (const auto* text : first_in_order(counts_, size_max, 1, count_of)) {
    first.push_back({.text = text->first, .count = text->second.count, .bytes = text->second.bytes});
  }
  return first;
}

}  // namespace shoal::cli
