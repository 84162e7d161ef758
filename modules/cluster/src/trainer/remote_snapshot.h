#pragma once
/// A state that servers hold for a checkpoint, as the chief reads it.
#include <vector>

#include "shoal/cluster/snapshot.h"
#include "state/parted_arena.h"
#include "trainer/links.h"

namespace shoal::cluster {

/// The most that is read, or restored, in one message.
inline constexpr uint64_t kSnapshotPartBytes = uint64_t(16) << 20;

/// The chief's view of a state that the servers hold for it; read over the chief's own connections.
class RemoteSnapshot final : public Snapshot {
 public:
  /// `own_residuals`: the chief's, by shard; null without.
  RemoteSnapshot(ServerLinks& servers, const ShardPlan& plan, Environment& env, StateInfo info,
                 std::vector<PartedArena> own_residuals)
      : servers_(servers), plan_(plan), env_(env), info_(std::move(info)), own_residuals_(std::move(own_residuals)) {}
  const StateInfo& info() const override { return info_; }
  const ShardPlan& plan() const override { return plan_; }
  Task<Result<Part>> read(int shard, ArenaIndex arena, uint64_t offset, uint64_t bytes) override {
    SHOAL_CHECK(bytes <= kSnapshotPartBytes);
    if (arena == residual_arena(0)) {
      co_return own_residuals_[size_t(shard)].read(offset, bytes, env_.buffers());
    }
    std::string range = to_json(ReadRange{arena, offset, bytes});
    SHOAL_CO_TRY(transport::Message message,
                 co_await servers_.control(size_t(shard), "read", std::move(range), env_.after(kRequestTimeout)));
    SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(message));
    if (part.offset != offset || part.payload.size() != bytes) co_return data_loss("a server sent another part than asked");
    co_return Part{part.payload, message.body};
  }
  Task<Result<void>> release() override { return servers_.tell_all("release", env_.after(kRequestTimeout)); }

 private:
  ServerLinks& servers_;
  const ShardPlan& plan_;
  Environment& env_;
  StateInfo info_;
  std::vector<PartedArena> own_residuals_;
};

}  // namespace shoal::cluster
