// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells servers that a trainer rests: it makes no more pushes, and waits for the end of the job.
#include "shoal/cluster/protocol.h"
#include "trainer/links.h"
#include "trainer/residual_exchange.h"

namespace shoal::cluster {

class Resting {
 public:
  /// `servers` and `residuals` outlive this object.
  Resting(Environment& env, ServerLinks& servers, ResidualExchange& residuals)
      : env_(env), servers_(servers), residuals_(residuals) {}

  /// Implements RemoteStore::rest(): tells the servers that the trainer makes no more pushes for now and, if `rest.waits`
  /// is set, waits for their news. `newest_push` is the number of pushes that the trainer has made so far.
  Task<Result<RestNews>> rest(Rest rest, uint64_t newest_push, Deadline deadline);
  /// Called when the trainer connects to servers with a model, or pushes again: the next rest() tells all servers anew.
  void restart() { told_ = false; }

 private:
  Task<Result<void>> tell_all(Rest rest, Deadline deadline);
  Task<Result<RestNews>> ask(Rest rest, Deadline deadline);

  Environment& env_;
  ServerLinks& servers_;
  ResidualExchange& residuals_;
  bool told_ = false;
};

}  // namespace shoal::cluster
