// SPDX-License-Identifier: Apache-2.0
#include "wide_and_deep.h"

#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/flatten.h"

namespace models {
namespace {

namespace nn = shoal::nn;
namespace ops = shoal::ops;
using shoal::Value;

/// Looks up a vector for each id and concatenates the vectors of all columns: [batch, columns * dimension].
Value look_up(const std::vector<Value>& columns, nn::EmbeddingOptions options) {
  std::vector<Value> vectors;
  for (const Value& column : columns) vectors.push_back(nn::flatten(nn::embedding(column, options)));
  return ops::concat(vectors, 1);
}

}  // namespace

Value wide_and_deep(Value ids, Value numbers, const WideAndDeepOptions& options) {
  const std::vector<Value> columns = ops::split(ids, 1, std::vector<int64_t>(size_t(ids.shape()[1].size()), 1));
  const Value embedded = look_up(columns, {.ids = options.ids, .dimension = options.dimension});
  Value x = ops::concat({embedded, numbers}, 1);
  for (int64_t units : options.hidden) x = nn::dense(x, {.units = units, .activation = nn::Activation::kRelu});
  const Value deep = nn::dense(x, {.units = 1, .name = "deep"});
  if (!options.wide) return deep;
  // The wide part is the sum of one weight for each id. A product with a matrix of ones computes the sum.
  const Value weights = look_up(columns, {.ids = options.ids, .dimension = 1, .initializer = nn::zeros(), .name = "wide"});
  const auto count = int64_t(columns.size());
  shoal::Tensor ones(shoal::DType::kFloat32, shoal::Shape{1, count});
  for (float& one : ones.mutable_as<float>()) one = 1;
  return deep + ops::dense(weights, ids.graph().constant(ones));
}

}  // namespace models
