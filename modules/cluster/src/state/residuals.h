// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What trainers that compress with top-k have kept back (error feedback), as a server knows it. Usually it does not: a
/// residual is as large as a dense gradient, and travels for checkpoints only. After a hold the server asks each trainer,
/// in the reply to its next push, for what it had kept before that push: which belongs to the very version that is held. A
/// chief whom all wait for says before that it will save, and the replies to that update ask (kStatusSaveBit).
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

  /// A new epoch begins, with arenas of so many bytes.
  void restart(uint64_t arena_bytes);
  /// Where a part, of a checkpoint, of what `trainer` goes on from has to be copied. InvalidArgument if it is beyond
  /// the end.
  Result<std::span<std::byte>> place_to_restore(int trainer, const transport::SnapshotPart& part);
  /// What `trainer` was sending will not be ended: its process, or its last connection, is gone.
  void forget_parts(int trainer) { coming_.erase(trainer); }
  /// Takes a part from the trainer itself, of what it kept after its push of number `part.version`: the newest, or the
  /// last that the held state has. InvalidArgument if it is of another push, or not the next part.
  Result<void> take(int trainer, const TrainerRecord& record, const transport::SnapshotPart& part);
  /// Its push of this number is applied: what it kept before is not what it keeps.
  void pushed(int trainer, uint64_t sequence);
  /// What `trainer` keeps now; null if that is not known, or nothing.
  Ref<const Buffer> newest_of(int trainer) const;

  /// The state is held, as the newest push of each trainer left it. One state at a time, the newest; gives its number.
  uint64_t hold(const TrainerRecords& trainers);
  /// Does nothing if another state is held by now.
  void release(uint64_t hold);
  /// True if a state is held that somebody's residual belongs to.
  bool wanted() const { return !held_.empty(); }
  /// Whether the reply to the trainer's newest push has to ask.
  bool asks(int trainer, const TrainerRecord& record) const;
  /// Who is there and has still to send what belongs to the held state.
  std::vector<int> awaited(const TrainerRecords& trainers) const;
  /// A count that grows as that comes.
  uint64_t bytes_taken() const { return bytes_taken_; }
  /// The trainers whose residuals the held state has whole, ascending.
  std::vector<int> held() const;
  /// What the state of `hold` has of `trainer`; null if another one is held, or there is nothing.
  Ref<const Buffer> held_of(int trainer, uint64_t hold) const;

 private:
  struct Coming {
    Ref<Buffer> arena;
    uint64_t filled = 0;
    uint64_t after = 0;  // The push behind which it was.
  };
  struct Due {
    uint64_t incarnation = 0;
    uint64_t last_push = 0;  // The trainer's newest push that the held state has.
    uint64_t next_push = 0;  // The first push that it has not, whose reply asks; 0 if there is none yet.
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
