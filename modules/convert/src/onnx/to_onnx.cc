// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "onnx/hashes.h"
#include "onnx/lowering.h"
#include "shoal/base/names_text.h"
#include "shoal/convert/onnx.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"
#include "shoal/graph/text_ids.h"

namespace shoal::convert {
namespace {

std::string shown_name(const std::string& name, std::string_view lone) { return name.empty() ? std::string(lone) : name; }

/// The outputs of the ONNX file, and their names in it.
struct Outputs {
  std::vector<std::pair<std::string, NamedValue>> values;  ///< Each prediction, with its name in the file.
  std::vector<std::pair<std::string, nn::TextPrediction>> texts;
};

const NamedValue* find_output(const TrainedModel& model, std::string_view key) {
  const auto found = std::ranges::find(model.outputs, key, &NamedValue::name);
  return found == model.outputs.end() ? nullptr : &*found;
}

Result<Outputs> all_outputs(const TrainedModel& model) {
  Outputs outputs;
  for (const NamedValue& output : model.outputs)
    outputs.values.emplace_back(shown_name(output.name, "predictions"), output);
  for (const nn::TextPrediction& text : model.texts) outputs.texts.emplace_back(text.key(), text);
  return outputs;
}

Result<Outputs> outputs_of(const TrainedModel& model, const std::string& signature) {
  if (signature.empty()) return all_outputs(model);
  const auto chosen = std::ranges::find(model.signatures, signature, &nn::ExportSignature::name);
  if (chosen == model.signatures.end()) {
    return invalid_argument("the model has no signature \"" + signature +
                            "\"; there are: " + comma_separated(model.signatures, &nn::ExportSignature::name));
  }
  Outputs outputs;
  for (const auto& [name, key] : chosen->outputs) {
    const std::string shown = shown_name(name, "predictions");
    if (const NamedValue* output = find_output(model, key)) {
      outputs.values.emplace_back(shown, *output);
    } else {
      outputs.texts.emplace_back(shown, *std::ranges::find(model.texts, key, &nn::TextPrediction::key));
    }
  }
  return outputs;
}

/// Returns all values of the graph from which the outputs are computed.
std::vector<Value> values_of(const TrainedModel& model, const Outputs& outputs) {
  std::vector<Value> values;
  for (const auto& [name, output] : outputs.values) values.push_back(output.value);
  for (const auto& [name, text] : outputs.texts) values.push_back(find_output(model, text.source())->value);
  return values;
}

/// True for a node that hashes ids. An ONNX file cannot contain this op, so the node's result becomes an input of
/// the file.
bool is_hash(const Node& node) { return node.op == "cross_ids"; }

class Conversion {
 public:
  Conversion(const TrainedModel& model, const Outputs& outputs) : model_(model), outputs_(outputs) {}

  Result<OnnxFile> run() {
    const std::vector<NodeId> nodes = needed_nodes(*model_.graph, values_of(model_, outputs_), is_hash);
    SHOAL_TRY_VOID(add_inputs(nodes));
    for (NodeId id : nodes) SHOAL_TRY_VOID(add_node(id));
    for (const auto& [name, output] : outputs_.values) add_output(name, output.value);
    for (const auto& [name, text] : outputs_.texts) add_text(name, text);
    OnnxGraph::Header header{.name = "shoal", .model_version = model_.global_step, .metadata = {}};
    for (const TransformedInput& input : transformed_) header.metadata["input " + input.name] = input.how;
    header.metadata["global_step"] = std::to_string(model_.global_step);
    SHOAL_TRY(std::string bytes, values_.onnx.finish(header));
    return OnnxFile{std::move(bytes), std::move(transformed_)};
  }

 private:
  std::string add_input(const std::string& name, const ValueType& type) {
    values_.onnx.add_input(name, type.dtype, type.shape);
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      if (type.shape[axis].is_symbol()) values_.axes.try_emplace(type.shape[axis].name(), name, axis);
    }
    return name;
  }

  /// Adds inputs in the order of the model's features: features that the nodes read, and features that only give the
  /// size of an axis.
  Result<void> add_inputs(const std::vector<NodeId>& nodes) {
    std::set<NodeId> read;
    for (NodeId id : nodes) {
      const Node& node = model_.graph->node(id);
      if (source_of(node.op) != Source::kInput) continue;
      SHOAL_TRY(const auto encoded, encoded_input(node));
      if (!encoded) read.insert(id);
      if (encoded && !hashes(encoded->encoding)) {
        if (const NamedValue* text = feature_at(model_, encoded->of)) read.insert(text->value.node());
      }
    }
    for (const NamedValue& input : model_.inputs) {
      if (read.contains(input.value.node())) feed(input);
    }
    for (NodeId id : nodes) SHOAL_TRY_VOID(add_transformed(id));
    for (const NamedValue& input : model_.inputs) {
      const auto& dims = input.value.shape().dims();
      const bool tells =
          std::ranges::any_of(dims, [&](const Dim& dim) { return dim.is_symbol() && !values_.axes.contains(dim.name()); });
      if (tells && input.value.dtype() != DType::kString) feed(input);
    }
    return {};
  }

  /// True if a feature, an output or an earlier element of transformed_ has this name.
  bool is_taken(const std::string& name) const {
    return std::ranges::any_of(model_.inputs,
                               [&](const NamedValue& input) { return shown_name(input.name, "features") == name; }) ||
           std::ranges::any_of(outputs_.values, [&](const auto& output) { return output.first == name; }) ||
           std::ranges::any_of(outputs_.texts, [&](const auto& output) { return output.first == name; }) ||
           std::ranges::find(transformed_, name, &TransformedInput::name) != transformed_.end();
  }

  void feed(const NamedValue& input) {
    const std::string name = shown_name(input.name, "features");
    values_.names[{input.value.node(), input.value.output()}].plain = add_input(name, input.value.type());
  }

  Result<void> add_transformed(NodeId id) {
    const Node& node = model_.graph->node(id);
    SHOAL_TRY(const auto encoded, encoded_input(node));
    if (!is_hash(node) && !(encoded && hashes(encoded->encoding))) return {};
    std::string base = node.name;
    if (encoded) {
      const NamedValue* feature = feature_at(model_, encoded->of);
      base = shown_name(feature ? feature->name : encoded->of, "features") + "/ids";
    }
    std::string name = base;
    for (int i = 1; is_taken(name); ++i) name = base + "_" + std::to_string(i);
    std::string how = words_of_hash(model_, node);
    values_.names[{id, 0}].plain = add_input(name, node.outputs[0]);
    transformed_.push_back({std::move(name), std::move(how), node.name});
    return {};
  }

  Result<void> add_node(NodeId id) {
    if (values_.names.contains({id, 0})) return {};  // The node is an input of the ONNX file.
    const Node& node = model_.graph->node(id);
    values_.onnx.set_scope(node.name);
    switch (source_of(node.op)) {
      case Source::kInput: return add_encoded(id, node);
      case Source::kConstant:
        values_.names[{id, 0}].plain = values_.onnx.initializer("/" + node.name, node.constant.view());
        return {};
      case Source::kVariable: {
        const Variable& variable = *model_.graph->find_variable(node.name);
        const std::span<const std::byte> bytes = model_.weights(variable);
        values_.names[{id, 0}].plain =
            values_.onnx.initializer("/" + node.name, {variable.dtype, variable.shape, bytes.data()});
        return {};
      }
      case Source::kNone: break;
    }
    Lowering lowering(values_, id, node);
    onnx_rules().at(node.op).write(lowering);
    return {};
  }

  /// Adds the op that turns text into ids by a vocabulary.
  Result<void> add_encoded(NodeId id, const Node& node) {
    SHOAL_TRY(const auto encoded, encoded_input(node));
    const NamedValue* feature = encoded ? feature_at(model_, encoded->of) : nullptr;
    if (!feature) return invalid_argument("input " + node.name + " is no feature of the model");
    const TextEncoding& encoding = encoded->encoding;
    std::vector<std::string> texts = encoding.missing;
    std::vector<int64_t> ids(texts.size(), encoding.missing_id);
    for (int64_t i = 0; i < encoding.vocabulary->size(); ++i) {
      const std::string& word = encoding.vocabulary->name(i);
      if (std::ranges::find(encoding.missing, word) != encoding.missing.end()) continue;
      texts.push_back(word);
      ids.push_back(i);
    }
    // The id of texts that the vocabulary lacks. If such texts are to be refused, this id is beyond the vocabulary, so
    // that the look-up of its row fails in the ONNX runtime.
    const int64_t otherwise = encoding.refuse_unknown ? encoding.vocabulary->size() : encoding.unknown_id;
    std::string of = values_.plain(feature->value);
    OnnxAttributes keys{{"keys_strings", texts}};
    if (feature->value.dtype() != DType::kString) {
      of = values_.onnx.add("Cast", {of}, {{"to", int64_t(value_or_raise(onnx_element_type(DType::kInt64)))}});
      keys = integer_keys(texts, ids);
    }
    keys.emplace_back("values_int64s", ids);
    keys.emplace_back("default_int64", otherwise);
    values_.names[{id, 0}].plain = values_.onnx.add("LabelEncoder", {of}, keys, OnnxGraph::Domain::kMl);
    return {};
  }

  /// Returns the keys by which a LabelEncoder finds the ids of an integer feature. Shoal takes an integer as the text of
  /// its digits, so texts of the vocabulary that are not digits of an integer never occur, and are left out.
  static OnnxAttributes integer_keys(const std::vector<std::string>& texts, std::vector<int64_t>& ids) {
    std::vector<int64_t> keys, kept;
    for (size_t i = 0; i < texts.size(); ++i) {
      int64_t number = 0;
      const auto [end, error] = std::from_chars(texts[i].data(), texts[i].data() + texts[i].size(), number);
      if (error != std::errc() || std::to_string(number) != texts[i]) continue;
      keys.push_back(number);
      kept.push_back(ids[i]);
    }
    ids = std::move(kept);
    return {{"keys_int64s", std::move(keys)}};
  }

  void add_output(const std::string& name, Value value) {
    values_.onnx.set_scope(name);
    values_.onnx.add_identity(values_.plain(value), name);
    values_.onnx.add_output(name, value.dtype(), value.shape());
  }

  void add_text(const std::string& name, const nn::TextPrediction& text) {
    values_.onnx.set_scope(name);
    const Value source = find_output(model_, text.source())->value;
    std::string ids = values_.plain(source);
    const std::vector<std::string> names = text.vocabulary();
    const int64_t text_type = value_or_raise(onnx_element_type(DType::kString));
    if (text.by_position()) {
      const std::string shape = values_.onnx.add("Shape", {ids});
      ids = values_.onnx.add("Expand", {values_.onnx.constant(position_names(names, source)), shape});
    } else if (names.empty()) {
      ids = values_.onnx.add("Cast", {ids}, {{"to", text_type}});
    } else {
      std::vector<int64_t> keys;
      for (size_t i = 0; i < names.size(); ++i) keys.push_back(int64_t(i));
      ids = values_.onnx.add("LabelEncoder", {ids},
                             {{"keys_int64s", keys}, {"values_strings", names}, {"default_string", std::string()}},
                             OnnxGraph::Domain::kMl);
    }
    values_.onnx.add_identity(ids, name);
    values_.onnx.add_output(name, DType::kString, source.shape());
  }

  /// Returns a name for each position along the last axis; without a vocabulary, the digits of the position.
  static std::vector<std::string> position_names(std::vector<std::string> names, Value source) {
    if (!names.empty()) return names;
    const int64_t places = source.rank() == 0 ? 1 : source.shape().dims().back().size();
    for (int64_t i = 0; i < places; ++i) names.push_back(std::to_string(i));
    return names;
  }

  const TrainedModel& model_;
  const Outputs& outputs_;
  OnnxValues values_;
  std::vector<TransformedInput> transformed_;
};

/// Returns the reason why this node cannot be written to an ONNX file; "" if it can.
std::string obstacle_at(const Graph& graph, const Node& node) {
  if (source_of(node.op) != Source::kNone || is_hash(node)) return "";
  const std::string where = "node " + node.name + ": op " + node.op + " ";
  const auto rule = onnx_rules().find(node.op);
  if (rule != onnx_rules().end()) return rule->second.write ? "" : where + std::string(rule->second.why);
  const OpDef* op = graph.catalogue().find(node.op);
  return where + (op && op->own ? "is an op of the program's own" : "belongs to gradients");
}

/// Returns why the model cannot be exported if all variables together are too large for one file, else "".
std::string size_obstacle(const Graph& graph, const std::vector<NodeId>& nodes) {
  constexpr int64_t kBytesMax = int64_t(2047) << 20;
  int64_t bytes = 0;
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (source_of(node.op) != Source::kVariable) continue;
    const Variable& variable = *graph.find_variable(node.name);
    bytes += variable.shape.elements() * int64_t(size_of(variable.dtype));
  }
  if (bytes < kBytesMax) return "";
  return "the weights have " + std::to_string(bytes >> 20) + " MiB, and one file of this format holds less than 2048 MiB";
}

/// Returns why the model cannot be exported if two inputs or outputs of the file would have the same name, else "".
std::string name_obstacle(const TrainedModel& model, const Outputs& outputs) {
  std::set<std::string> names;
  for (const NamedValue& input : model.inputs) names.insert(shown_name(input.name, "features"));
  const auto clash = [&](const std::string& name) {
    if (names.insert(name).second) return std::string();
    return "the name \"" + name +
           "\" stands for two of the features and predictions; a file of ONNX needs a name for each, so "
           "give the prediction another key";
  };
  for (const auto& [name, value] : outputs.values) {
    if (std::string found = clash(name); !found.empty()) return found;
  }
  for (const auto& [name, text] : outputs.texts) {
    if (std::string found = clash(name); !found.empty()) return found;
  }
  return "";
}

}  // namespace

std::vector<std::string> onnx_obstacles(const TrainedModel& model, const OnnxOptions& options) {
  const Result<Outputs> outputs = outputs_of(model, options.signature);
  if (!outputs) return {outputs.error().message()};
  std::vector<std::string> obstacles;
  if (std::string clash = name_obstacle(model, *outputs); !clash.empty()) obstacles.push_back(std::move(clash));
  const std::vector<NodeId> nodes = needed_nodes(*model.graph, values_of(model, *outputs), is_hash);
  if (std::string size = size_obstacle(*model.graph, nodes); !size.empty()) obstacles.push_back(std::move(size));
  for (NodeId id : nodes) {
    std::string obstacle = obstacle_at(*model.graph, model.graph->node(id));
    if (!obstacle.empty()) obstacles.push_back(std::move(obstacle));
  }
  return obstacles;
}

Result<OnnxFile> to_onnx(const TrainedModel& model, const OnnxOptions& options) {
  SHOAL_TRY(const Outputs outputs, outputs_of(model, options.signature));
  const std::vector<std::string> obstacles = onnx_obstacles(model, options);
  if (!obstacles.empty()) {
    std::string list;
    for (const std::string& obstacle : obstacles) list += (list.empty() ? "" : "; ") + obstacle;
    return invalid_argument("the model cannot be written as ONNX: " + list);
  }
  return Conversion(model, outputs).run();
}

}  // namespace shoal::convert
