// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Servers and trainers as virtual tasks on one thread, over a network that a test can cut.
///
/// The model counts: every trainer pushes gradients of 1 with learning rate 1 for variables that start at 0 and follow SGD,
/// so every element of every server equals minus the number of pushes that counted there.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans.h"
#include "shoal/base/virtual.h"
#include "shoal/cluster/parameter_server.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/transport/sim.h"

namespace shoal::cluster {

/// Decides about each message that a trainer sends or receives: true loses it and resets its connection.
struct Cuts {
  std::function<bool(const std::string& task, const transport::Message&)> on_send;
  std::function<bool(const std::string& task, const transport::Message&)> on_receive;
};

/// A coroutine that a test started on a task, and its result.
template <class T>
class Running {
 public:
  Running(Environment& env, Task<Result<T>> task) : task_(std::make_unique<Task<Result<T>>>(std::move(task))) {
    env.post([task = task_.get()] { task->start(); });
  }
  /// May be called once the world has run.
  bool done() const { return task_->done(); }
  Result<T> take() { return task_->take(); }

 private:
  std::unique_ptr<Task<Result<T>>> task_;
};

class VirtualCluster : public testing::Test {
 protected:
  explicit VirtualCluster(int servers = 2);
  /// Kills the tasks that still run, so that every coroutine unwinds.
  void TearDown() override;

  static ShardPlan make_plan(int servers);

  struct TaskOptions {
    std::string name;
    std::string job = "chief 0: a:1\nps 0: b:1\n";
    std::string strategy = "async";
    uint64_t fingerprint = 77;
    std::string numerics = "same";
    std::string variables = {};
    std::string meaning = "feature \"wood\": hash (buckets 2)\n";
    double ready_timeout = 60;
    std::function<bool()> job_ended = {};
    Compression compression = {};
    std::vector<std::string> updates{"kernel", "bias", "scale"};
    std::vector<std::string> by_rows = {};  ///< Variables that get gradients by rows, beside `updates`.
    bool rows_alone = false;                ///< True if these variables travel as rows.
  };
  Environment& add_task(const std::string& name, ProcessInfo process = {}, Duration offload_duration = Duration::zero());
  /// Kills a task as a process dies: it runs no more, and its connections are closed. All tasks of one name die
  /// together.
  void kill(Environment& task);
  struct ServerOptions {
    double delay = 0;  ///< Seconds until the server opens its port.
    double ready_timeout = 60;
    int trainers = 2;
    std::string strategy = "async";
    uint64_t memory_bytes = 0;  ///< The bytes of memory that the server may have; 0 if not known.
    std::optional<uint64_t> memory_limit = {};
    std::optional<uint64_t> send_queue_bytes_max = {};
    /// The time that work on an arena takes, on another thread; 0 for no time, on the strand.
    Duration beside_strand = Duration::zero();
    /// While it is true, work fails on other threads as where no thread can be started. (Work on the strand does not.)
    std::shared_ptr<const bool> lacks_threads = nullptr;
    std::shared_ptr<UpdateObserver> observer = nullptr;
  };
  /// Starts a process of ps `index`; another one after a kill is a restart.
  Environment& start_server(int index, const ServerOptions& options);
  Environment& start_server(int index) { return start_server(index, {}); }
  bool server_done(int index) const { return servers_.at(index).back().done(); }
  Result<void> server_result(int index) { return servers_.at(index).back().take(); }

  /// A store for "chief" (index 0) or "worker", with an incarnation of its own.
  std::unique_ptr<RemoteStore> make_store(Environment& env, const std::string& role, int index, const TaskOptions& options);
  std::unique_ptr<RemoteStore> chief_store(Environment& env) { return make_store(env, "chief", 0, {}); }
  std::unique_ptr<RemoteStore> worker_store(Environment& env, int index = 0) {
    return make_store(env, "worker", index, {});
  }

  template <class T>
  Running<T> start(Environment& env, Task<Result<T>> task) {
    return Running<T>(env, std::move(task));
  }
  /// Runs the world until `task` is done, for at most a minute of virtual time.
  template <class T>
  Result<T> finish(Running<T>& task, double seconds = 60) {
    const SteadyTime until = world_.now() + seconds_to_duration(seconds);
    do world_.run_for(std::chrono::milliseconds(10));
    while (!task.done() && world_.now() < until);
    if (!task.done()) return internal_error("the task is still running");
    return task.take();
  }
  template <class T>
  Result<T> run(Environment& env, Task<Result<T>> task, double seconds = 60) {
    auto running = start(env, std::move(task));
    return finish(running, seconds);
  }
  double seconds() const { return to_seconds(world_.now() - SteadyTime{}); }
  std::string logs() const;
  size_t count_log(const std::string& part) const;

  // The work of trainers.
  static Task<Result<Outcome>> step(Store& store, std::string position = {}, float gradient = 1);
  /// Makes `count` steps, attaching again as trainers do. Returns how many counted.
  static Task<Result<int>> steps(Environment& env, RemoteStore& store, int count, Duration pause = {});
  static Task<Result<Ready>> prepare(Environment& env, RemoteStore& store, RestoreSource* source = nullptr,
                                     double seconds = 60);
  static Task<Result<Ready>> attach(Environment& env, RemoteStore& store, double seconds = 60);
  /// The value of all elements of all shards, if they are equal; else a failure. `elements` is their number.
  static Task<Result<float>> common_value(Store& store, size_t elements = 30 * 16 + 16 + 1);
  static Task<Result<void>> finish_job(Environment& env, RemoteStore& store);

  VirtualWorld world_{1};
  /// Its tasks have the names of add_task(). Nothing takes time, unless a test says so.
  std::shared_ptr<transport::SimNetwork> network_ =
      std::make_shared<transport::SimNetwork>(1, transport::SimLink{.latency = {}});
  std::shared_ptr<Cuts> cuts_ = std::make_shared<Cuts>();
  std::shared_ptr<std::vector<std::string>> lines_ = std::make_shared<std::vector<std::string>>();
  ShardPlan plan_;

 private:
  std::vector<Environment*> tasks_;
  std::vector<std::unique_ptr<Environment>> around_tasks_;  // Environments that forward to one of tasks_.
  std::map<int, std::vector<Running<void>>> servers_;       // Processes by index, the newest last.
};

/// A state to restore: every weight is `value`, slots are 0.
class UniformSource final : public RestoreSource {
 public:
  UniformSource(StateInfo info, float value) : info_(std::move(info)), value_(value) {}
  const StateInfo& info() const override { return info_; }
  Result<void> read(const Segment&, ArenaIndex arena, std::span<std::byte> out) override {
    for (float& element : floats(out)) element = arena == 0 ? value_ : 0;
    return {};
  }

 private:
  StateInfo info_;
  float value_;
};

}  // namespace shoal::cluster
