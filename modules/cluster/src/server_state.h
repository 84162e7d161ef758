#pragma once
/// What a parameter server holds, and how requests change it. No waiting, no connections: those are in
/// parameter_server.cc.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "residuals.h"
#include "row_history.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/shard.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// State held for a snapshot: references, so training goes on.
struct HeldState {
  StateText text;
  Ref<const Buffer> weights_body;
  std::span<const std::byte> weights;
  std::vector<Ref<const Buffer>> slots;
  uint64_t residuals = 0;  ///< the number of this hold there; 0: none are wanted
};

class ServerState {
 public:
  ServerState(bool counts_steps, BufferPool& pool, Logger& log)
      : counts_steps_(counts_steps), pool_(pool), log_(log), residuals_(pool) {}

  Phase phase() const { return phase_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t global_step() const { return global_step_; }
  uint64_t fingerprint() const { return fingerprint_; }
  const ShardSpec& spec() const { return shard_->spec(); }  ///< once a model was prepared
  uint64_t arena_bytes() const { return shard_ ? shard_->spec().arena_bytes : 0; }
  const transport::Message& weights() const { return weights_; }
  /// The newest version in another encoding: made when it is first asked for. kDense: as above. kSparseRows: what is new for a
  /// trainer that has version `has`; as kDense where that is not known, or 0.
  transport::Message weights_as(transport::Encoding encoding, uint64_t has = 0);
  TrainerRecords& trainers() { return trainers_; }
  std::string position_of(int trainer) const;
  ServerStatus status() const;
  bool stop_requested() const { return stop_; }
  void request_stop() { stop_ = true; }
  void finish(JobEnd end);
  const JobEnd& end() const { return end_; }  ///< once the phase is kFinished
  /// A process of `trainer` says hello. FailedPrecondition if a newer one had taken its place before.
  Result<void> admit(int trainer, uint64_t incarnation);

  /// A new epoch: the old state is gone, the shard starts from its initialisers and waits for restore() and activate().
  Result<void> prepare(Prepare prepare);
  Result<void> restore(const transport::SnapshotPart& part);
  Result<void> activate(StateText state);
  /// Applies a whole push of `trainer`. True: the version advanced (or had by this very push before).
  Result<bool> push(int trainer, const transport::MessageHead& head, const transport::Chunk& chunk);
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
  Result<void> expect_rows();
  Result<void> check_push(const transport::Chunk& chunk) const;
  Result<void> apply(const transport::Chunk& chunk);
  Result<void> apply_rows(const transport::Chunk& chunk);
  Result<void> apply(std::span<const std::byte> gradient, std::span<const double> scalars,
                     std::span<const RowSums* const> row_sums = {});
  transport::Message rows_since(uint64_t version);

  const bool counts_steps_;  // shard 0, the sequencer
  BufferPool& pool_;
  Logger& log_;
  Phase phase_ = Phase::kEmpty;
  uint64_t epoch_ = 0;
  uint64_t global_step_ = 0;
  uint64_t fingerprint_ = 0;
  uint64_t spec_hash_ = 0;
  std::optional<Shard> shard_;
  transport::Message weights_;
  std::map<transport::Encoding, transport::Message> encoded_;  // of the newest version; null body: not made yet
  std::vector<RowSums> row_sums_;                // of the segments with lazy rows, in order
  std::vector<const RowSums*> sums_of_segment_;  // by segment; null: without lazy rows
  std::vector<SegmentRows> segment_rows_;        // of the push or the reply at hand, by segment
  RowHistory history_;
  std::map<int, std::string> positions_;
  TrainerRecords trainers_;
  Residuals residuals_;
  bool stop_ = false;
  JobEnd end_;
};

}  // namespace shoal::cluster
