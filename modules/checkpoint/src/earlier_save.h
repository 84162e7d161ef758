// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The checkpoint before, as far as a save can take files of it instead of writing the same bytes again.
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
  /// The piece that holds the very rows of `segment`, if its files may be taken over. They have a second name from here on: whoever
  /// deletes the checkpoint before does not take them away. Nothing where a file cannot have such a name, its patches are damaged, or
  /// long, or most of the file is of no use any more.
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
  /// The piece for the new checkpoint, with the numbers that its files have among the pending ones. They are named from here on.
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
