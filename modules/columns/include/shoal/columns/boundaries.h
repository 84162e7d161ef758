// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Boundaries for bucketized() that are measured in the data.
///
///   const Boundaries between = config.learned("boundaries", [&] { return boundaries_of(training, {"age", "income"}); });
///   const Column age = bucketized(numeric("age"), between.at("age"));
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/result.h"

namespace shoal {
class Environment;
namespace data {
class Dataset;
}
}  // namespace shoal

namespace shoal::columns {

/// Boundaries of features, by the features' names.
using Boundaries = std::map<std::string, std::vector<double>>;

struct BoundariesOptions {
  int64_t buckets = 32;  ///< The most buckets of a feature, 2 to 1,000.
  /// The environment in which the dataset is read, for example RunConfig::environment(). A stop request to it ends the pass
  /// over the data with Cancelled. Null: a new environment that reads this machine's files.
  std::shared_ptr<Environment> env = nullptr;
};

/// Reads all of `dataset`, batched or not, and returns for each of `features` the boundaries of buckets that have about
/// equally many numbers. A number so frequent that it fills a bucket gets a bucket of its own. So a feature that is mostly
/// 0 still has many buckets for its other numbers. There is an exception: if the numbers just below a frequent number would
/// fill less than half of a bucket, they share the bucket of the frequent number. A feature with at most `buckets` distinct
/// numbers gets a bucket for each. A feature that is constant gets one boundary, its number.
///
/// Each boundary is a number that occurs: the least one of its bucket, as float32. NaN and infinite numbers are ignored. Up
/// to 32,768 numbers of a feature the counts are exact. With more numbers, the rank of a boundary among the sorted numbers
/// is wrong by at most 0.06 % of their count, in 99 of 100 cases. The same numbers in the same order give the same
/// boundaries.
///
/// The boundaries have the units of the data, so give bucketized() a numeric column without a normalizer.
///
/// InvalidArgument: a dataset that does not end (repeat()), a feature without a finite number, and `buckets` outside its
/// range. NotFound, with the names that exist: a feature that an element lacks. TypeMismatch: a feature of text or of
/// booleans. Also returns the errors of the dataset.
/// Source: buckets of equal frequency as decision trees use them: Ke et al., "LightGBM: a highly efficient gradient
/// boosting decision tree" (NIPS 2017); counts by QuantileSketch.
Result<Boundaries> measure_boundaries(const data::Dataset& dataset, const std::vector<std::string>& features,
                                      const BoundariesOptions& options = {});
/// Like measure_boundaries(), but raises errors as exceptions, so that a program need not check a Result.
Boundaries boundaries_of(const data::Dataset& dataset, const std::vector<std::string>& features,
                         const BoundariesOptions& options = {});

}  // namespace shoal::columns
