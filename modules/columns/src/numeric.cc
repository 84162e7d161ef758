// SPDX-License-Identifier: Apache-2.0
/// Columns with numbers: numeric, bucketized.
#include <algorithm>
#include <cmath>

#include "definition.h"
#include "shoal/base/format.h"
#include "shoal/graph/ops.h"

namespace shoal::columns {
namespace {

class Numeric final : public Definition, public Numbers {
 public:
  Numeric(std::string key, NumericOptions options) : Definition(std::move(key)), options_(std::move(options)) {}
  std::string kind() const override { return "numeric"; }
  std::vector<std::string> sources() const override { return {name()}; }
  const Numbers* numbers() const override { return this; }
  int64_t width() const override { return options_.shape.elements(); }
  Value values(Inputs& inputs) const override {
    inputs.feature_means(name(), {.kind = "numeric", .values = meaning()});
    return normalized(inputs, false);
  }
  /// Returns those options of this column on which trained weights depend. A model that loads the weights of another model
  /// compares the two models' options first. A normalizer's numbers, such as a mean, cannot be compared: they are inside
  /// of its function.
  std::map<std::string, std::string> meaning() const {
    std::map<std::string, std::string> values;
    if (options_.shape != Shape{1}) values["shape"] = to_string(options_.shape);
    if (options_.normalizer) values["normalizer"] = "yes";
    return values;
  }

  /// Returns the numbers as [batch, width]. NaN is replaced or refused, or stays if `nan_allowed`.
  Value normalized(Inputs& inputs, bool nan_allowed) const {
    Value x = row(inputs.feature(name(), name()));
    if (options_.default_value) {
      const Value otherwise = x.graph().constant(float(*options_.default_value));
      x = ops::select(ops::equal(x, x), x, ops::broadcast_like(otherwise, x));  // NaN equals nothing.
    } else if (!nan_allowed) {
      x = ops::check_range(
          x, {.what = "feature \"" + name() + "\":",
              .remedy = "where it is missing, give the column a default_value, or drop these examples by filter()"});
    }
    return options_.normalizer ? apply(x) : x;
  }

 private:
  Value row(Value feature) const {
    if (feature.dtype() == DType::kString) {
      raise(invalid_argument("column \"" + name() + "\" is numeric, and the feature is text; read it as a number, or use " +
                             "a categorical column"));
    }
    const bool fits = [&] {
      if (width() == 1 && feature.rank() == 1) return true;
      if (feature.rank() != options_.shape.rank() + 1) return false;
      for (int axis = 0; axis < options_.shape.rank(); ++axis) {
        if (feature.shape()[axis + 1] != Dim(options_.shape[axis])) return false;
      }
      return true;
    }();
    if (!fits) {
      raise(invalid_argument("column \"" + name() + "\" has the shape " + to_string(options_.shape) +
                             " for each example, the feature is " + to_string(feature.shape())));
    }
    if (feature.dtype() != DType::kFloat32) feature = ops::cast(feature, DType::kFloat32);
    return feature.rank() == 2 ? feature : ops::reshape(feature, {feature.shape()[0], width()});
  }

  Value apply(Value x) const {
    const Value y = options_.normalizer(x);
    if (y.valid() && y.type() == x.type()) return y;
    raise(invalid_argument("column \"" + name() + "\": the normalizer has to return float32 " + to_string(x.shape())));
  }

  NumericOptions options_;
};

class Bucketized final : public Definition, public Categories, public Numbers {
 public:
  Bucketized(std::shared_ptr<const Numeric> numeric, std::vector<float> boundaries, BucketizedOptions options)
      : Definition(numeric->name() + "_bucketized"),
        numeric_(std::move(numeric)),
        boundaries_(std::move(boundaries)),
        options_(options) {}
  std::string kind() const override { return "bucketized"; }
  std::vector<std::string> sources() const override { return {numeric_->name()}; }
  const Categories* categories() const override { return this; }
  const Numbers* numbers() const override { return this; }

  int64_t count() const override { return numeric_->width() * buckets(); }
  int64_t width() const override { return count(); }
  Ids ids(Inputs& inputs) const override {
    inputs.feature_means(numeric_->name(), fact());
    const Value x = numeric_->normalized(inputs, true);
    const Value boundaries = x.graph().constant(
        Tensor::of<float>({int64_t(boundaries_.size())}, std::span<const float>(boundaries_)), "boundaries");
    const int64_t missing_id = options_.missing_bucket ? buckets() - 1 : -1;
    return {ops::bucketize(x, boundaries, {.spacing = buckets(), .missing_id = missing_id}), {}};
  }
  Value values(Inputs& inputs) const override { return ops::multi_hot(ids(inputs).ids, count()); }

 private:
  MeaningFact fact() const {
    std::vector<std::string> texts;
    for (const float edge : boundaries_) texts.push_back(shortest_text(edge));
    MeaningFact fact{
        .kind = "bucketized", .values = numeric_->meaning(), .lists = {{"boundaries", MeaningList::of(texts)}}};
    if (options_.missing_bucket) fact.values["missing_bucket"] = "yes";
    return fact;
  }
  /// The number of buckets into which one number may fall.
  int64_t buckets() const { return int64_t(boundaries_.size()) + 1 + (options_.missing_bucket ? 1 : 0); }

  std::shared_ptr<const Numeric> numeric_;
  std::vector<float> boundaries_;
  BucketizedOptions options_;
};

}  // namespace

Column numeric(std::string key, NumericOptions options) {
  check_least(key, "the number of elements of its shape", options.shape.elements(), 1);
  if (options.default_value && !std::isfinite(*options.default_value)) {
    const char* const given = std::isnan(*options.default_value) ? "NaN" : "infinite";
    raise(invalid_argument("column \"" + key + "\": default_value has to be a finite number, and it is " + given +
                           "; if it was measured, the data have an infinite number in that column (inf, 1e999): leave such "
                           "rows out by filter(), or replace it by map()"));
  }
  return Column(std::make_shared<Numeric>(std::move(key), std::move(options)));
}

Column bucketized(const Column& numeric, std::vector<double> boundaries, BucketizedOptions options) {
  const auto* source = dynamic_cast<const Numeric*>(&numeric.definition());
  if (source == nullptr) {
    raise(invalid_argument("bucketized: column \"" + numeric.name() + "\" is " + numeric.definition().kind() +
                           ", expected a numeric one"));
  }
  std::vector<float> edges(boundaries.begin(), boundaries.end());
  const bool ascend = std::ranges::adjacent_find(edges, std::greater_equal<>()) == edges.end();
  const bool finite = std::ranges::all_of(edges, [](float edge) { return std::isfinite(edge); });
  if (edges.empty() || !ascend || !finite) {
    raise(invalid_argument("bucketized: the boundaries of column \"" + numeric.name() +
                           "\" have to be one or more finite numbers that ascend (compared as float32)"));
  }
  return Column(std::make_shared<Bucketized>(std::make_shared<Numeric>(*source), std::move(edges), options));
}

}  // namespace shoal::columns
