#pragma once
/// A trainer's side of what Residuals is to a server: hands in what its compression keeps back, and goes on from it.
#include <vector>

#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

/// For a trainer that compresses with top-k; does nothing for others.
class ResidualExchange {
 public:
  /// All outlive it; one traffic per server.
  ResidualExchange(Environment& env, const RemoteStoreOptions& options, ServerLinks& servers,
                   std::vector<ServerTraffic>& traffic);

  /// A server's reply to a push came with `status`.
  void note(size_t shard, uint8_t status);
  /// What servers asked for since, as it was before the newest push. Best effort: training goes on without.
  Task<Result<void>> hand_in_asked();
  /// What is kept now, to all servers: no push follows. Best effort; begins no part after `enough`.
  Task<Result<void>> hand_in_last(SteadyTime enough, Deadline deadline);
  /// Goes on from what servers have for this trainer.
  Task<Result<void>> fetch();

  /// Whether residuals belong to what is saved and restored.
  bool on() const { return on_; }
  /// Chief, while a state is held: trainers whose residual every server has, and the chief itself.
  Task<Result<std::vector<int>>> held();
  /// Chief: its own, by shard.
  std::vector<PartedArena> own() const;

 private:
  Task<Result<void>> hand_in(size_t shard, ServerTraffic::Residual residual, SteadyTime enough, Deadline deadline);
  Task<Result<void>> fetch(size_t shard);
  Task<Result<void>> ask_held(size_t shard, std::vector<int>& trainers);
  bool chief() const { return options_.identity.trainer_index == 0; }
  ArenaIndex own_arena() const { return residual_arena(options_.identity.trainer_index); }

  Environment& env_;
  const RemoteStoreOptions& options_;
  ServerLinks& servers_;
  std::vector<ServerTraffic>& traffic_;
  const bool on_;
  std::vector<bool> asked_;
};

}  // namespace shoal::cluster
