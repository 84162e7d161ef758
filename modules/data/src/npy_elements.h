// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts elements of tensors to and from the form in NPY files.
#include <cstdint>
#include <span>
#include <string>

#include "npy_header.h"
#include "shoal/base/tensor.h"

namespace shoal::data {

/// Tells where some whole elements are in a file. The first of them is element `first` of an array that begins at the
/// offset `begin`.
struct NpyPlace {
  uint64_t first = 0;
  uint64_t begin = 0;
};

/// Decodes the elements in `bytes` into out[at], out[at + 1], ... DataLoss, with index and offset, for values that `out`
/// cannot hold; the error does not name the file.
Result<void> decode_npy(const NpyType& type, std::span<const std::byte> bytes, NpyPlace place, Tensor& out, size_t at);

/// Whether elements of this type have the same bytes in a file as in a tensor. Then they can be read from the file right
/// into the memory of the tensor.
bool has_bytes_of_tensor(const NpyType& type);

/// Returns the type with which a file stores `tensor`: little-endian, and for strings as wide as the longest one. Errors
/// are those of write_npy().
Result<NpyType> npy_type_for(const Tensor& tensor);

/// Appends the elements begin, begin + 1, ... end - 1 of `tensor` to `out`. `type` is the result of npy_type_for(tensor).
void encode_npy(const Tensor& tensor, const NpyType& type, size_t begin, size_t end, std::string& out);

}  // namespace shoal::data
