// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/npy.h"

#include "npy_array.h"
#include "shoal/base/utf8.h"
#include "zip_reader.h"
#include "zip_writer.h"

namespace shoal::data {
namespace {

constexpr std::string_view kNpySuffix = ".npy";

/// Returns the name of the array that a member of an archive holds.
Result<std::string> array_name(const ZipEntry& entry) {
  if (!entry.name.ends_with(kNpySuffix)) {
    return failed_precondition("the member is no array by its name, which does not end with .npy; take it out with zip -d");
  }
  return entry.name.substr(0, entry.name.size() - kNpySuffix.size());
}

Result<Tensor> read_member(const ZipArchive& archive, const ZipEntry& entry, uint64_t bytes_max) {
  SHOAL_TRY(const std::unique_ptr<ByteSource> source, archive.open(entry));
  return read_npy_array(*source, bytes_max);
}

Result<TensorMap> read_members(const ZipArchive& archive, uint64_t bytes_max) {
  TensorMap tensors;
  for (const ZipEntry& entry : archive.entries()) {
    const auto named = [&](Error error) { return archive.in_member(std::move(error), entry); };
    Result<std::string> name = array_name(entry);
    if (!name) return named(std::move(name).error());
    Result<Tensor> tensor = read_member(archive, entry, bytes_max);
    if (!tensor) return named(std::move(tensor).error());
    const bool is_text = tensor->dtype() == DType::kString;
    uint64_t taken = is_text ? 0 : tensor->bytes();
    if (is_text) {
      for (const std::string& text : tensor->strings()) taken += sizeof text + text.size();
    }
    bytes_max -= std::min(bytes_max, taken);
    tensors.set(*std::move(name), *std::move(tensor));
  }
  return tensors;
}

Result<void> check_names(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    SHOAL_TRY_VOID(check_utf8(name, "the name of an array", "give it another name"));
    if (name.find('\0') != std::string::npos || name.size() > size_t(UINT16_MAX) - kNpySuffix.size()) {
      return invalid_argument("the name of an array has a zero byte, or is longer than 65531 bytes; give it another name");
    }
    if (!name.ends_with(kNpySuffix) || tensors.find(name.substr(0, name.size() - kNpySuffix.size())) == nullptr) continue;
    return invalid_argument("there are two arrays whose names are \"" + name +
                            "\" with and without \".npy\", which numpy.load does not tell apart; give one another name");
  }
  return {};
}

Result<void> write_members(ZipWriter& archive, const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    const auto image = NpyImage::of(tensor);
    if (!image) return image.error().with_context("array \"" + name + "\"");
    const auto write = [&](const ZipWriter::Sink& sink) { return image->write(sink); };
    SHOAL_TRY_VOID(archive.add(name + std::string(kNpySuffix), image->bytes(), write));
  }
  return archive.finish();
}

}  // namespace

Result<Tensor> read_npy(Storage& storage, const std::string& path, const NpyOptions& options) {
  const Result<std::unique_ptr<ByteSource>> source = open_bytes(storage, path, options.stop);
  if (!source) return in_npy_file(source.error(), path);
  Result<Tensor> tensor = read_npy_array(**source, options.bytes_max);
  if (!tensor) return in_npy_file(std::move(tensor).error(), path);
  return tensor;
}

Result<void> write_npy(Storage& storage, const std::string& path, const Tensor& tensor) {
  const Result<NpyImage> image = NpyImage::of(tensor);
  if (!image) return in_npy_file(image.error(), path);
  return write_in_its_place(storage, path, [&](WritableFile& file) {
    return image->write([&](std::span<const std::byte> bytes) { return file.append(bytes); });
  });
}

Result<TensorMap> read_npz(Storage& storage, const std::string& path, const NpyOptions& options) {
  SHOAL_TRY(const ZipArchive archive, ZipArchive::open(storage, path, options.stop));
  return read_members(archive, options.bytes_max);
}

Result<void> write_npz(Storage& storage, const std::string& path, const TensorMap& tensors) {
  if (const auto checked = check_names(tensors); !checked) return in_npy_file(checked.error(), path);
  Result<void> written = write_in_its_place(storage, path, [&](WritableFile& file) {
    ZipWriter archive(file);
    return write_members(archive, tensors);
  });
  if (!written) return in_npy_file(std::move(written).error(), path);
  return {};
}

}  // namespace shoal::data
