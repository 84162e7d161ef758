// Implements `shoal export list DIR` and `shoal export show EXPORT`.
#include <CLI/CLI.hpp>

#include "command.h"
#include "exports.h"
#include "json_out.h"
#include "shoal/base/environment.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::cli {
namespace {

constexpr uint64_t kDescriptionBytesMax = uint64_t(256) << 20;

Result<int64_t> source_step(Storage& storage, const std::string& folder) {
  const std::string path = join_path(folder, "export.json");
  SHOAL_TRY(const std::string text, storage.read_all(path, kDescriptionBytesMax));
  // The type is not Json: its ordered objects copy their members as they grow, by recursion, which a deep text makes
  // a lack of stack.
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool usable = json.is_object() && json.contains("global_step") && json["global_step"].is_number_integer();
  if (!usable) return data_loss("export file " + path + ": no JSON object with a global_step; delete this export");
  return json["global_step"].get<int64_t>();
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

/// Loads the export, so that what is printed is of one that works.
Result<int> show_export(Context& context, const std::string& path) {
  SHOAL_TRY(const std::string folder, find_export(context.storage, path));
  const auto describe = [&folder] {
    const auto model = load_exported_model(folder);
    Json json{{"path", folder}, {"global_step", model->global_step()}};
    json["inputs"] = tensors_json(model->inputs());
    json["predictions"] = tensors_json(model->outputs());
    json["signatures"] = Json::object();
    for (const nn::ExportSignature& signature : model->signatures()) {
      Json& outputs = json["signatures"][signature.name] = Json::object();
      for (const auto& [name, key] : signature.outputs) outputs[name] = key;
    }
    return json;
  };
  SHOAL_TRY(const Json json, call_user("export", describe));
  print(context, json);
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& selected) {
  CLI::App* exports = app.add_subcommand("export", "Exported models")->require_subcommand(1);
  CLI::App* list = exports->add_subcommand("list", "The exports of a folder, with timestamp and the step they come from");
  const auto folder = std::make_shared<std::string>();
  list->add_option("DIR", *folder, "E.g. model_dir/export/best")->required();
  list->callback([&selected, folder] {
    selected = [folder](Context& context) { return list_exports(context, *folder); };
  });
  CLI::App* show = exports->add_subcommand(
      "show", "What an export takes and gives: inputs, predictions, and by signature the prediction behind each output");
  show->add_option("EXPORT", *folder, "An export, or a folder of exports, of which the newest counts")->required();
  show->callback([&selected, folder] { selected = [folder](Context& context) { return show_export(context, *folder); }; });
}

}  // namespace shoal::cli
