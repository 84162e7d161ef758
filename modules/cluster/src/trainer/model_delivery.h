// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Delivers the model from the chief to the servers: the values of a checkpoint, or the request to make initial values.
#include "shoal/cluster/identity.h"
#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"

namespace shoal::cluster {

/// The model to deliver, and the servers that get it. All references outlive the delivery.
struct ModelDelivery {
  Environment& env;
  const ShardPlan& plan;
  /// Connections to all servers. Before bring_model(), the caller sets servers.epoch() to the number of this delivery.
  ServerLinks& servers;
  /// The chief's identity. It contains the fingerprint, the meaning_text() and the run of the model, which servers store.
  const TaskIdentity& identity;
  /// How trainers will send gradients. A checkpoint's residuals are delivered for top-k only.
  transport::Encoding gradients;
  bool allow_non_finite;  ///< True if the model may have NaN or infinities.
};

/// True if the model need not be delivered, because every server still has this run's model, and all servers got it in the
/// same delivery (epoch). With `restore`, the model must also be at that checkpoint's global step or later. `statuses` has
/// the status of each server.
bool is_still_held(const ModelDelivery& model, const std::vector<ServerStatus>& statuses, const RestoreSource* restore);

/// Loads the model into all servers, then makes them ready. `restore` is null if training begins from initial values.
/// Errors: those of a server or of `restore`, or DeadlineExceeded. After an error the servers are not ready, and the
/// delivery has to be repeated in a newer epoch.
Task<Result<void>> bring_model(ModelDelivery to, RestoreSource* restore, Deadline deadline);

}  // namespace shoal::cluster
