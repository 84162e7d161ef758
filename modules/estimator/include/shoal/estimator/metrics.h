// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What an evaluation gives: numbers by name.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

/// Results of one evaluation by name; always with `loss` and `global_step`.
///
///   const shoal::Metrics metrics = estimator.evaluate(test);
///   double loss = metrics.at("loss");
///   int64_t step = metrics.integer("global_step");
///
/// All are doubles, which hold whole numbers exactly up to 2^53. What a Metric calls a count (nn::Metric::is_count), and
/// `global_step`, is known as one, so that it is printed as a whole number. Metrics that are read from event files are
/// float32 numbers, exact up to 2^24, and none of them is known as a count.
class Metrics : public std::map<std::string, double> {
 public:
  using std::map<std::string, double>::map;

  /// The metric of that name. Raises NotFound, listing the names, if there is none.
  double at(const std::string& name) const;
  /// A metric that is a whole number. Raises NotFound, listing the names, if there is none of this name, and
  /// FailedPrecondition if it has a fraction or is beyond 2^53, from where on doubles pass over whole numbers.
  int64_t integer(const std::string& name) const;
  /// The same for what is known as a count; nothing if it is not, or counts with weights and is no whole number.
  std::optional<int64_t> count_of(const std::string& name) const;
  /// Sets a metric that is known as a count.
  void set_count(const std::string& name, double value);
  /// Takes over all that `other` has, in the place of what has the same name.
  void take(const Metrics& other);

 private:
  std::vector<std::string> counts_;  // Sorted.
};

}  // namespace shoal
