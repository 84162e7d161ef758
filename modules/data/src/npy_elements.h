// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Elements of tensors as NPY files have them, and the reverse.
#include <cstdint>
#include <span>
#include <string>

#include "npy_header.h"
#include "shoal/base/tensor.h"

namespace shoal::data {

/// Where in a file some bytes are: whole elements, of which the first is element `first` of an array that begins at the
/// offset `begin`.
struct NpyPlace {
  uint64_t first = 0;
  uint64_t begin = 0;
};

/// Turns the elements in `bytes` into out[at], out[at + 1], ... DataLoss, with index and offset, for values that `out`
/// cannot hold; the error does not name the file.
Result<void> decode_npy(const NpyType& type, std::span<const std::byte> bytes, NpyPlace place, Tensor& out, size_t at);

/// Whether the bytes of such elements are those of the tensor, so that they may be read right into its storage.
bool has_bytes_of_tensor(const NpyType& type);

/// The type by which a file holds `tensor`: little-endian, and for strings as wide as the longest. The errors are those of
/// write_npy().
Result<NpyType> npy_type_for(const Tensor& tensor);

/// Appends the elements begin, begin + 1, ... end - 1 of `tensor` to `out`. `type` is npy_type_for() of it.
void encode_npy(const Tensor& tensor, const NpyType& type, size_t begin, size_t end, std::string& out);

}  // namespace shoal::data
