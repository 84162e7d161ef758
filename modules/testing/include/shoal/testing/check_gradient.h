#pragma once
/// Checks that the gradient of a user's own op is the derivative of what its kernel computes.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/op.h"

namespace shoal::testing {

struct GradientCheck {
  std::vector<OpDef> ops = {};                ///< Ops of your own.
  std::map<std::string, Tensor> inputs = {};  ///< By name, what `build` is given; multiples of 1/64 are exact.
  /// The inputs to differentiate for. Empty: all that are float32.
  std::vector<std::string> wrt = {};
  double step = 1.0 / 32;   ///< How far an element is moved, at most twice that; no kink may lie so near.
  double tolerance = 1e-3;  ///< How far both numbers may lie apart: this part of their size, and a tenth of it besides.
  std::string backend = "reference";
};

/// Builds the graph of `build`, which gets values by the names of `inputs` and returns one float32 value of any shape.
/// Takes a weighted sum of its elements, and compares the gradients of the sum with central finite differences of four
/// runs, whose error falls with the fourth power of the step. Moves at most 64 elements of an input.
///
///   ASSERT_TRUE(check_gradient([](const auto& in) { return in.at("x").graph().add("squash", {in.at("x")})[0]; },
///                              {.ops = {squash(), squash_grad()}, .inputs = {{"x", Tensor::of<float>({3}, {-1, 0.5f, 2})}}}));
///
/// An error names the input, the element and both numbers. InvalidArgument if an input to differentiate for is not there,
/// is not float32, or has no influence on the value.
Result<void> check_gradient(const std::function<Value(const std::map<std::string, Value>& inputs)>& build,
                            const GradientCheck& check);

}  // namespace shoal::testing
