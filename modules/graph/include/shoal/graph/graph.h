// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model as a graph of operations on values. Built once by the user's model_fn, differentiated, simplified, compiled
/// by a backend. Building raises InvalidArgument (shoal::Exception) where shapes or types do not fit.
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

/// The type of what flows along an edge.
struct ValueType {
  DType dtype = DType::kFloat32;
  DimShape shape;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

using NodeId = int32_t;

/// One output of one node: a handle, copied freely, valid while its graph lives. Two handles of one output are equal.
class Value {
 public:
  Value() = default;
  Value(Graph* graph, NodeId node, int output) : graph_(graph), node_(node), output_(output) {}

  bool valid() const { return graph_ != nullptr; }
  /// Raises InvalidArgument for an invalid Value, as do type() and what it says.
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

/// How a variable starts. A description rather than a function, since servers apply it: element i of the variable is a
/// pure function of (initializer, key, i).
struct Initializer {
  enum class Kind : uint8_t { kConstant = 1, kUniform = 2, kNormal = 3, kTruncatedNormal = 4, kOrthogonal = 5 };
  Kind kind = Kind::kConstant;
  double a = 0;  ///< Constant: the value; uniform: low; normal: mean; orthogonal: gain.
  double b = 0;  ///< Uniform: high; normal: standard deviation; orthogonal: rows of the whole variable.
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

struct VariableOptions {
  DType dtype = DType::kFloat32;
  Initializer initializer = {};
  bool trainable = true;
};

/// A variable of a graph, in order of creation.
struct Variable {
  std::string name;  ///< The full name, with scopes: "dense_1/kernel".
  DType dtype;
  Shape shape;
  Initializer initializer;
  bool trainable;
  NodeId node;
};

/// A variable that follows a value of the training graph: with each step it becomes decay * variable + (1 - decay) * value.
struct MovingAverage {
  Value variable;  ///< What Graph::variable() returned. Not trainable.
  Value value;     ///< A float32 of the variable's shape.
  double decay;    ///< A number in [0, 1].
};

struct Node {
  std::string op;    ///< A name of the catalogue, or that of a source (source.h).
  std::string name;  ///< The full name, which is unique.
  std::vector<Value> inputs;
  Attributes attributes;
  std::vector<ValueType> outputs;
  Tensor constant;  ///< Set for Source::kConstant only.
};

class Graph {
 public:
  /// `seed` keys initializers and random ops; `catalogue` (default: the built-in one) outlives the graph.
  explicit Graph(RandomKey seed = 0, const OpCatalogue* catalogue = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Something fed with every run. Names are unique: a second input of one name is InvalidArgument. Of text (kString)
  /// only text_ids() makes anything.
  Value input(std::string_view name, DType dtype, DimShape shape);
  /// What text_ids() (text_ids.h) makes of an input: one more input, int64 of its shape, which is fed with what the
  /// encoding makes of the text. Equal encodings of one input are one Value.
  Value encoded_input(Value text, const std::string& encoding);
  Value constant(Tensor value, std::string_view name = "constant");
  Value constant(float value);
  /// A parameter. Names are unique within scopes: a second of one full name is InvalidArgument, but in a shared_scope().
  Value variable(std::string_view name, Shape shape, VariableOptions options = {});
  /// Any op of the catalogue: checks arity, infers output types (InvalidArgument with node name and types if they do not
  /// fit), returns the outputs. Most users call shoal::ops and shoal::nn instead.
  std::vector<Value> add(std::string_view op, std::vector<Value> inputs, Attributes attributes = {},
                         std::string_view name = "");

  /// Prefixes names of what is added while it lives: `auto scope = graph.scope("encoder");`. A scope name already used at
  /// its level gets "_1", "_2", ...
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
  /// A scope whose variables were made by an earlier one, and are found by their names: what nn::Shared is made of.
  /// `variables_of` tells that scope; empty (the first time), it becomes this one, which makes them. A variable that is
  /// not there, or is of another type or shape, is InvalidArgument; initializers count the first time only.
  Scope shared_scope(std::string_view name, std::string& variables_of) { return Scope(*this, name, &variables_of); }
  /// Whether variables are found, not made, here.
  bool finds_variables() const;

  /// Makes one recomputed part of the nodes that are added during its life: gradients() computes their values a second time, so the first
  /// values need no memory until then (nn::recompute()). Within another RecomputedPart it has no effect.
  class [[nodiscard]] RecomputedPart {
   public:
    explicit RecomputedPart(Graph& graph);
    ~RecomputedPart();
    RecomputedPart(const RecomputedPart&) = delete;

   private:
    Graph& graph_;
  };
  RecomputedPart recomputed_part() { return RecomputedPart(*this); }
  /// Returns the number of the recomputed part that has this node, counted from 0, or -1 if no part has it.
  int recomputed_part_of(NodeId id) const;

  /// The nodes in creation order, which is a topological order. References to nodes (and Value::type()) stay valid
  /// while nodes are added.
  const std::deque<Node>& nodes() const;
  const Node& node(NodeId id) const;
  const std::vector<Variable>& variables() const;
  const Variable* find_variable(std::string_view name) const;
  /// An output of the node with this full name; an invalid Value if there is none.
  Value find(std::string_view node_name, int output = 0);
  const OpCatalogue& catalogue() const;
  RandomKey seed() const;
  void set_seed(RandomKey seed);
  /// Regularization losses that layers added; heads add them to the loss.
  std::vector<Value>& regularization_losses();
  /// Moving averages that layers keep; optimizers add them to their train ops.
  std::vector<MovingAverage>& moving_averages();

  /// What ids and logits stand for (meaning.h), which columns, heads and text_ids() record. A model function that makes ids
  /// or classes by itself may add what it knows, in every mode the same.
  Meaning& meaning();
  const Meaning& meaning() const;

  /// A name in the current scope, made unique with "_1", "_2", ...
  std::string unique_name(std::string_view name);
  /// 64-bit hash of ops, attributes, types, wiring and variables: two tasks that built the same model agree on it.
  uint64_t fingerprint() const;
  /// The description written beside checkpoints and exports: JSON, stable field order.
  std::string to_json() const;

 private:
  friend struct GraphReader;  // It rebuilds a graph from its description (graph_json.cc).
  /// The one door by which nodes enter: checks and infers. `node.name` is full and free, outputs of sources are set.
  Result<NodeId> append(Node node);
  NodeId append_or_raise(Node node);
  Result<void> add_variable(Variable variable);
  Result<Value> find_shared(std::string name, const Shape& shape, DType dtype);

  struct State;
  const Hidden<State> state_;
};

/// d(loss)/d(wrt[i]) for each i; `loss` has one element. A value that the loss does not depend on gets an invalid Value.
/// Adds gradient nodes to the graph (reverse mode; Griewank, Walther, "Evaluating Derivatives", 2008, chapter 3).
std::vector<Value> gradients(Value loss, const std::vector<Value>& wrt);

}  // namespace shoal
