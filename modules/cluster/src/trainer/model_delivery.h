// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the chief brings the model to its servers: the values of a checkpoint, or the order to make the initial ones.
#include "shoal/cluster/identity.h"
#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"

namespace shoal::cluster {

/// To whom the model goes, and what of it. All that this refers to outlives the delivery.
struct ModelDelivery {
  Environment& env;
  const ShardPlan& plan;
  ServerLinks& servers;           ///< They are connected, in the epoch that begins (for bring_model()).
  const TaskIdentity& identity;   ///< The chief's, which has the model's fingerprint, meaning and run.
  transport::Encoding gradients;  ///< How trainers will send gradients; residuals of the checkpoint are for top-k.
  bool allow_non_finite;          ///< Prepare::allow_non_finite.
};

/// Whether all servers, as their `statuses` are, hold the model of this run in one epoch, at the step of `restore` or beyond:
/// then it need not be brought.
bool is_still_held(const ModelDelivery& model, const std::vector<ServerStatus>& statuses, const RestoreSource* restore);

/// Loads all servers, then makes them ready. `restore`: null where training begins from initial values alone. Errors: of a
/// server, of `restore`, or DeadlineExceeded; then servers are not ready, and the whole has to be done again in a newer
/// epoch.
Task<Result<void>> bring_model(ModelDelivery to, RestoreSource* restore, Deadline deadline);

}  // namespace shoal::cluster
