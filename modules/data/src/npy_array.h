// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads and writes the bytes of one NPY array, which are a file of their own, or a member of an NPZ archive.
#include <cstdint>
#include <functional>
#include <span>

#include "byte_source.h"
#include "npy_header.h"
#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"

namespace shoal::data {

/// Reads the array in `source` from its start to its end, as documented at read_npy(). Errors do not name the file.
/// `bytes_max` is what is left of NpyOptions::bytes_max after the arrays of the file that were read before.
Result<Tensor> read_npy_array(ByteSource& source, uint64_t bytes_max);

/// The bytes of an NPY file that holds a tensor, made piece by piece.
class NpyImage {
 public:
  /// Errors are those of write_npy(). `tensor` must outlive the NpyImage.
  static Result<NpyImage> of(const Tensor& tensor);
  uint64_t bytes() const { return header_.size() + uint64_t(tensor_->elements()) * type_.width; }
  using Sink = std::function<Result<void>(std::span<const std::byte> bytes)>;
  /// Passes all bytes to `sink`, in order. Returns the first error of `sink`.
  Result<void> write(const Sink& sink) const;

 private:
  NpyImage(const Tensor& tensor, const NpyType& type);
  const Tensor* tensor_;
  NpyType type_;
  std::string header_;
};

/// Writes a file by `fill` under another name, and renames it to `path` once all of it is on the disk: readers see the old
/// or the new file, and after an error the old one is still there.
Result<void> write_in_its_place(Storage& storage, const std::string& path,
                                const std::function<Result<void>(WritableFile& file)>& fill);

/// Puts the file's name before the error's message, unless a lower layer has named the file already.
Error in_npy_file(Error error, const std::string& path);

}  // namespace shoal::data
