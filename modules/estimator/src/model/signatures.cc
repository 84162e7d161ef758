// SPDX-License-Identifier: Apache-2.0
#include "model/signatures.h"

#include <algorithm>
#include <set>

#include "shoal/base/names_text.h"

namespace shoal {
namespace {

std::vector<std::string> prediction_keys(const EstimatorSpec& spec) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : spec.predictions) keys.push_back(key);
  for (const nn::TextPrediction& text : spec.text_predictions) keys.push_back(text.key());
  return keys;
}

Result<void> check_signature(const nn::ExportSignature& signature, const std::vector<std::string>& keys) {
  if (signature.outputs.empty()) return invalid_argument("it has no outputs");
  std::set<std::string_view> names;
  for (const auto& [name, key] : signature.outputs) {
    if (!names.insert(name).second) return invalid_argument("two outputs have the name \"" + name + "\"");
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    return invalid_argument("output \"" + name + "\" is prediction \"" + key +
                            "\", which is not there; there are: " + comma_separated(keys));
  }
  return {};
}

}  // namespace

Result<void> check_text_predictions(const EstimatorSpec& spec) {
  for (const nn::TextPrediction& text : spec.text_predictions) {
    const auto source = std::find_if(spec.predictions.begin(), spec.predictions.end(),
                                     [&text](const auto& prediction) { return prediction.first == text.source(); });
    if (source == spec.predictions.end()) {
      return invalid_argument("text prediction \"" + text.key() + "\" names the ids of prediction \"" + text.source() +
                              "\", which is not there; there are: " +
                              comma_separated(spec.predictions, [](const auto& prediction) { return prediction.first; }));
    }
    if (text.by_position() || !source->second.valid() || source->second.dtype() == DType::kInt64) continue;
    return invalid_argument("text prediction \"" + text.key() + "\" names the ids of prediction \"" + text.source() +
                            "\", which is " + std::string(to_string(source->second.dtype())) +
                            "; ids are int64: convert it with ops::cast()");
  }
  return {};
}

Result<void> check_signatures(const std::vector<nn::ExportSignature>& signatures, const EstimatorSpec& spec) {
  const std::vector<std::string> keys = prediction_keys(spec);
  std::set<std::string_view> names;
  for (const nn::ExportSignature& signature : signatures) {
    const std::string who = "signature \"" + signature.name + "\"";
    if (signature.name.empty()) return invalid_argument("a signature has no name");
    if (!names.insert(signature.name).second) return invalid_argument(who + " is there twice");
    if (auto checked = check_signature(signature, keys); !checked) return std::move(checked).error().with_context(who);
  }
  if (signatures.size() > 1 && !names.contains(nn::kDefaultSignature)) {
    return invalid_argument("of " + std::to_string(signatures.size()) + " signatures none is called " +
                            std::string(nn::kDefaultSignature) +
                            "; give one of them this name: callers that name no signature get it");
  }
  return {};
}

std::vector<nn::ExportSignature> signatures_of(const EstimatorSpec& spec) {
  if (spec.export_outputs.empty()) {
    nn::ExportSignature all{.name = std::string(nn::kDefaultSignature), .outputs = {}};
    for (const std::string& key : prediction_keys(spec)) all.outputs.emplace_back(key, key);
    return {std::move(all)};
  }
  std::vector<nn::ExportSignature> signatures = spec.export_outputs;
  std::stable_partition(signatures.begin(), signatures.end(),
                        [](const nn::ExportSignature& signature) { return signature.name == nn::kDefaultSignature; });
  return signatures;
}

}  // namespace shoal
