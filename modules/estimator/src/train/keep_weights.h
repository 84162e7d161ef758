// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies the last weights out of the store, for training that writes no checkpoints.
#include <memory>
#include <string>

#include "model/trained_weights.h"
#include "shoal/cluster/store.h"

namespace shoal {

/// Copies all variables of `store`, whether in this process or on servers, into memory of this process, and returns them in
/// `weights`, which already has the texts that describe the model. Errors: those of the store.
Task<Result<std::shared_ptr<const TrainedWeights>>> keep_weights(Environment& env, cluster::Store& store,
                                                                 TrainedWeights weights);

}  // namespace shoal
