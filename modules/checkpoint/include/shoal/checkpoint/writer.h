// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Saves a checkpoint. If the process is killed at any moment, the folder still leads to a complete checkpoint.
///
///   SHOAL_TRY(auto writer, Writer::begin(storage, model_dir, step));
///   SHOAL_TRY(auto arena, writer->add_arena(layout));             // One per shard.
///   SHOAL_TRY_VOID(writer->append(arena, part));                  // In parts of any size, in order.
///   SHOAL_TRY(auto saved, writer->commit(info, {.keep_max = 5}));
///
/// Instead of commit(), a caller may call finish(), check whether it may still publish, and call publish().
///
/// Order of writing: data files under temporary names that no other writer on any host uses, complete and synced; their
/// renames; the index, also by rename; a sync of the folder; the rename that replaces the text file `checkpoint`; then the
/// deletion of old checkpoints. Data files of an earlier save of the same step are never overwritten: the new save uses
/// other names, so the one rename of the index switches from the earlier save to the new one.
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

/// One tensor, or some of its rows, inside an arena: a block of memory that holds many tensors (ArenaLayout).
struct Segment {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;          ///< The shape of the whole tensor.
  std::string slot_of;  ///< For an optimizer's slot (such as a momentum): its variable. Empty for a variable.
  uint64_t offset = 0;  ///< Bytes from the start of the arena.
  int64_t row_begin = 0;
  int64_t row_end = -1;  ///< -1: up to the last row.
  /// True if little or nothing of the tensor changes between most saves, as in a table that is updated by rows, or in a
  /// frozen layer. Such a tensor may share its file with the previous checkpoint (Sharing).
  bool changes_little = false;

  int64_t rows() const;  ///< The number of rows of this segment.
  uint64_t bytes() const;
};

/// The layout of one arena, a block of bytes in which each segment has its place. An arena is written to one data file;
/// with Sharing, tables are written to files of their own. append() takes the bytes between segments (padding), too, but
/// does not write them. If a shard has several arenas (weights, then slots), lay them end to end in one layout.
struct ArenaLayout {
  uint64_t bytes = 0;
  std::vector<Segment> segments;  ///< In the order of offsets, without overlaps.
};

using WarningSink = std::function<void(const std::string& sentence)>;

struct CommitOptions {
  /// How many checkpoints the text file `checkpoint` lists after this save, the new one included. 0: no limit.
  int64_t keep_max = 5;
  /// Names ("model.ckpt-200") of checkpoints that this save must not delete, since a reader uses them. The text file
  /// `checkpoint` still lists them, and a later save whose `pinned` lacks them may delete them.
  std::set<std::string> pinned = {};
  /// Called for each checkpoint that the text file `checkpoint` will no longer list because of keep_max, oldest first,
  /// before the file is replaced. If it returns true, the checkpoint's files stay on disk for good. Default: all are
  /// deleted.
  std::function<bool(const std::string& name)> keeps_for_good = {};
  /// Receives warnings: about old files that could not be deleted (which does not fail the save), and about damage found in
  /// the previous checkpoint. Default: the warnings are dropped.
  WarningSink warn = {};
};

struct Saved {
  std::string name;                   ///< "model.ckpt-200".
  std::string prefix;                 ///< The name with its folder: "m/model.ckpt-200".
  std::vector<std::string> retained;  ///< Names that the file `checkpoint` now lists, oldest to newest; the last is `name`.
  std::vector<std::string> kept;      ///< Names that left the list with this save, but whose files stay for good.
  uint64_t data_bytes = 0;            ///< The size of all data files of the checkpoint.
  uint64_t written_bytes = 0;         ///< The size of those data files that are not shared with the previous checkpoint.
  Manifest manifest = {};             ///< The contents of the index, whose text is encode_manifest().
};

/// Lets a save share files with the newest checkpoint of the folder. The save compares each tensor that changes little with
/// that checkpoint. If nothing of the tensor changed, its file gets a second name (Storage::link). If at most a quarter
/// changed, only the changes are written (Patch). Otherwise, or if the file system has no second names, the whole tensor is
/// written. Use it only for a folder into which no other process writes: shared files have old times, so another writer
/// would take them for abandoned.
struct Sharing {
  uint64_t bytes_min = uint64_t(1) << 20;     ///< Smaller tensors are written whole with each save.
  uint64_t changes_max = uint64_t(16) << 20;  ///< Bytes of changes that a save may hold in memory.
};

/// A save in progress, used by one thread at a time. If a Writer is destroyed before publish(), it removes its files, and
/// the previous checkpoint stays the newest.
///
/// If files cannot be written (disk full, no permission, input/output error), functions return Unavailable, with the path
/// and the cause; the previous checkpoint stays intact. They return InvalidArgument for a layout that contradicts itself,
/// or another layout of the same save.
class Writer {
 public:
  /// Whether a save makes the folder `model_dir` if it is missing.
  enum class Folder {
    kMadeIfMissing,
    kIsThere,  ///< The folder must exist. If it was removed during training, it is not made again.
  };
  /// Starts a save. Without `sharing`, all tensors are written whole.
  static Result<std::unique_ptr<Writer>> begin(Storage& storage, std::string model_dir, int64_t global_step,
                                               Folder folder = Folder::kMadeIfMissing, std::optional<Sharing> sharing = {});
  virtual ~Writer() = default;

  /// Starts an arena, a block of bytes that holds many tensors, and returns the number to pass to append(). Calls of
  /// append() for several arenas may alternate.
  virtual Result<int> add_arena(ArenaLayout layout) = 0;
  /// Appends the next bytes of an arena to its file, and adds them to the checksums. `arena` is the number that add_arena()
  /// returned.
  virtual Result<void> append(int arena, std::span<const std::byte> bytes) = 0;
  /// A complete tensor in memory. add_tensors() adds a whole arena made of such tensors.
  struct NamedTensor {
    std::string name;
    TensorView tensor;
    std::string slot_of = {};
    bool changes_little = false;
  };
  virtual Result<void> add_tensors(std::span<const NamedTensor> tensors) = 0;
  /// Completes all data files. InvalidArgument unless every arena is complete and the pieces of each tensor are exactly its
  /// rows. After this call all data are on the disk but nothing refers to them. Saving may take long, and the caller may
  /// lose the right to publish meanwhile: it should check this right after finish(). Call finish() once.
  virtual Result<void> finish(SaveInfo info) = 0;
  /// Makes the checkpoint the newest one. Call it after finish().
  virtual Result<Saved> publish(CommitOptions options) = 0;
  /// After an error of append() or finish(): true if the previous checkpoint could not be read, so that a save without
  /// sharing may succeed.
  virtual bool sharing_failed() const = 0;
  /// Calls finish() and then publish().
  Result<Saved> commit(SaveInfo info, CommitOptions options) {
    SHOAL_TRY_VOID(finish(std::move(info)));
    return publish(std::move(options));
  }
};

}  // namespace shoal::checkpoint
