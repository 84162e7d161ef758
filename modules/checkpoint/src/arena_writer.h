// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes the arena of a shard, a block of memory with many tensors. Tensors that change little between saves ("tables")
/// are compared with the previous checkpoint (TableWriter). If that checkpoint does not have a table, the table goes to a
/// file that a later checkpoint can share. All other tensors go to a second file.
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

  /// Appends the next bytes of the arena. InvalidArgument for more bytes than the `layout` of begin() has.
  Result<void> append(std::span<const std::byte> bytes);
  /// Completes the files of this arena. InvalidArgument unless all of the arena's bytes have been appended.
  Result<void> finish();
  /// Decides for each table of this arena whether the new checkpoint shares the table's files with the previous checkpoint
  /// (TableWriter::settle()). Call it after finish() of all arenas.
  Result<void> settle();
  /// Appends an entry to `list` for each segment: where its bytes are. Call this function after PatchFile has written the
  /// changes of tables. `patch_file` is the number that PendingFiles gave to the file with these changes.
  void list_written(uint32_t patch_file, std::vector<WrittenSegment>& list) const;

 private:
  struct Table {
    uint64_t begin, end;  // The table is the bytes [begin, end) of the arena.
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
  std::vector<File> files_;    // append() passes all bytes to each file, whose writer drops those of other tensors.
  std::vector<Table> tables_;  // In the order in which they lie in the arena.
};

}  // namespace shoal::checkpoint
