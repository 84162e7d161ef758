// SPDX-License-Identifier: Apache-2.0
#include "manifest_check.h"

#include <algorithm>
#include <tuple>

namespace shoal::checkpoint {
namespace {

std::string about(const TensorEntry& tensor) { return "variable " + tensor.name + ": "; }

std::optional<std::string> check_files(const Manifest& manifest) {
  const std::string wanted = checkpoint_name(manifest.global_step) + ".data-";
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const std::string& name = manifest.files[i].name;
    // A name that comes from a file must not lead out of the folder.
    if (!name.starts_with(wanted) || name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
      return "file name '" + name + "' is not " + wanted + "*";
    }
    for (size_t k = 0; k < i; ++k) {
      if (manifest.files[k].name == name) return "file name '" + name + "' occurs twice";
    }
  }
  return std::nullopt;
}

bool lies_in(const Manifest& manifest, uint32_t file, uint64_t offset, uint64_t bytes) {
  return offset <= manifest.files[file].bytes && bytes <= manifest.files[file].bytes - offset;
}

std::optional<std::string> check_patch(const Manifest& manifest, const Piece& piece, const Patch& patch) {
  if (patch.file >= manifest.files.size()) return "a patch is in a file that is not listed";
  if (patch.unit_bytes == 0 || patch.count == 0) return "a patch changes nothing";
  if (patch.count > piece.bytes || (patch.count - 1) > (piece.bytes - 1) / patch.unit_bytes) {
    return "a patch has more units than its piece";
  }
  // A patch replaces `count` units (as a rule, rows) of unit_bytes bytes each in a piece of a tensor; only a unit at the
  // end of the piece may be shorter. The product below cannot overflow: it is less than the size of the piece, as the check
  // above ensures.
  const uint64_t before_last = (patch.count - 1) * patch.unit_bytes;
  if (patch.bytes <= before_last || patch.bytes - before_last > patch.unit_bytes) {
    return "a patch and its units differ in size";
  }
  const uint64_t numbers_bytes = patch.count * sizeof(int64_t);
  if (patch.count > (uint64_t(1) << 60) || !lies_in(manifest, patch.file, patch.offset, numbers_bytes) ||
      !lies_in(manifest, patch.file, patch.offset + numbers_bytes, patch.bytes)) {
    return "a patch lies outside of its file";
  }
  return std::nullopt;
}

std::optional<std::string> check_piece(const Manifest& manifest, const TensorEntry& tensor, const Piece& piece) {
  const auto bytes = checked_bytes(tensor.dtype, tensor.shape, uint64_t(piece.row_end - piece.row_begin));
  if (!bytes || *bytes != piece.bytes) return about(tensor) + "a piece and its rows differ in size";
  if (piece.file >= manifest.files.size()) return about(tensor) + "a piece is in a file that is not listed";
  if (!lies_in(manifest, piece.file, piece.offset, piece.bytes)) return about(tensor) + "a piece lies outside of its file";
  for (const Patch& patch : piece.patches) {
    if (auto wrong = check_patch(manifest, piece, patch)) return about(tensor) + *wrong;
  }
  return std::nullopt;
}

std::optional<std::string> check_tensor(const Manifest& manifest, const TensorEntry& tensor) {
  if (tensor.name.empty()) return "a variable has no name";
  if (!checked_bytes(tensor.dtype, tensor.shape, uint64_t(tensor.rows()))) {
    return about(tensor) + "its size is not one that a file can hold";
  }
  int64_t next_row = 0;
  for (const Piece& piece : tensor.pieces) {
    if (piece.row_begin != next_row || piece.row_end < piece.row_begin) {
      return about(tensor) + "its pieces are not rows 0 to " + std::to_string(tensor.rows()) + " in order, without gaps";
    }
    if (auto wrong = check_piece(manifest, tensor, piece)) return wrong;
    next_row = piece.row_end;
  }
  if (next_row != tensor.rows() || tensor.pieces.empty()) {
    return about(tensor) + "rows " + std::to_string(next_row) + " to " + std::to_string(tensor.rows()) + " are missing";
  }
  return std::nullopt;
}

std::optional<std::string> check_overlaps(const Manifest& manifest) {
  std::vector<std::tuple<uint32_t, uint64_t, uint64_t, const TensorEntry*>> ranges;
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const Piece& piece : tensor.pieces) {
      if (piece.bytes > 0) ranges.emplace_back(piece.file, piece.offset, piece.offset + piece.bytes, &tensor);
      for (const Patch& patch : piece.patches) {
        ranges.emplace_back(patch.file, patch.offset, patch.offset + patch.bytes_in_file(), &tensor);
      }
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  for (size_t i = 1; i < ranges.size(); ++i) {
    const auto& [file, begin, end, tensor] = ranges[i];
    const auto& [file_before, begin_before, end_before, before] = ranges[i - 1];
    if (file == file_before && begin < end_before) return about(*tensor) + "overlaps " + before->name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> checked_bytes(DType dtype, const Shape& shape, uint64_t rows) {
  uint64_t bytes = size_of(dtype);
  if (bytes == 0) return std::nullopt;
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (__builtin_mul_overflow(bytes, uint64_t(shape[axis]), &bytes)) return std::nullopt;
  }
  if (__builtin_mul_overflow(bytes, rows, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::string> contradiction_in(const Manifest& manifest) {
  if (manifest.global_step < 0) return "the global step is negative";
  if (auto wrong = check_files(manifest)) return wrong;
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (auto wrong = check_tensor(manifest, manifest.tensors[i])) return wrong;
    if (i > 0 && !(manifest.tensors[i - 1].name < manifest.tensors[i].name)) {
      return about(manifest.tensors[i]) + "occurs twice, or names are not in order";
    }
  }
  return check_overlaps(manifest);
}

}  // namespace shoal::checkpoint
