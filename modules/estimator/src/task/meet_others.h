#pragma once
/// A task that knows its rank meets the others (cluster/rendezvous.h), and stays to be found for as long as its RunConfig
/// lives.
#include <memory>

#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

struct Met {
  cluster::TaskConfig task;           ///< With everybody's address, unless TaskConfig::has_ended.
  std::shared_ptr<const void> stays;  ///< Ends the task's part in the rendezvous when it goes.
};
/// Waits for the others, or until the mark in model_dir says that the start has ended (CONTRACT WO-4), at most `config.ready_timeout_secs()`. `config` has the task's place; without a host, that of the
/// process is taken. Errors: those of Rendezvous::meet(); FailedPrecondition where the job goes beyond this machine, and
/// has neither token nor certificate (CONTRACT CL-18). Cancelled on an interrupt.
Result<Met> meet_others(const RunConfig& config);

}  // namespace shoal
