// SPDX-License-Identifier: Apache-2.0
// An IDX file, plain, and, if the first byte says so, compressed as well: both are read as the same.
#include "shoal/data/idx.h"

#include <algorithm>

#include "memory_storage.h"
#include "shoal/base/check.h"
#include "target.h"
#if SHOAL_FUZZ_ZLIB
#include "gzipped.h"
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  const IdxOptions kOptions{.bytes_max = 1 << 16};
  fuzz::Input input(data, size);
  const bool compressed = input.take<uint8_t>() % 2 == 1;
  fuzz::MemoryStorage storage;
  storage.files["a"] = input.text();
  const Result<Tensor> tensor = read_idx(storage, "a", kOptions);
  if (tensor) SHOAL_CHECK(tensor->bytes() <= kOptions.bytes_max);
  if (tensor) fuzz::touch(std::span(tensor->view().data, tensor->bytes()));
  if (!tensor) fuzz::touch(tensor.error().message());
  static_cast<void>(read_idx_images_labels(storage, "a", "a", kOptions));
#if SHOAL_FUZZ_ZLIB
  if (!compressed || input.text().starts_with("\x1f\x8b")) return 0;
  storage.files["a.gz"] = fuzz::gzipped(input.text());
  const Result<Tensor> again = read_idx(storage, "a.gz", kOptions);
  SHOAL_CHECK(again.has_value() == tensor.has_value());
  if (!again) return 0;
  SHOAL_CHECK(again->dtype() == tensor->dtype() && again->shape() == tensor->shape());
  SHOAL_CHECK(
      std::ranges::equal(std::span(again->view().data, again->bytes()), std::span(tensor->view().data, tensor->bytes())));
#else
  static_cast<void>(compressed);
#endif
  return 0;
}
