// SPDX-License-Identifier: Apache-2.0
/// Ops of two or three operands that broadcast: quotients, powers, extremes, comparisons, select.
#include <cmath>
#include <limits>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

/// da = dy / b, db = -da * y.
std::vector<Value> div_gradient(const GradientRequest& request) {
  const auto& inputs = request.node.inputs;
  const Value slope = ops::div(request.output_gradients[0], inputs[1]);
  std::vector<Value> result(2);
  if (request.wanted[0]) result[0] = sum_to(slope, inputs[0]);
  if (request.wanted[1]) result[1] = ops::scale(sum_to(ops::mul(slope, request.outputs[0]), inputs[1]), -1.0);
  return result;
}

/// The gradient of operand `wanted`: dy times the slope that `op` computes from a and b.
Value through(const GradientRequest& request, const char* op, Value a, Value b, size_t wanted) {
  const Value slope = request.graph.add(op, {a, b})[0];
  return sum_to(ops::mul(request.output_gradients[0], slope), request.node.inputs[wanted]);
}

std::vector<Value> pow_gradient(const GradientRequest& request) {
  const Value a = request.node.inputs[0], b = request.node.inputs[1];
  return {request.wanted[0] ? through(request, "pow_base_grad", a, b, 0) : Value(),
          request.wanted[1] ? through(request, "pow_exponent_grad", a, b, 1) : Value()};
}

std::vector<Value> maximum_gradient(const GradientRequest& request) {
  const Value a = request.node.inputs[0], b = request.node.inputs[1];
  return {request.wanted[0] ? through(request, "maximum_grad", a, b, 0) : Value(),
          request.wanted[1] ? through(request, "maximum_grad", b, a, 1) : Value()};
}

/// As maximum_gradient(), with a and b exchanged: d(minimum(a, b))/da is 1 where b > a, which is maximum_grad(b, a).
std::vector<Value> minimum_gradient(const GradientRequest& request) {
  const Value a = request.node.inputs[0], b = request.node.inputs[1];
  return {request.wanted[0] ? through(request, "maximum_grad", b, a, 0) : Value(),
          request.wanted[1] ? through(request, "maximum_grad", a, b, 1) : Value()};
}

Outputs comparison_types(Types inputs, const Attributes&) {
  auto is_number = [](DType dtype) {
    return dtype == DType::kFloat32 || dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8 ||
           dtype == DType::kBool;
  };
  if (inputs[0].dtype != inputs[1].dtype || !is_number(inputs[0].dtype)) {
    return invalid_argument("a is " + describe(inputs[0]) + ", b is " + describe(inputs[1]) +
                            "; both must be of one type: float32, int64, int32, uint8 or bool");
  }
  SHOAL_TRY(DimShape shape, broadcast_shape(inputs[0], "a", inputs[1], "b"));
  return std::vector{float_type(std::move(shape))};
}

/// Comparisons are constant between their jumps, so their gradient is 0.
std::vector<Value> no_gradient(const GradientRequest& request) { return std::vector<Value>(request.node.inputs.size()); }

Outputs select_types(Types inputs, const Attributes&) {
  if (inputs[0].dtype != DType::kFloat32 && inputs[0].dtype != DType::kBool) {
    return invalid_argument("condition is " + describe(inputs[0]) + "; it must be float32 or bool");
  }
  SHOAL_TRY_VOID(expect_float(inputs[1], "a"));
  SHOAL_TRY_VOID(expect_float(inputs[2], "b"));
  SHOAL_TRY(DimShape chosen, broadcast_shape(inputs[1], "a", inputs[2], "b"));
  SHOAL_TRY(DimShape shape, broadcast_shape(inputs[0], "condition", float_type(std::move(chosen)), "a or b"));
  return std::vector{float_type(std::move(shape))};
}

std::vector<Value> select_gradient(const GradientRequest& request) {
  const auto& inputs = request.node.inputs;
  const Value dy = request.output_gradients[0];
  const Value zero = request.graph.constant(0.0f);
  std::vector<Value> result(3);
  if (request.wanted[1]) result[1] = sum_to(ops::select(inputs[0], dy, zero), inputs[1]);
  if (request.wanted[2]) result[2] = sum_to(ops::select(inputs[0], zero, dy), inputs[2]);
  return result;
}

float quotient(std::span<const float> x, const Attributes&) { return x[0] / x[1]; }

}  // namespace

void add_binary_ops(const AddOp& add) {
  auto binary = [&](std::string name, GradientRule gradient, const Rewrites& rewrites = {}) {
    add({.name = std::move(name),
         .inputs_min = 2,
         .inputs_max = 2,
         .shape_rule = broadcast_types,
         .gradient = std::move(gradient),
         .in_place = {{0, 0}, {0, 1}},
         .rewrites = rewrites});
  };
  binary("div", div_gradient, {.of_constants = quotient});
  binary("pow", pow_gradient);
  binary("pow_base_grad", {});      // d(a^b)/da = b * a^(b - 1).
  binary("pow_exponent_grad", {});  // d(a^b)/db = a^b * log(a); 0 where a is 0 and b is not negative.
  binary("maximum", maximum_gradient);
  binary("minimum", minimum_gradient);
  binary("maximum_grad", {});  // d(maximum(a, b))/da: 1 where a > b, 1/2 where they are equal, else 0.
  for (const char* name : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
    add({.name = name, .inputs_min = 2, .inputs_max = 2, .shape_rule = comparison_types, .gradient = no_gradient});
  }
  add({.name = "select",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = select_types,
       .gradient = select_gradient,
       .in_place = {{0, 1}, {0, 2}}});
}

}  // namespace rules

namespace {

Value number(Value x, double value) { return rules::graph_of("a number", x).constant(float(value)); }

/// Whether integers of type T, or bool, include `value`.
template <class T>
bool is_one_of(double value) {
  // The largest int64_t is no double, but the number after it is.
  constexpr double kEnd = 2 * double(std::numeric_limits<T>::max() / 2 + 1);
  return value >= double(std::numeric_limits<T>::min()) && value < kEnd && value == std::floor(value);
}

template <class T>
Value integer(const char* op, Value x, double value) {
  if (is_one_of<T>(value)) return x.graph().constant(Tensor::scalar(T(value)));
  raise(invalid_argument(std::string(op) + ": x is " + rules::describe(x.type()) + ", which is never " +
                         std::to_string(value) + "; compare it with another number, or cast x to float32"));
}

/// A constant with one element of the type of x, to compare x with.
Value number_like(const char* op, Value x, double value) {
  rules::graph_of(op, x);  // Checks that x is valid.
  switch (x.dtype()) {
    case DType::kInt64: return integer<int64_t>(op, x, value);
    case DType::kInt32: return integer<int32_t>(op, x, value);
    case DType::kUInt8: return integer<uint8_t>(op, x, value);
    case DType::kBool: return integer<bool>(op, x, value);
    default: return number(x, value);
  }
}

}  // namespace

namespace ops {
namespace {

Value add_binary(const char* op, Value a, Value b, std::string_view name) {
  return rules::graph_of(op, a).add(op, {a, b}, {}, name)[0];
}

Value compare(const char* op, Value x, double value, std::string_view name) {
  return add_binary(op, x, number_like(op, x, value), name);
}

}  // namespace

Value div(Value a, Value b, std::string_view name) { return add_binary("div", a, b, name); }
Value pow(Value a, Value b, std::string_view name) { return add_binary("pow", a, b, name); }
Value maximum(Value a, Value b, std::string_view name) { return add_binary("maximum", a, b, name); }
Value minimum(Value a, Value b, std::string_view name) { return add_binary("minimum", a, b, name); }
Value equal(Value a, Value b, std::string_view name) { return add_binary("equal", a, b, name); }
Value not_equal(Value a, Value b, std::string_view name) { return add_binary("not_equal", a, b, name); }
Value less(Value a, Value b, std::string_view name) { return add_binary("less", a, b, name); }
Value less_equal(Value a, Value b, std::string_view name) { return add_binary("less_equal", a, b, name); }
Value greater(Value a, Value b, std::string_view name) { return add_binary("greater", a, b, name); }
Value greater_equal(Value a, Value b, std::string_view name) { return add_binary("greater_equal", a, b, name); }
Value pow(Value x, double exponent, std::string_view name) { return pow(x, number(x, exponent), name); }
Value pow(double base, Value x, std::string_view name) { return pow(number(x, base), x, name); }
Value maximum(Value x, double value, std::string_view name) { return maximum(x, number(x, value), name); }
Value minimum(Value x, double value, std::string_view name) { return minimum(x, number(x, value), name); }
Value equal(Value x, double value, std::string_view name) { return compare("equal", x, value, name); }
Value not_equal(Value x, double value, std::string_view name) { return compare("not_equal", x, value, name); }
Value less(Value x, double value, std::string_view name) { return compare("less", x, value, name); }
Value less_equal(Value x, double value, std::string_view name) { return compare("less_equal", x, value, name); }
Value greater(Value x, double value, std::string_view name) { return compare("greater", x, value, name); }
Value greater_equal(Value x, double value, std::string_view name) { return compare("greater_equal", x, value, name); }
Value select(Value condition, Value a, Value b, std::string_view name) {
  return rules::graph_of("select", condition).add("select", {condition, a, b}, {}, name)[0];
}

}  // namespace ops

Value operator/(Value a, Value b) { return ops::div(a, b); }
Value operator/(Value x, double divisor) { return ops::div(x, number(x, divisor)); }
Value operator/(double value, Value x) { return ops::div(number(x, value), x); }
Value operator+(Value x, double value) { return ops::add(x, number(x, value)); }
Value operator+(double value, Value x) { return ops::add(number(x, value), x); }
Value operator-(Value x, double value) { return ops::sub(x, number(x, value)); }
Value operator-(double value, Value x) { return ops::sub(number(x, value), x); }

}  // namespace shoal
