// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a process knows that `shoal launch` has started it as a task of a job.
#include "shoal/cluster/place.h"

namespace shoal::cluster {

/// True where TF_CONFIG is set and SHOAL_SOURCE and SHOAL_REPORT_FILE are set beside it as `shoal launch` sets them for its
/// tasks. Such a process has a place in a job, so it makes no cluster of its own: not of threads, and not by launching. Whoever
/// means to unsets TF_CONFIG.
bool was_launched(const GetEnv& getenv);

}  // namespace shoal::cluster
