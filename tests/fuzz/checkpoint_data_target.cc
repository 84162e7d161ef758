// SPDX-License-Identifier: Apache-2.0
// The data files of a checkpoint: a byte whose lowest bit says whether all checksums are put right, 2 bytes of the length
// of the index's body, that body, the files' bytes one after another. What is read is what lies there, and its checksum is
// right.
#include <algorithm>

#include "memory_storage.h"
#include "sealed_index.h"
#include "shoal/base/check.h"
#include "shoal/checkpoint/reader.h"
#include "target.h"

namespace shoal::checkpoint {
namespace {

const std::string kPrefix = "m/model.ckpt-1";

std::string_view bytes_of(const Manifest& manifest, const Piece& piece, const fuzz::MemoryStorage& storage) {
  return std::string_view(storage.files.at("m/" + manifest.files[piece.file].name)).substr(piece.offset, piece.bytes);
}

/// Makes the files that `manifest` names from what is left of the input. False: that is too little.
bool make_files(const Manifest& manifest, fuzz::Input& input, fuzz::MemoryStorage& storage) {
  bool complete = true;
  for (const DataFile& file : manifest.files) {
    const auto bytes = input.take_bytes(size_t(std::min<uint64_t>(file.bytes, SIZE_MAX)));
    storage.files["m/" + file.name].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    complete = complete && bytes.size() == file.bytes;
  }
  return complete;
}

void put_right(Manifest& manifest, const fuzz::MemoryStorage& storage) {
  for (DataFile& file : manifest.files) file.checksum = checksum_of(std::string_view(storage.files.at("m/" + file.name)));
  for (TensorEntry& tensor : manifest.tensors) {
    for (Piece& piece : tensor.pieces) piece.checksum = checksum_of(bytes_of(manifest, piece, storage));
  }
}

void read_all(const Reader& reader, bool right, const fuzz::MemoryStorage& storage) {
  const Manifest& manifest = reader.manifest();
  SHOAL_CHECK(reader.verify().has_value() || !right);
  for (const TensorEntry& tensor : manifest.tensors) {
    std::string expected;
    bool sound = true;
    for (const Piece& piece : tensor.pieces) {
      expected += bytes_of(manifest, piece, storage);
      sound = sound && checksum_of(bytes_of(manifest, piece, storage)) == piece.checksum;
    }
    const Result<Tensor> read = reader.read_tensor(tensor.name);
    SHOAL_CHECK(read.has_value() == sound);
    if (!read) continue;
    SHOAL_CHECK(std::ranges::equal(std::as_bytes(std::span(expected)), std::span(read->view().data, read->bytes())));
    const int64_t begin = tensor.rows() / 3, end = tensor.rows() - tensor.rows() / 4;
    std::string rows(size_t(uint64_t(end - begin) * tensor.row_bytes()), '\0');
    SHOAL_CHECK(reader.read_rows(tensor.name, begin, end, std::as_writable_bytes(std::span(rows))));
    SHOAL_CHECK(rows == expected.substr(size_t(uint64_t(begin) * tensor.row_bytes()), rows.size()));
  }
}

}  // namespace
}  // namespace shoal::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::checkpoint;
  fuzz::Input input(data, size);
  const bool right = input.take<uint8_t>() % 2 == 1;
  const auto body = input.take_bytes(input.take<uint16_t>());
  Result<Manifest> manifest =
      decode_manifest(fuzz::sealed_index({reinterpret_cast<const char*>(body.data()), body.size()}));
  if (!manifest) return 0;
  fuzz::MemoryStorage storage;
  const bool complete = make_files(*manifest, input, storage);
  if (complete && right) put_right(*manifest, storage);
  storage.files[kPrefix + ".index"] = encode_manifest(*manifest);
  const auto reader = Reader::open(storage, kPrefix);
  SHOAL_CHECK(reader.has_value() == complete);
  if (reader) read_all(**reader, right, storage);
  return 0;
}
