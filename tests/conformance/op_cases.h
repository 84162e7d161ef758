// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The cases of the backend conformance suite: small graphs over every op of the catalogue, with odd sizes, sizes of one,
/// paddings and strides. A new op needs a case here; the suite fails until it has one.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../backends/run_graph.h"
#include "shoal/graph/graph.h"

namespace shoal::backends::testing {

/// A graph under construction and the data for it. Numbers are multiples of 1/64, so that steps of finite differences are
/// exact; they come from the case's name, so they never change.
class CaseBuilder {
 public:
  /// The factor of all random floats: they are multiples of 1/64, whose sums are exact, times this one.
  static constexpr float kFewBits = 1.0f;
  static constexpr float kAllBits = 0.9812345f;  ///< With this factor every operand loses something when it is rounded.

  explicit CaseBuilder(const std::string& name, float factor = kFewBits);

  Graph& graph() { return *graph_; }
  const Feeds& feeds() const { return feeds_; }
  /// Numbers in [-1, 1].
  Value floats(std::string name, Shape shape);
  /// Numbers in [-1, 1] that are at least 1/8 away from 0, for ops with a kink there.
  Value floats_off_zero(std::string name, Shape shape);
  /// Numbers that all differ by more than 1/8, in random order, for ops that choose a maximum.
  Value distinct_floats(std::string name, Shape shape);
  /// Numbers as floats() gives them, as a variable.
  Value weights(std::string name, Shape shape);
  /// Labels in [0, classes).
  Value labels(std::string name, int64_t count, int64_t classes);
  Value integers(std::string name, DType dtype, Shape shape, int64_t bound);
  /// Any data as an input.
  Value input(std::string name, Tensor value);

 private:
  Tensor random(const Shape& shape);
  std::unique_ptr<Graph> graph_;
  Feeds feeds_;
  RandomStream stream_;
  float factor_;
};

struct OpCase {
  std::string op;
  std::string detail;
  /// Gives the values to compare.
  std::function<std::vector<Value>(CaseBuilder&)> build;
  /// Names of inputs and variables whose gradients are compared with finite differences.
  std::vector<std::string> differentiable;

  std::string name() const { return op + "_" + detail; }
};

const std::vector<OpCase>& op_cases();

// The families with files of their own, op_cases_<family>.cc, in their order (elementwise has two).
void add_clipping_cases(std::vector<OpCase>& cases);
void add_conv_cases(std::vector<OpCase>& cases);
void add_binary_cases(std::vector<OpCase>& cases);
void add_reduction_cases(std::vector<OpCase>& cases);
void add_input_cases(std::vector<OpCase>& cases);
void add_loss_cases(std::vector<OpCase>& cases);
void add_norm_cases(std::vector<OpCase>& cases);
void add_sequence_cases(std::vector<OpCase>& cases);
void add_shapes_cases(std::vector<OpCase>& cases);
void add_unary_cases(std::vector<OpCase>& cases);

/// A case built: outputs, a scalar loss over the float outputs, gradients of that loss. The loss weighs each element
/// differently, so that mistakes do not cancel.
struct BuiltCase {
  explicit BuiltCase(const OpCase& op_case, float factor = CaseBuilder::kFewBits);
  CaseBuilder builder;
  std::vector<Value> outputs;
  std::vector<Value> weighed;                ///< The float outputs: what the loss depends on.
  std::vector<std::vector<double>> weights;  ///< How much each element of `weighed` counts in the loss.
  std::vector<Value> gradients;              ///< The gradients of the loss, in the order of OpCase::differentiable.
};

}  // namespace shoal::backends::testing
