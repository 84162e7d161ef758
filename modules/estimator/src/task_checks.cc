// SPDX-License-Identifier: Apache-2.0
// Checks before a task does anything: whether it can run here, and who may join its job.
#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/transport/transport.h"
#include "task/task_network.h"
#include "train/train_task.h"

namespace shoal {
namespace {

/// True if the job's messages leave this machine, judging by its addresses.
bool crosses_machines(const RunConfig& config) {
  if (config.task().mode == cluster::TaskMode::kLocal || config.task().in_process) return false;
  if (!config.task().job.is_loopback()) return true;
  const Result<transport::Endpoint> own = own_endpoint(config);
  return !config.rpc_address().empty() && own && !cluster::is_loopback_address(own->address);
}

/// Checks that the certificate names this task. Peers would refuse a wrong one later; this check reports it at once, and
/// also for evaluators, which have no peers.
Result<void> check_certificate(const RunConfig& config, const transport::Certificate& certificate) {
  if (config.task().mode == cluster::TaskMode::kLocal || config.task().in_process) return {};
  const transport::PeerIdentity task{.role = config.task_type(), .index = int32_t(config.task_id())};
  if (certificate.owner() == task) return {};
  return failed_precondition("this task is " + to_string(task) +
                             ", and its certificate (--tls-dir, SHOAL_TLS_DIR) is that of " +
                             to_string(certificate.owner()) + "; make it one of its own (shoal keys task)");
}

/// Checks that a job with tasks on several machines has a token or a certificate, or that the user has allowed plain tcp
/// (--insecure).
Result<void> check_who_may_join(const RunConfig& config) {
  SHOAL_TRY(const transport::LinkOptions link, link_options(config));
  if (link.credential) {
    const auto* const certificate = std::get_if<transport::Certificate>(link.credential.get());
    return certificate ? check_certificate(config, *certificate) : Result<void>();
  }
  if (!crosses_machines(config) || link.insecure) return {};
  return needs_credential();
}

/// Refuses replicas in a cluster: only a process without a cluster computes for several trainers.
Result<void> check_replicas(const RunConfig& config) {
  if (config.replicas() == 1 || config.task().mode == cluster::TaskMode::kLocal) return {};
  return failed_precondition("runtime.replicas is " + std::to_string(config.replicas()) +
                             ": replicas are the trainers of one process without a cluster; a cluster has workers");
}

/// True if this process is one of several tasks that have to connect to each other. False if the task's TaskHost
/// (task_host.h) provides an environment of its own, or the transport that the config names: all tasks may then be in this
/// process.
bool meets_other_processes(const RunConfig& config) {
  const cluster::TaskConfig& task = config.task();
  if (task.in_process || task.mode == cluster::TaskMode::kLocal) return false;
  // In cluster mode only the task of a single-node cluster has no address, and it has no other task to meet.
  if (task.mode == cluster::TaskMode::kDistributed && config.rpc_address().empty()) return false;
  return !config.host() || !(config.host()->environment || config.host()->transports.contains(config.transport()));
}

/// The error for a task that has to connect to other processes, but whose transport connects only threads of one process.
Error only_threads(const RunConfig& config) {
  return failed_precondition(
      "runtime.transport (--transport) is " + config.transport() + ", which connects threads of one process, and " +
      std::string(to_string(config.task().source)) +
      " makes this process one task of several: leave it out, or say auto, which shares memory where "
      "it can");
}

/// Checks the transport as far as possible without an environment.
Result<void> check_transport(const RunConfig& config) {
  if (config.transport() == "inproc" && meets_other_processes(config)) return only_threads(config);
  return {};
}

}  // namespace

Result<void> check_reach(Environment& env, const RunConfig& config) {
  if (config.task_type() == cluster::kEvaluatorRole || !meets_other_processes(config)) return {};
  const Result<transport::Transport*> own = env.transport(config.transport());
  if (own && (*own)->reach() == transport::Reach::kProcess) return only_threads(config);
  return {};  // Any other error, such as an unknown transport, is reported by the code that connects.
}

Error needs_credential() {
  return failed_precondition(
      "the cluster has addresses beyond this machine, and whoever reaches its ports could take part: make "
      "a token once (shoal keys token) and give it to every task, in SHOAL_TOKEN or by --token-file, "
      "which encrypts all messages (certificates of their own do so too, see --tls-dir); or say --insecure "
      "(SHOAL_INSECURE=1) for plain tcp on a network "
      "that you trust");
}

Result<void> check_task(const RunConfig& config) {
  SHOAL_TRY_VOID(cluster::check_runnable(config.task()));
  if (!config.task().has_met()) {
    return failed_precondition(
        "this task knows its rank, but no addresses of other tasks; RunConfig::from_environment() finds them");
  }
  if (config.task().has_ended) return {};  // The job was over when this task started, so it has no peers.
  SHOAL_TRY_VOID(check_replicas(config));
  SHOAL_TRY_VOID(check_transport(config));
  if (!config.rpc_address().empty()) SHOAL_TRY_VOID(own_endpoint(config));
  return check_who_may_join(config);  // Last, so that errors of the other checks are reported first.
}

}  // namespace shoal
