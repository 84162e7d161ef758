// SPDX-License-Identifier: Apache-2.0
#include "model/warm_start_origin.h"

#include <cstring>

#include "model/export_files.h"
#include "model/open_checkpoint.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/tensor_file.h"

namespace shoal {
namespace {

class CheckpointOrigin final : public WarmStartOrigin {
 public:
  explicit CheckpointOrigin(std::unique_ptr<checkpoint::Reader> reader) : reader_(std::move(reader)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const checkpoint::TensorEntry& tensor : reader_->manifest().tensors) {
      if (!tensor.is_slot()) names.push_back(tensor.name);
    }
    return names;
  }
  Result<std::optional<TensorType>> find(const std::string& name) const override {
    const checkpoint::TensorEntry* entry = reader_->manifest().find(name);
    if (!entry || entry->is_slot()) return std::optional<TensorType>();
    return std::optional(TensorType{entry->dtype, entry->shape});
  }
  Result<Tensor> read(const std::string& name) const override { return reader_->read_tensor(name); }
  Result<void> read_rows(const std::string& name, int64_t row_begin, int64_t row_end,
                         std::span<std::byte> out) const override {
    return reader_->read_rows(name, row_begin, row_end, out);
  }
  const checkpoint::Reader* checkpoint() const override { return reader_.get(); }
  std::string title() const override { return "checkpoint " + reader_->prefix(); }
  std::string noun() const override { return "variable"; }

 private:
  std::unique_ptr<checkpoint::Reader> reader_;
};

class FileOrigin final : public WarmStartOrigin {
 public:
  FileOrigin(std::string path, std::unique_ptr<TensorFile> file) : path_(std::move(path)), file_(std::move(file)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const TensorFile::Entry& entry : file_->tensors()) names.push_back(entry.name);
    return names;
  }
  Result<std::optional<TensorType>> find(const std::string& name) const override {
    const TensorFile::Entry* entry = file_->find(name);
    if (!entry) return std::optional<TensorType>();
    if (!entry->dtype) {
      return failed_precondition("tensor " + name + " is of type " + entry->file_dtype +
                                 ", which Shoal does not read; save it as float32");
    }
    return std::optional(TensorType{*entry->dtype, entry->shape});
  }
  Result<Tensor> read(const std::string& name) const override { return file_->read(name); }
  std::string title() const override { return "file " + path_; }
  std::string noun() const override { return "tensor"; }

 private:
  std::string path_;
  std::unique_ptr<TensorFile> file_;
};

/// Opens the checkpoint that `prefix` names. Since the user chose this checkpoint, a missing file of it is DataLoss, and
/// not NotFound.
Result<std::unique_ptr<checkpoint::Reader>> open_named(Environment& env, const std::string& prefix) {
  auto reader = checkpoint::Reader::open(env.storage(), prefix);
  if (!reader && reader.error().kind() == ErrorKind::kNotFound) return data_loss(reader.error().message());
  return reader;
}

Result<std::unique_ptr<checkpoint::Reader>> open_reader(Environment& env, const std::string& from) {
  Storage& storage = env.storage();
  if (storage.exists(from + ".index")) return open_named(env, from);
  if (storage.exists(join_path(from, kExportFile))) return open_exported_variables(storage, from);
  SHOAL_TRY(auto newest, open_checkpoint(env, from, std::nullopt));
  if (newest) return newest;
  const auto exports = exports_in(storage, from);
  const bool any = exports && !exports->empty();
  return not_found("there is no checkpoint of that name, no folder with checkpoints or an exported model, and no file" +
                   (any ? "; " + from + " has exports: name one, such as " + join_path(from, exports->back()) : ""));
}

/// Tells a file from a folder: a folder can be listed.
bool is_file(Storage& storage, const std::string& path) { return storage.exists(path) && !storage.list(path).has_value(); }

}  // namespace

Result<void> WarmStartOrigin::read_rows(const std::string& name, int64_t row_begin, int64_t row_end,
                                        std::span<std::byte> out) const {
  SHOAL_TRY(const Tensor tensor, read(name));
  const int64_t rows = tensor.shape().rank() == 0 ? 1 : tensor.shape()[0];
  SHOAL_CHECK(row_begin >= 0 && row_begin <= row_end && row_end <= rows);
  if (out.empty()) return {};
  const size_t row_bytes = tensor.bytes() / size_t(rows);
  SHOAL_CHECK(out.size() == row_bytes * size_t(row_end - row_begin));
  std::memcpy(out.data(), tensor.view().data + size_t(row_begin) * row_bytes, out.size());
  return {};
}

Result<std::unique_ptr<WarmStartOrigin>> WarmStartOrigin::open(Environment& env, const std::string& from) {
  if (!env.storage().exists(from + ".index") && is_file(env.storage(), from)) {
    SHOAL_TRY(auto file, TensorFile::open(env.storage(), from));
    return std::make_unique<FileOrigin>(from, std::move(file));
  }
  SHOAL_TRY(auto reader, open_reader(env, from));
  // Verifies the whole checkpoint before any part of it is used, as resuming from a checkpoint does.
  SHOAL_TRY_VOID(reader->verify());
  return std::make_unique<CheckpointOrigin>(std::move(reader));
}

}  // namespace shoal
