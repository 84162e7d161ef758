// SPDX-License-Identifier: Apache-2.0
#include "op_cases.h"

#include <numeric>

#include "shoal/graph/ops.h"

namespace shoal::backends::testing {

CaseBuilder::CaseBuilder(const std::string& name, float factor)
    : graph_(std::make_unique<Graph>(RandomKey{17})), stream_(fold_in(RandomKey{1}, name)), factor_(factor) {}

Tensor CaseBuilder::random(const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.mutable_as<float>()) value = factor_ * (float(int64_t(stream_.below(129)) - 64) / 64.0f);
  return tensor;
}

Value CaseBuilder::input(std::string name, Tensor value) {
  const Value result = graph_->input(name, value.dtype(), value.shape());
  feeds_.emplace(std::move(name), std::move(value));
  return result;
}

Value CaseBuilder::floats(std::string name, Shape shape) { return input(std::move(name), random(shape)); }

Value CaseBuilder::floats_off_zero(std::string name, Shape shape) {
  Tensor tensor = random(shape);
  for (float& value : tensor.mutable_as<float>()) value += value < 0 ? -0.125f : 0.125f;
  return input(std::move(name), std::move(tensor));
}

Value CaseBuilder::distinct_floats(std::string name, Shape shape) {
  Tensor tensor(DType::kFloat32, shape);
  const auto values = tensor.mutable_as<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = (float(i) - float(values.size()) / 2) * 9.0f / 64.0f;
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream_.below(i)]);
  return input(std::move(name), std::move(tensor));
}

Value CaseBuilder::weights(std::string name, Shape shape) {
  const Value result = graph_->variable(name, shape);
  feeds_.emplace(std::move(name), random(shape));
  return result;
}

Value CaseBuilder::labels(std::string name, int64_t count, int64_t classes) {
  return integers(std::move(name), DType::kInt64, {count}, classes);
}

Value CaseBuilder::integers(std::string name, DType dtype, Shape shape, int64_t bound) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const auto value = int64_t(stream_.below(uint64_t(bound)));
    if (dtype == DType::kInt64) tensor.mutable_as<int64_t>()[size_t(i)] = value;
    if (dtype == DType::kInt32) tensor.mutable_as<int32_t>()[size_t(i)] = int32_t(value);
    if (dtype == DType::kUInt8) tensor.mutable_as<uint8_t>()[size_t(i)] = uint8_t(value);
    if (dtype == DType::kBool) tensor.mutable_as<bool>()[size_t(i)] = value != 0;
  }
  return input(std::move(name), std::move(tensor));
}

namespace {

using Cases = std::vector<OpCase>;
using Values = std::vector<Value>;

OpCase dense_case(std::string detail, int64_t rows, int64_t features, int64_t outputs, bool bias) {
  OpCase result{.op = "dense", .detail = std::move(detail), .build = {}, .differentiable = {"x", "kernel"}};
  if (bias) result.differentiable.push_back("bias");
  result.build = [=](CaseBuilder& b) -> Values {
    const Value x = b.floats("x", {rows, features});
    const Value kernel = b.weights("kernel", {outputs, features});
    return {ops::dense(x, kernel, bias ? b.weights("bias", {outputs}) : Value())};
  };
  return result;
}

void add_dense_cases(Cases& cases) {
  cases.push_back(dense_case("one_by_one", 1, 1, 1, true));
  cases.push_back(dense_case("single_row", 1, 7, 5, true));
  cases.push_back(dense_case("single_feature", 5, 1, 3, true));
  cases.push_back(dense_case("single_output", 4, 9, 1, true));
  cases.push_back(dense_case("odd", 3, 17, 13, true));
  cases.push_back(dense_case("few_rows", 3, 21, 200, true));
  cases.push_back(dense_case("no_bias", 5, 8, 6, false));
  cases.push_back(dense_case("small_batch", 7, 270, 6, true));
  cases.push_back(dense_case("wide", 33, 130, 67, true));
  cases.push_back({"dense",
                   "relu",
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.floats("x", {9, 21});
                     return {ops::relu(ops::dense(x, b.weights("kernel", {11, 21}), b.weights("bias", {11})))};
                   },
                   {}});
}

struct ConvSizes {
  Shape x;
  Shape kernel;  ///< [O, I, KH, KW]
  std::array<int64_t, 2> strides{1, 1};
  Padding padding = Padding::valid();
  bool bias = true;
};

OpCase conv_case(std::string detail, ConvSizes sizes) {
  OpCase result{.op = "conv2d", .detail = std::move(detail), .build = {}, .differentiable = {"x", "kernel"}};
  if (sizes.bias) result.differentiable.push_back("bias");
  result.build = [sizes](CaseBuilder& b) -> Values {
    const Value x = b.floats("x", sizes.x);
    const Value kernel = b.weights("kernel", sizes.kernel);
    const Value bias = sizes.bias ? b.weights("bias", {sizes.kernel[0]}) : Value();
    return {ops::conv2d(x, kernel, bias, {.strides = sizes.strides, .padding = sizes.padding})};
  };
  return result;
}

void add_conv2d_cases(Cases& cases) {
  cases.push_back(conv_case("one_pixel", {.x = {1, 1, 1, 1}, .kernel = {1, 1, 1, 1}}));
  cases.push_back(conv_case("pointwise", {.x = {2, 3, 4, 5}, .kernel = {3, 5, 1, 1}}));
  cases.push_back(conv_case("valid", {.x = {2, 6, 5, 2}, .kernel = {3, 2, 3, 3}}));
  cases.push_back(conv_case("same", {.x = {2, 5, 6, 3}, .kernel = {4, 3, 3, 3}, .padding = Padding::same()}));
  cases.push_back(conv_case("same_even_kernel", {.x = {1, 5, 5, 2}, .kernel = {2, 2, 2, 4}, .padding = Padding::same()}));
  cases.push_back(conv_case("strided", {.x = {2, 7, 9, 2}, .kernel = {3, 2, 3, 2}, .strides = {2, 3}}));
  cases.push_back(conv_case("strided_same",
                            {.x = {1, 7, 6, 1}, .kernel = {5, 1, 5, 5}, .strides = {2, 2}, .padding = Padding::same()}));
  cases.push_back(conv_case("uneven_padding",
                            {.x = {1, 4, 5, 2}, .kernel = {2, 2, 3, 4}, .padding = Padding::explicit_sizes(2, 0, 1, 3)}));
  cases.push_back(conv_case("stride_skips_the_border", {.x = {1, 6, 6, 1}, .kernel = {2, 1, 2, 2}, .strides = {3, 3}}));
  cases.push_back(
      conv_case("no_bias", {.x = {3, 4, 4, 2}, .kernel = {2, 2, 3, 3}, .padding = Padding::same(), .bias = false}));
  cases.push_back(conv_case("many_channels", {.x = {2, 5, 5, 16}, .kernel = {17, 16, 3, 3}, .padding = Padding::same()}));
  cases.push_back({"conv2d",
                   "relu",
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.floats("x", {3, 9, 7, 3});
                     return {ops::relu(ops::conv2d(x, b.weights("kernel", {8, 3, 5, 5}), b.weights("bias", {8}),
                                                   {.padding = Padding::same()}))};
                   },
                   {}});
}

OpCase pool_case(bool max, std::string detail, Shape x, ops::PoolOptions options) {
  auto build = [=](CaseBuilder& b) -> Values {
    const Value image = max ? b.distinct_floats("x", x) : b.floats("x", x);
    return {max ? ops::max_pool(image, options) : ops::avg_pool(image, options)};
  };
  return {.op = max ? "max_pool" : "avg_pool", .detail = std::move(detail), .build = build, .differentiable = {"x"}};
}

void add_pool_cases(Cases& cases) {  // Those of whole images are in op_cases_conv.cc.
  for (bool max : {true, false}) {
    cases.push_back(pool_case(max, "plain", {2, 4, 6, 3}, {}));
    cases.push_back(pool_case(max, "one_pixel", {1, 1, 1, 1}, {.window = {1, 1}}));
    cases.push_back(pool_case(max, "odd_image", {2, 5, 7, 2}, {}));
    cases.push_back(pool_case(max, "overlapping", {1, 6, 5, 2}, {.window = {3, 3}, .strides = {2, 1}}));
    cases.push_back(
        pool_case(max, "same", {2, 5, 5, 3}, {.window = {3, 2}, .strides = {2, 2}, .padding = Padding::same()}));
    cases.push_back(pool_case(max, "uneven_padding", {1, 4, 5, 1},
                              {.window = {3, 4}, .strides = {2, 1}, .padding = Padding::explicit_sizes(2, 1, 0, 3)}));
    cases.push_back(pool_case(max, "gaps", {1, 7, 7, 17}, {.window = {2, 1}, .strides = {3, 3}}));
    cases.push_back(pool_case(max, "global", {3, 4, 3, 5}, {.window = {4, 3}}));
  }
  cases.push_back({"max_pool",
                   "ties",  // The first maximum gets the gradient; finite differences have no say at a tie.
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.input("x", Tensor::zeros(DType::kFloat32, {1, 4, 4, 2}));
                     const Value y = ops::max_pool(x);
                     return {y, gradients(ops::reduce_sum(ops::mul(y, b.floats("w", {1, 2, 2, 2}))), {x})[0]};
                   },
                   {}});
}

void add_elementwise_cases(Cases& cases) {
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"scalar", {}}, {"one", {1}}, {"odd", {3, 5}}, {"rank4", {2, 3, 1, 7}}, {"long", {1031}}};
  struct Unary {
    const char* op;
    Value (*make)(Value);
  };
  const std::vector<Unary> unary{{"relu", [](Value x) { return ops::relu(x); }},
                                 {"square", [](Value x) { return ops::square(x); }},
                                 {"scale", [](Value x) { return ops::scale(x, -1.7); }},
                                 {"cast",
                                  [](Value x) {
                                    return x.graph().add("cast", {x}, {{"dtype", std::string("float32")}})[0];
                                  }},
                                 {"dropout", [](Value x) { return ops::dropout(x, 0.4); }}};
  struct Binary {
    const char* op;
    Value (*make)(Value, Value);
  };
  const std::vector<Binary> binary{{"add", [](Value a, Value b) { return a + b; }},
                                   {"sub", [](Value a, Value b) { return a - b; }},
                                   {"mul", [](Value a, Value b) { return a * b; }}};
  for (const auto& [detail, shape] : shapes) {
    const bool small = shape.elements() < 100;
    const Shape s = shape;
    for (const Unary& op : unary) {
      cases.push_back({op.op, detail, [op, s](CaseBuilder& b) -> Values { return {op.make(b.floats_off_zero("x", s))}; },
                       small ? std::vector<std::string>{"x"} : std::vector<std::string>{}});
    }
    for (const Binary& op : binary) {
      cases.push_back({op.op, detail,
                       [op, s](CaseBuilder& b) -> Values { return {op.make(b.floats("a", s), b.floats("b", s))}; },
                       small ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{}});
    }
  }
  cases.push_back({"mul",
                   "with_itself",
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.floats("x", {7});
                     return {x * x};
                   },
                   {"x"}});
  cases.push_back({"add",
                   "used_often",  // Gradients that meet are added.
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.floats("x", {5});
                     return {x + ops::square(x) + x * x * 3.0};
                   },
                   {"x"}});
}

void add_softmax_cases(Cases& cases) {
  for (const Shape& shape : {Shape{1}, Shape{1, 1}, Shape{4, 10}, Shape{3, 17}, Shape{2, 3, 5}}) {
    const std::string detail = "rank" + std::to_string(shape.rank()) + "_of_" + std::to_string(shape.elements());
    cases.push_back({"softmax",
                     detail,
                     [shape](CaseBuilder& b) -> Values { return {ops::softmax(b.floats("x", shape) * 2.0)}; },
                     {"x"}});
    cases.push_back({"log_softmax",
                     detail,
                     [shape](CaseBuilder& b) -> Values { return {ops::log_softmax(b.floats("x", shape) * 2.0)}; },
                     {"x"}});
  }
  cases.push_back({"softmax",
                   "large_logits",
                   [](CaseBuilder& b) -> Values {
                     return {ops::softmax(b.floats("x", {5, 7}) * 500.0)};
                   },
                   {}});
  cases.push_back({"log_softmax",
                   "large_logits",
                   [](CaseBuilder& b) -> Values {
                     return {ops::log_softmax(b.floats("x", {5, 7}) * 500.0)};
                   },
                   {}});
  for (const auto& [rows, classes] : {std::pair<int64_t, int64_t>{1, 1}, {1, 10}, {7, 3}, {5, 33}}) {
    const std::string detail = std::to_string(rows) + "_by_" + std::to_string(classes);
    auto build = [rows = rows, classes = classes](CaseBuilder& b) -> Values {
      const auto result = ops::softmax_cross_entropy(
          {.labels = b.labels("labels", rows, classes), .logits = b.floats("x", {rows, classes}) * 2.0});
      return {result.loss, result.softmax};
    };
    cases.push_back({"softmax_cross_entropy", detail, build, {"x"}});
  }
  cases.push_back({"softmax_cross_entropy",
                   "large_logits",
                   [](CaseBuilder& b) -> Values {
                     const auto result = ops::softmax_cross_entropy(
                         {.labels = b.labels("labels", 6, 9), .logits = b.floats("x", {6, 9}) * 500.0});
                     return {result.loss, result.softmax};
                   },
                   {}});
}

void add_shape_and_reduce_cases(Cases& cases) {
  cases.push_back({"flatten",
                   "image",
                   [](CaseBuilder& b) -> Values {
                     return {ops::flatten(ops::square(b.floats("x", {2, 3, 1, 5})))};
                   },
                   {"x"}});
  cases.push_back({"reshape",
                   "to_rank3",
                   [](CaseBuilder& b) -> Values {
                     return {ops::reshape(ops::square(b.floats("x", {4, 6})), {2, 3, 4})};
                   },
                   {"x"}});
  cases.push_back({"reshape_like",
                   "transposed_sizes",
                   [](CaseBuilder& b) -> Values {
                     return {ops::reshape_like(ops::square(b.floats("x", {4, 3})), b.floats("like", {3, 4}))};
                   },
                   {"x"}});
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"scalar", {}}, {"odd", {3, 7}}, {"rank4", {2, 1, 3, 5}}, {"long", {70001}}};
  for (const auto& [detail, shape] : shapes) {
    const Shape s = shape;
    const auto x = shape.elements() < 100 ? std::vector<std::string>{"x"} : std::vector<std::string>{};
    cases.push_back(
        {"reduce_sum", detail, [s](CaseBuilder& b) -> Values { return {ops::reduce_sum(b.floats("x", s))}; }, x});
    cases.push_back(
        {"reduce_mean", detail, [s](CaseBuilder& b) -> Values { return {ops::reduce_mean(b.floats("x", s))}; }, x});
    cases.push_back({"fill_like",
                     detail,
                     [s](CaseBuilder& b) -> Values { return {ops::fill_like(b.floats("v", {}), b.floats("x", s))}; },
                     {"v"}});
  }
}

void add_integer_cases(Cases& cases) {
  cases.push_back({"argmax",
                   "rows",
                   [](CaseBuilder& b) -> Values {
                     return {ops::argmax(b.distinct_floats("x", {13, 10}))};
                   },
                   {}});
  cases.push_back({"argmax", "rank1", [](CaseBuilder& b) -> Values { return {ops::argmax(b.floats("x", {37}))}; }, {}});
  cases.push_back({"argmax",
                   "one_class",
                   [](CaseBuilder& b) -> Values {
                     return {ops::argmax(b.floats("x", {5, 1}))};
                   },
                   {}});
  cases.push_back({"argmax",
                   "ties",
                   [](CaseBuilder& b) -> Values {
                     return {ops::argmax(b.input("x", Tensor::zeros(DType::kFloat32, {4, 9})))};
                   },
                   {}});
  for (DType dtype : {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool}) {
    const std::string type(to_string(dtype));
    cases.push_back({"equal",
                     type,
                     [dtype](CaseBuilder& b) -> Values {
                       return {ops::equal(b.integers("a", dtype, {3, 7}, 2), b.integers("b", dtype, {3, 7}, 2))};
                     },
                     {}});
    cases.push_back(
        {"cast",
         type + "_to_float",
         [dtype](CaseBuilder& b) -> Values { return {ops::cast(b.integers("a", dtype, {33}, 200), DType::kFloat32)}; },
         {}});
    cases.push_back({"cast",
                     "float_to_" + type,
                     [dtype](CaseBuilder& b) -> Values { return {ops::cast(b.floats("x", {33}) * 300.0, dtype)}; },
                     {}});
    cases.push_back(
        {"cast",
         type + "_to_int64",
         [dtype](CaseBuilder& b) -> Values {
           return {b.graph().add("cast", {b.integers("a", dtype, {9}, 200)}, {{"dtype", std::string("int64")}})[0]};
         },
         {}});
  }
}

Cases all_cases() {
  Cases cases;
  add_dense_cases(cases);
  add_conv2d_cases(cases);
  add_pool_cases(cases);
  add_elementwise_cases(cases);
  add_softmax_cases(cases);
  add_shape_and_reduce_cases(cases);
  add_integer_cases(cases);
  add_clipping_cases(cases);
  add_conv_cases(cases);
  add_binary_cases(cases);
  add_reduction_cases(cases);
  add_input_cases(cases);
  add_loss_cases(cases);
  add_norm_cases(cases);
  add_sequence_cases(cases);
  add_shapes_cases(cases);
  add_unary_cases(cases);
  return cases;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const Cases cases = all_cases();
  return cases;
}

BuiltCase::BuiltCase(const OpCase& op_case, float factor)
    : builder(op_case.name(), factor), outputs(op_case.build(builder)) {
  if (op_case.differentiable.empty()) return;
  Graph& graph = builder.graph();
  Value loss;
  RandomStream stream(fold_in(RandomKey{2}, op_case.name()));
  for (const Value& output : outputs) {
    if (output.dtype() != DType::kFloat32) continue;
    Tensor factors(DType::kFloat32, value_or_raise(output.shape().resolve({})));
    for (float& of_one : factors.mutable_as<float>()) of_one = factor * (float(int64_t(stream.below(129)) - 64) / 64.0f);
    weights.emplace_back(factors.as<float>().begin(), factors.as<float>().end());
    weighed.push_back(output);
    const Value part = ops::reduce_sum(output * graph.constant(factors));
    loss = loss.valid() ? loss + part : part;
  }
  std::vector<Value> wrt;
  for (const std::string& name : op_case.differentiable) wrt.push_back(graph.find(name));
  gradients = shoal::gradients(loss, wrt);
}

}  // namespace shoal::backends::testing
