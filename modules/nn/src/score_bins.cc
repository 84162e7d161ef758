// SPDX-License-Identifier: Apache-2.0
#include "score_bins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "shoal/base/check.h"

namespace shoal::nn {
namespace {

// A state has the number of its bins in totals[0], then the three numbers of each bin. New bins are appended, one for each
// example; when there is no room left, the bins are sorted and as many joined as necessary.
constexpr size_t kBinNumbers = 3;
constexpr size_t kBinsMax = (kScoreBinTotals - 1) / kBinNumbers;

size_t count_of(std::span<const double> totals) { return size_t(totals[0]); }

ScoreBin bin_at(std::span<const double> totals, size_t i) {
  const double* const numbers = &totals[1 + i * kBinNumbers];
  return {.place = numbers[0], .negatives = numbers[1], .positives = numbers[2]};
}

void append(std::span<double> totals, const ScoreBin& bin) {
  double* const numbers = &totals[1 + count_of(totals) * kBinNumbers];
  numbers[0] = bin.place;
  numbers[1] = bin.negatives;
  numbers[2] = bin.positives;
  totals[0] += 1;
}

double weight_of(const ScoreBin& bin) { return std::abs(bin.negatives) + std::abs(bin.positives); }

ScoreBin joined(const ScoreBin& a, const ScoreBin& b) {
  const double share = weight_of(b) / (weight_of(a) + weight_of(b));
  return {.place = a.place == b.place || !(share > 0) ? a.place : a.place + share * (b.place - a.place),
          .negatives = a.negatives + b.negatives,
          .positives = a.positives + b.positives};
}

/// Joins neighbours, from the highest score downwards, while the joined bin stays small in three respects: it has at most
/// 1/4000 of the negatives, at most 1/4000 of the positives (for the ROC curve), and 1/1000 of what lies above it (for the
/// precision, which depends on few examples where the scores are high). All limits are multiplied by `slack`. Comparisons
/// are written so that weights which are not finite are joined and the number of bins falls.
std::vector<ScoreBin> join_neighbours(const std::vector<ScoreBin>& ascending, double slack) {
  double negatives = 0, positives = 0;
  for (const ScoreBin& bin : ascending) {
    negatives += std::abs(bin.negatives);
    positives += std::abs(bin.positives);
  }
  const double negatives_max = slack * negatives / 4000, positives_max = slack * positives / 4000;
  double above = 0;  // The weight of the finished bins.
  std::vector<ScoreBin> bins{ascending.back()};
  for (size_t i = ascending.size() - 1; i-- > 0;) {
    const ScoreBin wider = joined(bins.back(), ascending[i]);
    const bool too_wide = std::abs(wider.negatives) > negatives_max || std::abs(wider.positives) > positives_max ||
                          weight_of(wider) > slack * above / 1000;
    if (too_wide) {
      above += weight_of(bins.back());
      bins.push_back(ascending[i]);
    } else {
      bins.back() = wider;
    }
  }
  std::ranges::reverse(bins);
  return bins;
}

void make_room(std::span<double> totals) {
  std::vector<ScoreBin> bins = ascending_bins(totals);
  for (double slack = 1; bins.size() > kScoreBinsKept; slack *= 2) bins = join_neighbours(bins, slack);
  totals[0] = 0;
  for (const ScoreBin& bin : bins) append(totals, bin);
}

void add_bin(std::span<double> totals, const ScoreBin& bin) {
  SHOAL_DCHECK(totals.size() == kScoreBinTotals);
  if (bin.negatives == 0 && bin.positives == 0) return;
  if (count_of(totals) == kBinsMax) make_room(totals);
  append(totals, bin);
}

}  // namespace

double place_of(float score) {
  // The bits of a float32 number without its sign, read as an integer, grow with its magnitude.
  const double magnitude = std::bit_cast<uint32_t>(std::abs(score));
  return score < 0 ? -magnitude : magnitude;
}

void add_score(std::span<double> totals, float score, bool positive, double weight) {
  add_bin(totals, {.place = place_of(score), .negatives = positive ? 0 : weight, .positives = positive ? weight : 0});
}

void merge_score_bins(std::span<double> totals, std::span<const double> other) {
  for (size_t i = 0; i < count_of(other); ++i) add_bin(totals, bin_at(other, i));
}

std::vector<ScoreBin> ascending_bins(std::span<const double> totals) {
  std::vector<ScoreBin> bins(count_of(totals));
  for (size_t i = 0; i < bins.size(); ++i) bins[i] = bin_at(totals, i);
  // Stable, so that the sums of equal places are the same bits with every standard library.
  std::ranges::stable_sort(bins, {}, &ScoreBin::place);
  size_t kept = 0;
  for (size_t i = 1; i < bins.size(); ++i) {
    if (bins[i].place == bins[kept].place) {
      bins[kept] = joined(bins[kept], bins[i]);
    } else {
      bins[++kept] = bins[i];
    }
  }
  if (!bins.empty()) bins.resize(kept + 1);
  return bins;
}

}  // namespace shoal::nn
