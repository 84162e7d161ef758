// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads safetensors files of any origin. The data files of a checkpoint have this format, and PyTorch and Hugging Face
/// write it, too.
///
/// Format: the length of the header (uint64, little-endian); the header, a JSON object with an object {"dtype", "shape",
/// "data_offsets"} for each tensor by its name, and optionally "__metadata__"; the elements of all tensors, end to end and
/// little-endian. Offsets count from the end of the header. Source: https://github.com/huggingface/safetensors.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/shape.h"
#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"

namespace shoal::checkpoint {

/// The name of a type in safetensors files: "F32". Empty for kString, which the format does not have.
std::string_view safetensors_dtype(DType dtype);

struct SafetensorsEntry {
  std::string name;
  std::string file_dtype;      ///< The type's name in the file: "F32", "BF16".
  std::optional<DType> dtype;  ///< The type that read() returns. Nothing: read() does not support the file's type.
  Shape shape;
  uint64_t offset = 0;  ///< Bytes from the start of the file.
  uint64_t bytes = 0;
};

/// One thread at a time. The storage has to outlive this object.
class SafetensorsFile {
 public:
  /// Reads and checks the header. Errors name the file: NotFound; DataLoss, with the offset, for a file that is cut or whose
  /// header is damaged; FailedPrecondition for a tensor of more axes than Shape::kRankMax.
  static Result<std::unique_ptr<SafetensorsFile>> open(Storage& storage, std::string path);

  /// All tensors, in the order of their names (bytes).
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }
  /// The tensor with this name. Null if there is none.
  const SafetensorsEntry* find(std::string_view name) const;

  /// Reads the elements of one of tensors(). F32, I64, I32, U8 and BOOL keep their type; F16, BF16 and F64 become float32
  /// (F64 is rounded to the nearest; beyond the largest float32 it becomes infinity). Errors name file and tensor:
  /// DataLoss, with the offset, for a bool that is neither 0 nor 1; FailedPrecondition for unsupported types, with what to
  /// do.
  Result<Tensor> read(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile(std::string path, std::unique_ptr<ReadableFile> file) : path_(std::move(path)), file_(std::move(file)) {}
  Result<void> read_header();

  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  std::vector<SafetensorsEntry> tensors_;
};

}  // namespace shoal::checkpoint
