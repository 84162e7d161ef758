// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's side of Residuals: hands in the residual of its compression, and continues from one.
#include <memory>
#include <vector>

#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

class ResidualExchange {
 public:
  virtual ~ResidualExchange() = default;

  /// Takes the `status` of a server's reply to a push, which may ask for a residual.
  virtual void note(size_t shard, uint8_t status) = 0;
  /// Hands in the residuals that servers have asked for, before or after the newest push. Best effort: training goes on
  /// without them.
  virtual Task<Result<void>> hand_in_asked() = 0;
  /// Hands in the present residual to all servers: no push follows. Best effort; begins no part after `enough`.
  virtual Task<Result<void>> hand_in_last(SteadyTime enough, Deadline deadline) = 0;
  /// Continues from the residual that the servers have for this trainer.
  virtual Task<Result<void>> fetch() = 0;

  /// True if residuals belong to what is saved and restored.
  virtual bool on() const = 0;
  /// Chief: says whether the other trainers are, or will be, asked for the residuals of the next snapshot. If not,
  /// held() does not wait.
  virtual void set_others_asked(bool asked) = 0;
  /// Chief, while there is a snapshot: the trainers whose residual every server has, and the chief itself.
  virtual Task<Result<std::vector<int>>> held() = 0;
  /// Chief: its own residuals, by shard.
  virtual std::vector<PartedArena> own() const = 0;
};

/// Makes the exchange for a trainer that compresses with top-k; for other trainers, one that does nothing. All
/// references outlive it; `traffic` has an entry for each server.
std::unique_ptr<ResidualExchange> make_residual_exchange(Environment& env, const RemoteStoreOptions& options,
                                                         ServerLinks& servers, std::vector<ServerTraffic>& traffic);

}  // namespace shoal::cluster
