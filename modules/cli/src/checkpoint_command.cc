// SPDX-License-Identifier: Apache-2.0
// Implements `shoal checkpoint list DIR | show PREFIX|FILE [--values NAME] | verify PREFIX`.

#include "command.h"
#include "json_out.h"
#include "shoal/arguments/command.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/estimator/tensor_file.h"
#include "shoal/graph/meaning.h"
#include "shoal/json/values.h"

namespace shoal::cli {
namespace {

Json describe(const checkpoint::ListedCheckpoint& listed) {
  Json json{{"name", listed.name}, {"global_step", listed.global_step}, {"newest", listed.newest}};
  json["bytes"] = listed.bytes;
  const bool has_index = listed.bytes > 0;
  json["save_time"] = has_index ? unix_seconds(listed.save_time) : Json(nullptr);
  json["intact"] = !listed.damage.has_value();
  if (listed.damage) json["damage"] = listed.damage->message();
  return json;
}

Result<int> list_checkpoints(Context& context, const std::string& folder, checkpoint::Check check) {
  // A folder that does not exist is an error; an empty one is not.
  SHOAL_TRY(const auto unused, context.storage.list(folder));
  SHOAL_TRY(const auto checkpoints, checkpoint::list(context.storage, folder, check));
  Json json{{"directory", folder}, {"newest", nullptr}, {"checkpoints", Json::array()}};
  bool all_intact = true;
  for (const checkpoint::ListedCheckpoint& listed : checkpoints) {
    if (listed.newest) json["newest"] = listed.name;
    json["checkpoints"].push_back(describe(listed));
    if (!listed.damage) continue;
    all_intact = false;
    context.complain(listed.damage->message());
  }
  json["finished"] = nullptr;
  SHOAL_TRY(const auto mark, checkpoint::read_end_mark(context.storage, folder));
  if (mark) {
    json["finished"] = {{"global_step", mark->global_step},
                        {"checkpoint", mark->checkpoint},
                        {"reason", std::string(checkpoint::to_string(mark->reason))},
                        {"wall_time", unix_seconds(mark->wall_time)},
                        {"run", mark->run},
                        {"shoal_run", mark->shoal_run.empty() ? Json(nullptr) : Json(mark->shoal_run)}};
  }
  print(context, json);
  return all_intact ? 0 : exit_status(ErrorKind::kDataLoss);
}

Json describe(const checkpoint::TensorEntry& tensor) {
  Json json{{"name", tensor.name}, {"dtype", std::string(to_string(tensor.dtype))}, {"shape", Json::array()}};
  for (int64_t dim : tensor.shape.dims()) json["shape"].push_back(dim);
  if (tensor.is_slot()) json["slot_of"] = tensor.slot_of;
  json["bytes"] = tensor.bytes();
  json["pieces"] = tensor.pieces.size();
  size_t patches = 0;
  for (const checkpoint::Piece& piece : tensor.pieces) patches += piece.patches.size();
  if (patches > 0) json["patches"] = patches;
  return json;
}

Json describe(const checkpoint::Reader& reader) {
  const checkpoint::Manifest& manifest = reader.manifest();
  Json json{{"prefix", reader.prefix()},
            {"global_step", manifest.global_step},
            {"save_time", unix_seconds(manifest.info.save_time)},
            {"numerics", manifest.info.numerics},
            {"fingerprint", manifest.info.fingerprint}};
  if (const auto meaning = Meaning::decode(manifest.info.meaning))
    json["meaning"] = json::parse_in_order(meaning->encode())["facts"];
  if (!manifest.info.rules.empty()) json["rest"] = manifest.info.rules;
  json["counters"] = Json::object();
  for (const auto& [name, count] : manifest.info.counters) json["counters"][name] = count;
  json["positions"] = Json::object();
  for (const auto& [trainer, position] : manifest.info.positions) {
    json["positions"][trainer] = {{"bytes", position.size()}};
  }
  json["files"] = Json::array();
  for (const checkpoint::DataFile& file : manifest.files) {
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
  }
  json["variables"] = Json::array();
  for (const checkpoint::TensorEntry& tensor : manifest.tensors) json["variables"].push_back(describe(tensor));
  return json;
}

/// Accepts the name of the index file as well as the prefix, because shells complete file names.
std::string prefix_from(std::string text) {
  if (text.ends_with(".index")) text.resize(text.size() - 6);
  return text;
}

/// Opens the checkpoint `prefix`. If `prefix` is a folder, the error explains that a folder contains checkpoints.
Result<std::unique_ptr<checkpoint::Reader>> open_checkpoint(Context& context, const std::string& prefix) {
  auto reader = checkpoint::Reader::open(context.storage, prefix);
  if (reader || !context.storage.list(prefix)) return reader;
  return std::move(reader).error().with_context(prefix + " is a folder (shoal checkpoint list " + prefix +
                                                " names its checkpoints)");
}

/// Shows the tensors that a warm start can take from a file of another program.
Result<int> show_file(Context& context, const std::string& path, const std::vector<std::string>& names) {
  SHOAL_TRY(const auto file, TensorFile::open(context.storage, path));
  Json json{{"file", path}, {"tensors", Json::array()}};
  for (const TensorFile::Entry& entry : file->tensors()) {
    json["tensors"].push_back({{"name", entry.name}, {"dtype", entry.file_dtype}, {"shape", Json::array()}});
    for (const int64_t dim : entry.shape.dims()) json["tensors"].back()["shape"].push_back(dim);
  }
  if (!names.empty()) json["values"] = Json::object();
  for (const std::string& name : names) {
    if (!file->find(name)) return file->read(name).error().with_context(path);
    SHOAL_TRY(const Tensor tensor, file->read(name));  // The errors of a tensor that is there name the file.
    json["values"][name] = json::values_json(tensor);
  }
  print(context, json);
  return 0;
}

/// True for an ordinary file. A checkpoint is named by a prefix, which is no file itself.
bool is_file(Storage& storage, const std::string& path) {
  return storage.exists(path) && !storage.exists(path + ".index") && !storage.list(path).has_value();
}

Result<int> show_checkpoint(Context& context, const std::string& prefix, const std::vector<std::string>& names) {
  if (is_file(context.storage, prefix)) return show_file(context, prefix, names);
  SHOAL_TRY(const auto reader, open_checkpoint(context, prefix));
  Json json = describe(*reader);
  if (!names.empty()) json["values"] = Json::object();
  for (const std::string& name : names) {
    SHOAL_TRY(const Tensor tensor, reader->read_tensor(name));
    json["values"][name] = json::values_json(tensor);
  }
  print(context, json);
  return 0;
}

Result<int> verify_checkpoint(Context& context, const std::string& prefix) {
  SHOAL_TRY(const auto reader, open_checkpoint(context, prefix));
  SHOAL_TRY_VOID(reader->verify());
  print(context, Json{{"prefix", prefix}, {"global_step", reader->global_step()}, {"intact", true}});
  return 0;
}

struct Arguments {
  std::string where;
  std::vector<std::string> values;
  bool fast = false;
};

}  // namespace

void add_checkpoint_command(arguments::Command& app, Action& selected) {
  arguments::Command& checkpoint = app.add_command("checkpoint", "Checkpoints of a model_dir");
  const auto arguments = std::make_shared<Arguments>();

  arguments::Command& list =
      checkpoint.add_command("list", "The newest and the retained ones: steps, sizes, times, integrity");
  list.add("DIR", arguments->where, "The model_dir").path("FOLDER").required();
  list.add_switch("--fast", arguments->fast, "Compare lengths only, not checksums");
  list.on_selected([&selected, arguments] {
    selected = [arguments](Context& context) {
      const auto check = arguments->fast ? checkpoint::Check::kLengths : checkpoint::Check::kChecksums;
      return list_checkpoints(context, arguments->where, check);
    };
  });

  arguments::Command& show =
      checkpoint.add_command("show", "Variables with dtype and shape, of a safetensors or NPZ file too");
  show.add("PREFIX", arguments->where, "E.g. model_dir/model.ckpt-200, or a file").path("FILE").required();
  show.add("--values", arguments->values,
           "Also the values of this variable, as a warm start reads them: F64 as float32 (may be repeated)");
  show.on_selected([&selected, arguments] {
    selected = [arguments](Context& context) {
      return show_checkpoint(context, prefix_from(arguments->where), arguments->values);
    };
  });

  arguments::Command& verify = checkpoint.add_command("verify", "Reads all of it and compares every checksum");
  verify.add("PREFIX", arguments->where, "E.g. model_dir/model.ckpt-200").path("FILE").required();
  verify.on_selected([&selected, arguments] {
    selected = [arguments](Context& context) { return verify_checkpoint(context, prefix_from(arguments->where)); };
  });
}

}  // namespace shoal::cli
