// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes one data file: a safetensors file under a temporary name. The caller appends the bytes of an arena (one block of
/// memory that holds many tensors) in parts.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/checksum.h"
#include "shoal/checkpoint/writer.h"

namespace shoal::checkpoint {

/// The place of one segment in the file, for the manifest.
struct WrittenSegment {
  Segment segment;
  Piece piece;  ///< The caller sets piece.file.
};

/// The name of a segment in a data file: "table", or "table[100:200]" for some of its rows.
std::string name_in_file(const Segment& segment);

/// InvalidArgument if `layout` contradicts itself or contains something that cannot be saved.
Result<void> check_layout(const ArenaLayout& layout);

class DataFileWriter {
 public:
  /// Checks `layout` (InvalidArgument), creates the file and writes its header, in which `name_ending` is appended to each
  /// name.
  static Result<std::unique_ptr<DataFileWriter>> create(Storage& storage, std::string path, ArenaLayout layout,
                                                        int64_t global_step, std::string_view name_ending = {});
  /// Takes the next bytes of the arena, which has the `layout` of create(). Writes those bytes that belong to a segment of
  /// this layout (a tensor or some of its rows), and drops all others. InvalidArgument for more bytes than the layout has.
  Result<void> append(std::span<const std::byte> bytes);
  /// Syncs and closes the file. InvalidArgument if fewer bytes were appended than the layout has.
  Result<void> finish();

  /// The functions below are valid after finish().
  uint64_t bytes() const { return file_bytes_; }
  uint64_t checksum() const { return file_checksum_.value(); }
  const std::vector<WrittenSegment>& segments() const { return written_; }

 private:
  DataFileWriter(std::string path, ArenaLayout layout, std::unique_ptr<WritableFile> file)
      : path_(std::move(path)), layout_(std::move(layout)), file_(std::move(file)) {}
  Result<void> write(std::span<const std::byte> bytes);
  void close_complete_segments();

  std::string path_;
  ArenaLayout layout_;
  std::unique_ptr<WritableFile> file_;
  uint64_t arena_position_ = 0;
  uint64_t file_bytes_ = 0;
  Checksum file_checksum_;
  Checksum segment_checksum_;            // The checksum so far of the segment with index written_.size().
  std::vector<WrittenSegment> written_;  // The tensors (or parts of tensors) whose last byte has been written.
};

}  // namespace shoal::checkpoint
