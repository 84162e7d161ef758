// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a parameter server holds, and how requests and orders change it. No waiting, no connections: those are in server/.
///
/// What takes long with a large shard is a step of its own, which may run on another thread, one at a time ("any thread"
/// below); the steps around it, and everything else, run on the strand. Meanwhile the strand may ask for all that does not
/// say "between steps".
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shoal/cluster/protocol.h"
#include "shoal/transport/message.h"
#include "state/parted_arena.h"
#include "state/residuals.h"
#include "state/server_part.h"

namespace shoal::cluster {

/// State held for a snapshot: references, so training goes on.
struct HeldState {
  StateText text;
  std::vector<PartedArena> arenas;  ///< Arenas by ArenaIndex: weights, then slots.
  uint64_t residuals = 0;           ///< The number of this hold among the residuals; 0 if none are wanted.
};

class ServerState {
 public:
  /// `keeps_positions` is true if those of trainers' inputs are kept (shard 0).
  ServerState(bool keeps_positions, BufferPool& pool, Logger& log)
      : keeps_positions_(keeps_positions), pool_(pool), log_(log), residuals_(pool) {}

  Phase phase() const { return phase_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t global_step() const { return global_step_; }
  /// The version of the weights, equal on all shards that have carried out the same orders; 0 if no model was prepared.
  uint64_t version() const { return parts_.empty() ? 0 : parts_.front().counters().version; }
  uint64_t fingerprint() const { return fingerprint_; }
  const RunIdentity& run() const { return run_; }
  const std::string& meaning() const { return meaning_; }  ///< What meaning_text() said to the chief.
  const ShardSpec& spec() const { return spec_; }          ///< It says something once a model was prepared.
  uint64_t arena_bytes() const { return spec_.arena_bytes; }
  size_t part_count() const { return part_count_; }
  /// The bytes of the largest part.
  uint64_t part_bytes() const { return part_bytes_; }

  // The newest version, a message for each part. In another encoding: made when it is first asked for. kSparseRows: what is
  // new for a trainer that has version `has`; as kDense where that is not known, or 0.

  /// While an update is made, these are the version before it, unless it is made in place. Empty if it is, or if the
  /// version has to be made in this encoding.
  std::vector<transport::Message> weights_at_hand(transport::Encoding encoding, uint64_t has = 0) const;
  /// Called between steps: about how many bytes make_weights() touches.
  uint64_t bytes_of_weights(transport::Encoding encoding, uint64_t has) const;
  /// Called on any thread.
  std::vector<transport::Message> make_weights(transport::Encoding encoding, uint64_t has);
  /// Called between steps: what make_weights() made is at hand from now on.
  void keep_weights(transport::Encoding encoding, const std::vector<transport::Message>& made);

  TrainerRecords& trainers() { return trainers_; }
  std::string position_of(int trainer) const;
  /// This process of `trainer`, which has made no push since, makes no more of them until it does: it rests or, if it
  /// `leaves`, never comes back. False if that was known.
  bool note_rest(int trainer, bool leaves);
  /// Its input has ended at its position: that stays true with another process, until it pushes again. False if that was
  /// known, or this shard does not keep positions.
  bool note_end_of_input(int trainer);
  /// Trainers whose inputs have ended, on the shard that keeps positions.
  const std::set<int>& ended() const { return ended_; }
  ServerStatus status() const;  ///< Only between steps.
  /// A trainer has come, gone, or said that it is done.
  void note_change() { ++changes_; }
  uint64_t changes() const { return changes_; }
  bool stop_requested() const { return stop_; }
  void request_stop() { stop_ = true; }
  /// No push counts any more: the chief takes the last checkpoint.
  void seal() { sealed_ = true; }
  void unseal() { sealed_ = false; }
  bool sealed() const { return sealed_; }
  /// Set once an update of this epoch has written a value that is not finite: its version, and those after it, are not held.
  const std::optional<JobFailure>& poison() const { return poison_; }
  /// What there is to tell of: values, or else a trainer that has failed for good and not come again.
  const std::optional<JobFailure>& failure() const { return poison_ ? poison_ : failure_; }
  /// A trainer has failed for good. The first word counts.
  void note_failure(JobFailure failure);
  void finish(JobEnd end);
  const JobEnd& end() const { return end_; }  ///< It says something once the phase is kFinished.
  /// A process of `trainer` says hello over its `connection` (a number that grows with each that is accepted): gives the
  /// process whose place it takes, 0 if there is none. FailedPrecondition if a newer one had taken its place before. `run`
  /// is the run that the process is of; empty if it does not know. Unavailable if the place is held for another run while
  /// no chief has said which run this server is of.
  Result<uint64_t> admit(int trainer, uint64_t incarnation, uint64_t connection, const std::string& run = {});

  // A new epoch: the old state is gone, the shard starts from its initializers and waits for restores and activate().

  /// Called between steps.
  Result<void> prepare(Prepare prepare);
  /// Called on any thread.
  void build(const ParallelFor& parallel_for = nullptr);
  /// Called between steps: the server holds no model any more.
  void lose() { phase_ = Phase::kEmpty; }
  /// Called between steps. After an error of build() the server holds no model.
  Result<void> built();
  /// Called between steps: where the part's bytes of the restored state have to be copied; empty if nothing is left to
  /// do.
  Result<std::span<std::byte>> place_to_restore(const transport::SnapshotPart& part);
  /// Called on any thread, when nothing is left to restore, before activate().
  void look_at_start();
  /// Called between steps.
  Result<void> activate(StateText state);

  // A whole push of a trainer, a chunk for each part, is kept until an order says what becomes of it.

  enum class Push : uint8_t {
    kFenced,   ///< The push is of another epoch, or of a process that is over: it will not count.
    kDecided,  ///< The push was committed or dropped before: the reply was lost.
    kKept,     ///< The push came before: its trainer has lost the connection since.
    kNew,
  };
  /// Called between steps. InvalidArgument if its chunks do not fit.
  Result<Push> look_at(int trainer, const transport::MessageHead& head, std::span<const transport::Chunk> chunks) const;
  /// Called on any thread: fills in what `push` is for each part. InvalidArgument if it does not fit.
  Result<void> decode(HeldPush& push) const;
  /// Called between steps: InvalidArgument if `push` and another one that is kept, which were computed on the same
  /// weights, want different learning rates. What makes one update has one.
  Result<void> check_agreement(const HeldPush& push) const;
  /// Called between steps, if look_at() still finds it new.
  void keep(HeldPush push);
  /// Its trainer may push another one, although nothing was decided about this one.
  void note_answered(const transport::PushId& id);
  bool was_answered(const transport::PushId& id) const;
  const std::map<transport::PushId, HeldPush>& kept() const { return kept_; }
  /// The credits of what is kept, and of what is coming.
  PushCredits& credits() { return credits_; }
  /// Whether the order about the trainer's newest push, of those that had one, was a commit.
  bool counted(int trainer) const;

  // A commit: all that it names count from begin_commit() on, whatever becomes of their trainers.

  /// Called between steps. FailedPrecondition if not all of its pushes are kept: this server is not in step.
  Result<void> begin_commit(const transport::Order& order);
  /// Called between steps: about how many bytes apply() touches of each arena.
  uint64_t bytes_of_update() const;
  /// Called on any thread: makes the next version of the weights.
  void apply(const ParallelFor& parallel_for = nullptr);
  /// Called between steps: that version is the newest.
  void end_commit(const transport::Order& order);

  /// Called between steps: the push does not count.
  void drop(const transport::PushId& id);
  /// What is kept of the same process and came before `id`, about which there was an order: it has given them up.
  std::vector<transport::PushId> kept_before(const transport::PushId& id) const;
  /// Called between steps: nothing that this process pushes counts any more. Returns what was kept of it.
  std::vector<transport::PushId> fence(const transport::PushId& process);

  /// Called between steps. `residuals` is true if what trainers keep back is wanted too.
  Result<HeldState> hold(bool residuals = false);
  void release(const HeldState& held) { residuals_.release(held.residuals); }

  /// A trainer's own part of what its compression keeps back (Residuals::take). FailedPrecondition: another epoch, or
  /// process.
  Result<void> take_residual(int trainer, const transport::MessageHead& head, const transport::SnapshotPart& part);
  bool asks_residual(int trainer) const;
  std::vector<int> awaited_residuals() const { return residuals_.awaited(trainers_); }
  /// True if the chief said with the newest commit that it would save, so that others were asked with the replies to it.
  bool save_follows() const { return save_follows_; }
  const Residuals& residuals() const { return residuals_; }
  void forget_parts(int trainer) { residuals_.forget_parts(trainer); }

 private:
  Result<void> check_push(std::span<const transport::Chunk> chunks) const;
  void count(const HeldPush& push, PushCounts& counts) const;
  void take_back_stop();
  static void count_wait(const HeldPush& push, PushCounts& counts);

  const bool keeps_positions_;
  BufferPool& pool_;
  Logger& log_;
  Phase phase_ = Phase::kEmpty;
  uint64_t epoch_ = 0;
  uint64_t global_step_ = 0;
  uint64_t fingerprint_ = 0;
  RunIdentity run_;  // The run of the model that is held or loaded.
  std::string meaning_;
  uint64_t spec_hash_ = 0;
  ShardSpec spec_;
  size_t part_count_ = 0;  // How many parts spec_ has.
  uint64_t part_bytes_ = 0;
  std::vector<ServerPart> parts_;  // Empty if no model was prepared.
  Result<void> built_;             // The outcome of build(), until built() takes it.
  std::map<int, std::string> positions_;
  std::set<int> ended_;
  PushCredits credits_;
  std::map<transport::PushId, HeldPush> kept_;
  std::vector<const HeldPush*> committing_;  // The pushes of an update, from begin_commit() to end_commit().
  TrainerRecords trainers_;
  uint64_t changes_ = 0;
  Residuals residuals_;
  bool save_follows_ = false;
  bool stop_ = false;
  bool sealed_ = false;
  bool allow_non_finite_ = false;
  std::optional<JobFailure> poison_;
  std::optional<JobFailure> failure_;
  JobEnd end_;
};

}  // namespace shoal::cluster
