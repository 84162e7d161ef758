// SPDX-License-Identifier: Apache-2.0
#include "task/meet_others.h"

#include <algorithm>
#include <thread>

#include "shoal/base/production.h"
#include "shoal/cluster/rendezvous.h"
#include "task/end_of_job.h"
#include "task/give_way.h"
#include "task/task_network.h"

namespace shoal {
namespace {

constexpr std::string_view kTcp = "tcp";

/// Runs the rendezvous in an environment that other code drives, such as a simulation.
class BesideTheTask {
 public:
  BesideTheTask(std::shared_ptr<Environment> env, cluster::RendezvousOptions options)
      : env_(std::move(env)), rendezvous_(*env_, std::move(options)) {}
  ~BesideTheTask() { static_cast<void>(env_->run(rendezvous_.close())); }
  BesideTheTask(const BesideTheTask&) = delete;
  BesideTheTask& operator=(const BesideTheTask&) = delete;

  Result<cluster::Gathering> meet() { return env_->run(rendezvous_.meet()); }

 private:
  const std::shared_ptr<Environment> env_;
  cluster::Rendezvous rendezvous_;
};

/// Runs the rendezvous in an environment and on a thread of its own, so that other tasks find this task even while it
/// computes or before its program begins.
class OnItsOwnThread {
 public:
  OnItsOwnThread(std::unique_ptr<Environment> env, cluster::RendezvousOptions options)
      : env_(std::move(env)), rendezvous_(*env_, std::move(options)) {}
  ~OnItsOwnThread() {
    stop_.request_stop();
    if (thread_.joinable()) {
      thread_.join();
    } else {
      static_cast<void>(env_->run(rendezvous_.close()));
    }
  }
  OnItsOwnThread(const OnItsOwnThread&) = delete;
  OnItsOwnThread& operator=(const OnItsOwnThread&) = delete;

  Result<cluster::Gathering> meet() {
    Result<cluster::Gathering> met = env_->run(rendezvous_.meet());
    if (met) thread_ = std::thread([this] { static_cast<void>(env_->run(rendezvous_.attend(stop_.token()))); });
    return met;
  }

 private:
  const std::unique_ptr<Environment> env_;
  cluster::Rendezvous rendezvous_;
  StopSource stop_;
  std::thread thread_;
};

template <class Part>
Result<Met> meet_by(std::shared_ptr<Part> part, const cluster::TaskConfig& task) {
  SHOAL_TRY(const cluster::Gathering met, part->meet());
  if (met.ended) {
    Met late{.task = task, .membership = nullptr};
    late.task.has_ended = true;
    return late;
  }
  SHOAL_TRY(cluster::TaskConfig complete, cluster::with_addresses(task, met.addresses, met.host_names));
  return Met{.task = std::move(complete), .membership = std::move(part)};
}

/// Checks, before any socket is opened, that not just anybody can join the job: unless all rendezvous addresses are
/// loopback addresses, a token, a certificate or --insecure is needed. Host names are not resolved for this check.
Result<void> check_reach(const cluster::Place& place, const transport::LinkOptions& link) {
  const bool on_loopback = std::ranges::all_of(place.rendezvous, cluster::is_loopback_address);
  return on_loopback || link.credential || link.insecure ? Result<void>() : Result<void>(needs_credential());
}

Result<cluster::RendezvousOptions> rendezvous_options(const RunConfig& config) {
  const cluster::TaskConfig& task = config.task();
  SHOAL_TRY_VOID(cluster::check_runnable(task));
  cluster::RendezvousOptions options{.place = *task.place,
                                     .task_scheme = config.transport(),
                                     .bind = host_of(config).bind,
                                     .link = {},
                                     .timeout = seconds_to_duration(config.ready_timeout_secs())};
  SHOAL_TRY(options.link, link_options(config));
  SHOAL_TRY_VOID(check_reach(options.place, options.link));
  return options;
}

/// Chooses the transport of the rendezvous: tcp, because it finds peers by host and port even if the task's own transport
/// does not. If the environment has no tcp, as in a simulated network, chooses the task's own transport.
Result<void> choose_meeting_scheme(Environment& env, const RunConfig& config, cluster::RendezvousOptions& options) {
  SHOAL_TRY(const transport::Transport* const own, env.transport(options.task_scheme));
  if (own->reach() == transport::Reach::kProcess) {
    return failed_precondition("runtime.transport (--transport) is " + options.task_scheme +
                               ", which threads of one process use; " + std::string(to_string(config.task().source)) +
                               " has started processes: leave it out");
  }
  options.meeting_scheme = env.transport(kTcp) ? std::string(kTcp) : options.task_scheme;
  return {};
}

/// Returns a function that says whether the job has ended, by the file in model_dir that is written at the end of training
/// (end_mark.h). Rank 0, the chief, accepts only a file of its own launch (SHOAL_RUN). All other ranks may start after the
/// end, and follow the rules of EndOfJob.
std::function<bool()> asks_folder(Environment& env, const RunConfig& config) {
  if (!config.model_dir()) return nullptr;
  if (config.task().place->rank != 0) {
    const auto end =
        std::make_shared<EndOfJob>(env, config, *config.model_dir(), std::nullopt, EndOfJob::NewMarks::kObeyed);
    return [end] {
      const auto mark = end->look();
      return mark && *mark;
    };
  }
  return [&env, folder = *config.model_dir(), own = host_of(config).shoal_run] {
    const auto mark = checkpoint::read_end_mark(env.storage(), folder);
    return !own.empty() && mark && *mark && (*mark)->shoal_run == own;
  };
}

Result<Met> meet_as_a_process(const RunConfig& config, cluster::RendezvousOptions options) {
  const TaskHost& host = host_of(config);
  ProductionOptions production;
  production.task = config.task().name();
  production.sink = config.log_sink() ? config.log_sink() : host.sink;
  production.storage = config.storage();
  production.stop = host.stop;
  production.stop_also = config.stop();
  if (const std::shared_ptr<Environment>& own = config.own_environment()) {
    // `own` is the environment of the task. The rendezvous runs on a thread of its own, and therefore in another
    // environment. Of `own` it uses only the log, the storage and the interrupts.
    production.sink = [own](const LogRecord& record) { own->log().log(record.level, record.message); };
    production.storage = std::shared_ptr<Storage>(own, &own->storage());
    production.stop_also = own->interrupted();
  }
  production.leave = host.leave;
  production.pool_threads = 1;
  production.spin = Duration::zero();
  // While the rendezvous waits, a signal ends the wait. Afterwards the task or the program handles signals again.
  std::unique_ptr<Environment> signals;
  if (host.handle_signals) {
    ProductionOptions heeding = production;
    heeding.handle_signals = true;
    heeding.terminate_means_leave = config.on_sigterm() == OnSigterm::kLeave;
    signals = make_production_environment(std::move(heeding));
    production.stop = signals->interrupted();
    production.leave = signals->leaving();
  }
  production.transports = transports_of(host, config.runtime());
  auto env = make_production_environment(std::move(production));
  SHOAL_TRY_VOID(choose_meeting_scheme(*env, config, options));
  options.has_ended = asks_folder(*env, config);
  const StopToken leaving = env->leaving();
  Result<Met> met = meet_by(std::make_shared<OnItsOwnThread>(std::move(env), std::move(options)), config.task());
  if (!met && met.error().kind() == ErrorKind::kCancelled && leaving.stop_requested()) return gave_way(config);
  return met;
}

}  // namespace

Result<Met> meet_others(const RunConfig& given) {
  RunConfig config = given;
  if (!config.host()) {
    SHOAL_TRY(std::shared_ptr<const TaskHost> of_process, process_host());
    config = config.with_host(std::move(of_process));
  }
  SHOAL_TRY(cluster::RendezvousOptions options, rendezvous_options(config));
  const std::shared_ptr<Environment>& env = config.host()->environment;
  if (!env) return meet_as_a_process(config, std::move(options));
  SHOAL_TRY_VOID(choose_meeting_scheme(*env, config, options));
  options.has_ended = asks_folder(*env, config);
  return meet_by(std::make_shared<BesideTheTask>(env, std::move(options)), config.task());
}

}  // namespace shoal
