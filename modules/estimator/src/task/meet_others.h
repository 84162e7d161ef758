// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Brings a task that knows its rank together with the other tasks (cluster/rendezvous.h). Other tasks can find it for as
/// long as its RunConfig lives.
#include <memory>

#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

struct Met {
  cluster::TaskConfig task;                ///< The task with all addresses, unless TaskConfig::has_ended.
  std::shared_ptr<const void> membership;  ///< The task stays in the rendezvous while this object lives.
};
/// Waits until all ranks of the job have met, or until the end mark in model_dir says that this start of the job has ended.
/// Waits for at most `config.ready_timeout_secs()`. `config` has the task's rank; if it has no TaskHost, uses the TaskHost
/// of the process. Errors: those of Rendezvous::meet(); FailedPrecondition if the job uses other machines too, and has
/// neither a token nor a certificate; Cancelled on an interrupt.
Result<Met> meet_others(const RunConfig& config);

}  // namespace shoal
