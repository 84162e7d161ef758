// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The checkpoint before. A save takes over files of it instead of writing the same bytes again.
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
  /// The newest checkpoint of `model_dir`. Null if there is none, or none that can be read.
  static std::unique_ptr<EarlierSave> open(Storage& storage, const std::string& model_dir, PendingFiles& files);

  /// A piece of the checkpoint before; its files are numbers of that one's manifest.
  struct Found {
    const TensorEntry* tensor;
    Piece piece;
  };
  /// Finds the piece that has exactly the rows of `segment`, and gives a second name to each file that it lies in. So these files stay, even
  /// if the checkpoint before is deleted. Returns nothing if there is no such piece, if a file cannot have a second name, if a patch is
  /// damaged, or if the patches or the unused rest of the file have become too long.
  std::optional<Found> find(const Segment& segment);
  /// Reads the rows that find() found. With `compares_file`, is_intact() uses what this stream reads; open one such stream for each piece.
  PieceStream stream(const Found& found, bool compares_file);
  /// Returns true if the file of `piece` has the checksum that the checkpoint before says. Call it after the streams of all pieces were
  /// read.
  bool is_intact(const Piece& piece);
  /// Keeps the first error of reading the checkpoint before, for damage().
  void note(const Error& error);
  /// The first error of reading the checkpoint before. Nothing if all that was read of it is right.
  const std::optional<std::string>& damage() const { return damage_; }
  /// Returns Unavailable: a second reading of the checkpoint before gave other bytes than the first, so this save cannot use it.
  Error unsteady(const std::string& why);
  bool is_unsteady() const { return unsteady_; }
  /// Marks the files of `piece` as named, and returns the piece with their numbers among the pending files.
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
  std::map<uint32_t, std::optional<uint32_t>> links_;  // By file that was asked for: its pending file, if it has one.
  std::map<uint32_t, FileCheck> checks_;               // By file.
  std::map<uint32_t, bool> intact_;                    // What is_intact() found, by file.
  std::vector<uint64_t> used_;                         // How many bytes of each file are part of the checkpoint before.
  size_t patch_files_ = 0;
  std::optional<std::string> damage_;
  bool unsteady_ = false;
};

}  // namespace shoal::checkpoint
