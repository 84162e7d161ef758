#include "export_format.h"

#include <nlohmann/json.hpp>

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;
constexpr size_t kEntriesMax = 65536;

Json tensor_json(const ExportedTensor& tensor) {
  return {{"name", tensor.name}, {"dtype", std::string(to_string(tensor.dtype))}, {"shape", tensor.shape}};
}

ExportedTensor tensor_from(const Json& json) {  // throws Json::exception, Exception
  const std::string dtype = json.at("dtype").get<std::string>();
  const auto known = dtype_from_string(dtype);
  if (!known || *known == DType::kString) raise(data_loss("unknown dtype " + dtype));
  return {json.at("name").get<std::string>(), *known, json.at("shape").get<std::vector<int64_t>>()};
}

ExportDescription description_from(const Json& json) {
  ExportDescription description;
  const int format = json.at("format").get<int>();
  if (format != kFormat) raise(failed_precondition("written in format " + std::to_string(format) + "; this version reads 1"));
  description.global_step = json.at("global_step").get<int64_t>();
  for (const char* part : {"inputs", "outputs", "texts"}) {
    if (json.at(part).size() > kEntriesMax) raise(data_loss(std::string("too many ") + part));
  }
  for (const Json& input : json.at("inputs")) description.inputs.push_back(tensor_from(input));
  for (const Json& output : json.at("outputs")) {
    description.outputs.push_back({tensor_from(output), output.at("node").get<std::string>(), output.at("output").get<int>()});
  }
  for (const Json& text : json.at("texts")) {
    description.texts.push_back({text.at("name").get<std::string>(), text.at("source").get<std::string>(),
                                 text.at("vocabulary").get<std::vector<std::string>>()});
  }
  return description;
}

}  // namespace

std::string encode_export(const ExportDescription& description) {
  Json inputs = Json::array(), outputs = Json::array(), texts = Json::array();
  for (const ExportedTensor& input : description.inputs) inputs.push_back(tensor_json(input));
  for (const ExportedOutput& output : description.outputs) {
    Json json = tensor_json(output.tensor);
    json["node"] = output.node;
    json["output"] = output.output;
    outputs.push_back(std::move(json));
  }
  for (const ExportedText& text : description.texts) {
    texts.push_back({{"name", text.name}, {"source", text.source}, {"vocabulary", text.vocabulary}});
  }
  return Json{{"format", kFormat}, {"global_step", description.global_step}, {"inputs", inputs}, {"outputs", outputs}, {"texts", texts}}
             .dump(2) + "\n";
}

Result<ExportDescription> decode_export(std::string_view text) {
  try {
    return description_from(Json::parse(text));
  } catch (const Json::exception& e) {
    return data_loss(e.what());
  } catch (const Exception& e) {
    return e.error();
  }
}

}  // namespace shoal
