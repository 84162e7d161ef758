#pragma once
/// The parameter server: holds one shard, applies what trainers push, hands out versions, until the job has ended.
#include <memory>

#include "shoal/base/environment.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/witness.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

struct ParameterServerOptions {
  TaskIdentity identity;                ///< job, role "ps", index, strategy
  transport::Endpoint listen_at;
  transport::LinkOptions link;
  int trainers = 1;                     ///< of the job, chief and workers: for the memory that is told
  Duration ready_timeout = std::chrono::seconds(7200);  ///< without chief and workers for longer: DeadlineExceeded
  std::shared_ptr<Witness> witness = nullptr;
};

/// Serves until the chief says that the job has finished. Errors: Unavailable (address taken; or interrupted and the job
/// did not end within 20 s), DeadlineExceeded (nobody there for ready_timeout).
Task<Result<void>> run_parameter_server(Environment& env, ParameterServerOptions options);

}  // namespace shoal::cluster
