// SPDX-License-Identifier: Apache-2.0
#include "cluster_of_threads.h"

#include <algorithm>
#include <thread>

#include "shoal/base/format.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/transport.h"
#include "task/metered_task.h"
#include "task/task_network.h"

namespace shoal {
namespace {

/// Refuses a transport that reaches beyond this machine, since the addresses of the tasks are names that only this machine
/// knows. A transport that does not exist is refused later.
void check_transport(Environment& env, const TransportTable& table, const RunConfigOptions& options) {
  const std::string chosen = options.runtime ? options.runtime->transport.value_or("inproc") : "inproc";
  const auto goes_beyond_machine = [&env](const std::string& scheme) {
    const Result<transport::Transport*> transport = env.transport(scheme);
    return transport && (*transport)->reach() == transport::Reach::kNetwork;
  };
  if (!goes_beyond_machine(chosen)) return;
  std::string others;
  for (const auto& [scheme, factory] : table) {
    if (!goes_beyond_machine(scheme)) others += (others.empty() ? "" : " or ") + scheme;
  }
  raise(invalid_argument("a cluster of threads (--cluster) talks by " + others + ", not by " + chosen +
                         "; leave --transport out, or start a process for each task (TF_CONFIG)"));
}

/// Runs the threads of the tasks, and records on the strand of the calling thread how each one has ended.
class ThreadedCluster {
 public:
  ThreadedCluster(Environment& env, const std::function<void(RunConfig)>& body)
      : env_(env), body_(body), stop_(env.interrupted()), changed_(env) {}

  StopToken stop_token() const { return stop_.token(); }
  /// Keeps the report of a task. Called on the task's thread.
  void note(const TaskReport& report) {
    env_.post([this, report] {
      const auto at = std::ranges::find(outcomes_, report.task, &TaskOutcome::task);
      if (at != outcomes_.end()) at->report = report;
    });
  }
  Task<std::vector<TaskOutcome>> run(std::vector<RunConfig> configs);

 private:
  void start(size_t index, RunConfig config);
  void ended(size_t index, Result<void> result);

  Environment& env_;
  const std::function<void(RunConfig)>& body_;
  StopSource stop_;
  Event changed_;
  std::vector<TaskOutcome> outcomes_;
  std::vector<std::jthread> threads_;
  size_t running_ = 0;
};

Task<std::vector<TaskOutcome>> ThreadedCluster::run(std::vector<RunConfig> configs) {
  running_ = configs.size();
  for (const RunConfig& config : configs) {
    outcomes_.push_back({config.task().name(), config.task_type(), config.task().index, {}, {}});
  }
  for (size_t i = 0; i < configs.size(); ++i) start(i, configs[i]);
  while (running_ > 0) {
    Result<void> woken = co_await changed_.wait("the tasks of the cluster", kNoDeadline);
    static_cast<void>(woken);
  }
  threads_.clear();  // Clearing joins the threads.
  co_return std::move(outcomes_);
}

/// Starts the thread of a task. If that fails, stops all tasks, since the others would wait for this one.
void ThreadedCluster::start(size_t index, RunConfig config) {
  const Result<void> started = call_user("the start of a task", [&] {
    threads_.emplace_back([this, index, config = std::move(config)] {
      Result<void> result = call_user("the program", [&] { body_(config); });
      env_.post([this, index, result = std::move(result)]() mutable { ended(index, std::move(result)); });
    });
  });
  if (started) return;
  stop_.request_stop();
  ended(index, started);
}

void ThreadedCluster::ended(size_t index, Result<void> result) {
  const bool gave_way = !result && result.error().kind() == ErrorKind::kCancelled && env_.leaving().stop_requested();
  if (!result && !gave_way) {
    env_.log().error(outcomes_[index].task + " failed: " + result.error().message());
    if (index == 0) stop_.request_stop();  // The chief (task 0) has failed, and no other task can end the job.
  }
  outcomes_[index].result = std::move(result);
  --running_;
  changed_.notify_all();
}

}  // namespace

std::vector<TaskOutcome> run_cluster_of_threads(const cluster::ClusterSize& size, RunConfigOptions options,
                                                const TaskHost& host, const std::function<void(RunConfig)>& body) {
  value_or_raise(size.check());
  const std::optional<std::string> trial = value_or_raise(cluster::trial_from_environment(cluster::process_getenv));
  if (options.environment) {
    raise(invalid_argument(
        "RunConfig: environment: a cluster of threads (run_cluster(), --cluster) has several tasks in one process, "
        "which need an environment each; give it log_sink, storage and stop instead, which all of them share"));
  }
  options.log_sink = guarded_sink(std::move(options.log_sink));  // One for all tasks.
  const TransportTable transports = transports_of(host, options.runtime);
  const std::unique_ptr<Environment> env =
      make_production_environment({.sink = options.log_sink ? options.log_sink : host.sink,
                                   .transports = transports,
                                   .storage = options.storage,
                                   .handle_signals = host.handle_signals,
                                   .terminate_means_leave = options.on_sigterm == OnSigterm::kLeave,
                                   .stop = host.stop,
                                   .stop_also = options.stop,
                                   .leave = host.leave});
  check_transport(*env, transports, options);
  TemporaryModelDir temporary;
  if (!options.model_dir) {
    temporary = value_or_raise(make_temporary_model_dir(*env, options.storage));
    options.model_dir = temporary.path;
  }
  ThreadedCluster cluster(*env, body);
  auto task_host = std::make_shared<TaskHost>(host);
  task_host->report = [&cluster, report = host.report](const TaskReport& done) {
    cluster.note(done);
    if (report) report(done);
  };
  task_host->handle_signals = false;
  task_host->stop = cluster.stop_token();
  task_host->leave = env->leaving();
  if (!task_host->buffers) task_host->buffers = BufferPool::create();
  if (!task_host->metrics_endpoint) {
    task_host->metrics_endpoint = value_or_raise(open_metrics_endpoint(options.metrics, host, env->log()));
  }
  task_host->transports["inproc"] = transport::inproc_factory(std::make_shared<transport::InprocHub>());
  std::vector<RunConfig> configs;
  // The addresses must be unique on this machine, for transports that reach beyond this process (shm). Process numbers are
  // not: a process may run several clusters, and two containers may have equal numbers and one network.
  const std::string name = "cluster-" + formatted("%016llx", static_cast<unsigned long long>(env->entropy()));
  for (cluster::TaskConfig& task : cluster::in_process_tasks(size, name)) {
    task.trial = trial;
    configs.push_back(RunConfig(options, std::move(task)).with_host(task_host));
  }
  return env->run(cluster.run(std::move(configs)));
}

std::vector<TaskOutcome> run_cluster(const cluster::ClusterSize& size, const std::function<void(RunConfig)>& body,
                                     ClusterRunOptions options) {
  TaskHost host = *value_or_raise(process_host());
  host.handle_signals = options.handle_signals;
  host.stop = options.stop;
  return run_cluster_of_threads(size, std::move(options.config), host, body);
}

}  // namespace shoal
