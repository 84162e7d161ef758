// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's side of what Residuals is to a server: hands in what its compression keeps back, and goes on from it.
#include <memory>
#include <vector>

#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

class ResidualExchange {
 public:
  virtual ~ResidualExchange() = default;

  /// A server's reply to a push came with `status`.
  virtual void note(size_t shard, uint8_t status) = 0;
  /// Hands in what servers asked for since, as it was before the newest push, or as it is. Best effort: training goes on
  /// without.
  virtual Task<Result<void>> hand_in_asked() = 0;
  /// Hands in what is kept now, to all servers: no push follows. Best effort; begins no part after `enough`.
  virtual Task<Result<void>> hand_in_last(SteadyTime enough, Deadline deadline) = 0;
  /// Goes on from what servers have for this trainer.
  virtual Task<Result<void>> fetch() = 0;

  /// Whether residuals belong to what is saved and restored.
  virtual bool on() const = 0;
  /// Chief: whether the others are, or will be, asked for what they keep back as of the state that is held next. If not,
  /// held() waits for nobody.
  virtual void set_others_asked(bool asked) = 0;
  /// Chief, while a state is held: trainers whose residual every server has, and the chief itself.
  virtual Task<Result<std::vector<int>>> held() = 0;
  /// Chief: the residuals of its own, by shard.
  virtual std::vector<PartedArena> own() const = 0;
};

/// Makes an exchange for a trainer that compresses with top-k, which keeps something back; for others one that does
/// nothing. All arguments outlive it; one traffic per server.
std::unique_ptr<ResidualExchange> make_residual_exchange(Environment& env, const RemoteStoreOptions& options,
                                                         ServerLinks& servers, std::vector<ServerTraffic>& traffic);

}  // namespace shoal::cluster
