// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/tensor_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include "shoal/checkpoint/safetensors.h"
#include "shoal/data/array_rows.h"
#include "shoal/data/npy.h"
#include "shoal/json/fields.h"

namespace shoal {
namespace {

using checkpoint::SafetensorsEntry;
using checkpoint::SafetensorsFile;

constexpr uint64_t kIndexBytesMax = 100'000'000;

TensorFile::Entry entry_of(const SafetensorsEntry& entry) {
  return {.name = entry.name, .file_dtype = entry.file_dtype, .dtype = entry.dtype, .shape = entry.shape};
}

class SafetensorsFiles final : public TensorFile {
 public:
  static Result<std::unique_ptr<TensorFile>> open_one(Storage& storage, const std::string& path) {
    auto result = std::make_unique<SafetensorsFiles>();
    SHOAL_TRY(auto file, SafetensorsFile::open(storage, path));
    for (const SafetensorsEntry& entry : file->tensors()) result->tensors_.push_back(entry_of(entry));
    result->files_.emplace(path, std::move(file));
    for (const Entry& entry : result->tensors_) result->file_of_.emplace(entry.name, path);
    return result;
  }

  static Result<std::unique_ptr<TensorFile>> open_index(Storage& storage, const std::string& path) {
    auto result = std::make_unique<SafetensorsFiles>();
    SHOAL_TRY(const std::string text, storage.read_all(path, kIndexBytesMax));
    if (auto read = result->read_index(storage, path, text); !read) return std::move(read).error().with_context(path);
    return result;
  }

  Result<Tensor> read(const std::string& name) const override {
    const auto path = file_of_.find(name);
    if (path == file_of_.end()) return not_found("there is no tensor " + name);
    const SafetensorsFile& file = *files_.find(path->second)->second;
    return file.read(*file.find(name));
  }

 private:
  Result<void> read_index(Storage& storage, const std::string& path, const std::string& text) {
    SHOAL_TRY(const json::Json index, json::parse_object(text));
    SHOAL_TRY(const json::Json* names, json::object_member(index, "weight_map"));
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    for (const auto& [name, value] : names->items()) {
      SHOAL_TRY(const std::string file_name, json::string_of(value, name));
      if (file_name.find('/') != std::string::npos) {
        return data_loss("weight_map: " + name + " is in \"" + file_name + "\", and the files stand beside their index");
      }
      SHOAL_TRY(const SafetensorsFile* file, file_at(storage, folder + file_name));
      const SafetensorsEntry* entry = file->find(name);
      if (!entry) return data_loss("weight_map: " + folder + file_name + " has no tensor " + name);
      tensors_.push_back(entry_of(*entry));
      file_of_.emplace(name, folder + file_name);
    }
    return {};
  }

  Result<const SafetensorsFile*> file_at(Storage& storage, const std::string& path) {
    auto found = files_.find(path);
    if (found == files_.end()) {
      SHOAL_TRY(auto file, SafetensorsFile::open(storage, path));
      found = files_.emplace(path, std::move(file)).first;
    }
    return found->second.get();
  }

  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;  // By path.
  std::map<std::string, std::string> file_of_;                     // Maps names of tensors to paths of files.
};

class NpzFile final : public TensorFile {
 public:
  static Result<std::unique_ptr<TensorFile>> open(Storage& storage, const std::string& path) {
    auto result = std::make_unique<NpzFile>();
    SHOAL_TRY(const auto file, storage.open(path));
    SHOAL_TRY(result->arrays_, data::read_npz(storage, path, {.bytes_max = bytes_max(file->size())}));
    SHOAL_TRY(const auto in_file, data::ArrayRows::open(storage, path, data::FileFormat::kNpz));
    for (const data::ArrayRows& array : in_file) {
      const Tensor* const tensor = result->arrays_.find(array.name());
      if (!tensor) return data_loss(path + ": array " + array.name() + " was added while the file was read");
      result->tensors_.push_back(
          {.name = array.name(), .file_dtype = array.type(), .dtype = tensor->dtype(), .shape = tensor->shape()});
    }
    std::ranges::sort(result->tensors_, {}, &Entry::name);
    return result;
  }
  Result<Tensor> read(const std::string& name) const override {
    const Tensor* found = arrays_.find(name);
    if (!found) return not_found("there is no array " + name);
    return *found;
  }

 private:
  /// The most bytes that the arrays of a file may take in memory. Elements grow at most fourfold (int8 becomes int32), so
  /// files of numbers that are stored without compression are always read, however large they are. A small file that
  /// claims to unpack to far more than itself is refused.
  static uint64_t bytes_max(uint64_t file_bytes) {
    constexpr uint64_t kGrowthMax = 4;
    return std::max(data::NpyOptions().bytes_max,
                    file_bytes > UINT64_MAX / kGrowthMax ? UINT64_MAX : file_bytes * kGrowthMax);
  }

  data::TensorMap arrays_;
};

/// The first bytes of a file, which tell its format. In an archive they contain the name of its first member.
Result<std::string> beginning_of(Storage& storage, const std::string& path) {
  SHOAL_TRY(const auto file, storage.open(path));
  std::string text(size_t(std::min<uint64_t>(file->size(), 512)), '\0');
  SHOAL_TRY_VOID(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

/// Returns advice for a file of a known format that is not read here; an empty text for any other file.
std::string advice_for(const std::string& beginning) {
  const auto has = [&](std::string_view part) { return beginning.find(part) != std::string::npos; };
  if (beginning.starts_with("{\"format\":\"shoal checkpoint\"")) {
    return "this is the index of a checkpoint, which is named without \".index\"";
  }
  const bool is_archive = beginning.starts_with("PK");
  if (beginning.starts_with("\x80\x02") || (is_archive && has("/data.pkl"))) {
    return "this is a file of torch.save, which holds Python objects; Shoal reads safetensors and NPZ. In Python: "
           "numpy.savez(\"weights.npz\", **{name: tensor.numpy() for name, tensor in model.state_dict().items()})";
  }
  if (beginning.starts_with("\x89HDF") ||
      (is_archive && (has("model.weights.h5") || has("metadata.json") || has("config.json")))) {
    return "this is a file of Keras; Shoal reads safetensors and NPZ. In Python: "
           "numpy.savez(\"weights.npz\", **{weight.path: weight.numpy() for weight in model.weights})";
  }
  return {};
}

/// Whether the file may be a safetensors file, by its name or by the first bytes of its header.
bool may_be_safetensors(const std::string& path, const std::string& beginning) {
  return path.ends_with(".safetensors") || (beginning.size() > 8 && beginning[8] == '{' && beginning[7] == '\0');
}

}  // namespace

Result<std::unique_ptr<TensorFile>> TensorFile::open(Storage& storage, const std::string& path) {
  SHOAL_TRY(const std::string beginning, beginning_of(storage, path));
  if (const std::string advice = advice_for(beginning); !advice.empty()) return failed_precondition(path + ": " + advice);
  if (may_be_safetensors(path, beginning)) return SafetensorsFiles::open_one(storage, path);
  if (beginning.starts_with('{')) return SafetensorsFiles::open_index(storage, path);
  if (beginning.starts_with("PK") || path.ends_with(".npz")) return NpzFile::open(storage, path);
  return failed_precondition(path + ": this is no checkpoint, and no safetensors or NPZ file");
}

const TensorFile::Entry* TensorFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &Entry::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace shoal
