// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The result of an evaluation: numbers by name.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

/// The results of one evaluation by name, always with `loss` and `global_step`.
///
///   const shoal::Metrics metrics = estimator.evaluate(test);
///   double loss = metrics.at("loss");
///   int64_t step = metrics.integer("global_step");
///
/// All values are doubles, which hold whole numbers exactly up to 2^53. `global_step` and the metrics that are counts
/// (nn::Metric::is_count) are marked as counts, so that they are printed as whole numbers. Metrics that are read from event
/// files are float32 numbers, exact up to 2^24, and not marked as counts.
class Metrics : public std::map<std::string, double> {
 public:
  using std::map<std::string, double>::map;

  /// The metric of that name. Raises NotFound, listing the names, if there is none.
  double at(const std::string& name) const;
  /// A metric that is a whole number. Raises NotFound, listing the names, if there is none of this name, and
  /// FailedPrecondition if it has a fraction or exceeds 2^53, above which doubles skip whole numbers.
  int64_t integer(const std::string& name) const;
  /// The value of a metric that is marked as a count; nothing if it is not marked, or is no whole number because examples
  /// have weights.
  std::optional<int64_t> count_of(const std::string& name) const;
  /// Sets a metric and marks it as a count.
  void set_count(const std::string& name, double value);
  /// Copies all metrics of `other` into this object, replacing those of the same names.
  void take(const Metrics& other);

 private:
  std::vector<std::string> counts_;  // Sorted.
};

}  // namespace shoal
