// SPDX-License-Identifier: Apache-2.0
// Reads an NPY or NPZ file. The first byte of the input selects one of four kinds: an NPY file as it stands; an NPZ file as
// it stands; or an NPY file that is put into an archive here, stored or deflated, since no mutation finds a right checksum.
// For the latter two follow a number of changes, each two bytes of a place in the archive and one of what it is changed by,
// before the NPY file. What can be read is written, and read again as the same; an archive gives what its member alone
// gives, or an error; and the rows of a file make up its array, by either reader of rows.
#include <algorithm>
#include <cstring>
#include <vector>

#include "crc32.h"
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/base/memory_storage.h"
#include "shoal/base/virtual.h"
#include "shoal/data/array_rows.h"
#include "shoal/data/dataset.h"
#include "shoal/data/file_format.h"
#include "shoal/data/npy.h"
#include "target.h"
#include "zip_writer.h"
#if SHOAL_FUZZ_ZLIB
#include "deflated.h"
#endif

namespace shoal::data {
namespace {

const NpyOptions kLimits{.bytes_max = 1 << 16};

std::string contents_of(const Tensor& tensor) {
  std::string text = std::string(to_string(tensor.dtype())) + to_string(tensor.shape());
  if (tensor.dtype() != DType::kString)
    return text.append(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
  for (const std::string& one : tensor.strings()) text += std::to_string(one.size()) + ":" + one;
  return text;
}

std::string contents_of(const TensorMap& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += name + "=" + contents_of(tensor);
  return text;
}

void read_rows(const std::shared_ptr<fuzz::MemoryStorage>& storage, const Result<Tensor>& whole) {
  VirtualWorld world(1);
  Environment& env = world.add_task({.storage = storage});
  const Dataset dataset = Dataset::npy_rows({"a"}, {.row_bytes_max = 1 << 16});
  const auto iterator = value_or_raise(dataset.iterate(env));
  Element row;
  std::vector<Tensor> rows;
  for (;;) {
    const Result<bool> more = iterator->next(row);
    if (!more) return fuzz::touch(more.error().message());
    if (!*more) break;
    rows.push_back(row.features.single());
    row = {};
  }
  SHOAL_CHECK(whole && whole->shape().rank() > 0 && int64_t(rows.size()) == whole->shape()[0]);
  if (rows.empty()) return;
  const Dataset slices = Dataset::from_tensor_slices(*whole);
  const auto expected = value_or_raise(slices.iterate(env));
  for (const Tensor& one : rows) {
    SHOAL_CHECK(value_or_raise(expected->next(row)) && contents_of(row.features.single()) == contents_of(one));
  }
  const auto resumed = value_or_raise(dataset.iterate(env));
  const auto skipped = int64_t(rows.size() / 2);
  SHOAL_CHECK(value_or_raise(resumed->skip(skipped)) == skipped);
  const Position position = value_or_raise(resumed->save());
  const auto again = value_or_raise(dataset.iterate(env));
  value_or_raise(again->restore(position));
  SHOAL_CHECK(value_or_raise(again->next(row)) && contents_of(row.features.single()) == contents_of(rows[size_t(skipped)]));
}

/// What is recognised as a file of arrays is read row by row, to its end or to an error. The rows of an array that can be read as a
/// whole are the same.
void read_by_rows(fuzz::MemoryStorage& storage, const std::string& path, const Result<TensorMap>& whole) {
  const Result<RecognisedFile> recognised = recognise_file(storage, path);
  if (!recognised) return fuzz::touch(recognised.error().message());
  if (recognised->format != FileFormat::kNpy && recognised->format != FileFormat::kNpz) return;
  Result<std::vector<ArrayRows>> arrays = ArrayRows::open(storage, path, recognised->format);
  if (!arrays) return fuzz::touch(arrays.error().message());
  for (ArrayRows& array : *arrays) {
    const Tensor* const expected = whole ? whole->find(array.name()) : nullptr;
    Tensor row;
    int64_t count = 0;
    for (;; ++count) {
      const Result<bool> more = array.next(row);
      SHOAL_CHECK(more || expected == nullptr);
      if (!more) return fuzz::touch(more.error().message());
      if (!*more) break;
      if (expected == nullptr || expected->dtype() == DType::kString || row.elements() == 0) continue;
      const size_t bytes = row.bytes();
      SHOAL_CHECK(std::memcmp(row.view().data, expected->view().data + size_t(count) * bytes, bytes) == 0);
    }
    SHOAL_CHECK(count == array.rows());
  }
}

Result<Tensor> read_array(const std::shared_ptr<fuzz::MemoryStorage>& storage, std::string_view file) {
  storage->files["a"] = file;
  Result<Tensor> tensor = read_npy(*storage, "a", kLimits);
  if (!tensor) fuzz::touch(tensor.error().message());
  if (!tensor) return tensor;
  const std::string contents = contents_of(*tensor);
  fuzz::touch(contents);
  const auto writable = make_memory_storage();
  value_or_raise(write_npy(*writable, "b", *tensor));
  SHOAL_CHECK(contents_of(value_or_raise(read_npy(*writable, "b"))) == contents);
  return tensor;
}

void read_archive(fuzz::MemoryStorage& storage, std::string file, const Result<Tensor>* member) {
  storage.files["z"] = std::move(file);
  const Result<TensorMap> tensors = read_npz(storage, "z", kLimits);
  read_by_rows(storage, "z", tensors);
  if (!tensors) return fuzz::touch(tensors.error().message());
  const std::string contents = contents_of(*tensors);
  fuzz::touch(contents);
  if (member != nullptr && !tensors->empty()) {
    SHOAL_CHECK(tensors->size() == 1 && *member && contents_of(tensors->begin()->second) == contents_of(**member));
  }
  const auto writable = make_memory_storage();
  if (!write_npz(*writable, "b", *tensors)) return;  // Of names that NumPy takes for others.
  SHOAL_CHECK(contents_of(value_or_raise(read_npz(*writable, "b"))) == contents);
}

/// A WritableFile that keeps what it is given.
class Kept final : public WritableFile {
 public:
  std::string contents;
  Result<void> append(std::span<const std::byte> bytes) override {
    contents.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  Result<void> flush() override { return {}; }
  Result<void> sync() override { return {}; }
  Result<void> close() override { return {}; }
};

/// `file` as the one member of an archive.
std::string archive_of(std::string_view file, [[maybe_unused]] bool deflates, bool is_zip64) {
#if SHOAL_FUZZ_ZLIB
  if (deflates) return fuzz::deflated_archive("a.npy", file, crc32_of(std::as_bytes(std::span(file))));
#endif
  Kept kept;
  ZipWriter writer(kept, {.zip64_from = is_zip64 ? 1U : 0xffffffffU});
  value_or_raise(
      writer.add("a.npy", file.size(), [&](const ZipWriter::Sink& sink) { return sink(std::as_bytes(std::span(file))); }));
  value_or_raise(writer.finish());
  return kept.contents;
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const auto how = input.take<uint8_t>();
  const auto storage = std::make_shared<fuzz::MemoryStorage>();
  if (how % 4 == 0) {
    const Result<Tensor> whole = read_array(storage, input.text());
    read_rows(storage, whole);
    read_by_rows(*storage, "a", whole ? Result<TensorMap>(TensorMap(*whole)) : Result<TensorMap>(whole.error()));
    return 0;
  }
  if (how % 4 == 1) {
    read_archive(*storage, std::string(input.text()), nullptr);
    return 0;
  }
  struct Change {
    uint16_t at;
    uint8_t by;
  };
  std::vector<Change> changes(input.take<uint8_t>() % 4);
  for (Change& change : changes) change = {input.take<uint16_t>(), input.take<uint8_t>()};
  const Result<Tensor> member = read_array(storage, input.text());
  std::string archive = archive_of(input.text(), how % 4 == 3, (how & 4) != 0);
  for (const Change& change : changes) {
    char& byte = archive[change.at % archive.size()];
    byte = char(byte ^ change.by);
  }
  read_archive(*storage, std::move(archive), &member);
  return 0;
}
