// SPDX-License-Identifier: Apache-2.0
#include "model/rules.h"

#include <algorithm>
#include <set>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/random.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"
#include "shoal/json/fields.h"

namespace shoal {
namespace {

constexpr int64_t kRulesVersion = 1;
constexpr size_t kScopesMax = 64;  // The first 64 scopes have a hash each; all further scopes share one hash.
constexpr char kHash = '#';        // The first character of a value that is a hash.
// Names of entries: the constants of a layer ("constants of dense"), and three that stand for no layer.
constexpr std::string_view kConstantsOf = "constants of ";
constexpr std::string_view kModelFn = "model_fn", kFurtherLayers = "further layers", kTrainOp = "the train op";

std::string hash_text(uint64_t hash) { return formatted("%c%016llx", kHash, static_cast<unsigned long long>(hash)); }

/// Rounds to six digits, so that equal models get equal texts: results of the C library may differ in the last digits
/// between machines.
std::string rounded_text(double number) { return formatted("%.6g", number); }

/// Adds an op's attributes to `hash`. Leaves out texts: each is a name for error messages, or is contained in the Meaning
/// of the graph (meaning.h). Leaves out the versions of the user's own ops, too: rules_of() has an entry for each of these
/// ops.
uint64_t fold_attributes(uint64_t hash, const Attributes& attributes) {
  struct Fold {
    uint64_t hash;
    uint64_t operator()(int64_t value) const { return fold_in(hash, uint64_t(value)); }
    uint64_t operator()(double value) const { return fold_in(hash, rounded_text(value)); }
    uint64_t operator()(bool value) const { return fold_in(hash, uint64_t(value)); }
    uint64_t operator()(const std::string&) const { return hash; }
    uint64_t operator()(const std::vector<int64_t>& values) const {
      uint64_t folded = fold_in(hash, uint64_t(values.size()));
      for (const int64_t value : values) folded = fold_in(folded, uint64_t(value));
      return folded;
    }
  };
  for (const auto& [name, value] : attributes.values()) {
    if (name != kOpVersion) hash = std::visit(Fold{fold_in(hash, name)}, value);
  }
  return hash;
}

uint64_t hash_of(const Node& node) {
  uint64_t hash = fold_attributes(fold_in(fold_in(0, node.op), node.name), node.attributes);
  if (source_of(node.op) != Source::kConstant) return hash;
  const TensorView view = node.constant.view();
  return fold_in(hash, std::string_view(reinterpret_cast<const char*>(view.data), view.bytes()));
}

/// Marks the nodes that these values of one graph depend on.
std::vector<bool> needed_by(const Graph& graph, const std::vector<Value>& values) {
  std::vector<bool> needed(graph.nodes().size());
  for (const Value& value : values) needed[size_t(value.node())] = true;
  for (size_t id = needed.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const Value& input : graph.node(NodeId(id)).inputs) needed[size_t(input.node())] = true;
  }
  return needed;
}

/// The nodes that `value` depends on.
std::vector<const Node*> nodes_below(Value value) {
  const Graph& graph = value.graph();
  const std::vector<bool> needed = needed_by(graph, {value});
  std::vector<const Node*> nodes;
  for (size_t id = size_t(value.node()) + 1; id-- > 0;) {
    if (!needed[id]) continue;
    nodes.push_back(&graph.node(NodeId(id)));
  }
  return nodes;
}

std::string constants_of(std::string_view part) { return std::string(kConstantsOf).append(part); }

/// The layer whose constants the entry `name` stands for; empty if it stands for anything else.
std::string_view layer_in(std::string_view name) {
  if (!name.starts_with(kConstantsOf)) return {};
  const std::string_view part = name.substr(kConstantsOf.size());
  return part == kModelFn || part == kFurtherLayers || part == kTrainOp ? std::string_view() : part;
}

/// Adds the constants that `loss` is computed from, by scope. Sorts nodes by name, so the building order has no effect.
void add_constants(Value loss, ModelRules& rules) {
  std::vector<const Node*> nodes = nodes_below(loss);
  std::ranges::sort(nodes, {}, [](const Node* node) { return std::string_view(node->name); });
  std::map<std::string, uint64_t> scopes;
  for (const Node* node : nodes) {
    if (is_named(source_of(node->op))) continue;
    const size_t slash = node->name.find('/');
    std::string scope = constants_of(slash == std::string::npos ? kModelFn : std::string_view(node->name).substr(0, slash));
    if (!scopes.contains(scope) && scopes.size() >= kScopesMax) scope = constants_of(kFurtherLayers);
    uint64_t& hash = scopes[scope];
    hash = fold_in(hash, hash_of(*node));
  }
  for (const auto& [scope, hash] : scopes) rules[json::as_utf8(scope)] = hash_text(hash);
}

std::vector<Value> update_values(const nn::TrainOp& train_op) {
  std::vector<Value> values;
  for (const nn::VariableUpdate& update : train_op.updates) {
    if (update.update.valid()) values.push_back(update.update);
    for (const nn::RowUpdate& part : update.rows) values.push_back(part.gradients);
  }
  return values;
}

std::string op_key(const OpDef& op) { return "op " + json::as_utf8(op.name); }
std::string version_text(const OpDef& op) { return "version " + std::to_string(op.version); }

/// Adds the versions of the user's own ops. An op's result depends on its code, of which only the version is known.
void add_op_versions(Value loss, const nn::TrainOp& train_op, ModelRules& rules) {
  const Graph& graph = loss.graph();
  std::vector<Value> values = update_values(train_op);
  values.push_back(loss);
  const std::vector<bool> needed = needed_by(graph, values);
  for (size_t id = 0; id < needed.size(); ++id) {
    const OpDef* op = needed[id] ? graph.catalogue().find(graph.node(NodeId(id)).op) : nullptr;
    if (op && op->own) rules[op_key(*op)] = version_text(*op);
  }
}

template <class IsUsed>
std::string op_difference(std::string_view recorded, const OpCatalogue& catalogue, const IsUsed& is_used) {
  if (recorded.empty()) return "";
  const Result<ModelRules> before = decode_rules(recorded);
  if (!before) return "";  // `recorded` cannot be read: reports no difference, like tell_of_rules().
  std::string text;
  for (const std::string& name : catalogue.names()) {
    const OpDef& op = *catalogue.find(name);
    if (!op.own || !is_used(op)) continue;
    const auto was = before->find(op_key(op));
    if (was == before->end() || was->second == version_text(op)) continue;
    text +=
        (text.empty() ? "" : ", ") + op_key(op) + " (" + was->second + " there, " + version_text(op) + " in this program)";
  }
  return text;
}

/// A train op that assigns values to variables comes from an optimizer that the user has written. This function then adds
/// the graph that computes the assigned values. (For Shoal's own optimizers it adds nothing: their updates are computed
/// from gradients only, which follow from the loss.)
void add_update_graph(Value loss, const nn::TrainOp& train_op, ModelRules& rules) {
  const auto is_own = [](const nn::VariableUpdate& update) {
    return update.rule.kind == nn::UpdateRule::Kind::kAssign || update.rule.kind == nn::UpdateRule::Kind::kAdd;
  };
  if (std::ranges::none_of(train_op.updates, is_own)) return;
  const Graph& graph = loss.graph();
  const std::vector<bool> of_updates = needed_by(graph, update_values(train_op)), of_loss = needed_by(graph, {loss});
  std::map<std::string_view, const Node*> nodes;
  for (size_t id = 0; id < of_updates.size(); ++id) {
    const Node& node = graph.node(NodeId(id));
    if (of_updates[id] && !of_loss[id] && !is_named(source_of(node.op))) nodes.emplace(node.name, &node);
  }
  uint64_t hash = 0;
  for (const auto& [name, node] : nodes) hash = fold_in(hash, hash_of(*node));
  rules[constants_of(kTrainOp)] = hash_text(hash);
}

/// The result of a user's function for `x`, as text; empty if the function throws.
template <class Function, class X>
std::string sample(const Function& function, X x) {
  const Result<double> number = call_user("a scalar of the train op", [&] { return function(x); });
  return number ? rounded_text(*number) : std::string();
}

std::string described(const nn::StepScalar& scalar) {
  std::vector<std::string> samples;
  if (scalar.at) {
    for (uint64_t step = 1; step <= 1000000; step *= 10) samples.push_back(sample(scalar.at, step - 1));
  } else {
    for (const float value : {0.5f, 1.0f, 10.0f, 1000.0f}) samples.push_back(sample(scalar.of_value, value));
  }
  const auto differs = [&samples](const std::string& text) { return text != samples[0]; };
  if (std::ranges::none_of(samples, differs)) return samples[0];
  uint64_t hash = 0;
  for (const std::string& text : samples) hash = fold_in(hash, text);
  return hash_text(hash);
}

std::string rules_text(const nn::TrainOp& train_op) {
  std::map<std::string, uint64_t> by_variable;
  for (const nn::VariableUpdate& update : train_op.updates) {
    uint64_t hash = fold_in(0, nn::to_string(update.rule.kind));
    for (const double constant : update.rule.constants) hash = fold_in(hash, rounded_text(constant));
    by_variable[update.variable] = hash;
  }
  uint64_t hash = 0;
  for (const auto& [variable, rule] : by_variable) hash = fold_in(fold_in(hash, variable), rule);
  return hash_text(hash);
}

}  // namespace

ModelRules rules_of(Value loss, const nn::TrainOp& train_op) {
  ModelRules rules;
  add_constants(loss, rules);
  add_op_versions(loss, train_op, rules);
  add_update_graph(loss, train_op, rules);
  for (const nn::StepScalar& scalar : train_op.scalars) {
    std::string& text = rules[json::as_utf8(scalar.name)];
    text += (text.empty() ? "" : ", ") + described(scalar);
  }
  for (const nn::StepInput& input : train_op.inputs) rules[json::as_utf8(input.name)] = described({"", input.at});
  rules["update rules"] = rules_text(train_op);
  return rules;
}

ModelRules op_versions_of(const Graph& graph) {
  ModelRules versions;
  for (const Node& node : graph.nodes()) {
    const OpDef* op = graph.catalogue().find(node.op);
    if (op && op->own) versions[op_key(*op)] = version_text(*op);
  }
  return versions;
}

std::string op_version_difference(std::string_view recorded, const Graph& graph) {
  std::set<std::string_view> names;
  for (const Node& node : graph.nodes()) names.insert(node.op);
  return op_difference(recorded, graph.catalogue(), [&names](const OpDef& op) { return names.contains(op.name); });
}

std::string op_version_difference(std::string_view recorded, const OpCatalogue& catalogue) {
  return op_difference(recorded, catalogue, [](const OpDef&) { return true; });
}

std::string encode_rules(const ModelRules& rules) {
  return json::text_of(json::Json{{"version", kRulesVersion}, {"rest", rules}});
}

Result<ModelRules> decode_rules(std::string_view text) {
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  SHOAL_TRY(const int64_t version, json::whole_member<int64_t>(object, "version"));
  if (version != kRulesVersion) return data_loss("version " + std::to_string(version) + ", this build reads 1");
  SHOAL_TRY(const json::Json* entries, json::object_member(object, "rest"));
  ModelRules rules;
  for (const auto& [name, value] : entries->items()) {
    SHOAL_TRY(rules[name], json::string_of(value, name));
  }
  return rules;
}

std::string rules_difference(const ModelRules& before, const ModelRules& now) {
  ModelRules all = now;
  all.insert(before.begin(), before.end());
  std::vector<std::string_view> gone, added;  // Layers.
  std::string rest;
  for (const auto& [name, unused] : all) {
    const auto was = before.find(name), is = now.find(name);
    const bool both = was != before.end() && is != now.end();
    if (both && was->second == is->second) continue;
    if (!both && !layer_in(name).empty()) {
      (was != before.end() ? gone : added).push_back(layer_in(name));
      continue;
    }
    rest += (rest.empty() ? "" : ", ") + name;
    const bool tells = both && was->second.find(kHash) == std::string::npos && is->second.find(kHash) == std::string::npos;
    if (tells) rest += " (" + was->second + " before, " + is->second + " now)";
  }
  std::string text;
  const auto append = [&text](std::string_view part, const std::string& names) {
    if (!names.empty()) text.append(text.empty() ? "" : "; ").append(part).append(names);
  };
  append("layers that are gone: ", comma_separated(gone));
  append("new layers: ", comma_separated(added));
  append("", rest);
  return text;
}

}  // namespace shoal
