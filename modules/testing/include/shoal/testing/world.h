// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a user's program as a whole cluster inside a unit test: every task calls train_and_evaluate(), on simulated hosts
/// with disks and a network between them, on one thread and in virtual time. The test chooses the faults. The same seed
/// repeats the same run, to the last bit.
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
  /// The seed of all random choices: which task goes first, how long work and messages take, what Environment::entropy()
  /// returns.
  uint64_t seed = 1;
  /// The virtual time that a step, an evaluation, a save, ... takes: at least `work`, and at most `work_jitter` more.
  Duration work = std::chrono::milliseconds(1);
  Duration work_jitter = std::chrono::milliseconds(1);
  transport::SimLink link{.latency = std::chrono::microseconds(200), .jitter = std::chrono::microseconds(200)};
  /// A parameter server computes updates of more bytes than this (ParameterServerOptions::bytes_on_strand) while it serves
  /// other messages, and such updates take virtual time as steps do. Unset: the default, which small models stay below.
  std::optional<uint64_t> server_bytes_on_strand{};
  /// The weights and gradients of a shard are sent in parts. A part ends once it has this many bytes
  /// (ShardSpec::own_part_bytes), and is sent while later parts are still computed.
  uint64_t own_part_bytes = cluster::kOwnPartBytes;
  /// A table of at least this many bytes shares files with the last checkpoint if it changes little (checkpoint::Sharing).
  uint64_t table_bytes_min = uint64_t(1) << 20;
  /// The least level of log lines that report() shows.
  LogLevel log_level = LogLevel::kInfo;
  /// A further observer of updates, besides the world itself.
  std::shared_ptr<cluster::UpdateObserver> observer = nullptr;
  /// Receives every log line, which begins with the time and the task.
  std::function<void(const std::string& line)> log = nullptr;
  /// Returns the storage that a task uses: a wrapper around `disk`, or a storage that replaces it.
  std::function<std::shared_ptr<Storage>(const std::string& task, std::shared_ptr<Storage> disk)> wrap_storage = nullptr;
  /// Returns the network that a task uses: a wrapper around `network`.
  std::function<TransportFactory(const std::string& task, TransportFactory network)> wrap_network = nullptr;
};

class World {
 public:
  explicit World(WorldOptions options = {});
  ~World();  ///< Kills the tasks that still run.
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Adds the tasks of a cluster ("ps:2,worker:3,evaluator", with a chief; or "master,ps:2"), each on a host of its
  /// own, named "chief 0", "worker 0", "ps 1", "evaluator 0". They start with the first run(). The default of
  /// `config.model_dir` is "/shared/model", in a folder that all hosts see. Tasks use the simulated network, unless
  /// `config.runtime` names a transport and has that transport among its `plugins`. Raises InvalidArgument for a size
  /// that cannot be read.
  void add_cluster(std::string_view size, Program program, RunConfigOptions config = {});
  /// Adds one process without a cluster, on a host of its own. It starts with the first run().
  void add_process(const std::string& name, Program program, RunConfigOptions config = {});
  /// Adds one task with a TF_CONFIG of its own, on a host of its own. It starts with the first run().
  void add_task(const std::string& name, std::string tf_config, Program program, RunConfigOptions config = {});
  /// Adds one task with these environment variables (SHOAL_RANK and the like, or those of an engine such as Slurm), on a
  /// host of its own. It starts with the first run(). The address of rank 0 is a name in the simulated network: "job:4000".
  void add_rank(const std::string& name, TaskVariables variables, Program program, RunConfigOptions config = {});

  /// Starts a task, or starts it again with the same command: the files on its disk are still there.
  void start(std::string_view task);
  /// Starts the task after `delay` from now, instead of with the first run().
  void start_late(std::string_view task, Duration delay);
  /// Starts the command of `task` once more on the same host, as a task of its own, "worker 0 again", and returns its name.
  /// Raises FailedPrecondition while that second task runs. With `model_dir` the second task belongs to another job, which
  /// has that folder and the same addresses, and runs on a host of its own: "worker 0 elsewhere".
  std::string start_second(std::string_view task, const std::optional<std::string>& model_dir = {});
  /// Kills the task as SIGKILL does: its connections end at once, and its locks are released.
  void kill(std::string_view task);
  /// Cuts the power of the task's host: as kill(), but peers only notice the silence, and data that was not synced may be
  /// lost from its disk.
  void lose_power(std::string_view task);
  /// Kills the task in the middle of work such as a save: `calls` further calls of its storage still happen, and the task
  /// dies before the next one.
  void kill_in_storage(std::string_view task, int64_t calls);
  /// Stops the task as SIGSTOP does, until thaw() continues it as SIGCONT does.
  void freeze(std::string_view task);
  void thaw(std::string_view task);
  /// Call this in a hook, input function or exporter of the program of `task`: the work around the call (a step, an
  /// evaluation) takes `time` longer.
  void spend(std::string_view task, Duration time);
  /// Interrupts the task as SIGTERM does.
  void interrupt(std::string_view task);
  /// Sends SIGTERM to a task whose on_sigterm is `leave`: the task saves, does not mark the job as over, and its program
  /// ends with Cancelled (status 143), so that the task can be started again.
  void leave(std::string_view task);
  /// Sets SHOAL_RUN, the name that a launcher gives to one start of all tasks, for this task's next starts; "": none.
  void set_shoal_run(std::string_view task, std::string run);
  /// Moves the wall clock of the task's host ahead (or back). From now on the clock gains `drift` seconds per second.
  void set_wall_clock(std::string_view task, Duration ahead, double drift = 0);

  /// Runs `action` at this virtual time.
  void at(Duration since_start, std::function<void()> action);
  void after(Duration from_now, std::function<void()> action) { at(elapsed() + from_now, std::move(action)); }
  /// Runs `action` once some trainer knows that the job has reached this global step.
  void at_step(uint64_t global_step, std::function<void()> action);

  /// Runs until all started tasks have ended. Returns false if some have not ended after `limit` of virtual time, or if
  /// nothing is left that could wake them.
  bool run(Duration limit = std::chrono::hours(4));
  /// Runs the world for this much virtual time.
  void run_for(Duration duration);
  Duration elapsed() const;

  bool running(std::string_view task) const;
  /// The result of the program's last start, once that has ended: success, or its error.
  Result<void> outcome(std::string_view task) const;
  /// The exit status that the program would have ended with: 0 clean, 2 wrong usage, 3 NaN loss, 4 damage, 5 deadline, 1
  /// other.
  int exit_status(std::string_view task) const;
  bool killed(std::string_view task) const;  ///< True if the task was killed, and not started again.
  uint64_t global_step() const;              ///< The highest global step that any trainer knows.
  /// Returns ports that still listen and locks that are still held after all tasks have ended. Empty: there are none.
  std::vector<std::string> leftovers() const;
  /// Returns the state of each task with its last log lines, for the message of a failed test.
  std::string report() const;
  size_t count_log(std::string_view part) const;  ///< The number of log lines, of all tasks, that contain `part`.
  std::vector<std::string> tasks() const;

  /// The disk whose files all hosts see below "/shared". A file has the same path on this disk as in the tasks, so its path
  /// begins with "/shared", too.
  SimulatedDisk& shared();
  SimulatedDisk& disk(std::string_view task);  ///< The disk of the task's host.
  /// Cuts the task's host off from "/shared" (calls fail with input/output errors), or connects it again.
  void cut_off_shared(std::string_view task, bool cut);
  /// Delays when the task's host sees changes that others make in "/shared", as clients of network file systems do; 0: no
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
