// SPDX-License-Identifier: Apache-2.0
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {

void add_clipping_cases(std::vector<OpCase>& cases) {
  using Values = std::vector<Value>;
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"scalar", {}}, {"odd", {2, 3, 3}}, {"none", {0, 3}}, {"long", {70002}}};
  for (const auto& [detail, shape] : shapes) {
    const bool small = shape.elements() > 0 && shape.elements() < 100;
    const auto x = small ? std::vector<std::string>{"x"} : std::vector<std::string>{};
    // Elements are multiples of 9/64, so the limits lie half way between two.
    auto clip = [s = shape](CaseBuilder& b) -> Values {
      return {ops::clip(b.distinct_floats("x", s), -13.5 / 64, 31.5 / 64)};
    };
    cases.push_back({"clip", detail, clip, x});
    auto clip_grad = [s = shape](CaseBuilder& b) -> Values {
      return b.graph().add("clip_grad", {b.floats("dy", s), b.distinct_floats("x", s)}, {{"low", -0.5}, {"high", 0.25}});
    };
    cases.push_back({"clip_grad", detail, clip_grad, {}});
    auto norm = [s = shape](CaseBuilder& b) -> Values { return {ops::global_norm({b.floats_off_zero("x", s)})}; };
    cases.push_back({"global_norm", detail, norm, x});
  }
  cases.push_back({"global_norm",
                   "of_two_small",
                   [](CaseBuilder& b) -> Values {
                     return {ops::global_norm({b.floats("x", {3, 2}), b.weights("w", {4})})};
                   },
                   {"x", "w"}});
  cases.push_back({"global_norm",
                   "of_zeros",  // Its gradient is 0, where finite differences have no say.
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.input("x", Tensor::zeros(DType::kFloat32, {2, 3}));
                     const Value norm = ops::global_norm({x});
                     return {norm, gradients(norm, {x})[0]};
                   },
                   {}});
  cases.push_back({"global_norm",
                   "of_three",
                   [](CaseBuilder& b) -> Values {
                     return {ops::global_norm({b.floats("x", {5, 7}), b.weights("w", {17000}), b.floats("y", {})})};
                   },
                   {}});
  cases.push_back({"global_norm",
                   "large",  // The square of such a number is no float32.
                   [](CaseBuilder& b) -> Values {
                     return {ops::global_norm({b.input("x", Tensor::of<float>(Shape{2}, {3e30f, -4e30f}))})};
                   },
                   {}});
}

}  // namespace shoal::backends::testing
