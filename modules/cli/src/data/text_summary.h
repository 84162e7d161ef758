// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Summarizes many texts in one pass and in bounded memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::cli {

/// Texts, and how often each occurs. Nothing that is printed depends on the arbitrary order of an unordered_map.
using TextCounts = std::unordered_map<std::string, int64_t>;
/// The most frequent texts, at most `size_max`, each of which occurs at least `count_min` times. Sorted by falling count,
/// and by bytes among equal counts.
std::vector<std::pair<std::string, int64_t>> most_frequent(const TextCounts& counts, size_t size_max,
                                                           int64_t count_min = 1);

/// A text that a TextSummary has counted.
struct FrequentText {
  std::string text;    ///< In place of a text of more than 256 bytes: its beginning, with its length and a hash.
  int64_t count = 0;   ///< How often it occurs.
  uint64_t bytes = 0;  ///< The length of the whole text.
};

/// Counts texts. Up to `distinct_max` different texts all counts are exact. Beyond, counts are too small by at most count()
/// / distinct_max, and rare texts are forgotten.
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
  /// The number of different texts. If is_exact() is false, this is distinct_max, and the true number is larger.
  size_t distinct() const { return overflowed_ ? distinct_max_ : counts_.size(); }
  /// The most frequent texts, at most `size_max`, sorted by falling count, and by bytes among equal counts.
  std::vector<FrequentText> most_frequent(size_t size_max) const;

 private:
  struct Counted {
    int64_t count = 0;
    uint64_t bytes = 0;
  };

  const size_t distinct_max_;
  std::unordered_map<std::string, Counted> counts_;  // The keys are those texts that FrequentText has.
  std::string key_;
  bool overflowed_ = false;
  int64_t count_ = 0;
  uint64_t bytes_ = 0, bytes_least_ = UINT64_MAX, bytes_most_ = 0;
};

}  // namespace shoal::cli
