// SPDX-License-Identifier: Apache-2.0
#include "onnx/hashes.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/graph/source.h"

namespace shoal::convert {
namespace {

constexpr std::string_view kHashHelp = "; hash64 is XXH3-64 with the seed 0, a number of 64 bits without a sign";

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string feature_words(const TrainedModel& model, std::string_view node) {
  const NamedValue* feature = feature_at(model, node);
  return feature ? "feature " + quoted(feature->name) : "node " + std::string(node);
}

/// Says in words how the texts of a feature become ids. Integers count as the texts of their digits.
std::string words_of(const TextEncoding& encoding, const std::string& feature) {
  std::string how;
  if (encoding.vocabulary) {
    const std::string size = std::to_string(encoding.vocabulary->size());
    how = "the place of the text of " + feature + " in its vocabulary of " + size + " words";
    if (encoding.buckets > 0)
      how += ", for other texts " + size + " + hash64(text) modulo " + std::to_string(encoding.buckets);
    if (encoding.buckets == 0) how += ", for other texts " + std::to_string(encoding.unknown_id);
  } else {
    how = "hash64(text of " + feature + ")";
    how += encoding.buckets == 0 ? ", read as a number with a sign" : " modulo " + std::to_string(encoding.buckets);
  }
  for (const std::string& missing : encoding.missing)
    how += "; " + quoted(missing) + " is " + std::to_string(encoding.missing_id);
  return how;
}

std::string boundaries_text(const Graph& graph, Value boundaries) {
  const Node& node = graph.node(boundaries.node());
  if (source_of(node.op) != Source::kConstant) return "the boundaries";
  const auto text = [](float boundary) { return formatted("%.9g", double(boundary)); };
  return "the boundaries " + comma_separated(node.constant.as<float>(), text);
}

/// Says in words how an operand of the op cross_ids is computed. That op hashes combinations of ids.
std::string operand_words(const TrainedModel& model, Value operand) {
  const Graph& graph = *model.graph;
  const Node* node = &graph.node(operand.node());
  while (node->op == "reshape" || node->op == "flatten" || node->op == "default_ids")
    node = &graph.node(node->inputs[0].node());
  if (source_of(node->op) == Source::kInput) {
    const auto encoded = encoded_input(*node);
    if (encoded && *encoded) return words_of((*encoded)->encoding, feature_words(model, (*encoded)->of));
    return feature_words(model, node->name);
  }
  if (node->op == "bucketize") {
    return "how many of " + boundaries_text(graph, node->inputs[1]) + " are at most " +
           operand_words(model, node->inputs[0]);
  }
  return "the output of node " + node->name;
}

}  // namespace

bool hashes(const TextEncoding& encoding) { return !encoding.vocabulary || encoding.buckets > 0; }

const NamedValue* feature_at(const TrainedModel& model, std::string_view node) {
  const auto found = std::ranges::find_if(
      model.inputs, [&](const NamedValue& input) { return model.graph->node(input.value.node()).name == node; });
  return found == model.inputs.end() ? nullptr : &*found;
}

std::string words_of_hash(const TrainedModel& model, const Node& node) {
  if (node.op != "cross_ids") {
    const auto encoded = encoded_input(node);
    if (!encoded || !*encoded) return "the output of node " + node.name;
    return words_of((*encoded)->encoding, feature_words(model, (*encoded)->of)) + std::string(kHashHelp);
  }
  std::string how = "hash64(ids as 8 bytes each, the lowest byte first) modulo " +
                    std::to_string(node.attributes.get_int("buckets")) +
                    " of each combination of these ids, the last changing fastest, or -1 where one of them is -1: ";
  for (size_t i = 0; i < node.inputs.size(); ++i)
    how += (i == 0 ? "(" : ", (") + std::to_string(i + 1) + ") " + operand_words(model, node.inputs[i]);
  return how + std::string(kHashHelp);
}

}  // namespace shoal::convert
