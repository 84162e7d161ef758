// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads one piece of a tensor (some rows, in one file of a checkpoint) from its first byte to its last. Applies the
/// piece's patches: changes that later saves wrote to other files.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/checksum.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

using OpenFiles = std::vector<std::unique_ptr<ReadableFile>>;  // In the order of Manifest::files.

/// Reads a region of a file in order through a large buffer, and computes its checksum.
class RegionReader {
 public:
  RegionReader(const ReadableFile& file, uint64_t offset, uint64_t bytes) : file_(&file), at_(offset), left_(bytes) {}
  /// Reads the next bytes of the region. DataLoss if fewer are left.
  Result<void> read(std::span<std::byte> out);
  uint64_t left() const { return left_ + (buffer_.size() - buffer_at_); }
  uint64_t checksum() const { return checksum_.value(); }

 private:
  const ReadableFile* file_;
  uint64_t at_;
  uint64_t left_;  // How many bytes of the region were not read into buffer_ yet.
  std::vector<std::byte> buffer_;
  size_t buffer_at_ = 0;
  Checksum checksum_;
};

/// Computes the checksum of a whole file while other objects read parts of it in order. Reads the gaps between them itself.
class FileCheck {
 public:
  FileCheck(const ReadableFile& file, uint64_t expected) : file_(&file), expected_(expected) {}
  /// Reports that `bytes` were read at `offset`.
  Result<void> pass(uint64_t offset, std::span<const std::byte> bytes);
  /// Reads the file from the last reported byte to its end. Call it after the last pass(). Returns false if the file's
  /// checksum is wrong, or if the calls of pass() were not in the order of their offsets.
  Result<bool> finish();

 private:
  Result<void> read_to(uint64_t end);

  const ReadableFile* file_;
  uint64_t expected_;
  uint64_t at_ = 0;
  bool in_order_ = true;
  Checksum checksum_;
};

/// Reads one piece of a tensor and applies its patches, so that the rows are those of the newest save. Errors: for damage
/// DataLoss of the form "file F, variable V: ...", and the errors of ReadableFile.
class PieceStream {
 public:
  /// `manifest`, `files`, `tensor` and `whole` have to outlive the stream. If `whole` is not null, the stream passes to it
  /// the bytes that it reads from the piece's file, before patches change them. `whole` computes the file's checksum.
  PieceStream(const Manifest& manifest, const OpenFiles& files, const TensorEntry& tensor, Piece piece,
              FileCheck* whole = nullptr);

  /// Fills `out` with the next bytes of the piece. `out` may have any size up to the number of bytes that are left.
  Result<void> next(std::span<std::byte> out);
  /// Compares the checksums of the piece and its patches with the manifest. Call it after next() has read the last byte.
  Result<void> finish() const;

 private:
  /// Walks over one patch, a list of blocks (units) of the piece that have changed. `unit` has the new bytes of the next
  /// unit to apply.
  struct Cursor {
    Patch patch;
    RegionReader numbers, units;
    std::optional<uint64_t> number;  // `unit` is this block of the piece, counted from 0. Nothing: all are applied.
    std::vector<std::byte> unit;
  };
  Result<void> advance(Cursor& cursor) const;
  Result<void> apply(Cursor& cursor, std::span<std::byte> out) const;
  Error damaged(uint32_t file, const std::string& what) const;
  Result<void> compare(uint32_t file, uint64_t found, uint64_t expected) const;

  const Manifest& manifest_;
  const OpenFiles& files_;
  const TensorEntry& tensor_;
  const Piece piece_;
  FileCheck* const whole_;
  uint64_t at_ = 0;
  Checksum checksum_;
  std::vector<Cursor> cursors_;
};

}  // namespace shoal::checkpoint
