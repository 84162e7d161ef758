// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The weights of negative and positive examples by score, from which areas under curves are computed. A score is a
/// probability or a logit; only the order of scores counts. Each different score has a bin of its own as long as there are
/// few of them. When there are too many, bins of neighbours are joined, so a state has a fixed size and can be the totals of
/// a metric. (QuantileSketch, in base, has neither weights nor two classes.)
#include <cstddef>
#include <span>
#include <vector>

namespace shoal::nn {

struct ScoreBin {
  /// The place of the bin's score in the order of all float32 numbers (place_of). For joined bins the weighted mean of their
  /// places.
  double place = 0;
  double negatives = 0;  ///< The sum of the weights of the negative examples.
  double positives = 0;
};

/// So many different scores are always told apart.
inline constexpr size_t kScoreBinsKept = 16384;
/// The size of a state. All totals are 0 at the start.
inline constexpr size_t kScoreBinTotals = 1 + 3 * 2 * kScoreBinsKept;

/// A number that grows with the score; neighbouring float32 numbers differ by 1, and 0 has place 0. `score` is not NaN.
double place_of(float score);
/// Adds an example to a state.
void add_score(std::span<double> totals, float score, bool positive, double weight);
/// Adds the examples of another state.
void merge_score_bins(std::span<double> totals, std::span<const double> other);
/// The bins by ascending place, all places different.
std::vector<ScoreBin> ascending_bins(std::span<const double> totals);

}  // namespace shoal::nn
