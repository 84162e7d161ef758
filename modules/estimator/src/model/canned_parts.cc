// SPDX-License-Identifier: Apache-2.0
#include "model/canned_parts.h"

#include <algorithm>
#include <cmath>

#include "shoal/columns/layer.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizers.h"

namespace shoal::canned {
namespace {

/// 1 where x is zero, else 0.
Value zeros_in(Value x) { return ops::equal(x, x.graph().constant(0.0f)); }

/// The fraction of a linear model's weights that are exactly 0, which shows the effect of l1 regularization.
Value fraction_of_zero_weights(Graph& graph) {
  Value zeros;
  double elements = 0;
  for (const Variable& variable : graph.variables()) {
    if (!variable.name.starts_with("linear/") || !variable.name.ends_with("/weights")) continue;
    const Value sum = ops::reduce_sum(zeros_in(Value(&graph, variable.node, 0)));
    zeros = zeros.valid() ? ops::add(zeros, sum) : sum;
    elements += double(variable.shape.elements());
  }
  return ops::scale(zeros, 1 / elements);
}

/// One column of zeros, [batch, 1]. It is computed from a feature, which has the size of the batch, by a comparison that is
/// false for every value.
Value column_of_zeros(const Features& features) {
  if (features.empty())
    raise(invalid_argument("baseline: the input function gives no features, which say how many examples there are"));
  Value x = features.begin()->second;
  if (x.dtype() == DType::kString) x = text_ids(x, {.buckets = 1});
  x = x.rank() == 1 ? ops::reshape(x, {x.shape()[0], 1}) : ops::flatten(x);
  const Value column = ops::slice(x, {{}, {.begin = 0, .size = 1}});
  return ops::less(column, column);
}

}  // namespace

void check_linear(const LinearOptions& options) {
  if (options.columns.empty()) raise(invalid_argument("linear: no columns were given"));
}

void check_deep(const DnnOptions& options) {
  if (options.columns.empty()) raise(invalid_argument("dnn: no columns were given"));
  if (options.hidden_units.empty()) {
    raise(
        invalid_argument("dnn: hidden_units is empty; name the units of one hidden layer or more, or use a linear model"));
  }
  if (const auto bad = std::ranges::find_if(options.hidden_units, [](int64_t units) { return units < 1; });
      bad != options.hidden_units.end()) {
    raise(invalid_argument("dnn: hidden_units has " + std::to_string(*bad) + ", expected numbers from 1"));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    raise(invalid_argument("dnn: dropout is " + std::to_string(options.dropout) + ", expected a number in [0, 1)"));
  }
}

Part linear_part(const LinearOptions& options, const Features& features, int64_t units, Mode mode, double rate_max) {
  const Value logits = columns::linear_layer(features, options.columns, {.units = units, .combiner = options.combiner});
  Graph& graph = logits.graph();
  const double rate = std::min(rate_max, 1 / std::sqrt(double(options.columns.size())));
  const Value bias = graph.find("linear/bias");
  Part part{logits, options.optimizer.make_or(nn::ftrl({.learning_rate = rate})), "linear/", {}};
  if (mode != Mode::kTrain) return part;
  part.summaries = {{"bias", bias}, {"fraction_of_zero_weights", fraction_of_zero_weights(graph)}};
  return part;
}

Part deep_part(const DnnOptions& options, const Features& features, int64_t units, Mode mode, double rate) {
  Part part{{}, options.optimizer.make_or(nn::adagrad({.learning_rate = rate})), "dnn/", {}};
  const auto scope = features.begin()->second.graph().scope("dnn");
  Value x = columns::input_layer(features, options.columns);
  for (size_t i = 0; i < options.hidden_units.size(); ++i) {
    const std::string name = "hidden_" + std::to_string(i);
    x = nn::dense(x, {.units = options.hidden_units[i], .activation = options.activation, .name = name});
    if (mode == Mode::kTrain) {
      part.summaries.emplace_back("dnn/" + name + "/fraction_of_zero_values", ops::reduce_mean(zeros_in(x)));
      part.summaries.emplace_back("dnn/" + name + "/activation", x);
    }
    if (options.dropout > 0) x = nn::dropout(x, mode, {.rate = options.dropout, .name = name + "_dropout"});
    if (options.batch_norm) x = nn::batch_norm(x, mode, {.decay = 0.999, .name = name + "_batch_norm"});
  }
  part.logits = nn::dense(x, {.units = units, .name = "logits"});
  return part;
}

Part baseline_part(const BaselineOptions& options, const Features& features, int64_t units) {
  const Value zeros = column_of_zeros(features);
  const Value bias = zeros.graph().variable("baseline/bias", Shape{units});
  return {ops::add(zeros, bias), options.optimizer.make_or(nn::ftrl({.learning_rate = 0.3})), "baseline/", {}};
}

}  // namespace shoal::canned
