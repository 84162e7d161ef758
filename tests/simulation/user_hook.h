// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The hook that each trainer of a simulated job has: it looks at the order in which it is called, and does what users'
/// hooks do besides looking.
#include "job.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/run_config.h"

namespace shoal::simulation {

/// The hook of one start of one task. What it sees and may not be (CONTRACT HK-1, HK-2, HK-4, FA-5) goes to `notes`.
std::shared_ptr<Hook> user_hook(const JobPlan& job, const RunConfig& config, std::shared_ptr<JobNotes> notes);

}  // namespace shoal::simulation
