// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state of a World: its tasks, and actions that are still to come.
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "shoal/base/random.h"
#include "shoal/testing/mounted_storage.h"
#include "shoal/testing/world.h"

namespace shoal::testing {

/// One task. Its program may be started several times.
struct WorldTask {
  std::string name;
  std::string host;
  TaskVariables variables;  // Empty: the task runs in local mode.
  std::string shoal_run;
  Program program;
  RunConfigOptions config;
  Environment* env = nullptr;                     // The environment of the last start, which the VirtualWorld owns.
  std::shared_ptr<const VirtualProgram> running;  // Null: the task was never started.
  int starts = 0;
  int first_process_id = 1000;
  bool killed = false;
  bool starts_with_run = true;
  bool elsewhere = false;                     // True if the task is given another task's addresses (elsewhere.h).
  std::optional<int64_t> storage_calls_left;  // The task is killed after this many storage calls.
  std::deque<std::string> last_lines;
  std::shared_ptr<SimulatedDisk> disk;      // The disk of the task's host.
  std::shared_ptr<MountedStorage> storage;  // The host's own disk, and the shared folder.
  // The host's wall clock: it shows `wall` at the time `since`, and gains `drift` seconds per second.
  WallTime wall{std::chrono::seconds(1'700'000'000)};
  SteadyTime since{};
  double drift = 0;
};

struct World::State : cluster::UpdateObserver {
  explicit State(WorldOptions given);

  WorldTask& task(std::string_view name);
  WorldTask& add(const std::string& name, TaskVariables variables, Program program, RunConfigOptions config);
  void log(WorldTask& task, const LogRecord& record);
  void run_due();
  /// With `host`, the whole host dies, so peers only notice its silence.
  void kill(WorldTask& task, bool host = false);
  WallTime server_clock() const;
  Duration before_storage_call(WorldTask& task);

  void activated(int shard, uint64_t server, uint64_t epoch, uint64_t global_step) override;
  void applied(const cluster::ObservedUpdate& update) override;
  void holds(int shard, uint64_t bytes, uint64_t most) override;
  void counted(const cluster::ObservedUpdate& update) override;
  void stepped(int trainer, uint64_t global_step) override;
  void ended(int trainer, uint64_t global_step) override;
  void replaced(int trainer) override;

  WorldOptions options;
  const VirtualWorld* clock = nullptr;  // Null: the world is still being constructed.
  std::shared_ptr<transport::SimNetwork> network;
  std::shared_ptr<SimulatedDisk> shared;
  std::vector<std::unique_ptr<WorldTask>> tasks;
  std::multimap<SteadyTime, std::function<void()>> timed;
  std::multimap<uint64_t, std::function<void()>> by_step;
  uint64_t global_step = 0;
  std::vector<std::string> lines;
  RandomKey trace = 0;
  std::shared_ptr<cluster::UpdateObserver> self;  // A pointer to `this` that does not own it.
  VirtualWorld world;  // The last member, because its tasks may use all members above until they have ended.
};

}  // namespace shoal::testing
