// SPDX-License-Identifier: Apache-2.0
#include "model/export_format.h"

#include <algorithm>

#include "shoal/checkpoint/checksum.h"
#include "shoal/graph/meaning.h"
#include "shoal/json/fields.h"

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

/// The member `name`, a list of at most kEntriesMax elements.
Result<const Json*> entries_of(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* list, json::list_member(object, name));
  if (list->size() > kEntriesMax) return data_loss("too many " + std::string(name));
  return list;
}

/// The member `name`, a list that `read` makes a T of each element of.
template <class T, class Read>
Result<std::vector<T>> list_from(const Json& object, std::string_view name, const Read& read) {
  SHOAL_TRY(const Json* list, entries_of(object, name));
  std::vector<T> values;
  values.reserve(list->size());
  for (const Json& element : *list) {
    SHOAL_TRY(T value, read(element));
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<std::string>> strings_from(const Json& object, std::string_view name) {
  return list_from<std::string>(object, name, [&](const Json& element) { return json::string_of(element, name); });
}

Result<ExportedTensor> tensor_from(const Json& object, bool may_be_text) {
  SHOAL_TRY(const std::string dtype, json::string_member(object, "dtype"));
  const auto known = dtype_from_string(dtype);
  if (!known || (*known == DType::kString && !may_be_text)) return data_loss("unknown dtype " + dtype);
  SHOAL_TRY(std::string name, json::string_member(object, "name"));
  ExportedTensor tensor{std::move(name), *known, {}};
  SHOAL_TRY(tensor.shape, list_from<int64_t>(object, "shape",
                                             [](const Json& size) { return json::whole_of<int64_t>(size, "a size", -1); }));
  if (tensor.shape.size() > size_t(Shape::kRankMax)) return data_loss("a shape has more than 8 dimensions");
  if (!object.contains("axes")) return tensor;
  SHOAL_TRY(tensor.axes, strings_from(object, "axes"));
  const auto varying = std::count(tensor.shape.begin(), tensor.shape.end(), -1);
  const bool named = std::find(tensor.axes.begin(), tensor.axes.end(), "") == tensor.axes.end();
  if (!named || int64_t(tensor.axes.size()) != varying) return data_loss("axes do not name the sizes of -1 in a shape");
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

Result<ExportedFile> file_from(const Json& object) {
  SHOAL_TRY(std::string name, json::string_member(object, "name"));
  if (!stays_inside(name)) return data_loss("it lists a file \"" + name + "\", which is not inside of an export");
  SHOAL_TRY(const uint64_t bytes, json::whole_member<uint64_t>(object, "bytes"));
  SHOAL_TRY(const std::string digits, json::string_member(object, "checksum"));
  const auto checksum = checkpoint::from_hex(digits);
  if (!checksum) return data_loss("the checksum of file " + name + " has not 16 hexadecimal digits");
  return ExportedFile{.name = std::move(name), .bytes = bytes, .checksum = *checksum};
}

/// Reads the list of files. An export has both this list and the checksum in the first line (`sealed`), or neither.
/// DataLoss if it has only one of them.
Result<std::optional<std::vector<ExportedFile>>> files_from(const Json& object, bool sealed) {
  const bool listed = object.contains("files");
  if (!sealed && (listed || object.contains("checksum"))) return data_loss("its first line, the checksum, is damaged");
  if (!sealed) return std::optional<std::vector<ExportedFile>>();
  SHOAL_TRY(std::vector<ExportedFile> files, list_from<ExportedFile>(object, "files", file_from));
  return std::optional(std::move(files));
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

Result<ExportedOutput> output_from(const Json& object) {
  SHOAL_TRY(ExportedTensor tensor, tensor_from(object, false));
  SHOAL_TRY(std::string node, json::string_member(object, "node"));
  SHOAL_TRY(const int output, json::whole_member<int>(object, "output", 0));
  return ExportedOutput{std::move(tensor), std::move(node), output};
}

Result<ExportedText> text_from(const Json& object) {
  ExportedText text;
  SHOAL_TRY(text.name, json::string_member(object, "name"));
  SHOAL_TRY(text.source, json::string_member(object, "source"));
  SHOAL_TRY(text.vocabulary, strings_from(object, "vocabulary"));
  if (object.contains("by_position")) {
    SHOAL_TRY(text.by_position, json::bool_member(object, "by_position"));
  }
  return text;
}

using SignatureOutput = std::pair<std::string, std::string>;

Result<SignatureOutput> signature_output_from(const Json& object) {
  SHOAL_TRY(std::string name, json::string_member(object, "name"));
  SHOAL_TRY(std::string prediction, json::string_member(object, "prediction"));
  return SignatureOutput(std::move(name), std::move(prediction));
}

Result<nn::ExportSignature> signature_from(const Json& object) {
  nn::ExportSignature signature;
  SHOAL_TRY(signature.name, json::string_member(object, "name"));
  SHOAL_TRY(signature.outputs, list_from<SignatureOutput>(object, "outputs", signature_output_from));
  return signature;
}

Result<std::string> meaning_from(const Json& object) {
  SHOAL_TRY(std::string text, json::string_member(object, "meaning"));
  const Result<Meaning> meaning = Meaning::decode(text);
  if (!meaning) return meaning.error().with_context("meaning");
  return text;
}

Result<ExportDescription> description_from(const Json& object, bool sealed) {
  ExportDescription description;
  SHOAL_TRY(const int64_t format, json::whole_member<int64_t>(object, "format", 0));
  if (format != kFormat) {
    return failed_precondition("written in format " + std::to_string(format) + "; this version reads 1");
  }
  SHOAL_TRY(description.files, files_from(object, sealed));
  SHOAL_TRY(description.global_step, json::whole_member<int64_t>(object, "global_step", 0));
  SHOAL_TRY(description.inputs,
            list_from<ExportedTensor>(object, "inputs", [](const Json& input) { return tensor_from(input, true); }));
  SHOAL_TRY(description.outputs, list_from<ExportedOutput>(object, "outputs", output_from));
  SHOAL_TRY(description.texts, list_from<ExportedText>(object, "texts", text_from));
  if (object.contains("run")) {
    SHOAL_TRY(description.run, json::string_member(object, "run"));
  }
  if (object.contains("meaning")) {
    SHOAL_TRY(description.meaning, meaning_from(object));
  }
  if (object.contains("signatures")) {
    SHOAL_TRY(description.signatures, list_from<nn::ExportSignature>(object, "signatures", signature_from));
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
  return description_from(json, sealed);
}

}  // namespace shoal
