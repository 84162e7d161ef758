// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A task that knows its rank meets the others (cluster/rendezvous.h), and stays to be found for as long as its RunConfig
/// lives.
#include <memory>

#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

struct Met {
  cluster::TaskConfig task;           ///< With everybody's address, unless TaskConfig::has_ended.
  std::shared_ptr<const void> membership;  ///< Ends the task's part in the rendezvous when it goes.
};
/// Waits for the other ranks, or until the mark in model_dir says that this start has ended (CONTRACT WO-4), for at most
/// `config.ready_timeout_secs()`. `config` has the task's place; a config without a host takes the host of the process.
/// Errors: those of Rendezvous::meet(); FailedPrecondition where the job goes beyond this machine, and has neither token nor certificate (CONTRACT CL-18). Cancelled on an interrupt.
Result<Met> meet_others(const RunConfig& config);

}  // namespace shoal
