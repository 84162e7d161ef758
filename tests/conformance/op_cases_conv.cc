// SPDX-License-Identifier: Apache-2.0
/// Cases of convolutions with dilation and groups, along one axis and transposed, and of pooling over whole images.
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Cases = std::vector<OpCase>;
using Values = std::vector<Value>;

/// x, kernel and, with a bias of so many channels, bias; `make` applies the op to them.
template <class Make>
OpCase weighted_case(std::string op, std::string detail, Shape x, Shape kernel, int64_t bias, Make make) {
  OpCase result{.op = std::move(op), .detail = std::move(detail), .build = {}, .differentiable = {"x", "kernel"}};
  if (bias > 0) result.differentiable.push_back("bias");
  result.build = [=](CaseBuilder& b) -> Values {
    const Value image = b.floats("x", x);
    const Value weights = b.weights("kernel", kernel);
    return {make(image, weights, bias > 0 ? b.weights("bias", {bias}) : Value())};
  };
  return result;
}

OpCase conv2d_case(std::string detail, Shape x, Shape kernel, ops::Conv2dOptions options, bool bias = true) {
  return weighted_case(
      "conv2d", std::move(detail), x, kernel, bias ? kernel[0] : 0,
      [options](Value image, Value weights, Value add) { return ops::conv2d(image, weights, add, options); });
}

void add_dilated_and_grouped(Cases& cases) {
  const Padding same = Padding::same();
  cases.push_back(conv2d_case("dilated", {2, 7, 8, 3}, {4, 3, 3, 3}, {.dilations = {2, 2}}));
  cases.push_back(conv2d_case("dilated_same", {1, 6, 5, 2}, {3, 2, 3, 2}, {.padding = same, .dilations = {2, 3}}));
  cases.push_back(conv2d_case("dilated_one_way", {2, 5, 9, 1}, {2, 1, 2, 3}, {.strides = {1, 2}, .dilations = {1, 3}}));
  cases.push_back(conv2d_case("dilated_beyond_the_image", {1, 3, 3, 2}, {2, 2, 3, 3},
                              {.padding = Padding::explicit_sizes(4, 4, 4, 4), .dilations = {3, 3}}));
  cases.push_back(conv2d_case("two_groups", {2, 5, 6, 6}, {4, 3, 3, 3}, {.padding = same, .groups = 2}));
  cases.push_back(conv2d_case("groups_of_16", {2, 5, 5, 32}, {32, 16, 3, 3}, {.padding = same, .groups = 2}));
  cases.push_back(conv2d_case("strided_groups", {1, 7, 7, 3}, {6, 1, 3, 2}, {.strides = {2, 2}, .groups = 3}, false));
  cases.push_back(conv2d_case("depthwise", {2, 6, 5, 7}, {7, 1, 3, 3}, {.padding = same, .groups = 7}));
  cases.push_back(conv2d_case("depthwise_of_16", {3, 6, 6, 16}, {16, 1, 3, 3}, {.padding = same, .groups = 16}));
  cases.push_back(conv2d_case("depthwise_strided", {2, 7, 8, 16}, {16, 1, 5, 3}, {.strides = {2, 2}, .groups = 16}));
  cases.push_back(conv2d_case("depthwise_multiplied", {2, 4, 5, 3}, {6, 1, 3, 3}, {.padding = same, .groups = 3}));
  cases.push_back(conv2d_case("dilated_depthwise", {1, 9, 7, 8}, {8, 1, 3, 3},
                              {.padding = same, .dilations = {2, 2}, .groups = 8}, false));
}

void add_conv1d(Cases& cases) {
  auto conv = [&](std::string detail, Shape x, Shape kernel, ops::Conv1dOptions options, bool bias = true) {
    OpCase added =
        weighted_case("conv2d", "along_one_axis_" + detail, x, kernel, bias ? kernel[0] : 0,
                      [options](Value rows, Value weights, Value add) { return ops::conv1d(rows, weights, add, options); });
    cases.push_back(std::move(added));
  };
  conv("one_element", {1, 1, 1}, {1, 1, 1}, {});
  conv("valid", {2, 9, 3}, {4, 3, 3}, {});
  conv("same", {3, 7, 5}, {2, 5, 4}, {.stride = 2, .padding = Padding::same()}, false);
  conv("causal", {2, 8, 4}, {6, 2, 2}, {.padding = Padding::explicit_sizes(0, 0, 3, 0), .dilation = 3, .groups = 2});
}

void add_conv2d_transpose(Cases& cases) {
  auto conv = [&](std::string detail, Shape x, Shape kernel, ops::Conv2dTransposeOptions options, bool bias = true) {
    OpCase added = weighted_case(
        "conv2d_transpose", std::move(detail), x, kernel, bias ? kernel[1] * options.groups : 0,
        [options](Value image, Value weights, Value add) { return ops::conv2d_transpose(image, weights, add, options); });
    cases.push_back(std::move(added));
  };
  const Padding same = Padding::same();
  conv("one_pixel", {1, 1, 1, 1}, {1, 1, 1, 1}, {});
  conv("valid", {2, 3, 4, 3}, {3, 2, 3, 3}, {});
  conv("strided", {2, 3, 2, 2}, {2, 5, 2, 3}, {.strides = {2, 3}});
  conv("same", {1, 4, 3, 4}, {4, 3, 3, 3}, {.strides = {2, 2}, .padding = same});
  conv("same_with_gaps", {1, 2, 3, 2}, {2, 2, 1, 2}, {.strides = {3, 3}, .padding = same}, false);
  conv("output_padding", {2, 3, 3, 2}, {2, 3, 3, 3},
       {.strides = {2, 2}, .padding = Padding::explicit_sizes(1, 1, 1, 1), .output_padding = {1, 1}});
  conv("dilated", {1, 3, 4, 2}, {2, 2, 2, 3}, {.dilations = {2, 2}});
  conv("grouped", {2, 3, 3, 4}, {4, 3, 3, 3}, {.padding = same, .groups = 2});
  conv("many_channels", {2, 4, 4, 16}, {16, 32, 4, 4}, {.strides = {2, 2}, .padding = same});
  cases.push_back({"conv2d_transpose",
                   "relu",
                   [](CaseBuilder& b) -> Values {
                     const Value y = ops::conv2d_transpose(b.floats("x", {2, 3, 3, 3}), b.weights("kernel", {3, 4, 2, 2}),
                                                           b.weights("bias", {4}), {.strides = {2, 2}});
                     return {ops::relu(y)};
                   },
                   {}});
}

void add_global_pools(Cases& cases) {
  for (const Shape& shape : {Shape{2, 3, 5, 4}, Shape{1, 1, 1, 1}, Shape{3, 1, 7, 17}, Shape{1, 2, 259, 2}}) {
    const std::string detail = "global_" + std::to_string(shape[1]) + "_by_" + std::to_string(shape[2]);
    cases.push_back({"avg_pool",
                     detail,
                     [shape](CaseBuilder& b) -> Values { return {ops::global_avg_pool(b.floats("x", shape))}; },
                     {"x"}});
    cases.push_back({"max_pool",
                     detail,
                     [shape](CaseBuilder& b) -> Values { return {ops::global_max_pool(b.distinct_floats("x", shape))}; },
                     {"x"}});
  }
}

}  // namespace

void add_conv_cases(Cases& cases) {
  add_dilated_and_grouped(cases);
  add_conv1d(cases);
  add_conv2d_transpose(cases);
  add_global_pools(cases);
}

}  // namespace shoal::backends::testing
