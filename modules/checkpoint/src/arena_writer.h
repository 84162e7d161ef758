// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes the arena of a shard. Tables that the previous checkpoint contains are compared with it (TableWriter). Other
/// tables go to a file that a later checkpoint can share, and all other tensors to a second file.
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data_file.h"
#include "table_writer.h"

namespace shoal::checkpoint {

class ArenaWriter {
 public:
  static Result<std::unique_ptr<ArenaWriter>> begin(const SaveParts& save, ArenaLayout layout,
                                                    const std::function<bool(const Segment&)>& is_table);

  /// Appends the arena's next bytes. InvalidArgument beyond its end.
  Result<void> append(std::span<const std::byte> bytes);
  /// Finishes the arena's files. InvalidArgument if the arena is not complete.
  Result<void> finish();
  /// Decides which files the tables of this arena share (TableWriter::settle()). Call it after finish() of all arenas.
  Result<void> settle();
  /// Appends the place of each segment to `list`. Call it after all changes are written to the pending file `patch_file`.
  void list_written(uint32_t patch_file, std::vector<WrittenSegment>& list) const;

 private:
  struct Table {
    uint64_t begin, end;  // Offsets in the arena.
    std::unique_ptr<TableWriter> writer;
  };
  struct File {
    std::unique_ptr<DataFileWriter> writer;
    uint32_t number;  // The file's number in PendingFiles.
  };
  ArenaWriter(const SaveParts& save, uint64_t bytes) : save_(save), bytes_(bytes) {}
  Result<void> add_file(FileKind kind, std::vector<Segment> segments, std::string_view name_ending);

  const SaveParts save_;
  const uint64_t bytes_;
  uint64_t position_ = 0;
  std::vector<File> files_;    // Each file gets all bytes of the arena and skips those outside of its segments.
  std::vector<Table> tables_;  // In the order of their offsets.
};

}  // namespace shoal::checkpoint
