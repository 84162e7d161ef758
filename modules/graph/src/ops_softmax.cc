// SPDX-License-Identifier: Apache-2.0
/// Softmax, its logarithm, and the cross-entropy with labels, all over the last axis; the cross-entropy of a sigmoid.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Outputs softmax_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "x"));
  return std::vector{inputs[0]};
}

Outputs softmax_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "dy"));
  return elementwise_rule({"dy", "y"})(inputs, attributes);
}

std::vector<Value> softmax_gradient(const GradientRequest& request) {
  return request.graph.add("softmax_grad", {request.output_gradients[0], request.outputs[0]});
}

std::vector<Value> log_softmax_gradient(const GradientRequest& request) {
  return request.graph.add("log_softmax_grad", {request.output_gradients[0], request.outputs[0]});
}

/// Checks that there is one label for each row of logits.
Result<void> expect_labels(const ValueType& labels, const ValueType& logits, std::string_view logits_name) {
  SHOAL_TRY_VOID(expect_float(logits, logits_name));
  SHOAL_TRY_VOID(expect_rank_min(logits, 2, logits_name));
  SHOAL_TRY_VOID(expect_dtype(labels, DType::kInt64, "labels"));
  SHOAL_TRY_VOID(expect_rank(labels, logits.shape.rank() - 1, "labels"));
  std::vector<Dim> rows = logits.shape.dims();
  rows.pop_back();
  if (labels.shape.dims() == rows) return {};
  return invalid_argument("labels " + to_string(labels.shape) + " must have one element for each row of " +
                          std::string(logits_name) + " " + to_string(logits.shape));
}

/// Checks the attribute "label_smoothing", whose default is 0.
Result<void> expect_smoothing(const Attributes& attributes) {
  if (!attributes.has("label_smoothing")) return {};
  SHOAL_TRY(const double smoothing, real_attribute(attributes, "label_smoothing"));
  if (smoothing >= 0 && smoothing < 1) return {};
  return invalid_argument("label_smoothing " + std::to_string(smoothing) + " is outside [0, 1)");
}

Outputs cross_entropy_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_labels(inputs[1], inputs[0], "logits"));
  SHOAL_TRY_VOID(expect_smoothing(attributes));
  return std::vector{float_type(inputs[1].shape), inputs[0]};
}

Outputs cross_entropy_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_smoothing(attributes));
  SHOAL_TRY_VOID(expect_labels(inputs[1], inputs[0], "softmax"));
  SHOAL_TRY_VOID(expect_float(inputs[2], "dloss"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[2], "dloss", inputs[1], "labels"));
  return std::vector{inputs[0]};
}

std::vector<Value> cross_entropy_gradient(const GradientRequest& request) {
  const Value softmax = request.outputs[1];
  const Value dloss = request.output_gradients[0];
  const Value dsoftmax = request.output_gradients[1];
  Value dlogits;
  if (dloss.valid()) {
    dlogits = request.graph.add("softmax_cross_entropy_grad", {softmax, request.node.inputs[1], dloss},
                                request.node.attributes)[0];
  }
  if (dsoftmax.valid()) {
    const Value part = request.graph.add("softmax_grad", {dsoftmax, softmax})[0];
    dlogits = dlogits.valid() ? ops::add(dlogits, part) : part;
  }
  return {dlogits, Value()};
}

std::vector<Value> sigmoid_cross_entropy_gradient(const GradientRequest& request) {
  const Value dloss = request.output_gradients[0];
  const Value logits = request.node.inputs[0], labels = request.node.inputs[1];
  std::vector<Value> result(2);
  if (request.wanted[0]) {
    result[0] = ops::mul(dloss, request.graph.add("sigmoid_cross_entropy_grad", {logits, labels})[0]);
  }
  if (request.wanted[1]) result[1] = ops::scale(ops::mul(dloss, logits), -1.0);
  return result;
}

}  // namespace

void add_softmax_ops(const AddOp& add) {
  const std::vector<OpDef::InPlace> over_first{{0, 0}};
  add({.name = "softmax",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = softmax_types,
       .gradient = softmax_gradient,
       .in_place = over_first});
  add({.name = "softmax_grad", .inputs_min = 2, .inputs_max = 2, .shape_rule = softmax_grad_types, .in_place = over_first});
  add({.name = "log_softmax",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = softmax_types,
       .gradient = log_softmax_gradient,
       .in_place = over_first});
  add({.name = "log_softmax_grad",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = softmax_grad_types,
       .in_place = over_first});
  add({.name = "softmax_cross_entropy",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = cross_entropy_types,
       .gradient = cross_entropy_gradient,
       .in_place = {{1, 0}}});
  add({.name = "softmax_cross_entropy_grad",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = cross_entropy_grad_types,
       .in_place = over_first});
  add({.name = "sigmoid_cross_entropy",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = elementwise_rule({"logits", "labels"}),
       .gradient = sigmoid_cross_entropy_gradient,
       .in_place = {{0, 0}, {0, 1}}});
  add({.name = "sigmoid_cross_entropy_grad",  // Computes sigmoid(logits) - labels.
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = elementwise_rule({"logits", "labels"}),
       .in_place = {{0, 0}, {0, 1}}});
}

}  // namespace rules

namespace ops {

Value softmax(Value x, std::string_view name) { return rules::graph_of("softmax", x).add("softmax", {x}, {}, name)[0]; }

Value log_softmax(Value x, std::string_view name) {
  return rules::graph_of("log_softmax", x).add("log_softmax", {x}, {}, name)[0];
}

CrossEntropy softmax_cross_entropy(const LabelsAndLogits& of, std::string_view name) {
  return softmax_cross_entropy(of, CrossEntropyOptions{}, name);
}

CrossEntropy softmax_cross_entropy(const LabelsAndLogits& of, const CrossEntropyOptions& options, std::string_view name) {
  Attributes attributes;
  if (options.label_smoothing != 0) attributes.set("label_smoothing", options.label_smoothing);
  const auto outputs = rules::graph_of("softmax_cross_entropy", of.logits)
                           .add("softmax_cross_entropy", {of.logits, of.labels}, std::move(attributes), name);
  return {outputs[0], outputs[1]};
}

Value sigmoid_cross_entropy(const LabelsAndLogits& of, std::string_view name) {
  return rules::graph_of("sigmoid_cross_entropy", of.logits)
      .add("sigmoid_cross_entropy", {of.logits, of.labels}, {}, name)[0];
}

}  // namespace ops
}  // namespace shoal
