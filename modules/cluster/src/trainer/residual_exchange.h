// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's side of the exchange of residuals (state/residuals.h is the server's): sends the residual of its compression
/// to servers, and continues from a residual that they have stored.
#include <memory>
#include <vector>

#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

class ResidualExchange {
 public:
  virtual ~ResidualExchange() = default;

  /// Reads the `status` of a server's reply to a push, which may ask for a residual.
  virtual void note(size_t shard, uint8_t status) = 0;
  /// Sends residuals to the servers that have asked for one. A server asks either for the residual as it was before the
  /// newest push or as it is after it. Best effort: a residual that cannot be sent does not stop training.
  virtual Task<Result<void>> hand_in_asked() = 0;
  /// Called when no push follows: sends the present residual to all servers. Best effort: once the time `enough` has come,
  /// sends no further part of the residual.
  virtual Task<Result<void>> hand_in_last(SteadyTime enough, Deadline deadline) = 0;
  /// Continues from the residual that the servers have for this trainer.
  virtual Task<Result<void>> fetch() = 0;

  /// True if checkpoints store and restore residuals.
  virtual bool on() const = 0;
  /// Called on the chief. `asked`: whether servers will ask the other trainers for their residuals before the next
  /// snapshot. If not, held() does not wait for residuals.
  virtual void set_others_asked(bool asked) = 0;
  /// Called on the chief during a snapshot: returns the numbers of the trainers whose residual every server has, and that
  /// of the chief itself.
  virtual Task<Result<std::vector<int>>> held() = 0;
  /// Called on the chief: returns the chief's own residuals, one for each shard.
  virtual std::vector<PartedArena> own() const = 0;
};

/// Makes the exchange for a trainer that compresses with top-k; for other trainers, an exchange that does nothing. All
/// references outlive the exchange; `traffic` has an entry for each server.
std::unique_ptr<ResidualExchange> make_residual_exchange(Environment& env, const RemoteStoreOptions& options,
                                                         ServerLinks& servers, std::vector<ServerTraffic>& traffic);

}  // namespace shoal::cluster
