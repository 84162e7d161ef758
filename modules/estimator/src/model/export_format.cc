// SPDX-License-Identifier: Apache-2.0
#include "model/export_format.h"

#include <algorithm>
#include <limits>

#include "shoal/checkpoint/checksum.h"
#include "shoal/graph/meaning.h"
#include "shoal/json/text.h"

namespace shoal {
namespace {

using Json = json::Json;
using json::PrintedJson;
constexpr int kFormat = 1;
constexpr size_t kEntriesMax = 65536;
// The first line of export.json consists of kSealBegin, the digits of the checksum and kSealEnd. The checksum covers
// everything that follows this line.
constexpr std::string_view kSealBegin = "{\"checksum\": \"";
constexpr size_t kSealDigits = 16;
constexpr std::string_view kSealEnd = "\",\n";
constexpr size_t kSealed = kSealBegin.size() + kSealDigits + kSealEnd.size();

PrintedJson tensor_json(const ExportedTensor& tensor) {
  PrintedJson json{{"name", tensor.name}, {"dtype", std::string(to_string(tensor.dtype))}, {"shape", tensor.shape}};
  if (!tensor.axes.empty()) json["axes"] = tensor.axes;
  return json;
}

// The functions below report errors as exceptions: the JSON library's Json::exception, or Shoal's Exception.

/// Converts a number and refuses one that does not fit. (The library's own conversions would cut numbers that are too
/// large, and fractions.)
template <class T>
T integer_from(const Json& json, const char* what, T least) {
  const bool fits = json.is_number_unsigned() ? json.get<uint64_t>() <= uint64_t(std::numeric_limits<T>::max())
                                              : json.is_number_integer() && json.get<int64_t>() >= int64_t(least);
  if (!fits)
    raise(data_loss(std::string(what) + " is " + (json.is_number() ? shoal::json::text_of(json) : json.type_name())));
  return json.get<T>();
}

const Json& list_at(const Json& json, const char* name) {
  const Json& list = json.at(name);
  if (!list.is_array()) raise(data_loss(std::string(name) + " is no list"));
  if (list.size() > kEntriesMax) raise(data_loss(std::string("too many ") + name));
  return list;
}

ExportedTensor tensor_from(const Json& json, bool may_be_text) {
  const std::string dtype = json.at("dtype").get<std::string>();
  const auto known = dtype_from_string(dtype);
  if (!known || (*known == DType::kString && !may_be_text)) raise(data_loss("unknown dtype " + dtype));
  ExportedTensor tensor{json.at("name").get<std::string>(), *known, {}};
  for (const Json& size : list_at(json, "shape")) tensor.shape.push_back(integer_from<int64_t>(size, "a size", -1));
  if (tensor.shape.size() > size_t(Shape::kRankMax)) raise(data_loss("a shape has more than 8 dimensions"));
  if (!json.contains("axes")) return tensor;
  for (const Json& axis : list_at(json, "axes")) tensor.axes.push_back(axis.get<std::string>());
  const auto varying = std::count(tensor.shape.begin(), tensor.shape.end(), -1);
  const bool named = std::find(tensor.axes.begin(), tensor.axes.end(), "") == tensor.axes.end();
  if (!named || int64_t(tensor.axes.size()) != varying) raise(data_loss("axes do not name the sizes of -1 in a shape"));
  return tensor;
}

/// False for a name that would lead out of the folder of the export.
bool stays_inside(const std::string& name) {
  if (name.empty() || name.starts_with('/')) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (part == "..") return false;
    begin = end + 1;
  }
  return true;
}

ExportedFile file_from(const Json& json) {
  ExportedFile file{.name = json.at("name").get<std::string>()};
  if (!stays_inside(file.name)) raise(data_loss("it lists a file \"" + file.name + "\", which is not inside of an export"));
  file.bytes = integer_from<uint64_t>(json.at("bytes"), "bytes", 0);
  const auto checksum = checkpoint::from_hex(json.at("checksum").get<std::string>());
  if (!checksum) raise(data_loss("the checksum of file " + file.name + " has not 16 hexadecimal digits"));
  file.checksum = *checksum;
  return file;
}

/// Reads the list of files. An export has both this list and the checksum in the first line (`sealed`), or neither.
/// DataLoss if it has only one of them.
std::optional<std::vector<ExportedFile>> files_from(const Json& json, bool sealed) {
  const bool listed = json.contains("files");
  if (!sealed && (listed || json.contains("checksum"))) raise(data_loss("its first line, the checksum, is damaged"));
  if (!sealed) return std::nullopt;
  std::vector<ExportedFile> files;
  for (const Json& file : list_at(json, "files")) files.push_back(file_from(file));
  return files;
}

/// Whether the text begins with a checksum. DataLoss if the checksum does not match the text.
Result<bool> check_seal(std::string_view text) {
  if (text.size() < kSealed || !text.starts_with(kSealBegin)) return false;
  if (text.substr(kSealed - kSealEnd.size(), kSealEnd.size()) != kSealEnd) return false;
  const std::string_view expected = text.substr(kSealBegin.size(), kSealDigits);
  const std::string found = checkpoint::to_hex(checkpoint::checksum_of(text.substr(kSealed)));
  if (found != expected) return data_loss("checksum " + found + ", expected " + std::string(expected));
  return true;
}

ExportDescription description_from(const Json& json, bool sealed) {
  ExportDescription description;
  const auto format = integer_from<int64_t>(json.at("format"), "format", 0);
  if (format != kFormat)
    raise(failed_precondition("written in format " + std::to_string(format) + "; this version reads 1"));
  description.files = files_from(json, sealed);
  description.global_step = integer_from<int64_t>(json.at("global_step"), "global_step", 0);
  for (const Json& input : list_at(json, "inputs")) description.inputs.push_back(tensor_from(input, true));
  for (const Json& output : list_at(json, "outputs")) {
    description.outputs.push_back({tensor_from(output, false), output.at("node").get<std::string>(),
                                   integer_from<int>(output.at("output"), "output", 0)});
  }
  for (const Json& text : list_at(json, "texts")) {
    description.texts.push_back({text.at("name").get<std::string>(), text.at("source").get<std::string>(),
                                 text.at("vocabulary").get<std::vector<std::string>>(),
                                 text.contains("by_position") && text.at("by_position").get<bool>()});
  }
  if (json.contains("run")) description.run = json.at("run").get<std::string>();
  if (json.contains("meaning")) {
    description.meaning = json.at("meaning").get<std::string>();
    const Result<Meaning> meaning = Meaning::decode(description.meaning);
    if (!meaning) raise(meaning.error().with_context("meaning"));
  }
  if (!json.contains("signatures")) return description;
  for (const Json& signature : list_at(json, "signatures")) {
    nn::ExportSignature& read = description.signatures.emplace_back();
    read.name = signature.at("name").get<std::string>();
    for (const Json& output : list_at(signature, "outputs")) {
      read.outputs.emplace_back(output.at("name").get<std::string>(), output.at("prediction").get<std::string>());
    }
  }
  return description;
}

PrintedJson signatures_json(const std::vector<nn::ExportSignature>& signatures) {
  PrintedJson list = PrintedJson::array();
  for (const nn::ExportSignature& signature : signatures) {
    PrintedJson outputs = PrintedJson::array();
    for (const auto& [name, key] : signature.outputs) outputs.push_back({{"name", name}, {"prediction", key}});
    list.push_back({{"name", signature.name}, {"outputs", std::move(outputs)}});
  }
  return list;
}

PrintedJson files_json(const std::vector<ExportedFile>& files) {
  PrintedJson list = PrintedJson::array();
  for (const ExportedFile& file : files) {
    list.push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksum", checkpoint::to_hex(file.checksum)}});
  }
  return list;
}

}  // namespace

std::string encode_export(const ExportDescription& description) {
  PrintedJson inputs = PrintedJson::array(), outputs = PrintedJson::array(), texts = PrintedJson::array();
  for (const ExportedTensor& input : description.inputs) inputs.push_back(tensor_json(input));
  for (const ExportedOutput& output : description.outputs) {
    PrintedJson json = tensor_json(output.tensor);
    json["node"] = output.node;
    json["output"] = output.output;
    outputs.push_back(std::move(json));
  }
  for (const ExportedText& text : description.texts) {
    texts.push_back({{"name", text.name}, {"source", text.source}, {"vocabulary", text.vocabulary}});
    if (text.by_position) texts.back()["by_position"] = true;
  }
  PrintedJson json{{"format", kFormat}, {"global_step", description.global_step},
                   {"inputs", inputs},  {"outputs", outputs},
                   {"texts", texts},    {"signatures", signatures_json(description.signatures)}};
  if (!description.meaning.empty()) json["meaning"] = description.meaning;
  if (!description.run.empty()) json["run"] = description.run;
  if (!description.files) return shoal::json::text_of(json, 2) + "\n";
  json["files"] = files_json(*description.files);
  // Drops the first line of the JSON text, an opening brace: the line with the checksum contains this brace.
  const std::string body = shoal::json::text_of(json, 2).substr(2) + "\n";
  return std::string(kSealBegin).append(checkpoint::to_hex(checkpoint::checksum_of(body))).append(kSealEnd).append(body);
}

Result<ExportDescription> decode_export(std::string_view text) {
  SHOAL_TRY(const bool sealed, check_seal(text));
  SHOAL_TRY(const Json json, json::parse_value(text));
  try {
    return description_from(json, sealed);
  } catch (const Json::exception& e) {
    // The library says "[json.exception.out_of_range.403] what is wrong"; the number is of no use.
    const std::string_view why = e.what();
    return data_loss("its fields are not those of an export:" + std::string(why.substr(why.find("] ") + 1)));
  } catch (const Exception& e) {
    return e.error();
  }
}

}  // namespace shoal
