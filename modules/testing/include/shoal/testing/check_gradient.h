// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks that the gradient of a user's own op is the derivative of its kernel.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/op.h"

namespace shoal::testing {

/// The inputs of a check as values of its graph, by name.
class GradientInputs {
 public:
  void set(std::string name, Value value) { values_.insert_or_assign(std::move(name), value); }
  /// The value of that name. Raises InvalidArgument, listing the names, if GradientCheck::inputs has none.
  Value at(std::string_view name) const;
  Value operator[](std::string_view name) const { return at(name); }

 private:
  std::map<std::string, Value, std::less<>> values_;
};

struct GradientCheck {
  std::vector<OpDef> ops = {};                ///< Ops of your own.
  std::map<std::string, Tensor> inputs = {};  ///< Input tensors by name. With multiples of 1/64, x +- `step` is exact.
  /// The inputs to differentiate for. Empty: all that are float32.
  std::vector<std::string> wrt = {};
  /// Each element is moved by `step` and by 2 * `step` in both directions. The op must have no kink within this distance.
  double step = 1.0 / 32;
  /// Two derivatives may differ by tolerance * (0.1 + |the derivative by finite differences|).
  double tolerance = 1e-3;
  std::string backend = "reference";
};

/// Calls `build`, which gets the inputs by name and returns one float32 value of any shape, the output. Compares the
/// gradients of a weighted sum of the output's elements with central finite differences of four runs, whose error falls
/// with the fourth power of the step. Checks at most 64 elements of each input.
///
///   ASSERT_TRUE(check_gradient([](const auto& in) { return in.at("x").graph().add("squash", {in.at("x")})[0]; },
///                              {.ops = {squash(), squash_grad()}, .inputs = {{"x", Tensor::of<float>({3}, {-1, 0.5f, 2})}}}));
///
/// A mismatch gives FailedPrecondition. The sentence names an element of the input, the output element whose derivative is
/// most wrong, and this derivative without weights, by the gradient and by finite differences: "the gradient for x is
/// wrong: d value[0, 2] / d x[0, 2] is 0.375 by the gradient, and 0.25 by finite differences of the kernels".
/// InvalidArgument if an input to differentiate for is missing, is not float32, or does not influence the output.
Result<void> check_gradient(const std::function<Value(const GradientInputs& inputs)>& build, const GradientCheck& check);

}  // namespace shoal::testing
