// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads one checkpoint. Everything that it returns has the right checksum: damage is DataLoss, never data.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// One thread at a time. Any number of readers may read the same checkpoint.
///
/// Errors: NotFound if a file is missing (also if it was deleted meanwhile), DataLoss if a file is damaged. The messages
/// name the checkpoint, the file, the variable, both checksums, and what to do.
class Reader {
 public:
  /// Reads and checks the index of the checkpoint `prefix` ("m/model.ckpt-200"), opens its data files and compares their
  /// lengths. If the same step is saved again meanwhile, the reader gets all of the earlier save or all of the later one.
  /// `if_damaged` is the advice at the end of error messages about damage. By default it is to delete this checkpoint and
  /// resume from an older one.
  static Result<std::unique_ptr<Reader>> open(Storage& storage, std::string prefix, std::string if_damaged = {});

  const std::string& prefix() const { return prefix_; }
  const Manifest& manifest() const { return manifest_; }
  int64_t global_step() const { return manifest_.global_step; }

  /// Reads the whole tensor, or its rows [row_begin, row_end), into `out`, whose size must match exactly. NotFound if the
  /// checkpoint has no such tensor. Reading a part of a piece reads all of the piece, since one checksum covers it. After
  /// an error the contents of `out` are undefined.
  Result<void> read(std::string_view name, std::span<std::byte> out) const;
  Result<void> read_rows(std::string_view name, int64_t row_begin, int64_t row_end, std::span<std::byte> out) const;
  Result<Tensor> read_tensor(std::string_view name) const;

  /// Reads everything once and compares the checksums of all files and pieces.
  Result<void> verify() const;

  /// Verifies one file of manifest().files.
  Result<void> verify_file(uint32_t file) const;

  /// The open files of manifest().files, in the same order.
  const std::vector<std::unique_ptr<ReadableFile>>& files() const { return files_; }

  /// The names of all files of this checkpoint, without the folder. The index is last, so that a copy made in this order is
  /// complete as soon as it counts as a checkpoint.
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
