// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads one piece of a tensor from its first byte to its last, with its patches applied.
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
  uint64_t left_;  // The bytes that are not in the buffer yet.
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
  /// Reads the rest of the file. Call it after all parts. Returns false if the checksum differs, or if the parts were not
  /// in order.
  Result<bool> finish();

 private:
  Result<void> read_to(uint64_t end);

  const ReadableFile* file_;
  uint64_t expected_;
  uint64_t at_ = 0;
  bool in_order_ = true;
  Checksum checksum_;
};

/// Errors: DataLoss of the form "file F, variable V: ..." for damage, and the errors of reading a file.
class PieceStream {
 public:
  /// `manifest`, `files` and `tensor` have to outlive the stream, and so has `whole`, which gets the unpatched bytes as
  /// they are read. `whole` may be null.
  PieceStream(const Manifest& manifest, const OpenFiles& files, const TensorEntry& tensor, Piece piece,
              FileCheck* whole = nullptr);

  /// Reads the next bytes of the piece: any number up to its end.
  Result<void> next(std::span<std::byte> out);
  /// Compares all checksums. Call it after next() has read the whole piece.
  Result<void> finish() const;

 private:
  /// The position in a patch: its next unit.
  struct Cursor {
    Patch patch;
    RegionReader numbers, units;
    std::optional<uint64_t> number;  // The number of `unit`. Nothing: the patch has no further unit.
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
