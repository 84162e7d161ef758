// SPDX-License-Identifier: Apache-2.0
// The text file `checkpoint`, in a folder that has one checkpoint. What is understood is understood again as it is written.
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/checkpoint/directory.h"
#include "target.h"

namespace shoal::checkpoint {
namespace {

template <class T>
void expect_value_or_damage(const Result<T>& result) {
  if (result) return;
  SHOAL_CHECK(result.error().kind() == ErrorKind::kDataLoss || result.error().kind() == ErrorKind::kNotFound);
  fuzz::touch(result.error().message());
}

}  // namespace
}  // namespace shoal::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::checkpoint;
  const std::string_view text = fuzz::Input(data, size).text();
  const Result<PointerFile> pointer = decode_pointer(text);
  if (pointer) {
    const Result<PointerFile> again = decode_pointer(encode_pointer(*pointer));
    SHOAL_CHECK(again && *again == *pointer);
  }
  Manifest manifest;
  manifest.global_step = 5;
  fuzz::MemoryStorage storage;
  storage.files = {{"m/checkpoint", std::string(text)}, {"m/model.ckpt-5.index", encode_manifest(manifest)}};
  expect_value_or_damage(latest(storage, "m"));
  expect_value_or_damage(latest_intact(storage, "m", [](const std::string& sentence) { fuzz::touch(sentence); }));
  const auto listed = list(storage, "m", Check::kChecksums);
  expect_value_or_damage(listed);
  SHOAL_CHECK(listed.has_value() == pointer.has_value());
  if (listed) SHOAL_CHECK(listed->size() == pointer->retained.size());
  return 0;
}
