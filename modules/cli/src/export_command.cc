// SPDX-License-Identifier: Apache-2.0
// Implements `shoal export list DIR`, `shoal export show EXPORT`, `shoal export onnx EXPORT -o FILE`
// and `shoal export c++ EXPORT -o DIR`.
#include <algorithm>
#include <charconv>

#include "command.h"
#include "exports.h"
#include "json_out.h"
#include "shoal/arguments/command.h"
#include "shoal/base/environment.h"
#include "shoal/base/names_text.h"
#include "shoal/base/synced_file.h"
#include "shoal/data/npy.h"
#include "shoal/estimator/export_form.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/json/fields.h"
#include "signals.h"

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
  if (exports.empty()) SHOAL_TRY_VOID(check_no_exports_near(context.storage, folder));
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

/// Loads an export, which proves that it works, and prints its description. An export with ops of another program, which
/// this program cannot load, is described without this proof.
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

/// Refuses to replace an existing file, or a symbolic link, whether or not its target exists.
Result<void> check_new(Storage& storage, const std::string& path) {
  if (path.empty()) return invalid_argument("-o: give the path of what is written");
  const auto entries = storage.list(folder_of(path));  // They include links that lead nowhere.
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto is_it = [&name](const FileInfo& entry) { return entry.name == name; };
  if (!storage.exists(path) && !(entries && std::ranges::any_of(*entries, is_it))) return {};
  return failed_precondition(path + ": is there already, and nothing was changed; give another path, or move it away");
}

struct OnnxRequest {
  std::string path, file, signature;
};

Result<int> write_onnx_file(Context& context, const OnnxRequest& request) {
  SHOAL_TRY_VOID(check_new(context.storage, request.file));
  SHOAL_TRY(const std::string folder, find_export(context.storage, request.path));
  const std::unique_ptr<Environment> signals = heed_signals();
  SHOAL_TRY(const auto transformed,
            try_write_onnx(folder, request.file, {.signature = request.signature}, signals->interrupted()));
  Json json{{"path", request.file}, {"export", folder}, {"transformed_inputs", Json::array()}};
  for (const convert::TransformedInput& input : transformed)
    json["transformed_inputs"].push_back({{"name", input.name}, {"how", input.how}});
  print(context, json);
  return 0;
}

void add_onnx_command(arguments::Command& exports, Action& selected) {
  arguments::Command& onnx = exports.add_command("onnx", "Writes an export as an ONNX file, for onnxruntime and others");
  const auto request = std::make_shared<OnnxRequest>();
  onnx.add("EXPORT", request->path, "An export, or a folder of exports, whose newest is taken").path("FOLDER").required();
  onnx.add("-o,--output", request->file, "The file to write, which must not be there").path("FILE").required();
  onnx.add("--signature", request->signature, "Only the outputs of this signature, with its names for them");
  onnx.on_selected(
      [&selected, request] { selected = [request](Context& context) { return write_onnx_file(context, *request); }; });
}

struct CppRequest {
  std::string path, directory, calibration;
  convert::CppOptions options;
  std::vector<std::string> axes;
};

/// The examples for int8 from an NPZ file: row i of each array is example i. Arrays have the names of the features;
/// if there is only one feature and one array, the array may have any name.
Result<convert::Calibration> calibration_in(Storage& storage, const std::string& path,
                                            const std::vector<ExportedTensor>& inputs) {
  SHOAL_TRY(const data::TensorMap arrays, data::read_npz(storage, path));
  data::TensorMap features;
  for (const ExportedTensor& input : inputs) {
    const Tensor* array = arrays.find(input.name);
    if (!array && inputs.size() == 1 && arrays.size() == 1) array = &arrays.begin()->second;
    if (!array) {
      const std::string what = input.name.empty() ? "is not one array" : "has no array \"" + input.name + "\"";
      return invalid_argument(path + ": " + what + ", with a row for each example; there are: " + arrays.names());
    }
    features.set(input.name, *array);
  }
  Result<convert::Calibration> calibration = examples_of(features);
  if (!calibration) return std::move(calibration).error().with_context(path);
  return calibration;
}

/// Parses sizes such as "time=40".
Result<std::map<std::string, int64_t>> sizes_in(const std::vector<std::string>& axes) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& axis : axes) {
    const size_t sign = axis.find('=');
    const std::string number = sign == std::string::npos ? "" : axis.substr(sign + 1);
    int64_t size = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    if (error != std::errc() || end != number.data() + number.size() || sign == 0) {
      return invalid_argument("--axis " + axis + ": give a name and a size, as --axis time=40");
    }
    sizes[axis.substr(0, sign)] = size;
  }
  return sizes;
}

Result<int> write_cpp_files(Context& context, CppRequest request) {
  for (const char* kind : {".h", ".cc", ".weights"}) {
    SHOAL_TRY_VOID(check_new(context.storage, join_path(request.directory, request.options.name + kind)));
  }
  SHOAL_TRY(const std::string folder, find_export(context.storage, request.path));
  SHOAL_TRY(request.options.axes, sizes_in(request.axes));
  if (!request.calibration.empty()) {
    SHOAL_TRY(const ExportContents contents, try_describe_export(folder));
    SHOAL_TRY(request.options.int8, calibration_in(context.storage, request.calibration, contents.inputs));
  }
  const std::unique_ptr<Environment> signals = heed_signals();
  SHOAL_TRY(const convert::CppSource source,
            try_write_cpp(folder, request.directory, request.options, signals->interrupted()));
  const std::string path = join_path(request.directory, request.options.name);
  Json json{{"export", folder}, {"header", path + ".h"}, {"source", path + ".cc"}};
  if (request.options.weights_apart) json["weights"] = path + ".weights";
  json["functions"] = Json::array();
  for (const convert::CppFunction& function : source.functions)
    json["functions"].push_back(
        {{"name", request.options.name_space + "::" + function.name}, {"signature", function.signature}});
  json["bytes"] = {
      {"weights", source.weight_bytes}, {"memory", source.memory_bytes}, {"stack", source.stack_bytes}, {"heap", 0}};
  print(context, json);
  return 0;
}

void add_cpp_command(arguments::Command& exports, Action& selected) {
  arguments::Command& cpp =
      exports.add_command("c++", "Writes an export as plain C++17, for boards and programs without Shoal");
  const auto request = std::make_shared<CppRequest>();
  request->options.name = request->options.name_space = "model";
  cpp.add("EXPORT", request->path, "An export, or a folder of exports, whose newest is taken").path("FOLDER").required();
  cpp.add("-o,--output", request->directory, "The folder to write to; it is made if it is missing")
      .path("FOLDER")
      .required();
  cpp.add("--name", request->options.name, "The name of the files").shows_default();
  cpp.add("--namespace", request->options.name_space, "The namespace of the functions").shows_default();
  cpp.add("--axis", request->axes, "NAME=SIZE: the size of an axis that varies, such as time=40; for each such axis");
  cpp.add_switch("--weights-apart", request->options.weights_apart,
                 "Write the weights to a file, which the program hands in");
  cpp.add("--int8", request->calibration,
          "Compute in eight bits; FILE.npz has examples from which the ranges of numbers are taken: an array for "
          "each feature, a "
          "row for each example")
      .path("FILE");
  cpp.on_selected(
      [&selected, request] { selected = [request](Context& context) { return write_cpp_files(context, *request); }; });
}

}  // namespace

void add_export_command(arguments::Command& app, Action& selected) {
  arguments::Command& exports = app.add_command("export", "Exported models");
  arguments::Command& list =
      exports.add_command("list", "The exports of a folder, with timestamp and the step they come from");
  const auto folder = std::make_shared<std::string>();
  list.add("DIR", *folder, "E.g. model_dir/export/best").path("FOLDER").required();
  list.on_selected(
      [&selected, folder] { selected = [folder](Context& context) { return list_exports(context, *folder); }; });
  arguments::Command& show = exports.add_command(
      "show", "What an export takes and gives: inputs, predictions, and by signature the prediction behind each output");
  show.add("EXPORT", *folder, "An export, or a folder of exports, whose newest is taken").path("FOLDER").required();
  show.on_selected(
      [&selected, folder] { selected = [folder](Context& context) { return show_export(context, *folder); }; });
  add_onnx_command(exports, selected);
  add_cpp_command(exports, selected);
}

}  // namespace shoal::cli
