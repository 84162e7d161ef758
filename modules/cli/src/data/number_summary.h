// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Summarizes many numbers in one pass and in bounded memory.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "shoal/base/quantile_sketch.h"

namespace shoal::cli {

class NumberSummary {
 public:
  /// `sketch_capacity` 0: keeps nothing for quantiles and histogram.
  explicit NumberSummary(size_t sketch_capacity) : keeps_(sketch_capacity > 0), sketch_(sketch_capacity) {}
  void add(double number);

  // count() includes infinities. none() counts the NaN values, which all other results leave out. least(), most() and
  // quantiles() include infinities, too.
  int64_t count() const { return finite_ + infinite_; }
  int64_t infinite() const { return infinite_; }
  int64_t none() const { return none_; }
  double least() const { return least_; }
  double most() const { return most_; }
  double mean() const { return mean_; }
  /// The standard deviation of all numbers; the divisor is their count.
  double standard_deviation() const;
  /// For each share: the smallest number x such that at least this share of all numbers is at most x.
  std::vector<double> quantiles(const std::vector<double>& shares) const;
  struct Bin {
    double from, to;  ///< Counts numbers from `from` to below `to`; the last bin includes `to`.
    uint64_t count;
  };
  /// Counts the finite numbers in `bins` equal parts of their range.
  std::vector<Bin> histogram(size_t bins) const;
  bool is_exact() const { return sketch_.is_exact(); }

 private:
  const bool keeps_;
  QuantileSketch sketch_;
  int64_t finite_ = 0, infinite_ = 0, none_ = 0;
  double mean_ = 0, deviations_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), most_ = -std::numeric_limits<double>::infinity();
  double least_finite_ = std::numeric_limits<double>::infinity(), most_finite_ = -std::numeric_limits<double>::infinity();
};

}  // namespace shoal::cli
