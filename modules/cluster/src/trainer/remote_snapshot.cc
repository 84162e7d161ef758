// SPDX-License-Identifier: Apache-2.0
#include "trainer/remote_snapshot.h"

#include <vector>

#include "state/parted_arena.h"

namespace shoal::cluster {
namespace {

class RemoteSnapshot final : public Snapshot {
 public:
  /// `own_residuals` are the chief's own residuals of top-k compression, by shard.
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
                 co_await servers_.control(size_t(shard), "read", std::move(range), servers_.answer_by()));
    SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(message));
    if (part.offset != offset || part.payload.size() != bytes) co_return data_loss("a server sent another part than asked");
    co_return Part{part.payload, message.body};
  }
  void saved() override { saved_ = true; }
  Task<Result<void>> release() override {
    return servers_.tell_all("release", servers_.answer_by(), saved_ ? std::string(kReleaseSaved) : std::string());
  }

 private:
  ServerLinks& servers_;
  const ShardPlan& plan_;
  Environment& env_;
  StateInfo info_;
  std::vector<PartedArena> own_residuals_;
  bool saved_ = false;
};

constexpr auto kHoldNoteEvery = std::chrono::seconds(10);
// How long after the last request a server may still answer it. A server that needs longer for the snapshot answers "more"
// after 5 s.
constexpr auto kHoldAnswer = std::chrono::seconds(10);

/// Asks a server for a snapshot. The server answers once shard 0 has told it after which commit to take the snapshot;
/// shard 0 cannot do so while the connection between the two servers is broken.
Task<Result<StateText>> hold_on(Environment& env, ServerLinks& servers, size_t shard, HoldRequest request) {
  const SteadyTime began = env.now(), give_up = servers.answer_by();
  const std::string whom = to_string(servers[shard].server());
  std::string cause = shard == 0 ? std::string() : "; is its connection to " + to_string(servers[0].server()) + " broken?";
  SteadyTime note = env.after(kHoldNoteEvery);
  while (env.now() < give_up) {
    std::string what = to_json(request);
    SHOAL_CO_TRY(const transport::Message answer,
                 co_await servers.control(shard, "hold", std::move(what), give_up + kHoldAnswer));
    SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
    if (text.verb != "more") co_return parse_state(text.text);
    if (env.now() < note) continue;
    env.sometimes("chief.waits_for_hold");
    env.log().info("waiting for " + whom + " to take a snapshot for a checkpoint: nothing has told it yet of which update" +
                   cause);
    note = env.after(kHoldNoteEvery);
  }
  Result<StateText> late = unavailable(whom + " has not been told to take a snapshot for a checkpoint within " +
                                       std::to_string(int64_t(to_seconds(env.now() - began))) + " s" + cause);
  co_return servers.noted(std::move(late));
}

/// Asks all servers for a snapshot after one and the same commit. Shard 0 is asked first, and names the commit.
Task<Result<StateInfo>> hold(Environment& env, ServerLinks& servers, ResidualExchange& residuals) {
  StateInfo info;
  HoldRequest request{.residuals = residuals.on(), .version = 0};
  for (size_t i = 0; i < servers.size(); ++i) {
    SHOAL_CO_TRY(StateText state, co_await hold_on(env, servers, i, request));
    if (state.epoch != servers.epoch()) {
      Result<StateInfo> other = unavailable(to_string(servers[i].server()) + " is in another epoch");
      co_return servers.noted(std::move(other));
    }
    if (i == 0) {
      request.version = state.counters.version;
      info.global_step = state.global_step;
      info.positions = std::move(state.positions);
      info.ended = std::move(state.ended);
    }
    info.shards.push_back(state.counters);
  }
  SHOAL_CO_TRY(info.residuals, co_await residuals.held());
  co_return info;
}

}  // namespace

Task<Result<std::unique_ptr<Snapshot>>> hold_for_snapshot(Environment& env, const ShardPlan& plan, ServerLinks& servers,
                                                          ResidualExchange& residuals) {
  Result<StateInfo> info = co_await hold(env, servers, residuals);
  if (!info) {  // Frees the snapshots that some servers have taken.
    Result<void> released = co_await servers.tell_all("release", servers.answer_by());
    static_cast<void>(released);
    co_return std::move(info).error();
  }
  co_return std::unique_ptr<Snapshot>(new RemoteSnapshot(servers, plan, env, std::move(info).value(), residuals.own()));
}

}  // namespace shoal::cluster
