// SPDX-License-Identifier: Apache-2.0
#include "cpp/signature_functions.h"

#include <algorithm>
#include <set>

#include "cpp/function_writer.h"
#include "cpp/text.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {
namespace {

std::optional<TextEncoding> encoding_of(const Node& node) {
  auto encoded = encoded_input(node);
  return encoded && *encoded ? std::optional((*encoded)->encoding) : std::nullopt;
}

/// Returns the inputs from which `outputs` are computed, in the order of the model. A text input is passed as ids.
std::vector<Parameter> inputs_of(const TrainedModel& model, const std::vector<Value>& outputs, Names& names) {
  const Graph& graph = *model.graph;
  std::vector<NodeId> needed;
  for (const NodeId id : computed_nodes(graph, outputs)) {
    if (source_of(graph.node(id).op) == Source::kInput) needed.push_back(id);
  }
  std::vector<Parameter> parameters;
  std::set<NodeId> taken;
  const auto take = [&](const std::string& title, Value value) {
    if (!taken.insert(value.node()).second) return;
    parameters.push_back({.name = names.take(title, "x"),
                          .title = title,
                          .value = value,
                          .encoding = encoding_of(graph.node(value.node()))});
  };
  const auto value_at = [&](NodeId id) { return Value(&outputs[0].graph(), id, 0); };
  for (const NamedValue& input : model.inputs) {
    const std::string& of = graph.node(input.value.node()).name;
    for (const NodeId id : needed) {
      const auto encoded = encoded_input(graph.node(id));
      if (id == input.value.node() || (encoded && *encoded && (*encoded)->of == of)) take(input.name, value_at(id));
    }
  }
  for (const NodeId id : needed) take(graph.node(id).name, value_at(id));
  return parameters;
}

const NamedValue* find_prediction(const TrainedModel& model, const std::string& key) {
  for (const NamedValue& output : model.outputs) {
    if (output.name == key) return &output;
  }
  return nullptr;
}

Result<void> add_output(const TrainedModel& model, const std::string& title, const std::string& key, Names& names,
                        SignatureFunction& function) {
  std::string source = key;
  const nn::TextPrediction* text = nullptr;
  for (const nn::TextPrediction& candidate : model.texts) {
    if (candidate.key() == key) text = &candidate;
  }
  if (text) source = text->source();
  if (text && text->by_position()) {
    function.tables.push_back({names.take(title + "_names", "names"), text->vocabulary()});
    return {};
  }
  const NamedValue* const prediction = find_prediction(model, source);
  if (!prediction) {
    return invalid_argument("signature \"" + function.signature + "\" has the prediction \"" + key +
                            "\", which the model lacks");
  }
  function.outputs.push_back({.name = names.take(title, "y"),
                              .title = title,
                              .value = prediction->value,
                              .names = text ? text->vocabulary() : std::vector<std::string>()});
  return {};
}

bool same_outputs(const SignatureFunction& a, const SignatureFunction& b) {
  const auto same = [](const Parameter& x, const Parameter& y) {
    return x.name == y.name && x.value == y.value && x.names == y.names;
  };
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same) &&
         std::ranges::equal(a.tables, b.tables, {}, &NameTable::names, &NameTable::names);
}

std::vector<nn::ExportSignature> signatures_of(const TrainedModel& model) {
  if (!model.signatures.empty()) return model.signatures;
  nn::ExportSignature all{.name = std::string(nn::kDefaultSignature), .outputs = {}};
  for (const NamedValue& output : model.outputs) all.outputs.emplace_back(output.name, output.name);
  return {all};
}

}  // namespace

Result<std::vector<SignatureFunction>> signature_functions(const TrainedModel& model) {
  std::vector<SignatureFunction> functions;
  Names function_names;
  for (const nn::ExportSignature& signature : signatures_of(model)) {
    SignatureFunction function{
        .name = {}, .signature = signature.name, .equals = {}, .inputs = {}, .outputs = {}, .tables = {}};
    Names outputs, all;
    for (const auto& [title, key] : signature.outputs) SHOAL_TRY_VOID(add_output(model, title, key, outputs, function));
    if (function.outputs.empty()) continue;  // Nothing to compute: all outputs are constant names of classes.
    const auto equal = std::find_if(functions.begin(), functions.end(),
                                    [&](const SignatureFunction& other) { return same_outputs(other, function); });
    if (equal != functions.end()) {
      equal->equals.push_back(signature.name);
      continue;
    }
    std::vector<Value> values;
    for (const Parameter& output : function.outputs) values.push_back(output.value);
    function.inputs = inputs_of(model, values, all);
    for (Parameter& output : function.outputs) output.name = all.take(output.name, "y");
    const bool is_default = functions.empty();
    function.name = function_names.take(is_default ? "predict" : "predict_" + signature.name, "predict");
    functions.push_back(std::move(function));
  }
  if (functions.empty()) return invalid_argument("the model has no predictions");
  return functions;
}

SymbolSizes sizes_of(const TrainedModel& model, const std::map<std::string, int64_t>& axes) {
  SymbolSizes sizes(axes.begin(), axes.end());
  for (const NamedValue& input : model.inputs) {
    const DimShape& shape = input.value.shape();
    if (shape.rank() > 0 && shape[0].is_symbol()) sizes[shape[0].name()] = 1;
  }
  return sizes;
}

}  // namespace shoal::convert::cpp
