// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The definition of an op: its shape rule, its gradient, and what an executor may do with it. The built-in catalogue
/// is a table of such definitions. A user's own op is one more OpDef, with a kernel that every backend can call.
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

/// Computes the types of the outputs from those of the inputs. If an input does not fit, returns InvalidArgument and says
/// which one ("kernel [10, 20] takes 20 features, x [batch, 30] has 30"); the graph adds the node's name.
using ShapeRule =
    std::function<Result<std::vector<ValueType>>(std::span<const ValueType> inputs, const Attributes& attributes)>;

/// The arguments of a gradient rule. The references stay valid while the rule adds nodes to the graph.
struct GradientRequest {
  Graph& graph;
  const Node& node;                     ///< The forward node, with its inputs and attributes.
  std::vector<Value> outputs;           ///< The outputs of the forward node.
  std::vector<Value> output_gradients;  ///< d(loss)/d(output). Invalid if the loss does not depend on that output.
  /// For each input, whether the rule has to return its gradient. Other gradients may be left invalid.
  std::vector<bool> wanted;
};

/// Returns d(loss)/d(input) for each input, with the type of that input; an invalid Value if no gradient flows to the
/// input.
using GradientRule = std::function<std::vector<Value>(const GradientRequest& request)>;

/// One execution of a user's own op. The outputs are dense memory with undefined contents, which the kernel overwrites.
struct OpCall {
  std::span<const TensorView> inputs;  ///< The inputs; the data of an input used only for its shape is null.
  std::span<const MutableTensorView> outputs;
  const Attributes& attributes;
  RandomKey sequence;  ///< For random ops: the key of the random numbers of this node in this step.
};
using OpKernel = std::function<Result<void>(const OpCall& call)>;

/// The number of multiply-adds of one execution. All sizes are known; the data must not be read.
using MultiplyAdds = std::function<double(const Attributes& attributes, std::span<const TensorView> inputs,
                                          std::span<const TensorView> outputs)>;

/// One attribute of a user's own op.
struct AttributeDef {
  static Boxed<Attribute> zero();  ///< The real number 0.

  std::string name = {};
  /// The default value, whose type is also the attribute's type. If that is a real number, a node may give an integer; no
  /// other conversion is made. Real numbers are never NaN.
  Boxed<Attribute> otherwise = zero();
  bool required = false;  ///< True: each node has to give the attribute, and `otherwise` only states the type.
};

/// One op. Its outputs are a pure function of inputs, attributes and, if it is random, of the step's key. So equal nodes
/// may be merged, and unused ones dropped.
struct OpDef {
  /// Allows output `output` to be written to the memory of input `input` if no later node needs that input. The kernel
  /// must read each element of the input before it overwrites the element. Both have the same size in bytes.
  struct InPlace {
    int output;
    int input;
  };

  std::string name = {};
  /// The version of a user's own op, at least 1. Increase it when the op's results change: tasks with different versions do
  /// not train together, a restart logs the change, and an export made with another version is not loaded.
  int64_t version = 1;
  int inputs_min = 0;
  int inputs_max = 0;
  /// All attributes of a user's own op. The op's shape rule and kernel find each of them in the node, with the right type.
  std::vector<AttributeDef> attributes{};
  ShapeRule shape_rule = {};
  GradientRule gradient = {};  ///< Empty: the op has no gradient, and gradients() refuses a loss that needs it.
  /// True: the outputs count as constants in differentiation, so neither this op nor those before it need a gradient.
  bool stops_gradient = false;
  /// The inputs of which the op uses only the shape: their contents are not computed for this op.
  std::vector<int> shape_only{};
  std::vector<InPlace> in_place{};
  /// True if output 0 has the bytes of input 0 and only another shape. Executors need no kernel then.
  bool view = false;
  /// True: passes treat the output as a new value, so computations from it are not merged with computations from its input.
  bool barrier = false;
  /// True: the outputs are sums of products of an element of input 0 and one of input 1, to which further inputs (a bias)
  /// are added. If CompileOptions::compute_dtype asks for it, these two inputs are rounded before the multiplication.
  bool product = false;
  /// The work of one execution, with which profiles compare measured time (cost.h). Empty: one operation per element.
  MultiplyAdds multiply_adds = {};
  /// True if the op reads only as many bytes of input 0 as its result has, like a lookup in a table.
  bool reads_a_part = false;
  /// Returns whether, with these attributes, output 0 consists of the rows of input 0 that input 1 names. If so, and
  /// input 0 is a variable, optimizers update only the rows in use. Empty: never.
  bool (*looks_up_rows)(const Attributes& attributes) = nullptr;
  /// True: Graph::add() gives each node an attribute "key" (int) made from the node's name, unless the node has a key.
  bool random = false;
  Rewrites rewrites = {};  ///< The rewrites that passes may apply to the op.
  /// Computes a user's own op, on every backend, on one thread. Several threads may call it at once, for example when
  /// exported models serve several requests. An exception becomes an error that names the node. Built-in ops have their
  /// kernels in the backends.
  OpKernel kernel = {};
  bool own = false;  ///< True for ops that OpCatalogue::add() added.

  bool is_shape_only(int input) const;
};

/// Ops by name: the built-in ones and the user's own. Fill it before you build graphs with it, and do not change it
/// afterwards. An Estimator makes one from the arguments of Estimator::use_ops(); make one yourself only for graphs of your
/// own:
///
///   shoal::OpCatalogue catalogue;
///   shoal::value_or_raise(catalogue.add(
///       {.name = "cube", .inputs_min = 1, .inputs_max = 1, .shape_rule = ..., .kernel = ...}));
///   shoal::Graph graph(seed, &catalogue);
///   shoal::Value y = graph.add("cube", {x})[0];
class OpCatalogue {
 public:
  OpCatalogue();  ///< Contains the built-in ops.
  OpCatalogue(const OpCatalogue& other);
  OpCatalogue(OpCatalogue&&) noexcept;
  OpCatalogue& operator=(OpCatalogue other) noexcept;
  ~OpCatalogue();
  static const OpCatalogue& built_in();

  /// Adds an op. InvalidArgument if the name is taken; if the definition lacks a name, a shape rule or (unless it is a
  /// view) a kernel; if it refers to inputs that the op may not have; if its version is below 1; or if an attribute occurs
  /// twice, has no name, or has a name that every node uses ("version", and "key" for a random op).
  Result<void> add(OpDef op);
  /// The op with this name. Null if there is none.
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;  ///< Sorted.

 private:
  struct Ops;
  Hidden<Ops> ops_;
};

/// The attribute that holds the version of the user's own op with which a node was made. Graph::add() sets it on each node.
inline constexpr std::string_view kOpVersion = "version";

/// The key of the random numbers of one random node in one step. Element i uses number i, philox(key, i / 4)[i % 4]. Every
/// backend uses exactly these numbers, so masks are equal everywhere and after every restart.
RandomKey random_sequence(RandomKey graph_seed, int64_t node_key, uint64_t trainer, uint64_t ordinal);

/// The element that "pad" puts around x: `value` converted to `dtype` (in the first bytes of the result). An integer is
/// rounded towards zero and clamped to the type's range; a bool is true unless `value` is 0; NaN gives 0.
std::array<std::byte, 8> padding_element(DType dtype, double value);

/// The smallest random number with which "dropout" keeps an element: round(rate * 2^32), at most 2^32 - 1.
uint32_t dropout_threshold(double rate);
/// The factor for elements that "dropout" keeps: 1 / (1 - rate), rounded to float32.
float dropout_scale(double rate);

}  // namespace shoal
