// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What surrounds a task: what its process lends to it, who it is to its peers and where they are, its environment.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/identity.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// What the process lends to this task; nothing special, where the config has no host.
const TaskHost& host_of(const RunConfig& config);
/// What the build has, what `host` brings, and the program's own of `runtime`; of one scheme, the latest.
TransportTable transports_of(const TaskHost& host, const std::optional<RuntimeOptions>& runtime);

/// Job identity, role, index, ... of the task that `config` describes.
cluster::TaskIdentity task_identity(Environment& env, const RunConfig& config);
/// Options with the credential that this task was given, if any, and its heartbeats. Errors: those of
/// find_credential().
Result<transport::LinkOptions> link_options(const RunConfig& config);
/// Where this task listens: the address that the cluster names for it, or the one of --bind. InvalidArgument if that is no
/// host or host:port.
Result<transport::Endpoint> own_endpoint(const RunConfig& config);
/// FailedPrecondition that names the ways to say who may join a job beyond this machine (CONTRACT CL-18).
Error needs_credential();
/// Addresses of the parameter servers.
std::vector<transport::Endpoint> server_endpoints(const RunConfig& config);

/// How many threads of a server share in a large update, on a machine where its process may use `usable_cores` cores. Where
/// updates are synchronous, the trainers wait meanwhile, and the servers divide the cores: as if as many of the host's tasks
/// were servers as may be. Where they are not, the trainers compute: as many as RunConfig::compute_threads().
int32_t update_threads(const RunConfig& config, int32_t usable_cores);

/// How the program cancels: RunConfigOptions::stop, or an interrupt of the config's own environment.
StopToken stop_of_program(const RunConfig& config);
/// What ends a call that is no part of a task (an evaluation, predictions, an export): the same. Inside of a task it never stops,
/// since the task decides there.
StopToken stop_of_call(const RunConfig& config);

/// Makes a folder for a run that was given no model_dir, and says in the log where it is.
Result<std::string> make_temporary_model_dir(Environment& env);
/// The same for an Estimator whose calls (evaluate, export_model, ...) run in `env`: what the exporters of a task get.
RunConfig with_environment(const RunConfig& config, std::shared_ptr<Environment> env);

}  // namespace shoal
