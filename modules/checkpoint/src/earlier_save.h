// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The previous checkpoint, as a save sees it. The save shares files with it instead of writing the same bytes again.
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

  /// A piece of the previous checkpoint. Its files are indexes into that checkpoint's manifest.
  struct Found {
    const TensorEntry* tensor;
    Piece piece;
  };
  /// Finds the piece that has exactly the rows of `segment`, and gives a second name to each file that it lies in, so that
  /// these files stay even if the previous checkpoint is deleted. Returns nothing if there is no such piece, if a file
  /// cannot have a second name, if a patch is damaged, or if the patches or the unused part of the file have become too
  /// long.
  std::optional<Found> find(const Segment& segment);
  /// Reads the rows that find() found. With `compares_file`, is_intact() uses the bytes that this stream reads; open one
  /// such stream for each piece.
  PieceStream stream(const Found& found, bool compares_file);
  /// True if the file of `piece` has the checksum that the previous checkpoint states. Call it after the streams of all
  /// pieces were read to their end.
  bool is_intact(const Piece& piece);
  /// Keeps the first error of reading the previous checkpoint, for damage().
  void note(const Error& error);
  /// The first error of reading the previous checkpoint. Nothing if all that was read of it is intact.
  const std::optional<std::string>& damage() const { return damage_; }
  /// Returns Unavailable: two readings of the previous checkpoint gave different bytes, so this save cannot use it.
  Error unsteady(const std::string& why);
  bool is_unsteady() const { return unsteady_; }
  /// Includes the files of `piece` in the new checkpoint, and returns the piece with their numbers in PendingFiles.
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
  // For each file by its index: the number of its second name in PendingFiles; nothing if it could not get one.
  std::map<uint32_t, std::optional<uint32_t>> links_;
  std::map<uint32_t, FileCheck> checks_;  // By file.
  std::map<uint32_t, bool> intact_;       // For each file: the result of is_intact().
  std::vector<uint64_t> used_;            // For each file: how many bytes the previous checkpoint uses.
  size_t patch_files_ = 0;
  std::optional<std::string> damage_;
  bool unsteady_ = false;
};

}  // namespace shoal::checkpoint
