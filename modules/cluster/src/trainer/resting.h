// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer that makes no more pushes and waits for the end of the job (CONTRACT JE-1), as its servers hear of it.
#include "shoal/cluster/protocol.h"
#include "trainer/links.h"
#include "trainer/residual_exchange.h"

namespace shoal::cluster {

class Resting {
 public:
  /// Both outlive this.
  Resting(Environment& env, ServerLinks& servers, ResidualExchange& residuals)
      : env_(env), servers_(servers), residuals_(residuals) {}

  /// RemoteStore::rest(), of a trainer that has made so many pushes.
  Task<Result<RestNews>> rest(Rest rest, uint64_t newest_push, Deadline deadline);
  /// It attaches, or makes pushes again: what it says next is news.
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
