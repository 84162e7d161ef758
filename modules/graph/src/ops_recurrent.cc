// SPDX-License-Identifier: Apache-2.0
/// The recurrences of LSTM and GRU. A dense layer before them computes the inputs' contribution to the gates.
#include "shape_rules.h"
#include "shoal/graph/named_inputs.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

constexpr int64_t kLstmGates = 4;
constexpr int64_t kGruGates = 3;

/// The sizes of a recurrence, taken from its recurrent kernel and from an operand of shape [n, t, gates * U].
struct Sizes {
  Dim n, t;
  int64_t units;
  DimShape sequence() const { return {n, t, units}; }
  DimShape state() const { return {n, units}; }
  DimShape per_gate(int64_t gates) const { return {n, t, gates * units}; }
};

Result<Sizes> sizes_of(const ValueType& gates, std::string_view gates_name, const ValueType& kernel, int64_t gate_count) {
  SHOAL_TRY_VOID(expect_float_rank(gates, 3, gates_name));
  SHOAL_TRY_VOID(expect_float_rank(kernel, 2, "recurrent_kernel"));
  const Dim &rows = kernel.shape[0], &units = kernel.shape[1];
  // The test divides instead of multiplying, since a kernel that is no variable may have any size, and a product would overflow.
  if (rows.is_symbol() || units.is_symbol() || rows.size() % gate_count != 0 || rows.size() / gate_count != units.size()) {
    return invalid_argument("recurrent_kernel " + to_string(kernel.shape) + " must be [" + std::to_string(gate_count) +
                            " * units, units]");
  }
  if (gates.shape[2] != rows) {
    return invalid_argument(std::string(gates_name) + " " + to_string(gates.shape) + " must have the " + to_string(rows) +
                            " features that recurrent_kernel " + to_string(kernel.shape) + " has");
  }
  return Sizes{gates.shape[0], gates.shape[1], units.size()};
}

/// Finds inputs by name and checks that they have the expected shapes.
class Named {
 public:
  Named(Types inputs, const Attributes& attributes) : inputs_(inputs), attributes_(attributes) {}

  const ValueType& operator[](std::string_view name) const { return inputs_[size_t(find_input(attributes_, name))]; }
  bool has(std::string_view name) const { return find_input(attributes_, name) >= 0; }
  /// Checks that the input, if it is present, is float32 with this shape.
  Result<void> expect(std::string_view name, const DimShape& shape) const {
    if (!has(name)) return {};
    SHOAL_TRY_VOID(expect_float((*this)[name], name));
    if ((*this)[name].shape == shape) return {};
    return invalid_argument(std::string(name) + " " + to_string((*this)[name].shape) + " must be " + to_string(shape));
  }

 private:
  Types inputs_;
  const Attributes& attributes_;
};

Outputs lstm_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"projection", "recurrent_kernel"},
                                     {"initial_hidden", "initial_cell", "lengths"}));
  const Named named(inputs, attributes);
  SHOAL_TRY(const Sizes sizes, sizes_of(named["projection"], "projection", named["recurrent_kernel"], kLstmGates));
  SHOAL_TRY_VOID(named.expect("initial_hidden", sizes.state()));
  SHOAL_TRY_VOID(named.expect("initial_cell", sizes.state()));
  if (named.has("initial_hidden") != named.has("initial_cell")) {
    return invalid_argument("initial_hidden and initial_cell belong together: give both or neither");
  }
  if (named.has("lengths")) SHOAL_TRY_VOID(expect_lengths(named["lengths"], sizes.n));
  return std::vector{float_type(sizes.sequence()), float_type(sizes.state()), float_type(sizes.state()),
                     float_type(sizes.per_gate(kLstmGates)), float_type(sizes.sequence())};
}

Outputs lstm_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"gates", "cells", "recurrent_kernel"},
                                     {"initial_cell", "lengths", "dsequence", "dlast_hidden", "dlast_cell"}));
  const Named named(inputs, attributes);
  SHOAL_TRY(const Sizes sizes, sizes_of(named["gates"], "gates", named["recurrent_kernel"], kLstmGates));
  SHOAL_TRY_VOID(named.expect("cells", sizes.sequence()));
  SHOAL_TRY_VOID(named.expect("initial_cell", sizes.state()));
  SHOAL_TRY_VOID(named.expect("dsequence", sizes.sequence()));
  SHOAL_TRY_VOID(named.expect("dlast_hidden", sizes.state()));
  SHOAL_TRY_VOID(named.expect("dlast_cell", sizes.state()));
  if (named.has("lengths")) SHOAL_TRY_VOID(expect_lengths(named["lengths"], sizes.n));
  return std::vector{named["gates"], float_type(sizes.state()), float_type(sizes.state())};
}

Outputs gru_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"projection", "recurrent_kernel"},
                                     {"recurrent_bias", "initial_hidden", "lengths"}));
  const Named named(inputs, attributes);
  SHOAL_TRY(const Sizes sizes, sizes_of(named["projection"], "projection", named["recurrent_kernel"], kGruGates));
  SHOAL_TRY_VOID(named.expect("recurrent_bias", {kGruGates * sizes.units}));
  SHOAL_TRY_VOID(named.expect("initial_hidden", sizes.state()));
  if (named.has("lengths")) SHOAL_TRY_VOID(expect_lengths(named["lengths"], sizes.n));
  return std::vector{float_type(sizes.sequence()), float_type(sizes.state()), float_type(sizes.per_gate(kGruGates)),
                     float_type(sizes.sequence())};
}

Outputs gru_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"gates", "candidates", "sequence", "recurrent_kernel"},
                                     {"initial_hidden", "lengths", "dsequence", "dlast_hidden"}));
  const Named named(inputs, attributes);
  SHOAL_TRY(const Sizes sizes, sizes_of(named["gates"], "gates", named["recurrent_kernel"], kGruGates));
  for (const char* name : {"candidates", "sequence", "dsequence"}) SHOAL_TRY_VOID(named.expect(name, sizes.sequence()));
  for (const char* name : {"initial_hidden", "dlast_hidden"}) SHOAL_TRY_VOID(named.expect(name, sizes.state()));
  if (named.has("lengths")) SHOAL_TRY_VOID(expect_lengths(named["lengths"], sizes.n));
  return std::vector{named["gates"], named["gates"], float_type(sizes.state())};
}

Outputs recurrent_grad_kernel_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_named_inputs(attributes, inputs.size(), {"dgates", "sequence"}, {"initial_hidden"}));
  const Named named(inputs, attributes);
  const ValueType &dgates = named["dgates"], &sequence = named["sequence"];
  SHOAL_TRY_VOID(expect_float_rank(dgates, 3, "dgates"));
  SHOAL_TRY_VOID(expect_float_rank(sequence, 3, "sequence"));
  if (dgates.shape[0] != sequence.shape[0] || dgates.shape[1] != sequence.shape[1]) {
    return invalid_argument("dgates " + to_string(dgates.shape) + " and sequence " + to_string(sequence.shape) +
                            " must have equal shapes except for the last size");
  }
  SHOAL_TRY_VOID(named.expect("initial_hidden", {sequence.shape[0], sequence.shape[2]}));
  return std::vector{float_type({dgates.shape[2], sequence.shape[2]})};
}

/// The gradient of a recurrent kernel: the products of the gates' gradients and the preceding states.
Value kernel_gradient(Graph& graph, Value dgates, Value sequence, Value initial_hidden) {
  NamedInputs inputs{{"dgates", dgates}, {"sequence", sequence}, {"initial_hidden", initial_hidden}};
  return add_named(graph, "recurrent_grad_kernel", inputs)[0];
}

/// Sets the gradient of the input with this name, if the input is present.
void give(const GradientRequest& request, std::vector<Value>& result, std::string_view name, Value gradient) {
  const int input = find_input(request.node.attributes, name);
  if (input >= 0) result[size_t(input)] = gradient;
}

bool wants(const GradientRequest& request, std::string_view name) {
  const int input = find_input(request.node.attributes, name);
  return input >= 0 && request.wanted[size_t(input)];
}

Value input_named(const GradientRequest& request, std::string_view name) {
  const int input = find_input(request.node.attributes, name);
  return input >= 0 ? request.node.inputs[size_t(input)] : Value();
}

std::vector<Value> lstm_gradient(const GradientRequest& request) {
  const Value kernel = input_named(request, "recurrent_kernel");
  const auto gradients = add_named(request.graph, "lstm_grad",
                                   {{"gates", request.outputs[3]},
                                    {"cells", request.outputs[4]},
                                    {"recurrent_kernel", kernel},
                                    {"initial_cell", input_named(request, "initial_cell")},
                                    {"lengths", input_named(request, "lengths")},
                                    {"dsequence", request.output_gradients[0]},
                                    {"dlast_hidden", request.output_gradients[1]},
                                    {"dlast_cell", request.output_gradients[2]}});
  std::vector<Value> result(request.node.inputs.size());
  give(request, result, "projection", gradients[0]);
  give(request, result, "initial_hidden", gradients[1]);
  give(request, result, "initial_cell", gradients[2]);
  if (wants(request, "recurrent_kernel")) {
    give(request, result, "recurrent_kernel",
         kernel_gradient(request.graph, gradients[0], request.outputs[0], input_named(request, "initial_hidden")));
  }
  return result;
}

std::vector<Value> gru_gradient(const GradientRequest& request) {
  const Value kernel = input_named(request, "recurrent_kernel");
  const Value initial_hidden = input_named(request, "initial_hidden");
  const auto gradients = add_named(request.graph, "gru_grad",
                                   {{"gates", request.outputs[2]},
                                    {"candidates", request.outputs[3]},
                                    {"sequence", request.outputs[0]},
                                    {"recurrent_kernel", kernel},
                                    {"initial_hidden", initial_hidden},
                                    {"lengths", input_named(request, "lengths")},
                                    {"dsequence", request.output_gradients[0]},
                                    {"dlast_hidden", request.output_gradients[1]}});
  // The gradient of the product h[t-1] recurrent_kernel^T. It equals the gradient of `projection`, except that its last
  // third is multiplied by the reset gate r.
  const Value drecurrent = gradients[1];
  std::vector<Value> result(request.node.inputs.size());
  give(request, result, "projection", gradients[0]);
  give(request, result, "initial_hidden", gradients[2]);
  if (wants(request, "recurrent_bias")) {
    give(request, result, "recurrent_bias", request.graph.add("bias_grad", {drecurrent})[0]);
  }
  if (wants(request, "recurrent_kernel")) {
    give(request, result, "recurrent_kernel",
         kernel_gradient(request.graph, drecurrent, request.outputs[0], initial_hidden));
  }
  return result;
}

/// Returns the number of multiply-adds. Input 0 has one element for each gate, unit and position. Each element takes
/// as many multiply-adds as the state has units.
template <int kWidth>
double per_unit(const Attributes&, Operands inputs, Operands) {
  return double(inputs[0].elements()) * size_from_end(inputs[kWidth], 1);
}

}  // namespace

void add_recurrent_ops(const AddOp& add) {
  // in_place: an output may overwrite operand 0. Each step reads its part of that operand before it writes gates, or their
  // gradients, to the same place.
  add({.name = "lstm",
       .inputs_min = 2,
       .inputs_max = 5,
       .shape_rule = lstm_types,
       .gradient = lstm_gradient,
       .in_place = {{3, 0}},
       .multiply_adds = per_unit<1>});
  add({.name = "lstm_grad",
       .inputs_min = 3,
       .inputs_max = 8,
       .shape_rule = lstm_grad_types,
       .in_place = {{0, 0}},
       .multiply_adds = per_unit<2>});
  add({.name = "gru",
       .inputs_min = 2,
       .inputs_max = 5,
       .shape_rule = gru_types,
       .gradient = gru_gradient,
       .in_place = {{2, 0}},
       .multiply_adds = per_unit<1>});
  add({.name = "gru_grad",
       .inputs_min = 4,
       .inputs_max = 8,
       .shape_rule = gru_grad_types,
       .in_place = {{0, 0}},
       .multiply_adds = per_unit<3>});
  add({.name = "recurrent_grad_kernel",
       .inputs_min = 2,
       .inputs_max = 3,
       .shape_rule = recurrent_grad_kernel_types,
       .multiply_adds = [](const Attributes&, Operands in, Operands out) {
         return double(in[0].elements()) * size_from_end(out[0], 1);
       }});
}

}  // namespace rules

namespace ops {

Lstm lstm(Value projection, Value recurrent_kernel, const LstmOptions& options, std::string_view name) {
  const auto outputs = rules::add_named(rules::graph_of("lstm", projection), "lstm",
                                        {{"projection", projection},
                                         {"recurrent_kernel", recurrent_kernel},
                                         {"initial_hidden", options.initial_hidden},
                                         {"initial_cell", options.initial_cell},
                                         {"lengths", options.lengths}},
                                        {}, name);
  return {outputs[0], outputs[1], outputs[2]};
}

Gru gru(Value projection, Value recurrent_kernel, const GruOptions& options, std::string_view name) {
  const auto outputs = rules::add_named(rules::graph_of("gru", projection), "gru",
                                        {{"projection", projection},
                                         {"recurrent_kernel", recurrent_kernel},
                                         {"recurrent_bias", options.recurrent_bias},
                                         {"initial_hidden", options.initial_hidden},
                                         {"lengths", options.lengths}},
                                        {}, name);
  return {outputs[0], outputs[1]};
}

}  // namespace ops
}  // namespace shoal
