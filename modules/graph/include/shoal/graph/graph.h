// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model as a graph of operations on values. The user's model_fn builds it once; it is then differentiated, simplified,
/// and compiled by a backend. Building raises InvalidArgument (shoal::Exception) if shapes or types do not fit.
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/hidden.h"
#include "shoal/base/random.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/attributes.h"
#include "shoal/graph/dim.h"
#include "shoal/graph/meaning.h"

namespace shoal {

class Graph;
class OpCatalogue;
struct OpDef;

/// The type of a value: element type and shape.
struct ValueType {
  DType dtype = DType::kFloat32;
  DimShape shape;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

using NodeId = int32_t;

/// One output of one node. A handle: copied freely, valid while its graph lives. Two handles of the same output are equal.
class Value {
 public:
  Value() = default;
  Value(Graph* graph, NodeId node, int output) : graph_(graph), node_(node), output_(output) {}

  bool valid() const { return graph_ != nullptr; }
  /// Raises InvalidArgument for an invalid Value. So do type() and the functions that call it.
  Graph& graph() const {
    if (!valid()) raise_invalid();
    return *graph_;
  }
  NodeId node() const { return node_; }
  int output() const { return output_; }
  const ValueType& type() const;
  DType dtype() const { return type().dtype; }
  const DimShape& shape() const { return type().shape; }
  int rank() const { return shape().rank(); }
  friend bool operator==(const Value&, const Value&) = default;

 private:
  [[noreturn]] static void raise_invalid();

  Graph* graph_ = nullptr;
  NodeId node_ = -1;
  int output_ = 0;
};

/// How a variable is initialised. A description and not a function, since parameter servers apply it: element i of the
/// variable is a pure function of (initializer, key, i).
struct Initializer {
  enum class Kind : uint8_t { kConstant = 1, kUniform = 2, kNormal = 3, kTruncatedNormal = 4, kOrthogonal = 5 };
  Kind kind = Kind::kConstant;
  double a = 0;  ///< Constant: the value; uniform: low; normal: mean; orthogonal: gain.
  double b = 0;  ///< Uniform: high; normal: standard deviation; orthogonal: number of rows of the whole variable.
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

struct VariableOptions {
  DType dtype = DType::kFloat32;
  Initializer initializer = {};
  bool trainable = true;
};

/// A variable of a graph.
struct Variable {
  std::string name;  ///< The full name, with scopes: "dense_1/kernel".
  DType dtype;
  Shape shape;
  Initializer initializer;
  bool trainable;
  NodeId node;
};

/// A variable that averages a value of the training graph: each step sets it to decay * variable + (1 - decay) * value.
struct MovingAverage {
  Value variable;  ///< A result of Graph::variable(). Not trainable.
  Value value;     ///< The averaged value: float32 with the variable's shape.
  double decay;    ///< In [0, 1].
};

struct Node {
  std::string op;    ///< The name of an op in the catalogue, or of a source (source.h).
  std::string name;  ///< The full name, unique in the graph.
  std::vector<Value> inputs;
  Attributes attributes;
  std::vector<ValueType> outputs;
  Tensor constant;  ///< The value of a Source::kConstant; unused otherwise.
};

class Graph {
 public:
  /// `seed` is the key of initializers and random ops. `catalogue` (default: the built-in ops) has to outlive the graph.
  explicit Graph(RandomKey seed = 0, const OpCatalogue* catalogue = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Adds an input, which is fed with every run. InvalidArgument if there is an input with this name. An input of text
  /// (kString) can only be used by text_ids().
  Value input(std::string_view name, DType dtype, DimShape shape);
  /// Adds an int64 input with the shape of the text input `text`. It is fed with the ids that `encoding` makes of the texts
  /// (text_ids.h). Calls with equal arguments return the same Value.
  Value encoded_input(Value text, const std::string& encoding);
  Value constant(Tensor value, std::string_view name = "constant");
  Value constant(float value);
  /// Adds a parameter. InvalidArgument if a variable with this full name exists, except in a shared_scope().
  Value variable(std::string_view name, Shape shape, VariableOptions options = {});
  /// Adds a node with any op of the catalogue: checks the number of inputs, infers the output types (InvalidArgument with
  /// the node's name and the types if they do not fit) and returns the outputs. Most users call shoal::ops and shoal::nn
  /// instead.
  std::vector<Value> add(std::string_view op, std::vector<Value> inputs, Attributes attributes = {},
                         std::string_view name = "");

  /// Puts a prefix before the names of everything added while the scope lives: `auto scope = graph.scope("encoder");`.
  /// If the enclosing scope already has one of this name, the name gets "_1", "_2", ...
  class [[nodiscard]] Scope {
   public:
    Scope(Graph& graph, std::string_view name, std::string* variables_of = nullptr);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Graph& graph_;
    size_t length_before_;
    size_t shared_before_;
  };
  Scope scope(std::string_view name) { return Scope(*this, name); }
  /// A scope that uses the variables of an earlier scope, found by their names (the base of nn::Shared). `variables_of`
  /// names the earlier scope. If the string is empty, the new scope makes its own variables and writes its own name into
  /// the string, for later scopes. InvalidArgument for a variable that the earlier scope lacks or has with another type or
  /// shape. A scope that uses existing variables ignores its own initializers.
  Scope shared_scope(std::string_view name, std::string& variables_of) { return Scope(*this, name, &variables_of); }
  /// True in a scope that uses existing variables and makes none.
  bool finds_variables() const;

  /// Saves memory at the cost of computing twice (nn::recompute()). The nodes that are added while the object lives form a
  /// part of the graph. gradients() adds the nodes of this part a second time for the backward pass, so the values of the
  /// forward pass need no memory until then. An object inside the lifetime of another one has no effect.
  class [[nodiscard]] RecomputedPart {
   public:
    explicit RecomputedPart(Graph& graph);
    ~RecomputedPart();
    RecomputedPart(const RecomputedPart&) = delete;

   private:
    Graph& graph_;
  };
  RecomputedPart recomputed_part() { return RecomputedPart(*this); }
  /// The number of the RecomputedPart that contains this node, counted from 0; -1 if no such part contains it.
  int recomputed_part_of(NodeId id) const;

  /// The nodes in the order of creation, which is a topological order. References to nodes (and Value::type()) stay valid
  /// while nodes are added.
  const std::deque<Node>& nodes() const;
  const Node& node(NodeId id) const;
  const std::vector<Variable>& variables() const;
  const Variable* find_variable(std::string_view name) const;
  /// The output of the node with this full name; an invalid Value if there is no such node.
  Value find(std::string_view node_name, int output = 0);
  const OpCatalogue& catalogue() const;
  RandomKey seed() const;
  void set_seed(RandomKey seed);
  /// Regularization losses that layers have added; heads add them to the loss.
  std::vector<Value>& regularization_losses();
  /// Moving averages that layers need. Optimizers update these averages in each training step.
  std::vector<MovingAverage>& moving_averages();

  /// The meaning of ids and logits (meaning.h), which columns, heads and text_ids() record. A model function that makes
  /// ids or classes by itself may add to it, in the same way in every mode.
  Meaning& meaning();
  const Meaning& meaning() const;

  /// Returns `name` within the current scope, made unique with "_1", "_2", ...
  std::string unique_name(std::string_view name);
  /// A 64-bit hash of ops, attributes, types, wiring and variables: equal in all tasks that built the same model.
  uint64_t fingerprint() const;
  /// The description written beside checkpoints and exports: JSON with a fixed order of fields.
  std::string to_json() const;

 private:
  friend struct GraphReader;  // Rebuilds a graph from its description (graph_json.cc).
  /// Checks a node, infers its types and adds it; all nodes are added through this function. `node.name` is a full, unused
  /// name. The caller sets the outputs of sources, since no op infers them.
  Result<NodeId> append(Node node);
  NodeId append_or_raise(Node node);
  Result<void> add_variable(Variable variable);
  Result<Value> find_shared(std::string name, const Shape& shape, DType dtype);

  struct State;
  const Hidden<State> state_;
};

/// Returns d(loss)/d(wrt[i]) for each i; an invalid Value if the loss does not depend on wrt[i]. `loss` has one element.
/// Adds gradient nodes to the graph (reverse mode; Griewank, Walther, "Evaluating Derivatives", 2008, chapter 3).
std::vector<Value> gradients(Value loss, const std::vector<Value>& wrt);

}  // namespace shoal
