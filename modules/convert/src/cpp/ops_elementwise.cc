// SPDX-License-Identifier: Apache-2.0
// Ops whose elements depend on single elements of their operands. Their loops are written directly into the generated
// function that predicts.
#include <map>
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"
#include "shoal/base/forever.h"

namespace shoal::convert::cpp {
namespace {

LoopOperand dense_operand(std::string pointer, const Shape& shape) { return {std::move(pointer), dense_strides(shape)}; }

/// Writes a loop over all elements. text(x) returns the C++ expression for an element of y; `x` is that for the operand's.
void write_map(OpWriter& w, const std::function<std::string(const std::string& x)>& text) {
  w.may_write_over(0);
  const Shape& shape = w.output().shape;
  write_loops(w, shape, {dense_operand(w.out(), shape), dense_operand(w.in(0), shape)},
              [&](const std::vector<std::string>& e) { return e[0] + " = " + text(e[1]); });
}

/// Writes loops over all elements of y. text(a, b) returns the C++ expression for one of them; `a` and `b` are those for
/// the elements of the two operands, which broadcast.
void write_pairs(OpWriter& w, const std::function<std::string(const std::string& a, const std::string& b)>& text) {
  w.may_write_over(0);
  w.may_write_over(1);
  const Shape& shape = w.output().shape;
  write_loops(w, shape,
              {dense_operand(w.out(), shape),
               {w.in(0), broadcast_strides(shape, w.input(0).shape)},
               {w.in(1), broadcast_strides(shape, w.input(1).shape)}},
              [&](const std::vector<std::string>& e) { return e[0] + " = " + text(e[1], e[2]); });
}

/// Names of ops of one operand, each with the name of the generated function (parts.h) that computes it.
const std::map<std::string, std::string, std::less<>>& functions() {
  static const auto& table = forever(std::map<std::string, std::string, std::less<>>{{"exp", "exponential"},
                                                                                     {"log", "logarithm"},
                                                                                     {"erf", "error_function"},
                                                                                     {"sigmoid", "sigmoid"},
                                                                                     {"tanh", "tangent"},
                                                                                     {"relu", "relu"},
                                                                                     {"softplus", "softplus"},
                                                                                     {"gelu", "gelu"},
                                                                                     {"gelu_tanh", "gelu_tanh"},
                                                                                     {"silu", "silu"}});
  return table;
}

void write_function(OpWriter& w) {
  const std::string& part = functions().find(w.node().op)->second;
  w.need(part);
  write_map(w, [&](const std::string& x) { return part + "(" + x + ")"; });
}

/// Writes leaky_relu and elu.
void write_slope(OpWriter& w) {
  const std::string& op = w.node().op;
  w.need(op);
  const std::string alpha = float_text(float(w.attributes().get_real("alpha")));
  write_map(w, [&](const std::string& x) { return op + "(" + x + ", " + alpha + ")"; });
}

void write_clip(OpWriter& w) {
  w.need("clip");
  const std::string low = float_text(float(w.attributes().get_real("low"))),
                    high = float_text(float(w.attributes().get_real("high")));
  write_map(w, [&](const std::string& x) { return "clip(" + x + ", " + low + ", " + high + ")"; });
}

void write_scale(OpWriter& w) {
  const std::string factor = float_text(float(w.attributes().get_real("factor")));
  write_map(w, [&](const std::string& x) { return x + " * " + factor; });
}

std::string limit_text(DType dtype, const char* which) {
  switch (dtype) {
    case DType::kInt32: return std::string("std::int32_t(INT32_") + which + ")";
    case DType::kInt64: return std::string("std::int64_t(INT64_") + which + ")";
    default: return which == std::string("MIN") ? "std::uint8_t(0)" : "std::uint8_t(255)";
  }
}

std::string cast_text(DType from, DType to, const std::string& x, OpWriter& w) {
  const std::string type(type_text(to));
  if (from == to) return x;
  if (to == DType::kBool) return from == DType::kFloat32 ? x + " != 0.0f" : x + " != 0";
  if (to == DType::kFloat32 || from == DType::kBool) return type + "(" + x + ")";
  const std::string part = from == DType::kFloat32 ? "to_integer" : "narrowed";
  w.need(part);
  return part + "<" + type + ">(" + x + ", " + limit_text(to, "MIN") + ", " + limit_text(to, "MAX") + ")";
}

void write_cast(OpWriter& w) {
  write_map(w, [&](const std::string& x) { return cast_text(w.input(0).dtype, w.output().dtype, x, w); });
}

void write_select(OpWriter& w) {
  w.may_write_over(1);
  w.may_write_over(2);
  const Shape& shape = w.output().shape;
  const std::string is_set = w.input(0).dtype == DType::kBool ? "" : " != 0.0f";
  write_loops(
      w, shape,
      {dense_operand(w.out(), shape),
       {w.in(0), broadcast_strides(shape, w.input(0).shape)},
       {w.in(1), broadcast_strides(shape, w.input(1).shape)},
       {w.in(2), broadcast_strides(shape, w.input(2).shape)}},
      [&](const std::vector<std::string>& e) { return e[0] + " = " + e[1] + is_set + " ? " + e[2] + " : " + e[3]; });
}

/// Writes an op of two operands for which C++ has an operator.
template <char kOperator>
void write_operator(OpWriter& w) {
  write_pairs(w, [](const std::string& a, const std::string& b) { return a + " " + kOperator + " " + b; });
}

template <const char* kPart>
void write_part_of_two(OpWriter& w) {
  w.need(kPart);
  write_pairs(w, [](const std::string& a, const std::string& b) { return std::string(kPart) + "(" + a + ", " + b + ")"; });
}
constexpr char kLarger[] = "larger", kSmaller[] = "smaller", kPower[] = "power";

void write_comparison(OpWriter& w) {
  static const auto& operators = forever(std::map<std::string, std::string, std::less<>>{{"equal", "=="},
                                                                                         {"not_equal", "!="},
                                                                                         {"less", "<"},
                                                                                         {"less_equal", "<="},
                                                                                         {"greater", ">"},
                                                                                         {"greater_equal", ">="}});
  const std::string& sign = operators.find(w.node().op)->second;
  write_pairs(w, [&](const std::string& a, const std::string& b) { return a + " " + sign + " " + b + " ? 1.0f : 0.0f"; });
}

}  // namespace

void add_elementwise_rows(OpRows& rows) {
  for (const auto& [op, part] : functions()) rows.add(op, {write_function});
  for (const char* op : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
    rows.add(op, {write_comparison});
  rows.add("leaky_relu", {write_slope});
  rows.add("elu", {write_slope});
  rows.add("clip", {write_clip});
  rows.add("scale", {write_scale});
  rows.add("cast", {write_cast});
  rows.add("select", {write_select});
  rows.add("add", {write_operator<'+'>});
  rows.add("sub", {write_operator<'-'>});
  rows.add("mul", {write_operator<'*'>});
  rows.add("div", {write_operator<'/'>});
  rows.add("maximum", {write_part_of_two<kLarger>});
  rows.add("minimum", {write_part_of_two<kSmaller>});
  rows.add("pow", {write_part_of_two<kPower>});
  rows.add("square", {[](OpWriter& w) { write_map(w, [](const std::string& x) { return x + " * " + x; }); }});
  rows.add("sqrt", {[](OpWriter& w) { write_map(w, [](const std::string& x) { return "std::sqrt(" + x + ")"; }); }});
  rows.add("rsqrt",
           {[](OpWriter& w) { write_map(w, [](const std::string& x) { return "1.0f / std::sqrt(" + x + ")"; }); }});
  rows.add("reciprocal", {[](OpWriter& w) { write_map(w, [](const std::string& x) { return "1.0f / " + x; }); }});
  rows.add("abs", {[](OpWriter& w) { write_map(w, [](const std::string& x) { return "std::fabs(" + x + ")"; }); }});
  // The generated code calls the C library's functions of doubles. So the last bit of a result may differ from what the
  // training machine computes.
  rows.add("sin",
           {[](OpWriter& w) { write_map(w, [](const std::string& x) { return "float(std::sin(double(" + x + ")))"; }); }});
  rows.add("cos",
           {[](OpWriter& w) { write_map(w, [](const std::string& x) { return "float(std::cos(double(" + x + ")))"; }); }});
}

}  // namespace shoal::convert::cpp
