// SPDX-License-Identifier: Apache-2.0
// A compressed file: a byte that selects gzip, zstd or lz4; 2 bytes of how much to ask for at a time; the file without the bytes by which it
// is recognised. It says the same however it is asked, and has no more
// bytes than it announces.
#include <algorithm>

#include "byte_source.h"
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "target.h"

namespace shoal::data {
namespace {

constexpr size_t kBytesMax = 1 << 18;

struct Contents {
  std::string bytes;
  bool damaged = false;
};

Contents read(fuzz::MemoryStorage& storage, size_t chunk_bytes) {
  Contents contents;
  const auto source = open_bytes(storage, "a");
  if (!source) {  // This build is without the library.
    SHOAL_CHECK(source.error().kind() == ErrorKind::kFailedPrecondition);
    return contents;
  }
  while (contents.bytes.size() < kBytesMax) {
    const uint64_t announced = (*source)->left_max();
    const size_t had = contents.bytes.size();
    contents.bytes.resize(had + chunk_bytes);
    const auto count = (*source)->read(std::as_writable_bytes(std::span(contents.bytes)).subspan(had));
    contents.bytes.resize(had + (count ? *count : 0));
    if (!count) contents.damaged = true;
    if (!count || *count == 0) return contents;
    SHOAL_CHECK(*count <= announced && *count <= chunk_bytes);
  }
  return contents;
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  static const std::string kMagic[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\x04\x22\x4d\x18"};
  constexpr size_t kZstd = 1;
  const size_t kind = input.take<uint8_t>() % std::size(kMagic);
  const size_t chunk_bytes = 1 + input.take<uint16_t>();
  fuzz::MemoryStorage storage;
  storage.files["a"] = kMagic[kind] + std::string(input.text());
  const Contents in_chunks = read(storage, chunk_bytes), at_once = read(storage, kBytesMax);
  if (std::max(in_chunks.bytes.size(), at_once.bytes.size()) < kBytesMax) {
    // libzstd 1.5.4 takes a damaged frame that promises no contents, or refuses it, by how much room there is for them.
    SHOAL_CHECK(in_chunks.damaged == at_once.damaged || kind == kZstd);
    SHOAL_CHECK(in_chunks.damaged || at_once.damaged || in_chunks.bytes == at_once.bytes);
  }
  fuzz::touch(in_chunks.bytes);
  return 0;
}
