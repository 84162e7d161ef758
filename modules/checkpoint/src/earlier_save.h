// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gives a save access to the previous checkpoint. The new checkpoint shares the files of tables that have not changed, so
/// that the save need not write them again.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "pending_files.h"
#include "piece_stream.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/checkpoint/writer.h"

namespace shoal::checkpoint {

class EarlierSave {
 public:
  /// Opens the newest checkpoint of `model_dir`. Null if there is none, or it cannot be read.
  static std::unique_ptr<EarlierSave> open(Storage& storage, const std::string& model_dir, PendingFiles& files);

  /// A table, or some rows of one, in the previous checkpoint. `piece` names files by their indexes in the manifest of that
  /// checkpoint.
  struct Found {
    const TensorEntry* tensor;
    Piece piece;
  };
  /// Finds the rows of `segment` in the previous checkpoint. They are a contiguous part of a file (a Piece), perhaps with
  /// patches: lists, in other files, of what changed in these rows later. Gives each of the files a second name, so that
  /// the data stay even if the previous checkpoint is deleted. Returns nothing if no Piece has exactly these rows, if a
  /// file cannot have a second name, if a patch is damaged, if the patches are too long, or if too much of the Piece's file
  /// is unused.
  std::optional<Found> find(const Segment& segment);
  /// Reads the rows that find() found. With `compares_file`, the bytes that the stream reads also go into the checksum of
  /// the file, so that is_intact() need not read them again. For a file with several Pieces, open one such stream for each.
  PieceStream stream(const Found& found, bool compares_file);
  /// True if the file that contains `piece` has the checksum that the previous checkpoint states for it. Call it once all
  /// streams made by stream() were read to their end.
  bool is_intact(const Piece& piece);
  /// Keeps the first error of reading the previous checkpoint, for damage().
  void note(const Error& error);
  /// The first error of reading the previous checkpoint. Nothing if all that was read of it is intact.
  const std::optional<std::string>& damage() const { return damage_; }
  /// Returns Unavailable: two readings of the previous checkpoint gave different bytes, so this save cannot use it.
  Error unsteady(const std::string& why);
  bool is_unsteady() const { return unsteady_; }
  /// Makes the new checkpoint share the files that contain the rows of `piece` and their patches. `piece` names these files
  /// by their indexes in the earlier manifest; the result names the same files by their indexes in PendingFiles.
  Piece take(Piece piece);

 private:
  EarlierSave(Storage& storage, PendingFiles& files, std::string folder, std::unique_ptr<Reader> reader);
  bool merges(const Piece& piece) const;
  bool link(uint32_t file);
  uint32_t take_file(uint32_t file);

  Storage& storage_;
  PendingFiles& files_;
  const std::string folder_;
  const std::unique_ptr<Reader> reader_;
  // The key is the index of a file in the earlier manifest. link() tried to give this file a second name, for the new
  // checkpoint. The value is the index of the new name in PendingFiles; nothing if the attempt failed.
  std::map<uint32_t, std::optional<uint32_t>> links_;
  std::map<uint32_t, FileCheck> checks_;  // By file.
  std::map<uint32_t, bool> intact_;       // By file: the result of is_intact(), once it was called for a piece of the file.
  std::vector<uint64_t> used_;            // By file: how many of its bytes the previous checkpoint uses.
  size_t patch_files_ = 0;
  std::optional<std::string> damage_;
  bool unsteady_ = false;
};

}  // namespace shoal::checkpoint
