// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/graph.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "canonical.h"
#include "own_op.h"
#include "shoal/base/utf8.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"
#include "shown_item.h"

namespace shoal {

void Value::raise_invalid() {
  raise(invalid_argument(
      "an invalid Value is used: it was declared but never assigned, or is the result of a lookup that found nothing"));
}

const ValueType& Value::type() const { return graph().node(node_).outputs[size_t(output_)]; }

struct Graph::State {
  struct SharedScope {
    std::string name;          // The full name of the scope, ending with a slash like State::scope.
    std::string variables_of;  // The full name, with a slash, of the earlier scope that made the variables.
  };

  RandomKey seed;
  const OpCatalogue* catalogue;
  std::deque<Node> nodes = {};
  std::vector<Variable> variables = {};
  std::vector<Value> regularization_losses = {};
  std::vector<MovingAverage> moving_averages = {};
  Meaning meaning = {};
  std::string scope = {};
  std::vector<SharedScope> shared = {};  // The open shared scopes that use existing variables, the outermost first.
  std::map<std::string, NodeId, std::less<>> nodes_by_name = {};
  std::map<std::string, size_t, std::less<>> variables_by_name = {};
  std::set<std::string, std::less<>> used_names = {};  // The full names in use by nodes and scopes.
  std::map<std::string, int64_t, std::less<>> next_suffix = {};
  struct NodeRange {
    NodeId begin, end;
  };
  std::vector<NodeRange> recomputed_parts = {};  // In ascending order and without overlaps.
  int open_recomputed_parts = 0;
  std::multimap<uint64_t, NodeId> encoded = {};  // Inputs that take a text input's ids, by hash_of_encoding().
};

namespace {

/// Hashes the attributes of an encoded input: the name of its text input and the encoding.
uint64_t hash_of_encoding(const Attributes& attributes) {
  Canonical canonical;
  canonical.put(attributes);
  return canonical.hash();
}

}  // namespace

Graph::Graph(RandomKey seed, const OpCatalogue* catalogue)
    : state_(new State{.seed = seed, .catalogue = catalogue ? catalogue : &OpCatalogue::built_in()}) {}

Graph::~Graph() = default;

bool Graph::finds_variables() const { return !state_->shared.empty(); }
const std::deque<Node>& Graph::nodes() const { return state_->nodes; }
const Node& Graph::node(NodeId id) const { return state_->nodes[size_t(id)]; }
const std::vector<Variable>& Graph::variables() const { return state_->variables; }
const OpCatalogue& Graph::catalogue() const { return *state_->catalogue; }
RandomKey Graph::seed() const { return state_->seed; }
void Graph::set_seed(RandomKey seed) { state_->seed = seed; }
std::vector<Value>& Graph::regularization_losses() { return state_->regularization_losses; }
std::vector<MovingAverage>& Graph::moving_averages() { return state_->moving_averages; }
Meaning& Graph::meaning() { return state_->meaning; }
const Meaning& Graph::meaning() const { return state_->meaning; }

std::string Graph::unique_name(std::string_view name) {
  const std::string full = state_->scope + std::string(name);
  std::string unique = full;
  for (int64_t& suffix = state_->next_suffix[full]; !state_->used_names.insert(unique).second;) {
    unique = full + "_" + std::to_string(++suffix);
  }
  return unique;
}

Graph::Scope::Scope(Graph& graph, std::string_view name, std::string* variables_of)
    : graph_(graph), length_before_(graph.state_->scope.size()), shared_before_(graph.state_->shared.size()) {
  graph.state_->scope = graph.unique_name(name) + "/";
  if (!variables_of) return;
  if (variables_of->empty()) {
    *variables_of = graph.state_->scope;
  } else {
    graph.state_->shared.push_back({graph.state_->scope, *variables_of});
  }
}

Graph::Scope::~Scope() {
  graph_.state_->scope.resize(length_before_);
  graph_.state_->shared.resize(shared_before_);
}

Graph::RecomputedPart::RecomputedPart(Graph& graph) : graph_(graph) {
  State& state = *graph.state_;
  const auto next = NodeId(state.nodes.size());
  if (state.open_recomputed_parts++ == 0) state.recomputed_parts.push_back({next, next});
}

Graph::RecomputedPart::~RecomputedPart() {
  State& state = *graph_.state_;
  if (--state.open_recomputed_parts == 0) state.recomputed_parts.back().end = NodeId(state.nodes.size());
}

int Graph::recomputed_part_of(NodeId id) const {
  const auto& parts = state_->recomputed_parts;
  const auto after = std::ranges::upper_bound(parts, id, {}, &State::NodeRange::begin);
  if (after == parts.begin()) return -1;
  const auto part = after - 1;
  return id < part->end ? int(part - parts.begin()) : -1;
}

Value Graph::input(std::string_view name, DType dtype, DimShape shape) {
  if (name.empty()) raise(invalid_argument("input \"" + state_->scope + "\": the name is empty"));
  Node node{.op = std::string(op_of(Source::kInput)),
            .name = state_->scope + std::string(name),
            .outputs = {{dtype, std::move(shape)}}};
  return Value(this, append_or_raise(std::move(node)), 0);
}

Value Graph::encoded_input(Value text, const std::string& encoding) {
  const Node& source = node(text.node());
  Attributes attributes{{std::string(kTextOf), source.name}, {std::string(kTextEncoding), encoding}};
  const auto [begin, end] = state_->encoded.equal_range(hash_of_encoding(attributes));
  for (auto at = begin; at != end; ++at) {
    if (node(at->second).attributes == attributes) return Value(this, at->second, 0);
  }
  Node node{.op = std::string(op_of(Source::kInput)),
            .name = source.name + ":ids",
            .attributes = std::move(attributes),
            .outputs = {{DType::kInt64, source.outputs[0].shape}}};
  for (int i = 1; state_->used_names.contains(node.name); ++i) node.name = source.name + ":ids_" + std::to_string(i);
  return Value(this, append_or_raise(std::move(node)), 0);
}

Value Graph::constant(float value) { return constant(Tensor::scalar(value)); }

Value Graph::constant(Tensor value, std::string_view name) {
  Node node{.op = std::string(op_of(Source::kConstant)), .outputs = {{value.dtype(), value.shape()}}};
  node.constant = std::move(value);
  node.name = unique_name(name);
  state_->used_names.erase(node.name);  // Releases the name from unique_name(), because append() takes only unused names.
  return Value(this, append_or_raise(std::move(node)), 0);
}

namespace {

/// Refuses a variable so large that sums and products of sizes could overflow.
Result<void> check_size(const Variable& variable) {
  constexpr int64_t kBytesMax = int64_t(1) << 56;
  int64_t bytes = int64_t(size_of(variable.dtype));
  bool countable = true;
  for (const int64_t dim : variable.shape.dims()) countable = countable && !__builtin_mul_overflow(bytes, dim, &bytes);
  if (countable && bytes <= kBytesMax) return {};
  return invalid_argument("variable \"" + variable.name + "\" of shape " + to_string(variable.shape) +
                          ": it has more bytes than any machine; make it smaller");
}

}  // namespace

Value Graph::variable(std::string_view name, Shape shape, VariableOptions options) {
  if (finds_variables()) return value_or_raise(find_shared(state_->scope + std::string(name), shape, options.dtype));
  Variable variable{.name = state_->scope + std::string(name),
                    .dtype = options.dtype,
                    .shape = shape,
                    .initializer = options.initializer,
                    .trainable = options.trainable,
                    .node = -1};
  if (auto added = add_variable(std::move(variable)); !added) raise(std::move(added).error());
  return Value(this, NodeId(state_->nodes.size()) - 1, 0);
}

Result<void> Graph::add_variable(Variable variable) {
  SHOAL_TRY_VOID(check_size(variable));
  if (state_->variables_by_name.contains(variable.name)) {
    return invalid_argument("variable \"" + variable.name +
                            "\": a variable of this name exists; choose another name or scope");
  }
  SHOAL_TRY(variable.node, append(Node{.op = std::string(op_of(Source::kVariable)),
                                       .name = variable.name,
                                       .outputs = {{variable.dtype, variable.shape}}}));
  state_->variables_by_name.emplace(variable.name, state_->variables.size());
  state_->variables.push_back(std::move(variable));
  return {};
}

/// In a second call of shared layers, finds the variable that the first call made for the same layer. In `name`,
/// replaces the name of this call's scope by that of the first call's scope. Shared layers may contain shared layers, so
/// this is done for each open shared scope, from the innermost outwards.
Result<Value> Graph::find_shared(std::string name, const Shape& shape, DType dtype) {
  for (size_t i = state_->shared.size(); i-- > 0;) {
    const State::SharedScope& shared = state_->shared[i];
    if (name.starts_with(shared.name)) name = shared.variables_of + name.substr(shared.name.size());
  }
  const Variable* variable = find_variable(name);
  if (!variable) {
    return invalid_argument(
        "variable \"" + name +
        "\": the first call of the shared layers did not make it; each call has to make the same layers");
  }
  if (variable->shape != shape || variable->dtype != dtype) {
    const auto type = [](DType of, const Shape& size) { return std::string(to_string(of)) + " " + to_string(size); };
    return invalid_argument("variable \"" + name + "\": the first call of the shared layers made it as " +
                            type(variable->dtype, variable->shape) + ", but this call needs it as " + type(dtype, shape) +
                            "; inputs of shared layers have to have the same sizes in each call");
  }
  return Value(this, variable->node, 0);
}

std::vector<Value> Graph::add(std::string_view op, std::vector<Value> inputs, Attributes attributes,
                              std::string_view name) {
  Node node{.op = std::string(op), .inputs = std::move(inputs), .attributes = std::move(attributes)};
  node.name = unique_name(name.empty() ? op : name);
  state_->used_names.erase(node.name);  // Releases the name from unique_name(), because append() takes only unused names.
  if (const OpDef* def = state_->catalogue->find(op); def && def->random && !node.attributes.has("key")) {
    // The key depends on the name only: the seed is applied when the graph is compiled, so models that differ only in their
    // seeds have equal graphs.
    node.attributes.set("key", int64_t(fold_in(RandomKey{0}, node.name)));
  }
  const NodeId id = append_or_raise(std::move(node));
  std::vector<Value> outputs;
  for (size_t i = 0; i < state_->nodes.back().outputs.size(); ++i) outputs.emplace_back(this, id, int(i));
  return outputs;
}

NodeId Graph::append_or_raise(Node node) { return value_or_raise(append(std::move(node))); }

namespace {

Result<void> check_source(const Node& node) {
  if (node.outputs.size() != 1 || !node.inputs.empty()) return invalid_argument("a source has no operands and one output");
  const bool text_input = source_of(node.op) == Source::kInput && node.outputs[0].dtype == DType::kString;
  if (size_of(node.outputs[0].dtype) == 0 && !text_input) return invalid_argument("strings cannot be inside a graph");
  if (node.outputs[0].shape.rank() > Shape::kRankMax) {
    return invalid_argument("shape " + to_string(node.outputs[0].shape) + " has more than 8 dimensions");
  }
  for (const Dim& dim : node.outputs[0].shape.dims()) {
    if (!dim.is_symbol() && dim.size() < 0)
      return invalid_argument("shape " + to_string(node.outputs[0].shape) + " has a negative size");
  }
  return {};
}

Result<std::vector<ValueType>> operand_types(const Graph& graph, const Node& node, const OpDef& op) {
  const int count = int(node.inputs.size());
  if (count < op.inputs_min || count > op.inputs_max) {
    const std::string takes = op.inputs_min == op.inputs_max
                                  ? std::to_string(op.inputs_min)
                                  : std::to_string(op.inputs_min) + " to " + std::to_string(op.inputs_max);
    return invalid_argument("takes " + takes + " operands, not " + std::to_string(count));
  }
  std::vector<ValueType> types;
  for (int i = 0; i < count; ++i) {
    const Value& input = node.inputs[size_t(i)];
    if (!input.valid()) return invalid_argument("operand " + std::to_string(i) + " is an invalid Value");
    if (&input.graph() != &graph) return invalid_argument("operand " + std::to_string(i) + " belongs to another graph");
    if (input.dtype() == DType::kString) {
      return invalid_argument("operand " + std::to_string(i) + " is text (\"" + graph.node(input.node()).name +
                              "\"), but ops compute with numbers; turn it into ids by text_ids()");
    }
    types.push_back(input.type());
  }
  return types;
}

/// Names are written to checkpoints, exports and event files, all of which are UTF-8. Their length is limited because
/// std::regex, which selects variables by name, takes stack in proportion to it.
Result<void> check_name(const Node& node) {
  constexpr size_t kNameBytesMax = 16384, kShownMax = 40;
  const std::string what = "the name of " + node.op;
  SHOAL_TRY_VOID(check_utf8(node.name, what, "names are saved with the model, as UTF-8; rename it"));
  if (node.name.size() <= kNameBytesMax) return {};
  return invalid_argument(what + " (\"" + shown_item(node.name, kShownMax) + "\") has " + std::to_string(node.name.size()) +
                          " bytes, but may have at most " + std::to_string(kNameBytesMax) + "; make it shorter");
}

}  // namespace

Result<NodeId> Graph::append(Node node) {
  auto refuse = [&node](Error error) { return std::move(error).with_context(node.op + " \"" + node.name + "\""); };
  SHOAL_TRY_VOID(check_name(node));
  // The name of a feature may end with a slash; other names may not, since a slash marks the end of a scope's name.
  const bool is_scope = node.name.ends_with('/') && source_of(node.op) != Source::kInput;
  if (node.name.empty() || is_scope) return refuse(invalid_argument("the name is empty"));
  if (state_->used_names.contains(node.name))
    return refuse(invalid_argument("the name is taken; choose another name or scope"));
  if (source_of(node.op) != Source::kNone) {
    if (auto checked = check_source(node); !checked) return refuse(std::move(checked).error());
  } else {
    const OpDef* op = state_->catalogue->find(node.op);
    if (!op) {
      return refuse(not_found("there is no op \"" + node.op +
                              "\": Shoal has no op of this name; pass an op of your own to " +
                              "Estimator::use_ops() or load_exported_model()"));
    }
    auto types = operand_types(*this, node, *op);
    if (!types) return refuse(std::move(types).error());
    if (op->own) {
      if (auto completed = complete_attributes(*op, node.attributes); !completed)
        return refuse(std::move(completed).error());
    }
    auto outputs = op->own ? own_outputs(*op, *types, node.attributes) : op->shape_rule(*types, node.attributes);
    if (!outputs) return refuse(std::move(outputs).error());
    node.outputs = std::move(*outputs);
    if (node.outputs.empty()) return refuse(invalid_argument("the shape rule returned no output"));
    if (op->random &&
        !(node.attributes.has("key") && std::holds_alternative<int64_t>(node.attributes.values().at("key")))) {
      return refuse(invalid_argument("a random op needs an integer attribute \"key\""));
    }
  }
  const auto id = NodeId(state_->nodes.size());
  state_->used_names.insert(node.name);
  state_->nodes_by_name.emplace(node.name, id);
  if (source_of(node.op) == Source::kInput && node.attributes.has(kTextOf)) {
    state_->encoded.emplace(hash_of_encoding(node.attributes), id);
  }
  state_->nodes.push_back(std::move(node));
  return id;
}

const Variable* Graph::find_variable(std::string_view name) const {
  const auto found = state_->variables_by_name.find(name);
  return found == state_->variables_by_name.end() ? nullptr : &state_->variables[found->second];
}

Value Graph::find(std::string_view node_name, int output) {
  const auto found = state_->nodes_by_name.find(node_name);
  if (found == state_->nodes_by_name.end() || output < 0 || size_t(output) >= node(found->second).outputs.size()) return {};
  return Value(this, found->second, output);
}

uint64_t Graph::fingerprint() const {
  Canonical canonical;
  canonical.put(state_->nodes.size());
  for (const Node& node : state_->nodes) {
    canonical.put(node.op);
    if (is_named(source_of(node.op))) canonical.put(node.name);
    canonical.put(node.inputs.size());
    for (const Value& input : node.inputs) {
      canonical.put(input.node());
      canonical.put(input.output());
    }
    canonical.put(node.attributes);
    for (const ValueType& type : node.outputs) {
      canonical.put(type.dtype);
      canonical.put(type.shape);
    }
    if (source_of(node.op) == Source::kConstant) canonical.put(node.constant);
  }
  for (const Variable& variable : state_->variables) {
    canonical.put(variable.name);
    canonical.put(variable.initializer.kind);
    canonical.put(variable.initializer.a);
    canonical.put(variable.initializer.b);
    canonical.put(variable.trainable);
  }
  return canonical.hash();
}

}  // namespace shoal
