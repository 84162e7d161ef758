// SPDX-License-Identifier: Apache-2.0
// Implements `shoal export list DIR`, `shoal export show EXPORT` and `shoal export onnx EXPORT -o FILE`.
#include <CLI/CLI.hpp>

#include "command.h"
#include "exports.h"
#include "json_out.h"
#include "shoal/base/environment.h"
#include "shoal/base/names_text.h"
#include "shoal/estimator/export_form.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/json/fields.h"

namespace shoal::cli {
namespace {

constexpr uint64_t kDescriptionBytesMax = uint64_t(256) << 20;

Result<int64_t> source_step(Storage& storage, const std::string& folder) {
  const std::string path = join_path(folder, "export.json");
  SHOAL_TRY(const std::string text, storage.read_all(path, kDescriptionBytesMax));
  const Result<json::Json> described = json::parse_object(text);
  const Result<int64_t> step = described ? json::whole_member<int64_t>(*described, "global_step") : described.error();
  if (!step) return data_loss("export file " + path + ": no JSON object with a global_step; delete this export");
  return step;
}

Result<int> list_exports(Context& context, const std::string& folder) {
  SHOAL_TRY(const std::vector<std::string> exports, exports_in(context.storage, folder));
  Json json{{"directory", folder}, {"exports", Json::array()}};
  bool all_intact = true;
  for (const std::string& name : exports) {
    const std::string path = join_path(folder, name);
    Json entry{{"path", path}, {"timestamp", export_number(name).value()}, {"global_step", nullptr}};
    const Result<int64_t> step = source_step(context.storage, path);
    if (step) {
      entry["global_step"] = *step;
    } else {
      all_intact = false;
      entry["damage"] = step.error().message();
      context.complain(step.error().message());
    }
    json["exports"].push_back(std::move(entry));
  }
  print(context, json);
  return all_intact ? 0 : exit_status(ErrorKind::kDataLoss);
}

Json tensors_json(const std::vector<ExportedTensor>& tensors) {
  Json list = Json::array();
  for (const ExportedTensor& tensor : tensors) {
    Json& json = list.emplace_back(
        Json{{"name", tensor.name}, {"dtype", std::string(to_string(tensor.dtype))}, {"shape", tensor.shape}});
    if (!tensor.axes.empty()) json["axes"] = tensor.axes;
  }
  return list;
}

Json contents_json(const std::string& folder, const ExportContents& contents) {
  Json json{{"path", folder}, {"global_step", contents.global_step}};
  json["inputs"] = tensors_json(contents.inputs);
  json["predictions"] = tensors_json(contents.outputs);
  json["signatures"] = Json::object();
  for (const nn::ExportSignature& signature : contents.signatures) {
    Json& outputs = json["signatures"][signature.name] = Json::object();
    for (const auto& [name, key] : signature.outputs) outputs[name] = key;
  }
  json["variables"] = tensors_json(contents.variables);
  json["lacking_ops"] = Json::array();
  for (const auto& [name, version] : contents.lacking_ops) {
    json["lacking_ops"].push_back({{"name", name}, {"version", version == 0 ? Json(nullptr) : Json(version)}});
  }
  return json;
}

/// Loads the export, so that what is printed is of one that works; but one whose graph has ops of a program's own, which this
/// program cannot load.
Result<int> show_export(Context& context, const std::string& path) {
  SHOAL_TRY(const std::string folder, find_export(context.storage, path));
  SHOAL_TRY(ExportContents contents, try_describe_export(folder));
  if (contents.lacking_ops.empty()) {
    SHOAL_TRY(const auto model, try_load_exported_model(folder));
    contents.inputs = model->inputs();
    contents.outputs = model->outputs();
    contents.signatures = model->signatures();
  } else {
    context.complain(folder + ": the graph has ops of a program's own (" + names_text(contents.lacking_ops) +
                     "), which this program lacks, so it was not loaded; the program that has them loads it, by "
                     "load_exported_model()");
  }
  print(context, contents_json(folder, contents));
  return 0;
}

struct OnnxRequest {
  std::string path, file, signature;
};

Result<int> write_onnx_file(Context& context, const OnnxRequest& request) {
  SHOAL_TRY(const std::string folder, find_export(context.storage, request.path));
  SHOAL_TRY(const auto transformed, try_write_onnx(folder, request.file, {.signature = request.signature}));
  Json json{{"path", request.file}, {"export", folder}, {"transformed_inputs", Json::array()}};
  for (const convert::TransformedInput& input : transformed)
    json["transformed_inputs"].push_back({{"name", input.name}, {"how", input.how}});
  print(context, json);
  return 0;
}

void add_onnx_command(CLI::App& exports, Action& selected) {
  CLI::App* onnx = exports.add_subcommand("onnx", "Writes an export as an ONNX file, for onnxruntime and others");
  const auto request = std::make_shared<OnnxRequest>();
  onnx->add_option("EXPORT", request->path, "An export, or a folder of exports, of which the newest counts")->required();
  onnx->add_option("-o,--output", request->file, "The file to write; one that is there is replaced")->required();
  onnx->add_option("--signature", request->signature, "Only the outputs of this signature, with its names for them");
  onnx->callback([&selected, request] { selected = [request](Context& context) { return write_onnx_file(context, *request); }; });
}

}  // namespace

void add_export_command(CLI::App& app, Action& selected) {
  CLI::App* exports = app.add_subcommand("export", "Exported models")->require_subcommand(1);
  CLI::App* list = exports->add_subcommand("list", "The exports of a folder, with timestamp and the step they come from");
  const auto folder = std::make_shared<std::string>();
  list->add_option("DIR", *folder, "E.g. model_dir/export/best")->required();
  list->callback([&selected, folder] { selected = [folder](Context& context) { return list_exports(context, *folder); }; });
  CLI::App* show = exports->add_subcommand(
      "show", "What an export takes and gives: inputs, predictions, and by signature the prediction behind each output");
  show->add_option("EXPORT", *folder, "An export, or a folder of exports, of which the newest counts")->required();
  show->callback([&selected, folder] { selected = [folder](Context& context) { return show_export(context, *folder); }; });
  add_onnx_command(*exports, selected);
}

}  // namespace shoal::cli
