// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state of a parameter server, and how requests and orders change it. Waiting and connections are in server/.
///
/// The functions with long work on a large shard may run on another thread ("any thread" below), one at a time. All
/// other functions run on the strand. While a long function runs, the strand may call all others but those marked
/// "while no long work runs".
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

/// References to the state that a snapshot contains. While they exist, updates do not overwrite this state, but write new
/// versions elsewhere in memory.
struct HeldState {
  StateText text;
  std::vector<PartedArena> arenas;  ///< Indexed by ArenaIndex: the weights, then the slots.
  uint64_t residuals = 0;           ///< Identifies this snapshot in class Residuals; 0 if it has no residuals.
};

class ServerState {
 public:
  /// `keeps_positions`: true on shard 0, the server that stores how far each trainer has read its input.
  ServerState(bool keeps_positions, BufferPool& pool, Logger& log)
      : keeps_positions_(keeps_positions), pool_(pool), log_(log), residuals_(pool) {}

  Phase phase() const { return phase_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t global_step() const { return global_step_; }
  /// staleness_of(): version() minus the version of the weights that `push` was computed on.
  /// version(): the version of the newest weights; 0 without a model. Shards that have carried out the same orders of the
  /// sequencer have equal versions.
  uint64_t staleness_of(const HeldPush& push) const;
  uint64_t version() const { return parts_.empty() ? 0 : parts_.front().counters().version; }
  uint64_t fingerprint() const { return fingerprint_; }
  const RunIdentity& run() const { return run_; }
  const std::string& meaning() const { return meaning_; }  ///< meaning_text() of the chief's model.
  const ShardSpec& spec() const { return spec_; }          ///< Valid once a model was prepared.
  uint64_t arena_bytes() const { return spec_.arena_bytes; }
  size_t part_count() const { return part_count_; }
  /// The size of the largest part, in bytes.
  uint64_t part_bytes() const { return part_bytes_; }

  // The functions below return the newest weights, one message for each part. An encoded message is made on first
  // demand. For kSparseRows, `has` is the version that the trainer has, and the messages contain the rows that changed
  // since; if these rows are not known, or `has` is 0, the messages are as for kDense.

  /// Returns messages that exist already, and makes no new ones. While an update is computed, these have the version before
  /// the update. Empty if the update overwrites that version in place, or if the version has yet to be encoded.
  std::vector<transport::Message> weights_at_hand(transport::Encoding encoding, uint64_t has = 0) const;
  /// The approximate number of bytes that make_weights() reads or writes. Called while no long work runs.
  uint64_t bytes_of_weights(transport::Encoding encoding, uint64_t has) const;
  /// Makes the messages with the newest weights, one for each part. Called on any thread.
  std::vector<transport::Message> make_weights(transport::Encoding encoding, uint64_t has);
  /// Called while no long work runs: stores the result of make_weights() for weights_at_hand().
  void keep_weights(transport::Encoding encoding, const std::vector<transport::Message>& made);

  TrainerRecords& trainers() { return trainers_; }
  std::string position_of(int trainer) const;
  /// Notes that the present process of `trainer` makes no pushes for now or, if `leaves`, will never push again. Returns
  /// false if this was known.
  bool note_rest(int trainer, bool leaves);
  /// Notes that the trainer's input has ended. A later process of the trainer resumes at the end of the input, so the note
  /// stays valid until that process pushes. Returns false if this was known, or this shard does not keep positions.
  bool note_end_of_input(int trainer);
  /// The trainers whose inputs have ended. Only shard 0 knows them, since it keeps the input positions of the trainers.
  const std::set<int>& ended() const { return ended_; }
  ServerStatus status() const;  ///< The status to send to the chief. Called while no long work runs.
  /// Counts a change that the chief has to hear of: a trainer has connected, disconnected, or said that it is done.
  void note_change() { ++changes_; }
  uint64_t changes() const { return changes_; }
  bool stop_requested() const { return stop_; }
  void request_stop() { stop_ = true; }
  /// Called when the chief takes the last checkpoint: from now on no push is committed.
  void seal() { sealed_ = true; }
  void unseal() { sealed_ = false; }
  bool sealed() const { return sealed_; }
  /// Set once an update since the model was loaded has written a NaN or an infinity: no snapshot of that version or a
  /// later one is made.
  const std::optional<JobFailure>& poison() const { return poison_; }
  /// The failure to report: poison(), if there is one; else the failure of a trainer that has failed for good and was not
  /// started again.
  const std::optional<JobFailure>& failure() const { return poison_ ? poison_ : failure_; }
  /// Notes that a trainer has failed for good. Only the first failure is kept.
  void note_failure(JobFailure failure);
  void finish(JobEnd end);
  const JobEnd& end() const { return end_; }  ///< Valid in phase kFinished.
  /// Called when a process of `trainer` connects. `incarnation`: the random number by which servers recognise the process;
  /// `connection`: a number that grows with each connection; `run`: the training run of the process, empty if not known.
  /// Returns the incarnation of the trainer's former process, which this process replaces; 0 if there is none.
  /// FailedPrecondition if a newer process has already replaced this process. Unavailable if the former process is of
  /// another run, and no chief has said yet which run this server belongs to.
  Result<uint64_t> admit(int trainer, uint64_t incarnation, uint64_t connection, const std::string& run = {});

  // The functions below load a model, which begins a new epoch: prepare() drops the old state, build() sets initial values,
  // and place_to_restore() takes values of a checkpoint.

  /// Called while no long work runs: begins to load the model.
  Result<void> prepare(Prepare prepare);
  /// Makes the parts of the shard (ServerPart), with their initial values. Called on any thread.
  void build(const ParallelFor& parallel_for = nullptr);
  /// Called while no long work runs: from now on the server holds no model.
  void lose() { phase_ = Phase::kEmpty; }
  /// The outcome of build(). If it is an error, the server holds no model from now on. Called while no long work runs.
  Result<void> built();
  /// Called while no long work runs: returns the memory into which to copy the bytes of `part`, a part of the state that is
  /// restored from a checkpoint; empty if there is nothing to copy.
  Result<std::span<std::byte>> place_to_restore(const transport::SnapshotPart& part);
  /// Finds variables whose initial or restored values are not all finite. Updates of these variables are not checked for
  /// NaN and infinities later. Called on any thread, after the last restore and before activate().
  void look_at_start();
  /// The model is complete: from now on trainers' pushes are applied. Called while no long work runs.
  Result<void> activate(StateText state);

  // What a server knows of a push that arrives (one chunk for each part of the shard). The server keeps a push until an
  // order commits or drops it.

  enum class Push : uint8_t {
    kFenced,   ///< The push is for a model loaded earlier, or of a process that was replaced: no effect.
    kDecided,  ///< The push was committed or dropped before, and its reply was lost.
    kKept,     ///< The server keeps the push already; the trainer sent it again over a new connection.
    kNew,
  };
  /// Called while no long work runs: tells whether this server knows the push. InvalidArgument if the push does not fit
  /// spec(), the spec of this shard.
  Result<Push> look_at(int trainer, const transport::MessageHead& head, std::span<const transport::Chunk> chunks) const;
  /// Called on any thread: fills in `push.parts`. InvalidArgument if a chunk does not fit.
  Result<void> decode(HeldPush& push) const;
  /// Called while no long work runs. InvalidArgument if `push` has another learning rate than a kept push that was
  /// computed on the same weights: one update has one learning rate.
  Result<void> check_agreement(const HeldPush& push) const;
  /// Stores a push until an order commits or drops it. Called while no long work runs, for a push that is still new to this
  /// server (look_at() returns kNew).
  void keep(HeldPush push);
  /// Notes that the trainer got an answer to push `id`, and may make another push, although no order commits or drops push
  /// `id` yet.
  void note_answered(const transport::PushId& id);
  bool was_answered(const transport::PushId& id) const;
  const std::map<transport::PushId, HeldPush>& kept() const { return kept_; }
  /// The limits on the bytes of pushes that the server still keeps or receives.
  PushCredits& credits() { return credits_; }
  /// The sequencer decides for each push whether it is committed or dropped. Returns true if the newest push of `trainer`
  /// with such a decision was committed.
  bool counted(int trainer) const;

  // A commit is an update of the weights by the pushes that an order of the sequencer names. Once begin_commit() was
  // called, the update applies all of these pushes, even if their trainers end meanwhile.

  /// Begins the update that `order` asks for. FailedPrecondition if the order names a push that this server does not have.
  /// If there is no memory for new weights, raises that error (raise_exhausted()), and changes nothing. Called while no long
  /// work runs.
  Result<void> begin_commit(const transport::Order& order);
  /// The approximate number of bytes that apply() reads or writes in the weights, and in each slot. Called while no long
  /// work runs.
  uint64_t bytes_of_update() const;
  /// Called on any thread: makes the next version of the weights.
  void apply(const ParallelFor& parallel_for = nullptr);
  /// The version that apply() has computed becomes the newest one. Called while no long work runs.
  void end_commit(const transport::Order& order);

  /// Drops a push, which then has no effect. Called while no long work runs.
  void drop(const transport::PushId& id);
  /// Returns the pushes with lower numbers than `id` that come from the same process as push `id`, and that the server
  /// still keeps. The process no longer waits for them, since the sequencer has ordered to commit or drop push `id`.
  std::vector<transport::PushId> kept_before(const transport::PushId& id) const;
  /// Excludes a process, so that none of its pushes is applied any more. Returns the pushes of this process that the server
  /// still keeps. Called while no long work runs.
  std::vector<transport::PushId> fence(const transport::PushId& process);

  /// Called while no long work runs: takes a snapshot, which includes trainers' residuals if `residuals` is true.
  Result<HeldState> hold(bool residuals = false);
  void release(const HeldState& held) { residuals_.release(held.residuals); }

  /// Takes a part of a residual from its trainer (Residuals::take()). FailedPrecondition if the part belongs to an earlier
  /// loading of the model, or comes from a trainer's process that has been replaced.
  Result<void> take_residual(int trainer, const transport::MessageHead& head, const transport::SnapshotPart& part);
  bool asks_residual(int trainer) const;
  std::vector<int> awaited_residuals() const { return residuals_.awaited(trainers_); }
  /// True if the newest commit had a push in which the chief announced a checkpoint. The replies to that commit's pushes
  /// then ask trainers for their residuals.
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
  RunIdentity run_;  // The run whose model the server holds or loads.
  std::string meaning_;
  uint64_t spec_hash_ = 0;
  ShardSpec spec_;
  size_t part_count_ = 0;  // The number of parts into which parts_of() cuts the shard.
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
