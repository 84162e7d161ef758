// SPDX-License-Identifier: Apache-2.0
#include "model/export_files.h"

#include <algorithm>

#include "shoal/checkpoint/checksum.h"
#include "shoal/checkpoint/directory.h"

namespace shoal {
namespace {

constexpr uint64_t kBlockBytes = uint64_t(1) << 20;

bool is_below(std::string_view name, std::string_view folder) {
  return name.starts_with(folder) && name.substr(folder.size()).starts_with('/');
}

/// True for the weights' data files. They may be larger than the free memory, so they are not read for a check; their bytes
/// are checked when the weights are loaded.
bool is_data(std::string_view name) {
  return is_below(name, kExportVariables) && name.find(".data-") != std::string_view::npos;
}

Result<uint64_t> checksum_of_file(const ReadableFile& file) {
  checkpoint::Checksum checksum;
  std::vector<std::byte> block(size_t(std::min(kBlockBytes, file.size())));
  for (uint64_t at = 0; at < file.size(); at += block.size()) {
    const std::span<std::byte> part(block.data(), size_t(std::min<uint64_t>(block.size(), file.size() - at)));
    SHOAL_TRY_VOID(file.read_at(at, part));
    checksum.update(part);
  }
  return checksum.value();
}

std::string mismatch(uint64_t found, uint64_t expected) {
  return "checksum " + checkpoint::to_hex(found) + ", expected " + checkpoint::to_hex(expected);
}

/// Checks one file of an export against its entry in export.json.
class FileCheck {
 public:
  FileCheck(Storage& storage, const std::string& folder, const ExportedFile& listed)
      : storage_(storage), folder_(folder), listed_(listed), path_(join_path(folder, listed.name)) {}

  /// Checks the whole file, and puts its contents into `files` if loading a model needs them.
  Result<void> check(MemoryFiles& files) const {
    auto file = storage_.open(path_);
    if (!file && file.error().kind() == ErrorKind::kNotFound) return damaged("the file is missing");
    if (!file) return std::move(file).error().with_context("export " + folder_);
    if ((*file)->size() != listed_.bytes) {
      return damaged(std::to_string((*file)->size()) + " bytes, expected " + std::to_string(listed_.bytes));
    }
    if (is_data(listed_.name)) return {};
    if (is_below(listed_.name, kExportAssets)) return compare(checksum_of_file(**file));
    std::string contents(size_t(listed_.bytes), '\0');
    SHOAL_TRY_VOID(readable((*file)->read_at(0, std::as_writable_bytes(std::span(contents)))));
    SHOAL_TRY_VOID(compare(checkpoint::checksum_of(contents)));
    files.keep(path_, std::move(contents));
    return {};
  }

 private:
  Error damaged(const std::string& what) const { return damaged_export(folder_, path_, what); }
  /// Turns the DataLoss of a file that ended during the read into an error about the damaged export.
  Result<void> readable(Result<void> read) const {
    if (!read && read.error().kind() == ErrorKind::kDataLoss) return damaged(read.error().message());
    if (!read) return std::move(read).error().with_context("export " + folder_);
    return read;
  }
  Result<void> compare(Result<uint64_t> found) const {
    if (!found) return readable(std::move(found).error());
    if (*found != listed_.checksum) return damaged(mismatch(*found, listed_.checksum));
    return {};
  }

  Storage& storage_;
  const std::string& folder_;
  const ExportedFile& listed_;
  const std::string path_;
};

}  // namespace

Error damaged_export(const std::string& folder, const std::string& path, const std::string& what) {
  return data_loss("export " + folder + ": " + path + ": " + what + "; " + std::string(kExportHelp));
}

ExportedFile exported_file(std::string name, std::string_view contents) {
  return {.name = std::move(name), .bytes = contents.size(), .checksum = checkpoint::checksum_of(contents)};
}

std::vector<ExportedFile> exported_variables(const checkpoint::Saved& saved) {
  const auto name_of = [](const std::string& name) { return join_path(kExportVariables, name); };
  std::vector<ExportedFile> files;
  for (const checkpoint::DataFile& file : saved.manifest.files) {
    files.push_back({.name = name_of(file.name), .bytes = file.bytes, .checksum = file.checksum});
  }
  files.push_back(exported_file(name_of(saved.name + ".index"), checkpoint::encode_manifest(saved.manifest)));
  const checkpoint::PointerFile pointer{.newest = saved.name, .retained = saved.retained};
  files.push_back(exported_file(name_of("checkpoint"), checkpoint::encode_pointer(pointer)));
  return files;
}

Result<void> check_export_files(Storage& storage, const std::string& folder, const std::vector<ExportedFile>& listed,
                                MemoryFiles& files) {
  for (const ExportedFile& file : listed) SHOAL_TRY_VOID(FileCheck(storage, folder, file).check(files));
  const auto lacks = [&listed](std::string_view name) {
    return std::ranges::none_of(listed, [name](const ExportedFile& file) { return file.name == name; });
  };
  for (const std::string& name : {std::string(kExportGraph), join_path(kExportVariables, "checkpoint")}) {
    if (lacks(name)) return damaged_export(folder, join_path(folder, kExportFile), "it does not list " + name);
  }
  return {};
}

Result<ExportDescription> read_export_description(Storage& storage, const std::string& folder, MemoryFiles& files) {
  const std::string path = join_path(folder, kExportFile);
  Result<std::string> text = storage.read_all(path);
  if (!text && text.error().kind() == ErrorKind::kNotFound)
    return not_found(path + " is missing: there is no export in " + folder +
                     "; name the folder of an export, which has ten digits below a folder of exports");
  if (!text) return std::move(text).error().with_context("export " + folder);
  Result<ExportDescription> description = decode_export(*text);
  if (!description && description.error().kind() == ErrorKind::kDataLoss)
    return damaged_export(folder, path, description.error().message());
  if (!description) return std::move(description).error().with_context("export " + path);
  if (description->files) SHOAL_TRY_VOID(check_export_files(storage, folder, *description->files, files));
  return description;
}

Result<std::string> read_export_graph(const std::string& folder, MemoryFiles& files) {
  const std::string path = join_path(folder, kExportGraph);
  Result<std::string> text = files.read_all(path);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return damaged_export(folder, path, "the file is missing");
  if (!text) return std::move(text).error().with_context("export " + folder);
  return text;
}

std::vector<ExportedTensor> outputs_of(const ExportDescription& description) {
  std::vector<ExportedTensor> outputs;
  for (const ExportedOutput& output : description.outputs) outputs.push_back(output.tensor);
  for (const ExportedText& text : description.texts) {
    const auto source = std::ranges::find(outputs, text.source, &ExportedTensor::name);
    if (source == outputs.end()) continue;
    ExportedTensor named{text.name, DType::kString, source->shape, source->axes};
    outputs.push_back(std::move(named));
  }
  return outputs;
}

Result<std::unique_ptr<checkpoint::Reader>> open_exported_variables(Storage& storage, const std::string& folder) {
  const std::string variables = join_path(folder, kExportVariables);
  const auto pointer = checkpoint::read_pointer(storage, variables);
  if (!pointer && pointer.error().kind() == ErrorKind::kDataLoss)
    return damaged_export(folder, variables, pointer.error().message());
  if (!pointer) return Error(pointer.error()).with_context("export " + folder);
  if (!*pointer) return damaged_export(folder, variables, "the weights are missing");
  auto reader = checkpoint::Reader::open(storage, join_path(variables, (*pointer)->newest), std::string(kExportHelp));
  if (!reader && reader.error().kind() == ErrorKind::kNotFound)
    return damaged_export(folder, variables, reader.error().message());
  return reader;
}

}  // namespace shoal
