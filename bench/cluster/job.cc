// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "latencies.h"
#include "shoal/base/compute.h"
#include "shoal/base/production.h"
#include "shoal/cluster/parameter_server.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/data/dataset.h"
#include "shoal/data/iterator.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/registry.h"

namespace shoal::bench {
namespace {

using cluster::RemoteStore;
using transport::Endpoint;

constexpr auto kJobPatience = std::chrono::seconds(60);

/// Addresses that only this job has. Ports lie below those that the system gives away by itself.
std::vector<Endpoint> addresses_of(const JobPlan& plan) {
  static int used = 0;
  std::vector<Endpoint> addresses;
  for (int i = 0; i < plan.servers; ++i, ++used) {
    const int port = 20000 + (int(::getpid()) * 97 + used) % 10000;
    const std::string name = "cluster-bench-" + std::to_string(::getpid()) + "-" + std::to_string(used) + ":1";
    addresses.push_back({plan.transport, plan.transport == "tcp" ? "127.0.0.1:" + std::to_string(port) : name});
  }
  return addresses;
}

class Job {
 public:
  explicit Job(const JobPlan& plan)
      : plan_(plan), addresses_(addresses_of(plan)), transports_(transport::built_in_transports()) {
    transports_["inproc"] = transport::inproc_factory(std::make_shared<transport::InprocHub>());
  }

  Result<JobSpeed> run() {
    std::vector<std::thread> tasks;
    for (int i = 0; i < plan_.servers; ++i) {
      tasks.emplace_back(
          [this, i] { run_task("ps " + std::to_string(i), [this, i](Environment& env) { return serve(env, i); }); });
    }
    for (int i = 0; i < plan_.trainers; ++i) {
      tasks.emplace_back(
          [this, i] { run_task("trainer " + std::to_string(i), [this, i](Environment& env) { return train(env, i); }); });
    }
    JobSpeed speed;
    while (ready_ < plan_.trainers && !failed_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double begin = now_seconds(), busy = processor_seconds();
    const uint64_t before = applied_, dropped_before = dropped_;
    std::this_thread::sleep_for(seconds_to_duration(plan_.seconds));
    const double seconds = now_seconds() - begin;
    speed.batches_per_second = double(applied_ - before) / seconds;
    speed.dropped_per_second = double(dropped_ - dropped_before) / seconds;
    speed.cores = (processor_seconds() - busy) / seconds;
    over_ = true;
    for (std::thread& task : tasks) task.join();
    if (failed_) return *why_;
    return speed;
  }

 private:
  void run_task(const std::string& name, const std::function<Task<Result<void>>(Environment&)>& body) {
    const auto env = make_production_environment(
        {.task = name, .sink = [](const LogRecord&) {}, .transports = transports_, .pool_threads = 1});
    const Result<void> done = env->run(body(*env));
    if (done || done.error().kind() == ErrorKind::kCancelled) return;
    const std::lock_guard lock(mutex_);
    if (!why_) why_ = done.error().with_context(name);
    failed_ = over_ = true;
  }

  cluster::TaskIdentity identity_of(Environment& env, const std::string& role, int index) const {
    cluster::TaskIdentity identity;
    identity.job = "cluster-bench\n";
    identity.role = role;
    identity.index = index;
    identity.strategy = plan_.strategy;
    identity.incarnation = env.entropy() | 1;
    return identity;
  }

  Task<Result<void>> serve(Environment& env, int index) {
    cluster::ParameterServerOptions options;
    options.identity = identity_of(env, "ps", index);
    options.listen_at = addresses_[size_t(index)];
    options.servers = addresses_;
    options.trainers = plan_.trainers;
    options.ready_timeout = kJobPatience;
    return cluster::run_parameter_server(env, std::move(options));
  }

  cluster::ShardPlan shards() const {
    constexpr int64_t kWidth = 64;
    const cluster::VariableSpec kernel{.name = "kernel",
                                       .dtype = DType::kFloat32,
                                       .shape = {int64_t(plan_.bytes / sizeof(float)) / kWidth, kWidth},
                                       .initializer = {Initializer::Kind::kUniform, -1, 1},
                                       .key = 1,
                                       .rule = {.kind = nn::UpdateRule::Kind::kSgd, .constants = {}}};
    return value_or_raise(cluster::plan_shards({kernel}, plan_.servers, 1));
  }

  std::unique_ptr<RemoteStore> store_of(Environment& env, int trainer) {
    cluster::RemoteStoreOptions options;
    options.identity = identity_of(env, trainer == 0 ? "chief" : "worker", std::max(0, trainer - 1));
    options.identity.trainer_index = trainer;
    options.servers = addresses_;
    options.ready_timeout = kJobPatience;
    auto store = cluster::make_remote_store(env, shards(), std::move(options));
    value_or_raise(store->bind({"kernel"}, {"kernel"}));
    return store;
  }

  static data::Dataset pictures() {
    const Tensor bytes = Tensor::zeros(DType::kFloat32, Shape{2000, 784});
    return data::Dataset::from_tensor_slices(bytes).shuffle(2000).repeat().batch(64);
  }

  static Task<Result<void>> draw(Environment& env, data::Iterator& batches) {
    const auto next = [&batches]() -> Result<void> {
      data::Batch batch;
      SHOAL_TRY(const bool any, batches.next(batch));
      return any ? Result<void>() : internal_error("the pictures have ended");
    };
    co_return co_await compute(env, next);
  }

  /// The chief is the last to leave: it ends the job.
  Task<Result<void>> train(Environment& env, int trainer) {
    const auto store = store_of(env, trainer);
    if (trainer == 0) SHOAL_CO_TRY_VOID(co_await store->prepare(nullptr, env.after(kJobPatience)));
    if (trainer > 0) SHOAL_CO_TRY_VOID(co_await store->attach(env.after(kJobPatience)));
    SHOAL_CO_TRY(const auto batches, pictures().iterate(env));
    ++ready_;
    for (uint64_t ordinal = 1; !over_; ++ordinal) {
      TaskGroup beside(env);
      if (plan_.draw == Draw::kDuringTheCommit) beside.spawn(draw(env, *batches));
      Result<void> stepped = co_await step(env, *store, trainer, ordinal);
      SHOAL_CO_TRY_VOID(co_await beside.join());
      SHOAL_CO_TRY_VOID(std::move(stepped));
      if (plan_.draw == Draw::kAfterTheCommit) SHOAL_CO_TRY_VOID(co_await draw(env, *batches));
    }
    if (trainer > 0) {
      SHOAL_CO_TRY_VOID(co_await store->leave(env.after(kJobPatience)));
      ++left_;
      co_return Result<void>{};
    }
    SHOAL_CO_TRY_VOID(co_await store->rest(cluster::Rest(), env.after(kJobPatience)));
    while (left_ + 1 < plan_.trainers && !failed_) SHOAL_CO_TRY_VOID(co_await env.sleep_for(std::chrono::milliseconds(1)));
    cluster::JobEnd end{.failed = false, .reason = "max_steps"};
    SHOAL_CO_TRY_VOID(co_await store->finish(std::move(end), env.after(kJobPatience)));
    co_return co_await store->leave(env.after(kJobPatience));
  }

  Task<Result<void>> step(Environment& env, RemoteStore& store, int trainer, uint64_t ordinal) {
    SHOAL_CO_TRY(cluster::Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, ordinal, {}));
    for (const backends::MutablePieces& pieces : step.updates) {
      for (const backends::MutablePiece& piece : pieces) {
        std::memset(piece.data, 0, size_t(piece.row_end - piece.row_begin) * 64 * sizeof(float));
      }
    }
    const bool slow = plan_.trainers > 1 && trainer + 1 == plan_.trainers;
    const Duration computing = slow ? seconds_to_duration(to_seconds(plan_.step) * plan_.straggler) : plan_.step;
    TaskGroup beside(env);
    beside.spawn(store.exchange(beside.token()));
    Result<void> computed;
    if (computing > Duration::zero()) computed = co_await env.sleep_for(computing);
    for (size_t i = 0; step.arrivals && computed && i < step.variables.size(); ++i) computed = co_await store.arrival(i);
    beside.request_stop();
    Result<void> exchanged = co_await beside.join();
    static_cast<void>(exchanged);  // What was in the way shows below.
    SHOAL_CO_TRY_VOID(std::move(computed));
    const double scalars[] = {0.01};
    SHOAL_CO_TRY(const cluster::Outcome outcome, co_await store.commit(step, scalars));
    ++(outcome.applied ? applied_ : dropped_);
    co_return Result<void>{};
  }

  const JobPlan& plan_;
  const std::vector<Endpoint> addresses_;
  TransportTable transports_;
  std::atomic<int> ready_{0}, left_{0};
  std::atomic<uint64_t> applied_{0}, dropped_{0};
  std::atomic<bool> over_{false}, failed_{false};
  std::mutex mutex_;
  std::optional<Error> why_;
};

}  // namespace

Result<JobSpeed> measure(const JobPlan& plan) { return Job(plan).run(); }

}  // namespace shoal::bench
