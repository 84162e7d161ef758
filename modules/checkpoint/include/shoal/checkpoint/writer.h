// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Saves a checkpoint so that, killed at any instant, the folder still leads to a complete one (CONTRACT CK-4).
///
///   SHOAL_TRY(auto writer, Writer::begin(storage, model_dir, step));
///   SHOAL_TRY(auto arena, writer->add_arena(layout));             // One per shard.
///   SHOAL_TRY_VOID(writer->append(arena, part));                  // In parts of any size, in order.
///   SHOAL_TRY(auto saved, writer->commit(info, {.keep_max = 5}));
///
/// In place of commit(): finish(), whatever has to be asked, publish().
///
/// The order: data files under temporary names that no other writer has, on any host, complete and synced; renamed; index
/// last, by rename; folder synced; then the text file `checkpoint` replaced by rename; then old checkpoints deleted. Data
/// files of an earlier save of the same step are never overwritten: the new save uses other names, so the index changes
/// from the one to the other in one instant.
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// One tensor, or some of its rows, inside an arena.
struct Segment {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;          ///< The shape of the whole tensor.
  std::string slot_of;  ///< What TensorEntry::slot_of says.
  uint64_t offset = 0;  ///< Bytes from the start of the arena.
  int64_t row_begin = 0;
  int64_t row_end = -1;  ///< -1: to the last row.
  /// Most saves find little of it changed, or nothing: a table that is updated by rows, a frozen layer (Sharing).
  bool changes_little = false;

  int64_t rows() const;  ///< How many rows this segment holds.
  uint64_t bytes() const;
};

/// One contiguous arena of which the segments name the parts. It goes to one data file; with Sharing, tables go to files of their
/// own. Bytes between segments (padding) are
/// expected in append() and not written. Several arenas of a shard (weights, then slots) are one arena laid end to end.
struct ArenaLayout {
  uint64_t bytes = 0;
  std::vector<Segment> segments;  ///< In order of offset, and not overlapping.
};

using WarningSink = std::function<void(const std::string& sentence)>;

struct CommitOptions {
  /// Retained checkpoints, this one included; 0: all (CONTRACT CK-11).
  int64_t keep_max = 5;
  /// Names ("model.ckpt-200") that must not be deleted now, since somebody reads them: they stay listed until a later
  /// save finds them free.
  std::set<std::string> pinned = {};
  /// Asked about each checkpoint that is to leave the list, oldest first, before the list is replaced: true keeps its files
  /// for good (CONTRACT CK-12). Default: all are deleted.
  std::function<bool(const std::string& name)> keeps_for_good = {};
  /// Told about old files that could not be deleted (CONTRACT CK-13), and about damage that was found in the checkpoint before. Default:
  /// nobody.
  WarningSink warn = {};
};

struct Saved {
  std::string name;                   ///< "model.ckpt-200".
  std::string prefix;                 ///< The name with the folder.
  std::vector<std::string> retained;  ///< Names, oldest to newest; the last is `name`.
  std::vector<std::string> kept;      ///< Names that left the list and stay on disk for good.
  uint64_t data_bytes = 0;            ///< Bytes of all its data files.
  uint64_t written_bytes = 0;         ///< Bytes of those that it does not share with the checkpoint before.
  Manifest manifest = {};  ///< What the index says; its text is encode_manifest() of this.
};

/// With Sharing, a save compares each tensor that changes little with the newest checkpoint of the folder. If nothing of it changed, the save
/// takes over its file by a second name (Storage::link). If at most a quarter changed, the save writes that alone (Patch). Otherwise, or if
/// the file system has no second names, it writes the tensor whole. Use it only for a folder into which nobody else writes: files that were
/// taken over have old times, so another writer would take them for abandoned.
struct Sharing {
  uint64_t bytes_min = uint64_t(1) << 20;     ///< Smaller tensors are written whole with each save.
  uint64_t changes_max = uint64_t(16) << 20;  ///< Bytes of changes that a save may hold in memory.
};

/// A save in progress. One thread at a time. Destroyed before it is published, it removes its files, and the checkpoint
/// before stays the newest.
///
/// Errors while saving (disk full, not writable, input/output) are Unavailable and name path and cause; the previous
/// checkpoint stays intact (CONTRACT FA-7). A layout that contradicts itself or another file's is InvalidArgument.
class Writer {
 public:
  /// The first data file also clears what killed saves left an hour ago or more.
  enum class Folder {
    kMadeIfMissing,
    kIsThere,  ///< A folder that went while its run was under way is not made anew (CONTRACT RU-4).
  };
  /// Without `sharing`, everything is written.
  static Result<std::unique_ptr<Writer>> begin(Storage& storage, std::string model_dir, int64_t global_step,
                                               Folder folder = Folder::kMadeIfMissing, std::optional<Sharing> sharing = {});
  virtual ~Writer() = default;

  /// Starts an arena; returns its number for append(). Arenas may be filled in turns.
  virtual Result<int> add_arena(ArenaLayout layout) = 0;
  /// The next bytes of that arena. Checksums are computed as they pass.
  virtual Result<void> append(int arena, std::span<const std::byte> bytes) = 0;
  /// A whole arena from tensors in memory, each complete.
  struct NamedTensor {
    std::string name;
    TensorView tensor;
    std::string slot_of = {};
    bool changes_little = false;
  };
  virtual Result<void> add_tensors(std::span<const NamedTensor> tensors) = 0;
  /// Every arena is complete, and the pieces of each tensor are exactly its rows: else InvalidArgument. After it all
  /// data is on disk, and nothing refers to it: who may have lost the right to say what is the newest, while all that was
  /// written, looks again now. Once.
  virtual Result<void> finish(SaveInfo info) = 0;
  /// Makes it the newest, after finish().
  virtual Result<Saved> publish(CommitOptions options) = 0;
  /// After an error of append() or finish(): returns true if the checkpoint before could not be read. A save without sharing may then succeed.
  virtual bool sharing_failed() const = 0;
  /// Calls finish() and then publish().
  Result<Saved> commit(SaveInfo info, CommitOptions options) {
    SHOAL_TRY_VOID(finish(std::move(info)));
    return publish(std::move(options));
  }
};

}  // namespace shoal::checkpoint
