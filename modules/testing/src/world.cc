// SPDX-License-Identifier: Apache-2.0
#include "shoal/testing/world.h"

#include <algorithm>

#include "elsewhere.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/cluster/cluster_spec.h"
#include "shoal/estimator/plugins.h"
#include "shoal/estimator/task_host.h"
#include "world_state.h"

namespace shoal::testing {
namespace {

constexpr size_t kLinesKept = 12;  // How many of each task's last log lines report() shows.
constexpr std::string_view kScheme = "sim";

/// The limits of an imagined machine, with which profiles compare measured times. The limits of the real machine would
/// differ from one machine that runs the tests to another.
backends::MachineLimits limits_of_no_machine(int) { return {.flops_per_second = 1e11, .copies = {{1 << 20, 1e10}}}; }

std::string stamp(SteadyTime now) { return formatted("%10.3f s  ", to_seconds(now.time_since_epoch())); }

std::string address_of(std::string_view role, int index) {
  return std::string(role) + "-" + std::to_string(index) + ":2222";
}

std::string listed(std::string_view role, int count) {
  std::string text = "\"" + std::string(role) + "\": [";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "\"" : ", \"") + address_of(role, i) + "\"";
  return text + "]";
}

std::string tf_config_of(const cluster::ClusterSize& size, std::string_view role, int index) {
  std::string cluster = listed(size.chief_role(), 1);
  if (size.workers > 0) cluster += ", " + listed(cluster::kWorkerRole, size.workers);
  if (size.ps > 0) cluster += ", " + listed(cluster::kPsRole, size.ps);
  return "{\"cluster\": {" + cluster + "}, \"task\": {\"type\": \"" + std::string(role) +
         "\", \"index\": " + std::to_string(index) + "}}";
}

}  // namespace

World::State::State(WorldOptions given)
    : options(std::move(given)),
      network(std::make_shared<transport::SimNetwork>(fold_in(RandomKey(options.seed), "network"), options.link)),
      shared(std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.clock = [this] { return server_clock(); },
                                                                  .seed = fold_in(RandomKey(options.seed), "shared"),
                                                                  .folders = {"/shared"}})),
      self(std::shared_ptr<void>(), this),
      world(VirtualWorldOptions{.seed = options.seed, .shuffled = true}) {
  clock = &world;
}

WorldTask& World::State::task(std::string_view name) {
  for (const auto& task : tasks) {
    if (task->name == name) return *task;
  }
  const std::string names = comma_separated(tasks, [](const auto& task) { return task->name; });
  raise(not_found("World: there is no task \"" + std::string(name) + "\", but: " + names));
}

WorldTask& World::State::add(const std::string& name, TaskVariables variables, Program program, RunConfigOptions config) {
  for (const auto& task : tasks) {
    if (task->name == name) raise(invalid_argument("World: there is a task \"" + name + "\" already"));
  }
  if (!program) raise(invalid_argument("World: task \"" + name + "\" has no program"));
  if (!config.model_dir && !variables.empty()) config.model_dir = "/shared/model";
  RuntimeOptions runtime = config.runtime.value_or(RuntimeOptions{});
  if (!runtime.transport) runtime.transport = std::string(kScheme);
  if (!runtime.threads) runtime.threads = 1;
  config.runtime = std::move(runtime);
  tasks.push_back(std::make_unique<WorldTask>());
  WorldTask& task = *tasks.back();
  task.name = task.host = name;
  task.disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{
      .clock = [this] { return server_clock(); }, .seed = fold_in(RandomKey(options.seed), name), .folders = {"/tmp"}});
  task.storage = std::make_shared<MountedStorage>(task.disk);
  task.storage->mount("/shared", shared);
  task.variables = std::move(variables);
  task.program = std::move(program);
  task.config = std::move(config);
  return task;
}

void World::State::log(WorldTask& task, const LogRecord& record) {
  trace = fold_in(trace, record.message);
  if (record.level < options.log_level && !options.log) return;
  std::string line = stamp(world.now()) + task.name + ": " + std::string(record.message);
  if (options.log) options.log(line);
  if (record.level < options.log_level) return;
  task.last_lines.push_back(line);
  if (task.last_lines.size() > kLinesKept) task.last_lines.pop_front();
  lines.push_back(std::move(line));
}

/// The clock of the machine that keeps the shared folder.
WallTime World::State::server_clock() const {
  const Duration passed = clock ? clock->now().time_since_epoch() : Duration{};
  return WallTime(std::chrono::seconds(1'700'000'000) + passed);
}

void World::State::activated(int shard, uint64_t server, uint64_t epoch, uint64_t step) {
  if (options.observer) options.observer->activated(shard, server, epoch, step);
}
void World::State::applied(const cluster::ObservedUpdate& update) {
  if (options.observer) options.observer->applied(update);
}
void World::State::holds(int shard, uint64_t bytes, uint64_t most) {
  if (options.observer) options.observer->holds(shard, bytes, most);
}
void World::State::counted(const cluster::ObservedUpdate& update) {
  if (options.observer) options.observer->counted(update);
}
void World::State::stepped(int trainer, uint64_t step) {
  global_step = std::max(global_step, step);
  if (options.observer) options.observer->stepped(trainer, step);
}

void World::State::ended(int trainer, uint64_t step) {
  if (options.observer) options.observer->ended(trainer, step);
}

void World::State::replaced(int trainer) {
  if (options.observer) options.observer->replaced(trainer);
}

/// Runs the actions of the test that are due now. Called while no task runs, since actions may kill and start tasks. They
/// may also add further actions.
void World::State::run_due() {
  for (;;) {
    std::function<void()> action;
    if (!timed.empty() && timed.begin()->first <= world.now()) {
      action = std::move(timed.extract(timed.begin()).mapped());
    } else if (!by_step.empty() && by_step.begin()->first <= global_step) {
      action = std::move(by_step.extract(by_step.begin()).mapped());
    } else {
      return;
    }
    action();
  }
}

World::World(WorldOptions options) : state_(std::make_unique<State>(std::move(options))) {}
World::~World() = default;

void World::add_cluster(std::string_view size_text, Program program, RunConfigOptions config) {
  const cluster::ClusterSize size = value_or_raise(cluster::parse_cluster_size(size_text));
  const auto add = [&](std::string_view role, int count) {
    for (int i = 0; i < count; ++i) {
      state_->add(std::string(role) + " " + std::to_string(i), {{"TF_CONFIG", tf_config_of(size, role, i)}}, program,
                  config);
    }
  };
  add(size.chief_role(), 1);
  add(cluster::kPsRole, size.ps);
  add(cluster::kWorkerRole, size.workers);
  add(cluster::kEvaluatorRole, size.evaluator ? 1 : 0);
}

void World::add_process(const std::string& name, Program program, RunConfigOptions config) {
  state_->add(name, {}, std::move(program), std::move(config));
}

void World::add_task(const std::string& name, std::string tf_config, Program program, RunConfigOptions config) {
  TaskVariables variables;
  if (!tf_config.empty()) variables.emplace("TF_CONFIG", std::move(tf_config));
  state_->add(name, std::move(variables), std::move(program), std::move(config));
}

void World::add_rank(const std::string& name, TaskVariables variables, Program program, RunConfigOptions config) {
  state_->add(name, std::move(variables), std::move(program), std::move(config));
}

void World::start(std::string_view name) {
  State& state = *state_;
  WorldTask& task = state.task(name);
  if (running(name)) raise(failed_precondition("World: " + task.name + " runs already"));
  TransportFactory network = transport::sim_factory(state.network, task.name);
  if (task.elsewhere) network = listens_elsewhere(task.name, std::move(network));
  if (state.options.wrap_network) network = state.options.wrap_network(task.name, std::move(network));
  std::shared_ptr<Storage> disk = task.storage;
  if (state.options.wrap_storage) disk = state.options.wrap_storage(task.name, std::move(disk));
  VirtualTaskOptions options{
      .task = task.variables.empty() ? "" : task.name,
      .sink = [&state, &task](const LogRecord& record) { state.log(task, record); },
      .transports = {{std::string(kScheme), std::move(network)}},
      .offload_duration = state.options.work,
      .offload_jitter = state.options.work_jitter,
      .storage = std::move(disk),
      .process = {.host_name = task.host, .process_id = task.first_process_id + task.starts, .usable_cores = 1},
      .wall_clock =
          [&task](SteadyTime now) {
            const double passed = to_seconds(now - task.since) * (1 + task.drift);
            return task.wall + seconds_to_duration(passed);
          },
      .before_storage_call = [&state, &task] { return state.before_storage_call(task); }};
  if (const std::shared_ptr<const Plugins>& own = task.config.runtime->plugins) {
    for (const OwnTransport& one : own->transports) options.transports.insert_or_assign(one.scheme, one.make);
  }
  task.env = &state.world.add_task(std::move(options));
  ++task.starts;
  task.killed = task.starts_with_run = false;
  auto host = std::make_shared<TaskHost>();
  host->environment = std::shared_ptr<Environment>(std::shared_ptr<void>(), task.env);
  host->insecure = true;  // Unencrypted connections are safe: the network is simulated.
  host->observer = state.self;
  host->bytes_on_strand = state.options.server_bytes_on_strand;
  host->own_part_bytes = state.options.own_part_bytes;
  host->table_bytes_min = state.options.table_bytes_min;
  host->shoal_run = task.shoal_run;
  host->measure_limits = limits_of_no_machine;
  task.running = state.world.start(*task.env, [&task, env = task.env, host = std::move(host)] {
    const auto variables = [&task](std::string_view variable) {
      const auto found = task.variables.find(variable);
      return found == task.variables.end() ? std::nullopt : std::optional(found->second);
    };
    task.program(RunConfig::from_environment(task.config, variables, &env->log(), host));
  });
}

void World::start_late(std::string_view name, Duration delay) {
  WorldTask& task = state_->task(name);
  if (!task.starts_with_run) raise(failed_precondition("World: " + task.name + " has been started already"));
  task.starts_with_run = false;
  after(delay, [this, &task] { start(task.name); });
}

std::string World::start_second(std::string_view name, const std::optional<std::string>& model_dir) {
  const WorldTask& first = state_->task(name);
  const std::string second = first.name + (model_dir ? " elsewhere" : " again");
  const auto is_it = [&second](const auto& task) { return task->name == second; };
  if (std::ranges::none_of(state_->tasks, is_it)) {
    RunConfigOptions config = first.config;
    if (model_dir) config.model_dir = *model_dir;
    WorldTask& made = state_->add(second, first.variables, first.program, std::move(config));
    made.starts_with_run = false;
    made.elsewhere = model_dir.has_value();
    if (!made.elsewhere) {
      made.host = first.host;
      made.disk = first.disk;
      made.storage = first.storage;
      made.first_process_id = 2000;
    }
  }
  state_->task(second).shoal_run = state_->task(name).shoal_run;
  start(second);
  return second;
}

void World::State::kill(WorldTask& task, bool host) {
  task.killed = true;
  task.storage_calls_left.reset();
  world.thaw(*task.env);
  if (host) {
    network->host_died(task.name);
  } else {
    network->process_died(task.name);
  }
  world.kill(*task.env);
}

Duration World::State::before_storage_call(WorldTask& task) {
  if (task.storage_calls_left && --*task.storage_calls_left < 0) kill(task);
  return task.storage->take_delay();
}

void World::kill(std::string_view name) {
  if (running(name)) state_->kill(state_->task(name));
}

void World::kill_in_storage(std::string_view name, int64_t calls) {
  if (running(name)) state_->task(name).storage_calls_left = calls;
}

void World::lose_power(std::string_view name) {
  WorldTask& task = state_->task(name);
  for (const auto& other : state_->tasks) {
    if (other->host == task.host && running(other->name)) state_->kill(*other, true);
  }
  task.disk->lose_power(fold_in(fold_in(RandomKey(state_->options.seed), "power"), uint64_t(task.starts)));
}

void World::freeze(std::string_view name) {
  if (!running(name)) return;
  state_->world.freeze(*state_->task(name).env);
  state_->network->set_frozen(name, true);
}
void World::thaw(std::string_view name) {
  if (!running(name)) return;
  state_->world.thaw(*state_->task(name).env);
  state_->network->set_frozen(name, false);
}
void World::interrupt(std::string_view name) {
  if (running(name)) state_->world.interrupt(*state_->task(name).env);
}

void World::leave(std::string_view name) {
  if (running(name)) state_->world.leave(*state_->task(name).env);
}

void World::spend(std::string_view name, Duration time) { state_->world.spend(*state_->task(name).env, time); }

void World::set_shoal_run(std::string_view name, std::string run) { state_->task(name).shoal_run = std::move(run); }

void World::set_wall_clock(std::string_view name, Duration ahead, double drift) {
  WorldTask& task = state_->task(name);
  const SteadyTime now = state_->world.now();
  task.wall += seconds_to_duration(to_seconds(now - task.since) * (1 + task.drift)) + ahead;
  task.since = now;
  task.drift = drift;
}

void World::at(Duration since_start, std::function<void()> action) {
  state_->timed.emplace(SteadyTime(since_start), std::move(action));
}
void World::at_step(uint64_t global_step, std::function<void()> action) {
  state_->by_step.emplace(global_step, std::move(action));
}

void World::start_waiting() {
  for (const auto& task : state_->tasks) {
    if (task->starts_with_run) start(task->name);
  }
}

bool World::run(Duration limit) {
  start_waiting();
  const SteadyTime end = state_->world.now() + limit;
  const auto any = [this] {
    return !state_->timed.empty() || std::any_of(state_->tasks.begin(), state_->tasks.end(),
                                                 [](const auto& task) { return task->running && !task->running->done(); });
  };
  while (any()) {
    state_->run_due();
    const SteadyTime next = state_->timed.empty() ? end : std::min(end, state_->timed.begin()->first);
    if (state_->world.step(next)) continue;
    if (next >= end || state_->timed.empty()) return !any();
    state_->world.run_until(next);  // No task has anything left to do, so the clock moves to the next action.
  }
  return true;
}

void World::run_for(Duration duration) {
  start_waiting();
  const SteadyTime end = state_->world.now() + duration;
  for (;;) {
    state_->run_due();
    const SteadyTime next = state_->timed.empty() ? end : std::min(end, state_->timed.begin()->first);
    if (state_->world.step(next)) continue;
    state_->world.run_until(next);
    if (next >= end) return state_->run_due();
  }
}

Duration World::elapsed() const { return state_->world.now().time_since_epoch(); }

bool World::running(std::string_view name) const {
  const WorldTask& task = state_->task(name);
  return task.running && !task.running->done() && !task.killed;
}

Result<void> World::outcome(std::string_view name) const {
  const WorldTask& task = state_->task(name);
  if (!task.running) return failed_precondition(task.name + " was never started");
  if (!task.running->done()) return failed_precondition(task.name + " still runs");
  if (task.killed) return cancelled();
  return task.running->outcome();
}

bool World::killed(std::string_view name) const { return state_->task(name).killed; }

int World::exit_status(std::string_view name) const {
  constexpr int kKilled = 137;
  const WorldTask& task = state_->task(name);
  if (task.killed) return kKilled;
  const Result<void> result = outcome(name);
  if (result) return 0;
  const bool interrupted = result.error().kind() == ErrorKind::kCancelled && !task.env->leaving().stop_requested();
  return interrupted ? 0 : shoal::exit_status(result.error().kind());  // The same rule as in shoal::run().
}

uint64_t World::global_step() const { return state_->global_step; }

std::vector<std::string> World::leftovers() const {
  std::vector<std::string> left;
  for (const std::string& address : state_->network->listening()) left.push_back("somebody listens at " + address);
  const auto add_locks = [&left](const SimulatedDisk& disk, const std::string& where) {
    for (const std::string& path : disk.locked()) left.push_back("somebody holds /" + path + where);
  };
  add_locks(*state_->shared, "");
  for (const auto& task : state_->tasks) add_locks(*task->disk, " on the host of " + task->name);
  return left;
}

std::string World::report() const {
  std::string text;
  for (const auto& task : state_->tasks) {
    text += task->name + ", started " + std::to_string(task->starts) + " times: ";
    if (!task->running) {
      text += "not started";
    } else if (!task->running->done()) {
      text += state_->world.frozen(*task->env) ? "frozen" : "runs";
    } else if (task->killed) {
      text += "killed";
    } else {
      const Result<void>& result = task->running->outcome();
      text += result ? "ended" : "failed: " + result.error().message();
    }
    text += "\n";
    for (const std::string& line : task->last_lines) text += "  " + line + "\n";
  }
  return text;
}

size_t World::count_log(std::string_view part) const {
  return size_t(std::count_if(state_->lines.begin(), state_->lines.end(),
                              [part](const std::string& line) { return line.find(part) != std::string::npos; }));
}

std::vector<std::string> World::tasks() const {
  std::vector<std::string> names;
  for (const auto& task : state_->tasks) names.push_back(task->name);
  return names;
}

SimulatedDisk& World::shared() { return *state_->shared; }
SimulatedDisk& World::disk(std::string_view task) { return *state_->task(task).disk; }

void World::cut_off_shared(std::string_view task, bool cut) {
  state_->task(task).storage->connection("/shared").cut_off(cut);
}

void World::see_shared_late(std::string_view task, Duration delay) {
  state_->task(task).storage->connection("/shared").see_late(delay, [state = state_.get()] { return state->world.now(); });
}

transport::SimNetwork& World::network() { return *state_->network; }
VirtualWorld& World::time() { return state_->world; }
uint64_t World::trace() const { return fold_in(state_->trace, state_->world.trace()); }

}  // namespace shoal::testing
