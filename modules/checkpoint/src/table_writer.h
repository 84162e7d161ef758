// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Saves one table, or some rows of one, and compares it with the checkpoint before while its bytes pass. It writes nothing if nothing
/// changed, the changed rows if few changed, and a file of the table's own if many changed.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data_file.h"
#include "earlier_save.h"
#include "patch_file.h"
#include "pending_files.h"

namespace shoal::checkpoint {

/// What the parts of one save share.
struct SaveParts {
  Storage& storage;
  PendingFiles& files;
  EarlierSave* earlier;  ///< Null: everything is written.
  PatchFile& patches;
  int64_t global_step;
};

class TableWriter {
 public:
  /// `earlier` is what EarlierSave::find() gave for `segment`.
  TableWriter(const SaveParts& save, Segment segment, EarlierSave::Found earlier);

  /// The segment's next bytes, up to its last.
  Result<void> append(std::span<const std::byte> bytes);
  /// Decides which files the new checkpoint takes over for this table. Call it after the last bytes of all tables came.
  Result<void> settle();
  /// Returns where the table lies. Call it after all changes are written to the pending file `patch_file`.
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
  uint64_t came_ = 0;  // Bytes that were appended.
  Checksum checksum_;  // Of what came.

  EarlierSave::Found earlier_;
  std::optional<PieceStream> stream_;  // While it is compared.
  std::vector<std::byte> block_;       // What came and is not compared yet; shorter than a block.
  std::vector<std::byte> before_;      // The same bytes of the checkpoint before.
  uint64_t compared_ = 0;
  uint64_t changed_bytes_ = 0, patch_bytes_ = 0;  // Of units, and of what goes to the file for them.
  ChangedUnits changes_;
  std::optional<size_t> patch_;  // The number of changes_ among the save's, once settled.

  std::unique_ptr<DataFileWriter> file_;  // Once it is written whole.
  uint32_t file_number_ = 0;
  Piece piece_;  // Once settled.
};

}  // namespace shoal::checkpoint
