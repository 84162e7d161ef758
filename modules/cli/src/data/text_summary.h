// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What many texts have in common, found in one pass and in bounded memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::cli {

/// Texts and how often each occurs. Its order is never seen.
using TextCounts = std::unordered_map<std::string, int64_t>;
/// At most `size_max` of the texts that occur at least `count_min` times, by falling count and then by bytes.
std::vector<std::pair<std::string, int64_t>> most_frequent(const TextCounts& counts, size_t size_max,
                                                           int64_t count_min = 1);

/// Counts texts. While there are at most `distinct_max` different ones, all counts are exact. Beyond, they are too small by at most
/// count() / distinct_max, and rare texts are forgotten.
///
/// Source: Misra, Gries, "Finding repeated elements" (Science of Computer Programming 2, 1982).
class TextSummary {
 public:
  explicit TextSummary(size_t distinct_max) : distinct_max_(distinct_max) {}
  void add(std::string_view text);

  int64_t count() const { return count_; }
  uint64_t bytes_least() const { return count_ == 0 ? 0 : bytes_least_; }
  uint64_t bytes_most() const { return bytes_most_; }
  double bytes_mean() const { return count_ == 0 ? 0 : double(bytes_) / double(count_); }
  /// Whether distinct() and the counts of most_frequent() are exact.
  bool is_exact() const { return !overflowed_; }
  /// How many different texts there are; if that is not exact, there are more.
  size_t distinct() const { return overflowed_ ? distinct_max_ : counts_.size(); }
  /// The texts that are kept. Long ones are cut, with their length behind them.
  const TextCounts& counts() const { return counts_; }

 private:
  const size_t distinct_max_;
  TextCounts counts_;
  std::string key_;
  bool overflowed_ = false;
  int64_t count_ = 0;
  uint64_t bytes_ = 0, bytes_least_ = UINT64_MAX, bytes_most_ = 0;
};

}  // namespace shoal::cli
