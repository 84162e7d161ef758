// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "definition.h"
#include "shoal/graph/ops.h"

namespace shoal::columns {

Value Inputs::feature(const std::string& key, const std::string& column) const {
  if (const Value* value = features_.find(key)) return *value;
  raise(invalid_argument("column \"" + column + "\" needs the feature \"" + key + "\"; there are: " + features_.names()));
}

Value Inputs::list_of(Value feature, const std::string& column) const {
  if (feature.rank() == 2) return feature;
  if (feature.rank() == 1) return ops::reshape(feature, {feature.shape()[0], 1});
  raise(invalid_argument("column \"" + column + "\" takes a feature of shape [batch] or [batch, values], got " +
                         to_string(feature.shape())));
}

Value Inputs::table(const std::string& scope, const Shape& shape, const EmbeddingOptions& options) {
  Value& table = tables_[scope];
  if (table.valid()) return table;
  const auto named = graph().scope(scope);
  const nn::InitializerSpec initializer =
      options.initializer.value_or(nn::truncated_normal(0, 1 / std::sqrt(double(options.dimension))));
  const Initializer resolved = initializer.resolve(nn::fans_of(shape), shape);
  if (auto valid = nn::validate(resolved); !valid) raise(std::move(valid).error().with_context("column \"" + scope + "\""));
  table = graph().variable("table", shape, {.initializer = resolved, .trainable = options.trainable});
  return table;
}

const Categories& categories_of(const Column& column, const std::string& who) {
  if (const Categories* categories = column.definition().categories()) return *categories;
  raise(invalid_argument(who + ": column \"" + column.name() + "\" is " + column.definition().kind() +
                         ", expected a categorical or bucketized one"));
}

std::string combiner_name(ops::Combiner combiner) {
  switch (combiner) {
    case ops::Combiner::kSum: return "sum";
    case ops::Combiner::kMean: return "mean";
    case ops::Combiner::kSqrtN: return "sqrt_n";
  }
  SHOAL_CHECK(false);
}

void check_least(const std::string& column, const char* option, int64_t value, int64_t least) {
  if (value >= least) return;
  raise(invalid_argument("column \"" + column + "\": " + option + " is " + std::to_string(value) + ", expected " +
                         std::to_string(least) + " or more"));
}

}  // namespace shoal::columns
