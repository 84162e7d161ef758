// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether `shoal launch` has started this process as a task of a job.
#include "shoal/cluster/place.h"

namespace shoal::cluster {

/// True where TF_CONFIG is set, and SHOAL_SOURCE and SHOAL_REPORT_FILE are set beside it as `shoal launch` sets them
/// for its tasks. Such a process has a place in a job and makes no cluster of its own, neither of threads nor by
/// launching. Unset TF_CONFIG to make a cluster all the same.
bool was_launched(const GetEnv& getenv);

}  // namespace shoal::cluster
