// SPDX-License-Identifier: Apache-2.0
// The index of a checkpoint. The first byte says whether the file follows, or its body, which is then put right: nothing
// behind the checksum would be reached else. What is understood is understood again as it is written.
#include "sealed_index.h"
#include "shoal/base/check.h"
#include "shoal/checkpoint/manifest.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::checkpoint;
  fuzz::Input input(data, size);
  const bool whole = input.take<uint8_t>() % 2 == 0;
  const Result<Manifest> manifest = decode_manifest(whole ? std::string(input.text()) : fuzz::sealed_index(input.text()));
  if (!manifest) {
    SHOAL_CHECK(manifest.error().kind() == ErrorKind::kDataLoss);
    fuzz::touch(manifest.error().message());
    return 0;
  }
  const Result<Manifest> again = decode_manifest(encode_manifest(*manifest));
  SHOAL_CHECK(again && *again == *manifest);
  uint64_t bytes = 0;
  for (const TensorEntry& tensor : manifest->tensors) {
    SHOAL_CHECK(manifest->find(tensor.name) == &tensor);
    bytes += tensor.bytes();
  }
  SHOAL_CHECK(bytes <= manifest->data_bytes());  // No two tensors share a byte.
  return 0;
}
