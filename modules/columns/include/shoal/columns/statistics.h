// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Statistics of a dataset, computed in one pass: means for normalizing numbers, vocabularies.
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

/// Returns a function for NumericOptions::normalizer: (x - mean) / stddev, or x - mean if stddev is 0. Raises
/// InvalidArgument unless both are finite numbers.
std::function<Value(Value)> standardizer(double mean, double stddev);
/// Returns a normalizer: (x - low) / (high - low), or x - low if both limits are equal. Raises InvalidArgument unless both
/// limits and their distance are finite numbers.
std::function<Value(Value)> rescaler(double low, double high);
/// Returns a normalizer: log(1 + x), for counts and amounts >= 0 with a long tail.
std::function<Value(Value)> log1p_normalizer();

/// Statistics of a feature of numbers, over all its elements in all examples.
struct NumberStatistics {
  int64_t count = 0;    ///< The number of elements that are not NaN.
  int64_t missing = 0;  ///< The number of NaN elements.
  double mean = 0;      ///< This and the members below are 0 if there are no numbers.
  double stddev = 0;    ///< The standard deviation of the population (the sum is divided by count).
  double min = 0;
  double max = 0;

  std::function<Value(Value)> standardizer() const;
  std::function<Value(Value)> rescaler() const;
};

/// Statistics of a feature of text.
struct TextStatistics {
  int64_t count = 0;  ///< The number of texts that are not missing.
  int64_t missing = 0;
  std::map<std::string, int64_t> counts;  ///< How often each text occurs.

  /// Returns the texts that occur at least `count_min` times, the most frequent first and equally frequent ones in byte
  /// order; at most `size_max` texts.
  std::vector<std::string> vocabulary(int64_t count_min = 1, int64_t size_max = INT64_MAX) const;
};

struct StatisticsOptions {
  std::vector<std::string> missing = {""};  ///< Texts that stand for a missing value.
  int64_t distinct_max = 1'000'000;         ///< More distinct texts in a feature are an InvalidArgument.
  /// Names of features that are not measured, such as ids. All others are measured, even if the program ignores the result.
  /// A text feature takes memory for its distinct texts and, with RunConfig::learned(), space in the model directory.
  std::vector<std::string> unused{};
  /// The environment in which the dataset is read, for example RunConfig::environment(). A stop request to it ends the pass
  /// over the data with Cancelled. Null: a new environment that reads this machine's files. (Tests with a World, a
  /// simulated cluster, have the task's files in the task's environment.)
  std::shared_ptr<Environment> env = nullptr;
};

/// Statistics of each feature, and of labels by their names ("" for a single tensor without a name). An immutable value.
class Statistics {
 public:
  /// Raises NotFound, which lists the names, for an unknown name, for number() of a text feature, and for text() of a
  /// numeric feature.
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
  std::shared_ptr<const Parts> parts_;  // Immutable, so that copies share it. Null: nothing was measured.
};

/// Reads all of `dataset`, batched or not. InvalidArgument for a dataset that does not end (repeat()), and for a name in
/// `unused` that no element has. Also returns the errors of the dataset.
/// Source of the running means and variances: Welford, "Note on a method for calculating corrected sums of squares and
/// products" (1962).
Result<Statistics> measure(const data::Dataset& dataset, const StatisticsOptions& options = {});
/// Like measure(), but raises errors as exceptions, so that a program need not check a Result.
Statistics statistics_of(const data::Dataset& dataset, const StatisticsOptions& options = {});

}  // namespace shoal::columns

namespace shoal {

/// Lets RunConfig::learned() store statistics in model_dir: `config.learned("statistics", [&] { return
/// columns::statistics_of(training); })`. news() names texts of the present data that the stored statistics lack.
template <>
struct Learned<columns::Statistics> {
  static std::string encode(const columns::Statistics& value);
  static Result<columns::Statistics> decode(std::string_view json);
  static std::string news(const columns::Statistics& kept, const columns::Statistics& found);
};

}  // namespace shoal
