// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Saves one table, or some rows of one. It compares the table's bytes, as they are appended, with those in the previous
/// checkpoint. It writes nothing if nothing changed, the changed rows if few changed, and a file for this table alone if
/// many changed.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data_file.h"
#include "earlier_save.h"
#include "patch_file.h"
#include "pending_files.h"

namespace shoal::checkpoint {

/// Objects that the parts of one save share.
struct SaveParts {
  Storage& storage;
  PendingFiles& files;
  EarlierSave* earlier;  ///< The previous checkpoint. Null: there is none to share with, so tables are written whole.
  PatchFile& patches;
  int64_t global_step;
};

class TableWriter {
 public:
  /// `earlier` is the result of EarlierSave::find() for `segment`.
  TableWriter(const SaveParts& save, Segment segment, EarlierSave::Found earlier);

  /// Appends the segment's next bytes, at most up to its end.
  Result<void> append(std::span<const std::byte> bytes);
  /// Decides whether the new checkpoint shares the table's files with the previous checkpoint, or has a new file for the
  /// table. Call it after the last bytes of all tables were appended.
  Result<void> settle();
  /// Returns where the table's bytes are, for the manifest. `patch_file` is the number that PendingFiles has given to the
  /// file with the changed rows of all tables. Call this function after PatchFile has written that file.
  WrittenSegment written(uint32_t patch_file) const;

 private:
  Result<void> compare_block();
  bool collect_changes();
  Result<void> complete();
  Result<void> write_whole();
  void put(const ChangedUnits::Block& changed, uint64_t at);
  bool is_complete() const { return came_ == segment_.bytes(); }

  const SaveParts save_;
  const Segment segment_;
  const uint64_t unit_bytes_;
  const uint64_t block_bytes_;
  uint64_t came_ = 0;  // The number of bytes appended so far.
  Checksum checksum_;  // The checksum of the bytes appended so far.

  EarlierSave::Found earlier_;
  std::optional<PieceStream> stream_;  // Reads the previous checkpoint's bytes of the table.
  std::vector<std::byte> block_;       // Appended bytes, not yet compared with the previous checkpoint; less than a block.
  std::vector<std::byte> before_;      // What the previous checkpoint has for the rows in block_.
  uint64_t compared_ = 0;
  // The size of the changed units (as a rule, rows), and the size that they take in a PatchFile, which also stores the
  // number of each unit.
  uint64_t changed_bytes_ = 0, patch_bytes_ = 0;
  ChangedUnits changes_;
  std::optional<size_t> patch_;  // The number by which PatchFile knows changes_, once settle() has added them.

  std::unique_ptr<DataFileWriter> file_;  // The table's own file, if it is written whole.
  uint32_t file_number_ = 0;
  Piece piece_;  // Valid once settled.
};

}  // namespace shoal::checkpoint
