// SPDX-License-Identifier: Apache-2.0
/// Scaled dot-product attention of queries to keys and values, and self-attention, with queries, keys and values side by
/// side in one operand.
#include <algorithm>
#include <cmath>

#include "shape_rules.h"
#include "shoal/graph/named_inputs.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

/// The number of features of one head, `size`, in an operand [n, t, parts * heads * size]. `parts` is 3 if the operand has
/// query, key and value side by side, else 1.
Result<int64_t> head_size(const ValueType& operand, std::string_view name, int64_t heads, int64_t parts = 1) {
  SHOAL_TRY_VOID(expect_float_rank(operand, 3, name));
  const Dim& features = operand.shape[2];
  // The test divides instead of multiplying, since `heads` may be any number and a product would overflow.
  if (!features.is_symbol() && features.size() % parts == 0 && features.size() / parts >= heads &&
      features.size() / parts % heads == 0) {
    return features.size() / parts / heads;
  }
  return invalid_argument(std::string(name) + " " + to_string(operand.shape) + ": the features must be a multiple of " +
                          (parts > 1 ? std::to_string(parts) + " times " : "") + "the " + std::to_string(heads) +
                          (heads == 1 ? " head" : " heads"));
}

Result<int64_t> check_attributes(const Attributes& attributes) {
  SHOAL_TRY(const int64_t heads, int_attribute(attributes, "heads"));
  SHOAL_TRY(const double scale, real_attribute(attributes, "scale"));
  SHOAL_TRY_VOID(bool_attribute(attributes, "causal"));
  if (heads < 1) return invalid_argument("heads is " + std::to_string(heads) + "; it must be at least 1");
  if (!std::isfinite(scale)) return invalid_argument("scale must be a finite number");
  return heads;
}

/// The types of the outputs of attention: result and probabilities.
Outputs types_of(const ValueType& query, const ValueType& key, const ValueType& value, const Attributes& attributes) {
  SHOAL_TRY(const int64_t heads, check_attributes(attributes));
  SHOAL_TRY(const int64_t query_size, head_size(query, "query", heads));
  SHOAL_TRY(const int64_t key_size, head_size(key, "key", heads));
  SHOAL_TRY_VOID(head_size(value, "value", heads));
  auto differ = [&](std::string_view a_name, const ValueType& a, std::string_view b_name, const ValueType& b,
                    std::string_view in) {
    return invalid_argument(std::string(a_name) + " " + to_string(a.shape) + " and " + std::string(b_name) + " " +
                            to_string(b.shape) + " differ in their numbers of " + std::string(in));
  };
  if (query_size != key_size) return differ("query", query, "key", key, "features");
  if (query.shape[0] != key.shape[0]) return differ("query", query, "key", key, "sequences");
  if (key.shape[0] != value.shape[0]) return differ("key", key, "value", value, "sequences");
  if (key.shape[1] != value.shape[1]) return differ("key", key, "value", value, "positions");
  if (attributes.get_bool("causal") && query.shape[1] != key.shape[1]) {
    return differ("query", query, "key", key, "positions, which causal attention does not allow");
  }
  return std::vector{float_type({query.shape[0], query.shape[1], value.shape[2]}),
                     float_type({query.shape[0], heads, query.shape[1], key.shape[1]})};
}

Outputs attention_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"query", "key", "value"}, {"lengths"}));
  if (inputs.size() > 3) SHOAL_TRY_VOID(expect_lengths(inputs[3], inputs[1].shape[0]));
  return types_of(inputs[0], inputs[1], inputs[2], attributes);
}

/// The type of the query, of the key and of the value: each takes one third of the features of `projections`.
Result<ValueType> third_of(const ValueType& projections, const Attributes& attributes) {
  SHOAL_TRY(const int64_t heads, check_attributes(attributes));
  SHOAL_TRY(const int64_t size, head_size(projections, "projections", heads, 3));
  return float_type({projections.shape[0], projections.shape[1], heads * size});
}

Outputs self_attention_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"projections"}, {"lengths"}));
  SHOAL_TRY(const ValueType part, third_of(inputs[0], attributes));
  if (inputs.size() > 1) SHOAL_TRY_VOID(expect_lengths(inputs[1], inputs[0].shape[0]));
  return types_of(part, part, part, attributes);
}

/// Checks that gradients have the shapes of the forward node's results. Gradients that were left out are not checked.
Result<void> expect_gradients(Types inputs, const Attributes& attributes, const std::vector<ValueType>& results) {
  for (const char* name : {"dresult", "probabilities", "dprobabilities"}) {
    const int position = find_input(attributes, name);
    if (position < 0) continue;
    const ValueType& expected = results[name == std::string_view("dresult") ? 0 : 1];
    SHOAL_TRY_VOID(expect_float(inputs[size_t(position)], name));
    SHOAL_TRY_VOID(expect_equal_shapes(inputs[size_t(position)], name, expected, "the result"));
  }
  return {};
}

Outputs attention_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"query", "key", "value", "probabilities"},
                                     {"lengths", "dresult", "dprobabilities"}));
  SHOAL_TRY(const auto results, types_of(inputs[0], inputs[1], inputs[2], attributes));
  SHOAL_TRY_VOID(expect_gradients(inputs, attributes, results));
  return std::vector{inputs[0], inputs[1], inputs[2]};
}

Outputs self_attention_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"projections", "probabilities"},
                                     {"lengths", "dresult", "dprobabilities"}));
  SHOAL_TRY(const ValueType part, third_of(inputs[0], attributes));
  SHOAL_TRY(const auto results, types_of(part, part, part, attributes));
  SHOAL_TRY_VOID(expect_gradients(inputs, attributes, results));
  return std::vector{inputs[0]};
}

/// Adds a gradient node, whose inputs are the forward node's operands and results, and the gradients.
std::vector<Value> add_gradient(const GradientRequest& request, std::string_view op, size_t operand_count,
                                std::initializer_list<std::string_view> names) {
  NamedInputs inputs;
  for (size_t i = 0; i < operand_count; ++i) inputs.emplace_back(names.begin()[i], request.node.inputs[i]);
  const bool padded = request.node.inputs.size() > operand_count;
  inputs.emplace_back("probabilities", request.outputs[1]);
  inputs.emplace_back("lengths", padded ? request.node.inputs.back() : Value());
  inputs.emplace_back("dresult", request.output_gradients[0]);
  inputs.emplace_back("dprobabilities", request.output_gradients[1]);
  auto result = add_named(request.graph, op, inputs, request.node.attributes);
  result.resize(request.node.inputs.size());
  return result;
}

std::vector<Value> attention_gradient(const GradientRequest& request) {
  return add_gradient(request, "attention_grad", 3, {"query", "key", "value"});
}

std::vector<Value> self_attention_gradient(const GradientRequest& request) {
  return add_gradient(request, "self_attention_grad", 1, {"projections"});
}

/// Returns the default scale, 1 / sqrt(features of a head). Returns 1 if the features cannot be divided among the
/// heads, which the shape rule refuses later.
double default_scale(Value features, int64_t heads, int64_t parts) {
  if (features.rank() != 3 || features.shape()[2].is_symbol() || heads < 1) return 1;
  const int64_t size = features.shape()[2].size() / parts / heads;
  return size < 1 ? 1 : 1 / std::sqrt(double(size));
}

Attributes attributes_of(Value features, int64_t parts, const ops::AttentionOptions& options) {
  const double scale = options.scale != 0 ? options.scale : default_scale(features, options.heads, parts);
  return {{"heads", options.heads}, {"causal", options.causal}, {"scale", scale}};
}

/// Counts the multiply-adds of queries * keys and of probabilities * values. In causal attention a query skips the keys
/// at later positions.
double attended(const Attributes& attributes, const TensorView& query, const TensorView& key, const TensorView& value) {
  const double positions = double(key.shape[1]);
  const double all = double(query.elements()) * positions + double(query.shape[0] * query.shape[1]) *
                                                                double(value.elements()) /
                                                                std::max(1.0, double(value.shape[0]));
  return attributes.get_bool("causal") && positions > 0 ? all * (positions + 1) / (2 * positions) : all;
}

double attention_multiply_adds(const Attributes& attributes, Operands inputs, Operands) {
  return attended(attributes, inputs[0], inputs[1], inputs[2]);
}

/// Queries, keys and values lie side by side in input 0 and take a third of it each.
double self_attention_multiply_adds(const Attributes& attributes, Operands inputs, Operands) {
  return attended(attributes, inputs[0], inputs[0], inputs[0]) / 3;
}

}  // namespace

void add_attention_ops(const AddOp& add) {
  add({.name = "attention",
       .inputs_min = 3,
       .inputs_max = 4,
       .shape_rule = attention_types,
       .gradient = attention_gradient,
       .multiply_adds = attention_multiply_adds});
  add({.name = "attention_grad",
       .inputs_min = 5,
       .inputs_max = 7,
       .shape_rule = attention_grad_types,
       .multiply_adds = [](const Attributes& a, Operands in, Operands out) {
         return 2 * attention_multiply_adds(a, in, out);
       }});
  add({.name = "self_attention",
       .inputs_min = 1,
       .inputs_max = 2,
       .shape_rule = self_attention_types,
       .gradient = self_attention_gradient,
       .multiply_adds = self_attention_multiply_adds});
  add({.name = "self_attention_grad",
       .inputs_min = 3,
       .inputs_max = 5,
       .shape_rule = self_attention_grad_types,
       .multiply_adds = [](const Attributes& a, Operands in, Operands out) {
         return 2 * self_attention_multiply_adds(a, in, out);
       }});
}

}  // namespace rules

namespace ops {

Attention attention(Value query, Value key, Value value, const AttentionOptions& options, std::string_view name) {
  const auto outputs = rules::add_named(rules::graph_of("attention", query), "attention",
                                        {{"query", query}, {"key", key}, {"value", value}, {"lengths", options.lengths}},
                                        rules::attributes_of(query, 1, options), name);
  return {outputs[0], outputs[1]};
}

Attention self_attention(Value projections, const AttentionOptions& options, std::string_view name) {
  const auto outputs = rules::add_named(rules::graph_of("self_attention", projections), "self_attention",
                                        {{"projections", projections}, {"lengths", options.lengths}},
                                        rules::attributes_of(projections, 3, options), name);
  return {outputs[0], outputs[1]};
}

}  // namespace ops
}  // namespace shoal
