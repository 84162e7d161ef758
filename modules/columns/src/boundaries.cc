// SPDX-License-Identifier: Apache-2.0
#include "shoal/columns/boundaries.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/production.h"
#include "shoal/base/quantile_sketch.h"
#include "shoal/data/dataset.h"

namespace shoal::columns {
namespace {

constexpr size_t kSketchCapacity = 32'768;
// With more buckets, a bucket would have fewer numbers than the sketch's error in the rank of a number.
constexpr int64_t kBucketsMost = 1000;

struct Number {
  float number;
  uint64_t count;
};

/// The distinct numbers that `sketch` has collected, ascending, and how often each occurs.
std::vector<Number> distinct_in(const QuantileSketch& sketch) {
  std::vector<Number> distinct;
  for (const QuantileSketch::Weighted& one : sketch.sorted()) {
    if (!distinct.empty() && distinct.back().number == float(one.number)) {
      distinct.back().count += one.weight;
    } else {
      distinct.push_back({float(one.number), one.weight});
    }
  }
  return distinct;
}

/// Cuts ascending numbers into at most `buckets` buckets, and returns the least number of each bucket but the first.
std::vector<double> cut(const std::vector<Number>& numbers, int64_t buckets) {
  std::vector<double> boundaries;
  uint64_t rest = 0;  // How many numbers still need a bucket. Frequent ones, which get their own, are subtracted below.
  for (const Number& one : numbers) rest += one.count;
  const double share = int64_t(numbers.size()) <= buckets ? 0 : double(rest) / double(buckets);
  const auto is_frequent = [&](const Number& one) { return double(one.count) >= share; };
  int64_t buckets_left = buckets;  // How many buckets are left for the numbers that are not frequent.
  for (const Number& one : numbers) {
    if (!is_frequent(one)) continue;
    rest -= one.count;
    --buckets_left;
  }
  // One bucket is reserved for the numbers above the last frequent number, if there are any, however few they are: the
  // frequent number has its bucket to itself.
  const int64_t kept_for_the_end = is_frequent(numbers.back()) ? 0 : 1;
  uint64_t in_bucket = 0;
  for (size_t i = 0; i + 1 < numbers.size(); ++i) {
    in_bucket += numbers[i].count;
    const double wanted = double(rest) / double(std::max<int64_t>(1, buckets_left));
    const double least = is_frequent(numbers[i + 1]) ? wanted / 2 : wanted;
    const bool ends = is_frequent(numbers[i]) || (double(in_bucket) >= least && buckets_left > kept_for_the_end);
    if (!ends) continue;
    boundaries.push_back(double(numbers[i + 1].number));
    if (is_frequent(numbers[i])) {
      rest -= in_bucket - numbers[i].count;
    } else {
      rest -= in_bucket;
      --buckets_left;
    }
    in_bucket = 0;
  }
  return boundaries;
}

template <class T>
void add_elements(const Tensor& tensor, QuantileSketch& to) {
  for (const T element : tensor.as<T>()) {
    if (std::isfinite(float(element))) to.add(double(float(element)));
  }
}

Result<void> add(const Tensor& tensor, const std::string& feature, QuantileSketch& to) {
  switch (tensor.dtype()) {
    case DType::kFloat32: add_elements<float>(tensor, to); return {};
    case DType::kInt64: add_elements<int64_t>(tensor, to); return {};
    case DType::kInt32: add_elements<int32_t>(tensor, to); return {};
    case DType::kUInt8: add_elements<uint8_t>(tensor, to); return {};
    default: break;
  }
  return type_mismatch("boundaries: feature \"" + feature + "\" has no numbers, it is " +
                       std::string(to_string(tensor.dtype())) +
                       "; bucketized() takes numbers, categorical columns take the rest");
}

}  // namespace

Result<Boundaries> measure_boundaries(const data::Dataset& dataset, const std::vector<std::string>& features,
                                      const BoundariesOptions& options) {
  if (options.buckets < 2 || options.buckets > kBucketsMost) {
    return invalid_argument("boundaries: buckets must be 2 to " + std::to_string(kBucketsMost) + ", and is " +
                            std::to_string(options.buckets));
  }
  if (dataset.repeats_for_ever()) {
    return invalid_argument("boundaries: the dataset does not end; leave repeat() out");
  }
  const std::shared_ptr<Environment> env = options.env ? options.env : make_production_environment({});
  SHOAL_TRY(const auto iterator, dataset.iterate(*env, {.stop = env->interrupted()}));
  std::map<std::string, QuantileSketch> sketches;
  for (const std::string& feature : features) sketches.emplace(feature, kSketchCapacity);
  for (data::Element element;;) {
    SHOAL_TRY(const bool more, iterator->next(element));
    if (!more) break;
    for (auto& [feature, sketch] : sketches) {
      const Tensor* const tensor = element.features.find(feature);
      if (tensor == nullptr) {
        return not_found("boundaries: no feature \"" + feature + "\"; there are: " + element.features.names());
      }
      SHOAL_TRY_VOID(add(*tensor, feature, sketch));
    }
  }
  Boundaries boundaries;
  for (const auto& [feature, sketch] : sketches) {
    const std::vector<Number> numbers = distinct_in(sketch);
    if (numbers.empty()) {
      return invalid_argument("boundaries: feature \"" + feature +
                              "\" has no finite number; leave it out, or look whether the dataset is empty");
    }
    std::vector<double>& of = boundaries[feature] = cut(numbers, options.buckets);
    // A feature whose numbers are all equal gets a boundary, too, since bucketized() needs one.
    if (of.empty()) of.push_back(double(numbers.front().number));
  }
  return boundaries;
}

Boundaries boundaries_of(const data::Dataset& dataset, const std::vector<std::string>& features,
                         const BoundariesOptions& options) {
  return value_or_raise(measure_boundaries(dataset, features, options));
}

}  // namespace shoal::columns
