#pragma once
/// How the chief brings the model to its servers: the values of a checkpoint, or the order to make the initial ones.
#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"

namespace shoal::cluster {

/// To whom the model goes, and what of it. All that this refers to outlives the delivery.
struct ModelDelivery {
  Environment& env;
  const ShardPlan& plan;
  ServerLinks& servers;           ///< They are connected, in the epoch that begins.
  uint64_t fingerprint;           ///< The fingerprint of the model.
  transport::Encoding gradients;  ///< How trainers will send gradients; residuals of the checkpoint are for top-k.
};

/// Loads all servers, then makes them ready. `restore`: null where training begins from initial values alone. Errors: of a
/// server, of `restore`, or DeadlineExceeded; then servers are not ready, and the whole has to be done again in a newer
/// epoch.
Task<Result<void>> bring_model(ModelDelivery to, RestoreSource* restore, Deadline deadline);

}  // namespace shoal::cluster
