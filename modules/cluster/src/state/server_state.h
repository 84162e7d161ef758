#pragma once
/// What a parameter server holds, and how requests change it. No waiting, no connections: those are in
/// parameter_server.cc.
#include <map>
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
  std::vector<PartedArena> arenas;  ///< by ArenaIndex: weights, then slots
  uint64_t residuals = 0;           ///< the number of this hold there; 0: none are wanted
};

class ServerState {
 public:
  ServerState(bool counts_steps, BufferPool& pool, Logger& log)
      : counts_steps_(counts_steps), pool_(pool), log_(log), residuals_(pool) {}

  Phase phase() const { return phase_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t global_step() const { return global_step_; }
  uint64_t fingerprint() const { return fingerprint_; }
  const ShardSpec& spec() const { return spec_; }  ///< once a model was prepared
  uint64_t arena_bytes() const { return spec_.arena_bytes; }
  size_t part_count() const { return parts_.size(); }
  /// Of the largest part.
  uint64_t part_bytes() const;
  /// The newest version, a message for each part. In another encoding: made when it is first asked for. kSparseRows: what
  /// is new for a trainer that has version `has`; as kDense where that is not known, or 0.
  std::vector<transport::Message> weights_as(transport::Encoding encoding, uint64_t has = 0);
  TrainerRecords& trainers() { return trainers_; }
  std::string position_of(int trainer) const;
  ServerStatus status() const;
  bool stop_requested() const { return stop_; }
  void request_stop() { stop_ = true; }
  /// No push counts any more: the chief takes the last checkpoint.
  void seal() { sealed_ = true; }
  bool sealed() const { return sealed_; }
  void finish(JobEnd end);
  const JobEnd& end() const { return end_; }  ///< once the phase is kFinished
  /// A process of `trainer` says hello over its `connection` (a number that grows with each that is accepted).
  /// FailedPrecondition if a newer one had taken its place before.
  Result<void> admit(int trainer, uint64_t incarnation, uint64_t connection);

  /// A new epoch: the old state is gone, the shard starts from its initialisers and waits for restore() and activate().
  Result<void> prepare(Prepare prepare);
  Result<void> restore(const transport::SnapshotPart& part);
  Result<void> activate(StateText state);
  /// Applies a whole push of `trainer`, a chunk for each part. True: the version advanced (or had by this very push
  /// before).
  Result<bool> push(int trainer, const transport::MessageHead& head, std::span<const transport::Chunk> chunks);
  /// `residuals`: what trainers keep back is wanted too.
  Result<HeldState> hold(bool residuals = false);
  void release(const HeldState& held) { residuals_.release(held.residuals); }

  /// A trainer's own part of what its compression keeps back (Residuals::take). FailedPrecondition: another epoch, or
  /// process.
  Result<void> take_residual(int trainer, const transport::MessageHead& head, const transport::SnapshotPart& part);
  bool asks_residual(int trainer) const;
  std::vector<int> awaited_residuals() const { return residuals_.awaited(trainers_); }
  const Residuals& residuals() const { return residuals_; }
  void forget_parts(int trainer) { residuals_.forget_parts(trainer); }

 private:
  Result<void> check_push(std::span<const transport::Chunk> chunks) const;
  Result<void> apply(std::span<const transport::Chunk> chunks);

  const bool counts_steps_;  // shard 0, the sequencer
  BufferPool& pool_;
  Logger& log_;
  Phase phase_ = Phase::kEmpty;
  uint64_t epoch_ = 0;
  uint64_t global_step_ = 0;
  uint64_t fingerprint_ = 0;
  uint64_t spec_hash_ = 0;
  ShardSpec spec_;
  std::vector<ServerPart> parts_;  // empty: no model was prepared
  std::map<int, std::string> positions_;
  TrainerRecords trainers_;
  Residuals residuals_;
  bool stop_ = false;
  bool sealed_ = false;
  JobEnd end_;
};

}  // namespace shoal::cluster
