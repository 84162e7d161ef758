// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The surroundings of a task: what its process provides, its identity, the addresses of its peers, and its environment.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/identity.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// The TaskHost of this task: what its process provides (environment, log, transports). Empty if the config has none.
const TaskHost& host_of(const RunConfig& config);
/// All transports: those of the build, those of `host`, and the program's own in `runtime`. A later one replaces an earlier
/// one of the same scheme.
TransportTable transports_of(const TaskHost& host, const std::optional<RuntimeOptions>& runtime);

/// The task's identity for its peers: job, role, index and so on.
cluster::TaskIdentity task_identity(Environment& env, const RunConfig& config);
/// Options of links: the credential of this task, if it has one, and the interval of heartbeats. Errors: those of
/// find_credential().
Result<transport::LinkOptions> link_options(const RunConfig& config);
/// The address at which this task listens: the one of --bind, or else the one that the cluster has for it. InvalidArgument
/// if --bind is neither host nor host:port.
Result<transport::Endpoint> own_endpoint(const RunConfig& config);
/// The FailedPrecondition for a job whose addresses are not all loopback, and which has neither token nor certificate. The
/// error's text lists the ways to say which tasks may join the job.
Error needs_credential();
/// The addresses of the parameter servers.
std::vector<transport::Endpoint> server_endpoints(const RunConfig& config);

/// Returns how many threads a server uses for one large update, if its process may use `usable_cores` cores. During a
/// synchronous update the trainers wait, so the servers of the host divide all cores among them; the largest possible
/// number of servers is assumed for the host. During other updates the trainers compute, so the result is
/// RunConfig::compute_threads().
int32_t update_threads(const RunConfig& config, int32_t usable_cores);

/// The token by which the program cancels: RunConfigOptions::stop, or an interrupt of the config's own environment.
StopToken stop_of_program(const RunConfig& config);
/// The token that ends a call of an Estimator (an evaluation, predictions, an export). Outside of a task it is the token of
/// stop_of_program(). Within a task, where exporters make such calls, it is a token that never stops, since the task itself
/// decides when it ends.
StopToken stop_of_call(const RunConfig& config);

/// The temporary folder of a run without a model_dir.
struct TemporaryModelDir {
  std::string path;
  /// Its destructor removes the folder if the folder is empty: if an argument was wrong, say, so that nothing was written.
  std::shared_ptr<const void> remover;
};
/// Makes a folder for a run without a model_dir, and logs its path. `storage` is the program's own (RunConfig::storage());
/// null: the file system.
Result<TemporaryModelDir> make_temporary_model_dir(Environment& env, std::shared_ptr<Storage> storage);
/// A copy of `config` whose calls (evaluate, export_model, ...) run in `env`. The exporters of a task get an Estimator with
/// this config.
RunConfig with_environment(const RunConfig& config, std::shared_ptr<Environment> env);

}  // namespace shoal
