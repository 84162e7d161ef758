// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What many numbers have in common, found in one pass and in bounded memory.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shoal::cli {

/// Keeps some of the numbers that it gets, each of which stands for several, so that any quantile can be told at the end. Up to
/// `capacity` numbers it keeps all. Beyond, the rank of a quantile is wrong by at most 2.3 / (capacity / 3)^0.9 of the count, in 99 of 100
/// cases: 0.13 % for 12288. Equal numbers in equal order give equal results.
///
/// Source: Karnin, Lang, Liberty, "Optimal quantile approximation in streams" (FOCS 2016); the figures of the error were measured
/// by the authors of the Apache DataSketches library.
class QuantileSketch {
 public:
  explicit QuantileSketch(size_t capacity) : capacity_(capacity), levels_(1) {}
  void add(double number);
  /// One number and how many it stands for.
  struct Weighted {
    double number;
    uint64_t weight;
  };
  /// In ascending order.
  std::vector<Weighted> sorted() const;
  /// False once a number stands for several.
  bool is_exact() const { return levels_.size() == 1; }

 private:
  size_t capacity_of(size_t level) const;
  void compress();

  const size_t capacity_;
  std::vector<std::vector<double>> levels_;  // A number of level i stands for 2^i.
  size_t kept_ = 0;
  uint64_t coin_ = 0x9e3779b97f4a7c15;  // The state of the generator of offsets (xorshift64).
};

class NumberSummary {
 public:
  /// `sketch_capacity` 0: nothing is kept for quantiles and histogram.
  explicit NumberSummary(size_t sketch_capacity) : keeps_(sketch_capacity > 0), sketch_(sketch_capacity) {}
  void add(double number);

  // NaN counts as none() alone. Infinite numbers count for least(), most() and quantiles.
  int64_t count() const { return finite_ + infinite_; }
  int64_t infinite() const { return infinite_; }
  int64_t none() const { return none_; }
  double least() const { return least_; }
  double most() const { return most_; }
  double mean() const { return mean_; }
  /// Of all numbers, divided by their count.
  double standard_deviation() const;
  /// The least number such that at least this share of all numbers is not above it.
  std::vector<double> quantiles(const std::vector<double>& shares) const;
  struct Bin {
    double from, to;  ///< Numbers from `from` up to below `to`; the last bin has `to` as well.
    uint64_t count;
  };
  /// Equal parts of the range of the finite numbers.
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
