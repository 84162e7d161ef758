// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/text_ids.h"

#include <algorithm>

#include "shoal/base/random.h"
#include "shoal/base/utf8.h"
#include "shoal/graph/source.h"
#include "shoal/json/fields.h"

namespace shoal {
namespace {

/// Calls each(i, text) for every element. Integers are passed as their digits.
template <class Each>
Result<void> for_each_text(const Tensor& texts, const Each& each) {
  if (texts.dtype() == DType::kString) {
    const std::vector<std::string>& strings = texts.strings();
    for (size_t i = 0; i < strings.size(); ++i) SHOAL_TRY_VOID(each(i, strings[i]));
    return {};
  }
  const auto digits = [&each](const auto& numbers) -> Result<void> {
    for (size_t i = 0; i < numbers.size(); ++i) SHOAL_TRY_VOID(each(i, std::to_string(numbers[i])));
    return {};
  };
  switch (texts.dtype()) {
    case DType::kInt64: return digits(texts.as<int64_t>());
    case DType::kInt32: return digits(texts.as<int32_t>());
    case DType::kUInt8: return digits(texts.as<uint8_t>());
    default: break;
  }
  return invalid_argument("expected text or integers, but got " + std::string(to_string(texts.dtype())) + " " +
                          to_string(texts.shape()));
}

/// Lists the names of a vocabulary for error messages: "3 names of the vocabulary: cat, dog, emu". Shows only the first
/// names of a long vocabulary.
std::string listed(const Vocabulary& vocabulary) {
  constexpr int64_t kListedMax = 10;
  std::string text = std::to_string(vocabulary.size()) + " names of the vocabulary: ";
  for (int64_t id = 0; id < std::min(vocabulary.size(), kListedMax); ++id) {
    text += (id == 0 ? "" : ", ") + vocabulary.name(id);
  }
  return vocabulary.size() > kListedMax ? text + ", ..." : text;
}

bool has_ids(DType dtype) {
  return dtype == DType::kString || dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8;
}

/// Records which id stands for which text, including the id of unknown texts, but not whether unknown texts are refused.
MeaningFact fact_of(const TextEncoding& encoding) {
  MeaningFact fact{.kind = encoding.vocabulary ? "vocabulary" : encoding.buckets > 0 ? "hash" : "whole hash"};
  if (encoding.vocabulary) fact.lists["words"] = MeaningList::of(encoding.vocabulary->names());
  if (encoding.buckets > 0) fact.values[encoding.vocabulary ? "oov_buckets" : "buckets"] = std::to_string(encoding.buckets);
  const bool has_unknown = encoding.vocabulary && encoding.buckets == 0;
  if (has_unknown && encoding.unknown_id != -1) fact.values["unknown_id"] = std::to_string(encoding.unknown_id);
  if (encoding.missing.empty()) {
    fact.values["missing"] = "none";
  } else if (encoding.missing != std::vector<std::string>{""}) {
    fact.lists["missing"] = MeaningList::of(encoding.missing);
  }
  if (encoding.missing_id != -1) fact.values["missing_id"] = std::to_string(encoding.missing_id);
  return fact;
}

}  // namespace

Result<int64_t> TextEncoding::id_of(std::string_view text) const {
  if (std::find(missing.begin(), missing.end(), text) != missing.end()) return missing_id;
  if (!vocabulary) return int64_t(buckets == 0 ? hash64(text) : hash64(text) % uint64_t(buckets));
  if (const int64_t id = vocabulary->find(text); id >= 0) return id;
  if (buckets > 0) return vocabulary->size() + int64_t(hash64(text) % uint64_t(buckets));
  if (!refuse_unknown) return unknown_id;
  const std::string what = text.empty() ? "the text is missing: \"\"" : "\"" + std::string(text) + "\"";
  return invalid_argument(what + " is not among the " + listed(*vocabulary));
}

Result<Tensor> TextEncoding::ids_of(const Tensor& texts) const {
  Tensor ids(DType::kInt64, texts.shape());
  const auto out = ids.mutable_as<int64_t>();
  const int64_t per_row = texts.shape().rank() == 0 || texts.shape()[0] == 0 ? 1 : texts.elements() / texts.shape()[0];
  SHOAL_TRY_VOID(for_each_text(texts, [&](size_t i, std::string_view text) -> Result<void> {
    auto id = id_of(text);
    if (!id) {
      return std::move(id)
          .error()
          .with_context("row " + std::to_string(int64_t(i) / per_row) + " of the batch")
          .with_place({texts.address(), int64_t(i)});
    }
    out[i] = *id;
    return {};
  }));
  return ids;
}

Result<void> TextEncoding::check() const {
  if (buckets < 0) return invalid_argument("buckets is " + std::to_string(buckets) + ", expected a number from 0");
  if (vocabulary && vocabulary->size() == 0) return invalid_argument("the vocabulary is empty");
  for (const std::string& text : missing) {
    SHOAL_TRY_VOID(check_utf8(text, "a text that stands for a missing one", "give another"));
  }
  return {};
}

std::string TextEncoding::to_json() const {
  json::PrintedJson json;
  if (vocabulary) {
    json["names"] = json::PrintedJson::array();
    for (int64_t id = 0; id < vocabulary->size(); ++id) json["names"].push_back(vocabulary->name(id));
  }
  json["buckets"] = buckets;
  json["refuse_unknown"] = refuse_unknown;
  json["unknown_id"] = unknown_id;
  json["missing"] = missing;
  json["missing_id"] = missing_id;
  return shoal::json::text_of(json);
}

namespace {

Result<std::vector<std::string>> strings_member(const json::Json& object, std::string_view name) {
  SHOAL_TRY(const json::Json* list, json::list_member(object, name));
  std::vector<std::string> strings;
  for (const json::Json& item : *list) {
    SHOAL_TRY(std::string text, json::string_of(item, name));
    strings.push_back(std::move(text));
  }
  return strings;
}

}  // namespace

Result<TextEncoding> TextEncoding::from_json(std::string_view text) {
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  TextEncoding encoding;
  if (object.contains("names")) {
    SHOAL_TRY(auto names, strings_member(object, "names"));
    auto vocabulary = Vocabulary::make(std::move(names));
    if (!vocabulary) return data_loss(vocabulary.error().message());
    encoding.vocabulary = std::make_shared<const Vocabulary>(std::move(*vocabulary));
  }
  SHOAL_TRY(encoding.buckets, json::whole_member<int64_t>(object, "buckets", 0));
  SHOAL_TRY(encoding.refuse_unknown, json::bool_member(object, "refuse_unknown"));
  SHOAL_TRY(encoding.unknown_id, json::whole_member<int64_t>(object, "unknown_id"));
  SHOAL_TRY(encoding.missing, strings_member(object, "missing"));
  SHOAL_TRY(encoding.missing_id, json::whole_member<int64_t>(object, "missing_id"));
  if (auto checked = encoding.check(); !checked) return data_loss(checked.error().message());
  return encoding;
}

Value text_ids(Value text, const TextEncoding& encoding) {
  if (!text.valid()) raise(invalid_argument("text_ids: the text is not a value of a graph"));
  const Node& source = text.graph().node(text.node());
  if (source_of(source.op) != Source::kInput || source.attributes.has(kTextOf) || !has_ids(text.dtype())) {
    raise(invalid_argument(
        "text_ids: expected a feature or labels of text or integers, as the input function returns them, but got " +
        std::string(to_string(text.dtype())) + " " + to_string(text.shape()) + " of \"" + source.name + "\""));
  }
  if (auto checked = encoding.check(); !checked)
    raise(std::move(checked).error().with_context("text_ids of " + source.name));
  text.graph().meaning().add(source.name, fact_of(encoding));
  return text.graph().encoded_input(text, encoding.to_json());
}

Result<std::optional<EncodedInput>> encoded_input(const Node& node) {
  if (source_of(node.op) != Source::kInput || !node.attributes.has(kTextOf)) return std::optional<EncodedInput>();
  const auto text_at = [&node](std::string_view name) -> Result<std::string> {
    const auto& values = node.attributes.values();
    const auto at = values.find(name);
    if (at != values.end() && std::holds_alternative<std::string>(at->second)) return std::get<std::string>(at->second);
    return data_loss("input \"" + node.name + "\" has no text \"" + std::string(name) + "\"");
  };
  if (node.outputs[0].dtype != DType::kInt64) {
    return data_loss("input \"" + node.name + "\" is " + std::string(to_string(node.outputs[0].dtype)) +
                     ", but ids of text are int64");
  }
  EncodedInput input;
  SHOAL_TRY(input.of, text_at(kTextOf));
  SHOAL_TRY(const std::string text, text_at(kTextEncoding));
  auto encoding = TextEncoding::from_json(text);
  if (!encoding) return std::move(encoding).error().with_context("the encoding of input \"" + node.name + "\"");
  input.encoding = std::move(*encoding);
  return std::optional(std::move(input));
}

}  // namespace shoal
