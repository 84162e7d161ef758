// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What an op is: its shape rule, its gradient, and what an executor may do with it. The built-in catalogue is a table;
/// a user's own op is one more OpDef, with a kernel that any backend falls back to.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/boxed.h"
#include "shoal/base/hidden.h"
#include "shoal/base/random.h"
#include "shoal/base/result.h"
#include "shoal/base/std_function.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/rewrites.h"

namespace shoal {

/// The types of the outputs that follow from the types of the inputs, or InvalidArgument with a sentence that says which
/// input does not fit ("kernel [10, 20] takes 20 features, x [batch, 30] has 30"). The graph adds the node's name.
using ShapeRule =
    std::function<Result<std::vector<ValueType>>(std::span<const ValueType> inputs, const Attributes& attributes)>;

/// What a gradient rule is given. References stay valid while it adds nodes.
struct GradientRequest {
  Graph& graph;
  const Node& node;                     ///< The forward node: inputs and attributes.
  std::vector<Value> outputs;           ///< The outputs of that node.
  std::vector<Value> output_gradients;  ///< d(loss)/d(output). Invalid where the loss does not depend on that output.
  /// Says for each input whether its gradient is needed; others may be left invalid.
  std::vector<bool> wanted;
};

/// d(loss)/d(input) for each input, each with the type of that input; an invalid Value where none flows.
using GradientRule = std::function<std::vector<Value>(const GradientRequest& request)>;

/// One execution of a user's own op. Outputs are dense memory, undefined before.
struct OpCall {
  std::span<const TensorView> inputs;  ///< Their data is null for shape-only inputs.
  std::span<const MutableTensorView> outputs;
  const Attributes& attributes;
  RandomKey sequence;  ///< Random ops: the key of this node's random numbers in this step.
};
using OpKernel = std::function<Result<void>(const OpCall& call)>;

/// How many multiply-adds one execution takes, all sizes known; data are not looked at.
using MultiplyAdds = std::function<double(const Attributes& attributes, std::span<const TensorView> inputs,
                                          std::span<const TensorView> outputs)>;

/// One attribute of a user's own op.
struct AttributeDef {
  static Boxed<Attribute> zero();  ///< The real number 0.

  std::string name = {};
  /// The value where a node says none, and by that the type: a node may say a whole number for a real one, and nothing else
  /// of another type. A real number is never NaN.
  Boxed<Attribute> otherwise = zero();
  bool required = false;  ///< True: each node has to say it, and `otherwise` is no more than the type.
};

/// One op. Its outputs are a pure function of inputs, attributes and, if it is random, of the step's key: equal nodes may
/// be merged, unused ones dropped.
struct OpDef {
  /// Output `output` may be written to the memory of input `input`, where nobody else needs that input afterwards: every
  /// element is read before its place is written. Both have the same bytes.
  struct InPlace {
    int output;
    int input;
  };

  std::string name = {};
  /// A user's own op: which version of it, at least 1. Whoever changes what it computes counts it up: tasks with different
  /// versions do not train together, a restart says that it changed, and an export of another version is not loaded.
  int64_t version = 1;
  int inputs_min = 0;
  int inputs_max = 0;
  /// A user's own op: all attributes that it takes. Rules and kernels find each of them, and with its type.
  std::vector<AttributeDef> attributes{};
  ShapeRule shape_rule = {};
  GradientRule gradient = {};  ///< Empty: no gradient; a loss that needs it is refused.
  /// True: its outputs count as constants for whoever differentiates, so it needs no gradient, nor does what leads to it.
  bool stops_gradient = false;
  /// Inputs of which only the shape is used: their contents are never computed for this op.
  std::vector<int> shape_only{};
  std::vector<InPlace> in_place{};
  /// True if output 0 is input 0's bytes under another shape: executors need no kernel.
  bool view = false;
  /// True: no pass looks through it, so what is computed from its output stays apart from what is computed from its input.
  bool barrier = false;
  /// Its outputs are sums of products of elements of input 0 with elements of input 1, to which further inputs (a bias) are
  /// added: where CompileOptions::compute_dtype says so, those two are rounded before they are multiplied.
  bool product = false;
  /// What profiles hold its time against (cost.h). Empty: one operation per element.
  MultiplyAdds multiply_adds = {};
  /// True if it reads no more of input 0 than comes out, as a lookup in a table does.
  bool reads_a_part = false;
  /// Whether, with these attributes, output 0 has the rows of input 0 that input 1 names and nothing else: optimizers then
  /// update a variable that is input 0 by rows. Empty: never.
  bool (*looks_up_rows)(const Attributes& attributes) = nullptr;
  /// True: Graph::add() gives it an attribute "key" (int) made from the node's name, if it has none.
  bool random = false;
  Rewrites rewrites = {};  ///< What passes may do with it.
  /// How to compute a user's own op, on every backend, and on one thread. Several threads may call it at once, as exported models
  /// that serve several do. What it throws becomes an error that names the node. Built-in ops have theirs in the backends.
  OpKernel kernel = {};
  bool own = false;  ///< True of what OpCatalogue::add() has added.

  bool is_shape_only(int input) const;
};

/// Ops by name: the built-in ones, and a user's own. Built before the graphs that use it, and not changed afterwards. An
/// Estimator makes one of what Estimator::use_ops() is given; this is for graphs that you make yourself:
///
///   shoal::OpCatalogue catalogue;
///   shoal::value_or_raise(catalogue.add(
///       {.name = "cube", .inputs_min = 1, .inputs_max = 1, .shape_rule = ..., .kernel = ...}));
///   shoal::Graph graph(seed, &catalogue);
///   shoal::Value y = graph.add("cube", {x})[0];
class OpCatalogue {
 public:
  OpCatalogue();  ///< It has the built-in ops.
  OpCatalogue(const OpCatalogue& other);
  OpCatalogue(OpCatalogue&&) noexcept;
  OpCatalogue& operator=(OpCatalogue other) noexcept;
  ~OpCatalogue();
  static const OpCatalogue& built_in();

  /// InvalidArgument if the name is taken, or the definition lacks a name, a shape rule or (unless a view) a kernel; names inputs
  /// that it does not have, or may lack where they are used; has a version below 1; or has an attribute twice, without a name, or
  /// of a name that each node has ("version", of a random op "key").
  Result<void> add(OpDef op);
  /// The op of that name. Null if there is none.
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;  ///< Sorted.

 private:
  struct Ops;
  Hidden<Ops> ops_;
};

/// The attribute that says which version of a user's own op a node was made with; Graph::add() gives it to each.
inline constexpr std::string_view kOpVersion = "version";

/// The random numbers of one random node in one step: number i of the result (philox(key, i / 4)[i % 4]) belongs to
/// element i. Every backend uses exactly this, so masks are equal everywhere and after every restart.
RandomKey random_sequence(RandomKey graph_seed, int64_t node_key, uint64_t trainer, uint64_t ordinal);

/// What "pad" puts around x: `value` as one element of `dtype` (in its first bytes). To an integer it rounds towards zero
/// and to the nearest in range, to bool it is whether it differs from 0; NaN gives 0.
std::array<std::byte, 8> padding_element(DType dtype, double value);

/// An element of "dropout" is kept if its random number is at least this: round(rate * 2^32), at most 2^32 - 1.
uint32_t dropout_threshold(double rate);
/// What kept elements are multiplied with: 1 / (1 - rate), rounded to float32.
float dropout_scale(double rate);

}  // namespace shoal
