// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether `shoal launch` has started this process as a task of a job.
#include "shoal/cluster/place.h"

namespace shoal::cluster {

/// True if TF_CONFIG, SHOAL_SOURCE and SHOAL_REPORT_FILE are all set, as `shoal launch` sets them for its tasks. Such a
/// process is one task of a job, and makes no cluster of its own, neither of threads nor by launching. Unset TF_CONFIG
/// to make a cluster all the same.
bool was_launched(const GetEnv& getenv);

}  // namespace shoal::cluster
