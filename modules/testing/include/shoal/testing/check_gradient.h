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
  std::map<std::string, Tensor> inputs = {};  ///< By name, what `build` is given; multiples of 1/64 are exact.
  /// The inputs to differentiate for. Empty: all that are float32.
  std::vector<std::string> wrt = {};
  /// The distance by which an element is moved, at most doubled; the op may have no kink that near.
  double step = 1.0 / 32;
  /// The allowed relative difference of the two derivatives; a tenth of it is allowed absolutely.
  double tolerance = 1e-3;
  std::string backend = "reference";
};

/// Builds the graph of `build`, which gets values by the names of `inputs` and returns one float32 value of any shape.
/// Takes a weighted sum of its elements, and compares the gradients of the sum with central finite differences of four
/// runs, whose error falls with the fourth power of the step. Moves at most 64 elements of an input.
///
///   ASSERT_TRUE(check_gradient([](const auto& in) { return in.at("x").graph().add("squash", {in.at("x")})[0]; },
///                              {.ops = {squash(), squash_grad()}, .inputs = {{"x", Tensor::of<float>({3}, {-1, 0.5f, 2})}}}));
///
/// An error (FailedPrecondition) names an element of the input, the element of the value whose derivative by it is worst, and this
/// derivative, without weights, as the gradient has it and by finite differences: "the gradient for x is wrong: d value[0, 2] / d
/// x[0, 2] is 0.375 by the gradient, and 0.25 by finite differences of the kernels". InvalidArgument if an input to differentiate for is not there,
/// is not float32, or has no influence on the value.
Result<void> check_gradient(const std::function<Value(const GradientInputs& inputs)>& build, const GradientCheck& check);

}  // namespace shoal::testing
