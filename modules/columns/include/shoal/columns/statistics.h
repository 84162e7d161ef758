// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the data say, in one pass: means to normalize numbers with, vocabularies.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/learned.h"
#include "shoal/base/result.h"
#include "shoal/base/std_function.h"
#include "shoal/data/dataset.h"
#include "shoal/graph/graph.h"

namespace shoal {
class Environment;
struct StatisticsText;
}  // namespace shoal

namespace shoal::columns {

/// For NumericOptions::normalizer: (x - mean) / stddev; x - mean where stddev is 0.
std::function<Value(Value)> standardizer(double mean, double stddev);
/// (x - low) / (high - low); x - low where they are equal.
std::function<Value(Value)> rescaler(double low, double high);
/// log(1 + x), for counts and amounts >= 0 with a long tail.
std::function<Value(Value)> log1p_normalizer();

/// Of a feature of numbers: all its elements in all examples.
struct NumberStatistics {
  int64_t count = 0;    ///< How many there are, NaN left out.
  int64_t missing = 0;  ///< How many are NaN.
  double mean = 0;      ///< 0 if there are none, as the others.
  double stddev = 0;    ///< Of the population: divided by count.
  double min = 0;
  double max = 0;

  std::function<Value(Value)> standardizer() const;
  std::function<Value(Value)> rescaler() const;
};

/// Of a feature of text.
struct TextStatistics {
  int64_t count = 0;  ///< How many there are, missing ones left out.
  int64_t missing = 0;
  std::map<std::string, int64_t> counts;  ///< How often each text occurs.

  /// Texts that occur at least `count_min` times, the most frequent first, of equals by bytes; at most `size_max`.
  std::vector<std::string> vocabulary(int64_t count_min = 1, int64_t size_max = INT64_MAX) const;
};

struct StatisticsOptions {
  std::vector<std::string> missing = {""};  ///< Texts that say that nothing is there.
  int64_t distinct_max = 1'000'000;         ///< A feature with more distinct texts is InvalidArgument.
  /// Names of features that are passed over, such as ids: all others are looked at, also if nobody asks for them. A feature of
  /// text costs its distinct texts, in memory and, with RunConfig::learned(), in the model directory.
  std::vector<std::string> unused{};
  /// Where the dataset is read, and a stop comes from (Cancelled): RunConfig::environment(). Null: on this machine, which in a
  /// test with a World is not where the task's files are.
  std::shared_ptr<Environment> env = nullptr;
};

/// Statistics of each feature, and of labels by their names ("" for a lone one). An immutable value.
class Statistics {
 public:
  /// Raises NotFound, listing the names there are, for another one, also for one of text or numbers where the other is
  /// asked for.
  const NumberStatistics& number(const std::string& feature) const;
  const TextStatistics& text(const std::string& feature) const;
  const NumberStatistics& label_number(const std::string& label = "") const;
  const TextStatistics& label_text(const std::string& label = "") const;

 private:
  friend StatisticsText;
  friend Result<Statistics> measure(const data::Dataset& dataset, const StatisticsOptions& options);
  struct Part;
  struct Parts;
  const Part& features() const;
  const Part& labels() const;
  std::shared_ptr<const Parts> parts_;  // Never written to, so that copies share them. Null: nothing was measured.
};

/// Reads all of `dataset`, batched or not; it must end. InvalidArgument for one that does not (repeat()), and for an unused
/// feature that no element has; errors of the dataset.
/// Source of the running means and variances: Welford, "Note on a method for calculating corrected sums of squares and
/// products" (1962).
Result<Statistics> measure(const data::Dataset& dataset, const StatisticsOptions& options = {});
/// The same, raising its errors: for programs.
Statistics statistics_of(const data::Dataset& dataset, const StatisticsOptions& options = {});

}  // namespace shoal::columns

namespace shoal {

/// A run keeps statistics: `config.learned("statistics", [&] { return columns::statistics_of(training); })`. New are texts that
/// the data had not when the statistics were made.
template <>
struct Learned<columns::Statistics> {
  static std::string encode(const columns::Statistics& value);
  static Result<columns::Statistics> decode(std::string_view json);
  static std::string news(const columns::Statistics& kept, const columns::Statistics& found);
};

}  // namespace shoal
