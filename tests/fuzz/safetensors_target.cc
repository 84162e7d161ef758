// SPDX-License-Identifier: Apache-2.0
// A safetensors file. What can be read has the type and the shape that the file lists, within the bytes of the file.
#include "shoal/checkpoint/safetensors.h"

#include "memory_storage.h"
#include "shoal/base/check.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::checkpoint;
  fuzz::MemoryStorage storage;
  storage.files["a"] = fuzz::Input(data, size).text();
  const auto file = SafetensorsFile::open(storage, "a");
  if (!file) return fuzz::touch(file.error().message()), 0;
  for (const SafetensorsEntry& entry : (*file)->tensors()) {
    SHOAL_CHECK((*file)->find(entry.name) == &entry);
    SHOAL_CHECK(entry.offset <= size && entry.bytes <= size - entry.offset);
    const Result<Tensor> tensor = (*file)->read(entry);
    if (!tensor) {
      fuzz::touch(tensor.error().message());
      continue;
    }
    SHOAL_CHECK(tensor->dtype() == entry.dtype && tensor->shape() == entry.shape);
    fuzz::touch(std::span(tensor->view().data, tensor->bytes()));
  }
  return 0;
}
