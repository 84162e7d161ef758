// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads one checkpoint. What comes back has been compared with its checksum: damage is DataLoss, never data.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// One thread at a time. Any number of readers may read one checkpoint.
///
/// Errors: NotFound if a file is missing (also: deleted meanwhile), DataLoss if one is damaged. The sentences name the
/// checkpoint, the file, the variable, both checksums, and what to do.
class Reader {
 public:
  /// `prefix`: "m/model.ckpt-200". Reads and checks the index; opens the data files and compares their lengths.
  /// Where the same step is saved again meanwhile, it gives the earlier save or the later one, whole. `if_damaged` ends the
  /// sentences about damage: what to do. Empty: to delete this checkpoint, and to resume from an older one.
  static Result<std::unique_ptr<Reader>> open(Storage& storage, std::string prefix, std::string if_damaged = {});

  const std::string& prefix() const { return prefix_; }
  const Manifest& manifest() const { return manifest_; }
  int64_t global_step() const { return manifest_.global_step; }

  /// The whole tensor, or rows [row_begin, row_end), dense, into `out` of exactly that size. NotFound names a tensor
  /// that the checkpoint lacks. A checksum covers a whole piece, so reading a part of a piece reads all of it; contents of
  /// `out` are undefined after an error.
  Result<void> read(std::string_view name, std::span<std::byte> out) const;
  Result<void> read_rows(std::string_view name, int64_t row_begin, int64_t row_end, std::span<std::byte> out) const;
  Result<Tensor> read_tensor(std::string_view name) const;

  /// Reads everything once and compares all checksums, of files and of pieces.
  Result<void> verify() const;

  /// Verifies one file of manifest().files.
  Result<void> verify_file(uint32_t file) const;

  /// The files of manifest(), open, in its order.
  const std::vector<std::unique_ptr<ReadableFile>>& files() const { return files_; }

  /// The names of all files of this checkpoint, without folder, the index last: copied in this order, a copy is complete
  /// when it exists.
  std::vector<std::string> file_names() const;

 private:
  Reader(std::string prefix, std::string if_damaged) : prefix_(std::move(prefix)), if_damaged_(std::move(if_damaged)) {}
  Error damaged(std::string_view what, FileKind kind = FileKind::kTensors) const;
  Result<bool> open_files(Storage& storage);
  Result<void> read_piece(const TensorEntry& tensor, const Piece& piece, int64_t row_begin, int64_t row_end,
                          std::span<std::byte> out) const;

  std::string prefix_;
  std::string if_damaged_;
  Manifest manifest_;
  std::vector<std::unique_ptr<ReadableFile>> files_;
};

}  // namespace shoal::checkpoint
