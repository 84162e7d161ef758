// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the residuals of trainers that compress gradients with top-k (error feedback). A residual has the gradient
/// values that the trainer has not sent yet. It is as large as a dense gradient, so trainers send it only for checkpoints.
///
/// hold() begins a snapshot. When a trainer makes its next push, the server's reply asks for the residual that the trainer
/// had before this push: that is the one that belongs to the snapshot. If all trainers wait for the chief while it saves
/// (synchronous updates), no trainer makes a next push in time. So the chief announces the checkpoint in its own push of
/// an update (kStatusSaveBit), and the replies to the other trainers' pushes of this update ask for residuals.
#include <map>
#include <span>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/result.h"
#include "shoal/transport/message.h"
#include "state/trainer_record.h"

namespace shoal::cluster {

using TrainerRecords = std::map<int, TrainerRecord>;

class Residuals {
 public:
  explicit Residuals(BufferPool& pool) : pool_(pool) {}

  /// Forgets all residuals, since another model was loaded (a new epoch). A residual of the new model has `arena_bytes`
  /// bytes, as many as a dense gradient.
  void restart(uint64_t arena_bytes);
  /// Returns memory for `part`, a part of the residual that a checkpoint has stored for `trainer`. InvalidArgument if the
  /// part ends beyond the residual's size. If memory has run out, this function and take() raise that error
  /// (raise_exhausted()), and have changed nothing.
  Result<std::span<std::byte>> place_to_restore(int trainer, const transport::SnapshotPart& part);
  /// Forgets a partly received residual of `trainer`, since the sending process or its last connection is gone.
  void forget_parts(int trainer) { coming_.erase(trainer); }
  /// Takes the next part of a residual from `trainer` itself. part.version is the number of a push: the trainer had this
  /// residual after it had made that push. InvalidArgument unless that is the trainer's newest push or its last push in the
  /// snapshot, and if `part` is not the next part in order.
  Result<void> take(int trainer, const TrainerRecord& record, const transport::SnapshotPart& part);
  /// Called when the push `sequence` of `trainer` was applied: a residual from before this push is out of date.
  void pushed(int trainer, uint64_t sequence);
  /// The trainer's current residual; null if it is not known or there is none.
  Ref<const Buffer> newest_of(int trainer) const;

  /// Begins a snapshot of all residuals, as they are after the newest push of each trainer. Replaces an earlier
  /// snapshot. Returns the new snapshot's number.
  uint64_t hold(const TrainerRecords& trainers);
  /// Frees snapshot `hold`. Does nothing if a newer snapshot has replaced it.
  void release(uint64_t hold);
  /// True if there is a snapshot, and some trainer has a residual for it.
  bool wanted() const { return !held_.empty(); }
  /// True if the reply to the trainer's newest push has to ask the trainer for its residual.
  bool asks(int trainer, const TrainerRecord& record) const;
  /// The connected trainers that still have to send a residual for the snapshot.
  std::vector<int> awaited(const TrainerRecords& trainers) const;
  /// The number of bytes of residuals received so far.
  uint64_t bytes_taken() const { return bytes_taken_; }
  /// The trainers whose residuals the snapshot has in full, ascending.
  std::vector<int> held() const;
  /// The residual of `trainer` in snapshot `hold`. Null if this snapshot has no residual of the trainer, or if a newer
  /// snapshot has replaced this one.
  Ref<const Buffer> held_of(int trainer, uint64_t hold) const;

 private:
  struct Coming {
    Ref<Buffer> arena;
    uint64_t filled = 0;
    uint64_t after = 0;  // The newest push that the residual includes.
  };
  struct Due {
    uint64_t incarnation = 0;
    uint64_t last_push = 0;  // The trainer's newest push in the snapshot.
    // The number of the first push after the snapshot; the reply to this push asks for the residual. 0: no such push yet.
    uint64_t next_push = 0;
    Ref<const Buffer> arena;
  };
  static bool is_asked(const Due& due, const TrainerRecord& record);
  Due* due_of(int trainer, const TrainerRecord& record, uint64_t push);

  BufferPool& pool_;
  uint64_t arena_bytes_ = 0;
  uint64_t bytes_taken_ = 0;
  std::map<int, Coming> coming_;
  std::map<int, Ref<Buffer>> newest_;
  uint64_t hold_ = 0;
  std::map<int, Due> held_;
};

}  // namespace shoal::cluster
