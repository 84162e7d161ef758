// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One's own program as a whole cluster inside a unit test: every task with its train_and_evaluate(), on hosts with
/// disks and a network between them, all simulated on one thread, in virtual time. Faults come by script. The same seed
/// replays the same run, to the last bit.
///
///   shoal::testing::World world({.seed = 7});
///   world.add_cluster("ps:2,worker:2,evaluator", program);  // void program(RunConfig), as main() hands it to run().
///   world.at_step(30, [&] { world.kill("worker 1"); });
///   ASSERT_TRUE(world.run()) << world.report();
///
/// Not thread-safe; one world may follow another, and several may live in several threads.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/virtual.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/update_observer.h"
#include "shoal/estimator/run_config.h"
#include "shoal/testing/simulated_disk.h"
#include "shoal/transport/sim.h"

namespace shoal::testing {

/// The program of a task: the body that main() gives to shoal::run(). The world calls it once per start of each task.
using Program = std::function<void(RunConfig)>;
/// Environment variables of one task, by name.
using TaskVariables = std::map<std::string, std::string, std::less<>>;

struct WorldOptions {
  /// The seed of all that is drawn: which task goes first, how long work and messages take, what Environment::entropy()
  /// gives.
  uint64_t seed = 1;
  /// Virtual time that a step, an evaluation, a save, ... takes: `work`, and at most `work_jitter` more.
  Duration work = std::chrono::milliseconds(1);
  Duration work_jitter = std::chrono::milliseconds(1);
  transport::SimLink link{.latency = std::chrono::microseconds(200), .jitter = std::chrono::microseconds(200)};
  /// The limit of parameter servers (ParameterServerOptions): updates of more bytes take virtual time as steps do, and
  /// others may come in between. Unset: the default, which small models stay below.
  std::optional<uint64_t> server_bytes_on_strand{};
  /// From how many bytes on shards travel in parts, some while others are computed (ShardSpec::own_part_bytes).
  uint64_t own_part_bytes = cluster::kOwnPartBytes;
  /// From how many bytes on checkpoints share tables that change little (checkpoint::Sharing).
  uint64_t table_bytes_min = uint64_t(1) << 20;
  /// The least level of log lines that report() shows.
  LogLevel log_level = LogLevel::kInfo;
  /// An observer of updates beside the world itself.
  std::shared_ptr<cluster::UpdateObserver> observer = nullptr;
  /// Gets every log line, with the time and the task before it.
  std::function<void(const std::string& line)> log = nullptr;
  /// Puts something before the disk that a task sees, or in its place.
  std::function<std::shared_ptr<Storage>(const std::string& task, std::shared_ptr<Storage> disk)> wrap_storage = nullptr;
  /// Puts something before the network that a task sees.
  std::function<TransportFactory(const std::string& task, TransportFactory network)> wrap_network = nullptr;
};

class World {
 public:
  explicit World(WorldOptions options = {});
  ~World();  ///< Kills what still runs.
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The tasks of a cluster ("ps:2,worker:3,evaluator", with a chief; or "master,ps:2"), each on a host of its own, named
  /// "chief 0", "worker 0", "ps 1", "evaluator 0". They start with the first run(). `config.model_dir` unset:
  /// "/shared/model", in a folder that all hosts see. Tasks talk over the simulated network, or, where `config.runtime` names a
  /// transport of its `plugins`, over that one. Raises InvalidArgument for a size that says nothing.
  void add_cluster(std::string_view size, Program program, RunConfigOptions config = {});
  /// One process without a cluster, on a host of its own. It starts with the first run().
  void add_process(const std::string& name, Program program, RunConfigOptions config = {});
  /// One task with a TF_CONFIG of its own, on a host of its own. It starts with the first run().
  void add_task(const std::string& name, std::string tf_config, Program program, RunConfigOptions config = {});
  /// One task with these environment variables, on a host of its own: SHOAL_RANK and its like, or what an engine sets. It
  /// starts with the first run(). Rank 0 answers at an address that is a name here: "job:4000".
  void add_rank(const std::string& name, TaskVariables variables, Program program, RunConfigOptions config = {});

  /// Starts a task (again, with the same command: what is on its disk is still there).
  void start(std::string_view task);
  /// Instead of with the first run(), it starts so much later.
  void start_late(std::string_view task, Duration delay);
  /// The same command once more on the host of `task`, while that runs: a task of its own, "worker 0 again". Returns its
  /// name. Raises FailedPrecondition while a second one runs. With `model_dir`: a task of another job, which has that folder and
  /// comes to the same addresses, "worker 0 elsewhere".
  std::string start_second(std::string_view task, const std::optional<std::string>& model_dir = {});
  /// Kills the task as SIGKILL does: its connections end at once, locks are let go.
  void kill(std::string_view task);
  /// Takes the power from its host: as kill(), but peers only notice the silence, and what was not synced may be gone
  /// from its disk.
  void lose_power(std::string_view task);
  /// Calls kill() inside the work that makes this many calls of its storage from now on, before the last of them: a
  /// save, say, that gets only half way.
  void kill_in_storage(std::string_view task, int64_t calls);
  /// Stops it as SIGSTOP does, until thaw() lets it go on as SIGCONT does.
  void freeze(std::string_view task);
  void thaw(std::string_view task);
  /// Called by the program of `task`, in a hook, input function or exporter: the work that this is part of (a step, an
  /// evaluation) takes so much longer.
  void spend(std::string_view task, Duration time);
  /// Interrupts it as SIGTERM does.
  void interrupt(std::string_view task);
  /// Sends the signal to a task whose on_sigterm is `leave`: the task gives way, and its program ends with Cancelled
  /// (status 143).
  void leave(std::string_view task);
  /// Sets SHOAL_RUN, the name that a launcher gives to one run, for the task's next starts; "": none.
  void set_shoal_run(std::string_view task, std::string run);
  /// The clock on the wall of its host jumps ahead (or back), and runs faster or slower from now on.
  void set_wall_clock(std::string_view task, Duration ahead, double drift = 0);

  /// Runs `action` once the clock is there.
  void at(Duration since_start, std::function<void()> action);
  void after(Duration from_now, std::function<void()> action) { at(elapsed() + from_now, std::move(action)); }
  /// Runs `action` once some trainer has heard of that global step.
  void at_step(uint64_t global_step, std::function<void()> action);

  /// Runs until all tasks that were started have ended. False if they have not when `limit` of virtual time has passed,
  /// or where nothing is left that could wake them.
  bool run(Duration limit = std::chrono::hours(4));
  /// Lets that much virtual time pass.
  void run_for(Duration duration);
  Duration elapsed() const;

  bool running(std::string_view task) const;
  /// The error that the program's last start ended with, once it has ended.
  Result<void> outcome(std::string_view task) const;
  /// The exit status that the program would have ended with: 0 clean, 2 wrong usage, 3 NaN loss, 4 damage, 5 deadline, 1
  /// other.
  int exit_status(std::string_view task) const;
  bool killed(std::string_view task) const;  ///< True if it was killed, and not started again.
  uint64_t global_step() const;              ///< The furthest step that any trainer has heard of.
  /// Ports that still listen and locks that are still held, once all tasks have ended. Empty: none.
  std::vector<std::string> leftovers() const;
  /// Each task, how it stands, and its last log lines: for the message of a test that failed.
  std::string report() const;
  size_t count_log(std::string_view part) const;  ///< The number of log lines, of all tasks, that contain `part`.
  std::vector<std::string> tasks() const;

  /// The files that all hosts see, below "/shared"; paths as the tasks name them.
  SimulatedDisk& shared();
  SimulatedDisk& disk(std::string_view task);  ///< The disk of its host.
  /// Cuts its host off from what lies in "/shared" (input/output errors), or connects it again.
  void cut_off_shared(std::string_view task, bool cut);
  /// Delays what the task's host sees of changes by others in "/shared", as clients of network file systems do; 0: no
  /// delay.
  void see_shared_late(std::string_view task, Duration delay);
  transport::SimNetwork& network();
  VirtualWorld& time();
  /// A hash of everything that happened: equal runs have equal hashes.
  uint64_t trace() const;

  struct State;  // Known to the implementation only.

 private:
  void start_waiting();
  std::unique_ptr<State> state_;
};

}  // namespace shoal::testing
