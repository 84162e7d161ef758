// SPDX-License-Identifier: Apache-2.0
// Ops that compute each element from single elements of their operands, which broadcast as in numpy.
#include "onnx/lowering.h"

namespace shoal::convert {
namespace {

/// Writes an op of one operand. If the file already has the operand with its channels first (lowering.h), the result has
/// its channels first, too. Else operand and result have Shoal's own layout.
template <class Write>
void in_its_layout(Lowering& node, Write write) {
  if (node.has_image(0)) {
    node.set_image(write(node.image(0)));
  } else {
    node.set(0, write(node.in(0)));
  }
}

template <const char* kOp>
void write_unary(Lowering& node) {
  in_its_layout(node, [&](const std::string& x) { return node.add(kOp, {x}); });
}

template <const char* kOp>
void write_with_alpha(Lowering& node) {
  const auto alpha = float(node.attributes().get_real("alpha"));
  in_its_layout(node, [&](const std::string& x) { return node.add(kOp, {x}, {{"alpha", alpha}}); });
}

/// If both operands are images of one shape with the channels first, the result has the channels first, too.
template <const char* kOp>
void write_binary(Lowering& node) {
  if (node.type(0).shape == node.type(1).shape && node.has_image(0) && node.has_image(1)) {
    node.set_image(node.add(kOp, {node.image(0), node.image(1)}));
  } else {
    node.set(0, node.add(kOp, {node.in(0), node.in(1)}));
  }
}

void write_rsqrt(Lowering& node) { node.set(0, node.add("Reciprocal", {node.add("Sqrt", {node.in(0)})})); }
void write_square(Lowering& node) { node.set(0, node.add("Mul", {node.in(0), node.in(0)})); }

void write_scale(Lowering& node) {
  const std::string factor = node.constant(float(node.attributes().get_real("factor")));
  in_its_layout(node, [&](const std::string& x) { return node.add("Mul", {x, factor}); });
}

void write_clip(Lowering& node) {
  const std::string low = node.constant(float(node.attributes().get_real("low")));
  const std::string high = node.constant(float(node.attributes().get_real("high")));
  in_its_layout(node, [&](const std::string& x) { return node.add("Clip", {x, low, high}); });
}

void write_silu(Lowering& node) {
  in_its_layout(node, [&](const std::string& x) { return node.add("Mul", {x, node.add("Sigmoid", {x})}); });
}

void write_gelu(Lowering& node) {
  in_its_layout(node, [&](const std::string& x) {
    const std::string erf = node.add("Erf", {node.add("Mul", {x, node.constant(0.70710678118654752f)})});
    const std::string half = node.add("Mul", {x, node.constant(0.5f)});
    return node.add("Mul", {half, node.add("Add", {erf, node.constant(1.0f)})});
  });
}

void write_gelu_tanh(Lowering& node) {
  in_its_layout(node, [&](const std::string& x) {
    const std::string cube = node.add("Mul", {node.add("Mul", {x, x}), x});
    const std::string inner = node.add("Add", {x, node.add("Mul", {cube, node.constant(0.044715f)})});
    const std::string tanh = node.add("Tanh", {node.add("Mul", {inner, node.constant(0.79788456080286536f)})});
    const std::string half = node.add("Mul", {x, node.constant(0.5f)});
    return node.add("Mul", {half, node.add("Add", {tanh, node.constant(1.0f)})});
  });
}

/// Converts an operand of a comparison: runtimes compare float32 and int64, but not every other type.
std::string comparable(Lowering& node, size_t input) {
  const DType dtype = node.type(input).dtype;
  return dtype == DType::kFloat32 || dtype == DType::kInt64 ? node.in(input) : node.to(node.in(input), DType::kInt64);
}

template <const char* kOp, bool kNegated>
void write_comparison(Lowering& node) {
  std::string result = node.add(kOp, {comparable(node, 0), comparable(node, 1)});
  if (kNegated) result = node.add("Not", {result});
  node.set(0, node.to(result, DType::kFloat32));
}

void write_select(Lowering& node) {
  const bool is_bool = node.type(0).dtype == DType::kBool;
  const std::string condition = is_bool ? node.in(0) : node.to(node.in(0), DType::kBool);
  node.set(0, node.add("Where", {condition, node.in(1), node.in(2)}));
}

struct IntegerRange {
  int64_t low, high;
};
IntegerRange range_of(DType dtype) {
  return dtype == DType::kUInt8 ? IntegerRange{0, 255} : IntegerRange{-(int64_t(1) << 31), (int64_t(1) << 31) - 1};
}

/// Clamps numbers to the integer type's range and turns NaN into 0, as Shoal does. For a Cast, ONNX does not say what
/// becomes of such numbers.
void write_cast(Lowering& node) {
  const DType from = node.type(0).dtype, to = node.output().dtype;
  std::string x = node.in(0);
  const bool to_integer = to == DType::kInt32 || to == DType::kInt64 || to == DType::kUInt8;
  if (from == DType::kFloat32 && to_integer) {
    x = node.add("Where", {node.add("IsNaN", {x}), node.constant(0.0f), x});
    // The limit is the largest float32 below 2^63, since 2^63 itself does not fit into int64.
    x = node.add("Clip", {x, node.constant(-9223372036854775808.0f), node.constant(9223371487098961920.0f)});
    x = node.to(x, DType::kInt64);
  }
  if (to_integer && to != DType::kInt64 && from != DType::kBool && from != DType::kUInt8) {
    const IntegerRange range = range_of(to);
    if (from == DType::kInt32) x = node.to(x, DType::kInt64);
    x = node.add("Clip", {x, node.constant(range.low), node.constant(range.high)});
  }
  node.set(0, node.to(x, to));
}

void write_itself(Lowering& node) {
  in_its_layout(node, [](const std::string& x) { return x; });
}

/// Writes max(x, 0) - x y + log(1 + e^-|x|), the form that Shoal's kernels compute.
void write_sigmoid_cross_entropy(Lowering& node) {
  const std::string x = node.in(0), y = node.in(1);
  const std::string linear = node.add("Sub", {node.add("Relu", {x}), node.add("Mul", {x, y})});
  const std::string small = node.add("Softplus", {node.add("Neg", {node.add("Abs", {x})})});
  node.set(0, node.add("Add", {linear, small}));
}

constexpr char kRelu[] = "Relu", kExp[] = "Exp", kLog[] = "Log", kSqrt[] = "Sqrt", kAbs[] = "Abs", kErf[] = "Erf",
               kSin[] = "Sin", kCos[] = "Cos", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kSoftplus[] = "Softplus",
               kReciprocal[] = "Reciprocal", kLeakyRelu[] = "LeakyRelu", kElu[] = "Elu", kAdd[] = "Add", kSub[] = "Sub",
               kMul[] = "Mul", kDiv[] = "Div", kPow[] = "Pow", kMax[] = "Max", kMin[] = "Min", kEqual[] = "Equal",
               kLess[] = "Less", kLessOrEqual[] = "LessOrEqual", kGreater[] = "Greater",
               kGreaterOrEqual[] = "GreaterOrEqual";

}  // namespace

void add_element_rules(OnnxRules& rules) {
  rules["relu"] = {write_unary<kRelu>};
  rules["exp"] = {write_unary<kExp>};
  rules["log"] = {write_unary<kLog>};
  rules["sqrt"] = {write_unary<kSqrt>};
  rules["abs"] = {write_unary<kAbs>};
  rules["erf"] = {write_unary<kErf>};
  rules["sin"] = {write_unary<kSin>};
  rules["cos"] = {write_unary<kCos>};
  rules["sigmoid"] = {write_unary<kSigmoid>};
  rules["tanh"] = {write_unary<kTanh>};
  rules["softplus"] = {write_unary<kSoftplus>};
  rules["reciprocal"] = {write_unary<kReciprocal>};
  rules["leaky_relu"] = {write_with_alpha<kLeakyRelu>};
  rules["elu"] = {write_with_alpha<kElu>};
  rules["rsqrt"] = {write_rsqrt};
  rules["square"] = {write_square};
  rules["scale"] = {write_scale};
  rules["clip"] = {write_clip};
  rules["silu"] = {write_silu};
  rules["gelu"] = {write_gelu};
  rules["gelu_tanh"] = {write_gelu_tanh};
  rules["add"] = {write_binary<kAdd>};
  rules["sub"] = {write_binary<kSub>};
  rules["mul"] = {write_binary<kMul>};
  rules["div"] = {write_binary<kDiv>};
  rules["pow"] = {write_binary<kPow>};
  rules["maximum"] = {write_binary<kMax>};
  rules["minimum"] = {write_binary<kMin>};
  rules["equal"] = {write_comparison<kEqual, false>};
  rules["not_equal"] = {write_comparison<kEqual, true>};
  rules["less"] = {write_comparison<kLess, false>};
  rules["less_equal"] = {write_comparison<kLessOrEqual, false>};
  rules["greater"] = {write_comparison<kGreater, false>};
  rules["greater_equal"] = {write_comparison<kGreaterOrEqual, false>};
  rules["select"] = {write_select};
  rules["cast"] = {write_cast};
  rules["sigmoid_cross_entropy"] = {write_sigmoid_cross_entropy};
  rules["check_range"] = {write_itself};  // No check: an ONNX file cannot refuse an input by its value.
  rules["stop_gradient"] = {write_itself};
  rules["recompute_from"] = {write_itself};
  rules["dropout"] = {nullptr, "is random"};
}

}  // namespace shoal::convert
