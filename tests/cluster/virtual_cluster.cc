// SPDX-License-Identifier: Apache-2.0
#include "virtual_cluster.h"

#include <algorithm>

#include "shoal/base/exhaustion.h"
#include "shoal/base/forwarding_environment.h"

namespace shoal::cluster {
namespace {

using transport::Endpoint;

Task<Result<void>> run_server_after(Environment& env, Duration delay, ParameterServerOptions options) {
  SHOAL_CO_TRY_VOID(co_await env.sleep_for(delay));
  co_return co_await run_parameter_server(env, std::move(options));
}

class WithoutThreads final : public ForwardingEnvironment {
 public:
  WithoutThreads(Environment& inner, std::shared_ptr<const bool> lacks)
      : ForwardingEnvironment(std::shared_ptr<Environment>(std::shared_ptr<void>(), &inner)), lacks_(std::move(lacks)) {}
  Task<Result<void>> offload(Work work) override {
    if (*lacks_) raise_exhausted(unavailable("a thread could not be started"));
    co_return co_await ForwardingEnvironment::offload(std::move(work));
  }

 private:
  const std::shared_ptr<const bool> lacks_;
};

Endpoint server_endpoint(int index) { return {"sim", "ps-" + std::to_string(index) + ":1"}; }

}  // namespace

ShardPlan VirtualCluster::make_plan(int servers) {
  // One variable that is split over three servers or more, and small ones.
  return plan_of({variable("kernel", {30, 16}), variable("bias", {16}), variable("scale", {})}, servers);
}

VirtualCluster::VirtualCluster(int servers) : plan_(make_plan(servers)) {
  const auto is_server = [](std::string_view task) { return task.starts_with("ps "); };
  network_->lose_when_sent(
      [cuts = cuts_, is_server](std::string_view from, std::string_view, const transport::Message& message) {
        return cuts->on_send && !is_server(from) && cuts->on_send(std::string(from), message);
      });
  network_->lose_when_received(
      [cuts = cuts_, is_server](std::string_view, std::string_view to, const transport::Message& message) {
        return cuts->on_receive && !is_server(to) && cuts->on_receive(std::string(to), message);
      });
}

void VirtualCluster::TearDown() {
  cuts_->on_send = cuts_->on_receive = nullptr;
  for (Environment* task : tasks_) kill(*task);
  world_.run_for(std::chrono::seconds(1));
}

void VirtualCluster::kill(Environment& task) {
  world_.kill(task);
  network_->process_died(task.log().task());
}

Environment& VirtualCluster::add_task(const std::string& name, ProcessInfo process, Duration offload_duration) {
  TransportTable table;
  table["sim"] = transport::sim_factory(network_, name);
  const LogSink sink = [lines = lines_](const LogRecord& record) {
    lines->push_back(std::string(record.task) + ": " + std::string(record.message));
  };
  tasks_.push_back(&world_.add_task({.task = name,
                                     .sink = sink,
                                     .transports = std::move(table),
                                     .offload_duration = offload_duration,
                                     .process = std::move(process)}));
  return *tasks_.back();
}

Environment& VirtualCluster::start_server(int index, const ServerOptions& how) {
  ProcessInfo process;
  process.memory_bytes = how.memory_bytes;
  Environment& env = add_task("ps " + std::to_string(index), std::move(process), how.beside_strand);
  // Fields are set one by one, since g++ 12 takes fields that a designated initializer leaves out for uninitialized.
  ParameterServerOptions options;
  options.identity.job = TaskOptions().job;
  options.identity.role = "ps";
  options.identity.index = index;
  options.identity.strategy = how.strategy;
  options.identity.incarnation = env.entropy() | 1;
  options.listen_at = server_endpoint(index);
  for (size_t i = 0; i < plan_.shards.size(); ++i) options.servers.push_back(server_endpoint(int(i)));
  options.ready_timeout = seconds_to_duration(how.ready_timeout);
  options.trainers = how.trainers;
  options.memory_limit = how.memory_limit;
  options.link.send_queue_bytes_max = how.send_queue_bytes_max.value_or(options.link.send_queue_bytes_max);
  if (how.beside_strand > Duration::zero()) options.bytes_on_strand = 0;
  options.observer = how.observer;
  Environment* served = &env;
  if (how.lacks_threads) {
    served = around_tasks_.emplace_back(std::make_unique<WithoutThreads>(env, how.lacks_threads)).get();
  }
  servers_[index].emplace_back(env, run_server_after(*served, seconds_to_duration(how.delay), std::move(options)));
  return env;
}

std::unique_ptr<RemoteStore> VirtualCluster::make_store(Environment& env, const std::string& role, int index,
                                                        const TaskOptions& options) {
  const bool chief = role == "chief";
  RemoteStoreOptions store{.identity = {.job = options.job,
                                        .role = role,
                                        .index = index,
                                        .trainer_index = chief ? 0 : index + 1,
                                        .incarnation = env.entropy() | 1,
                                        .strategy = options.strategy,
                                        .fingerprint = options.fingerprint,
                                        .numerics = options.numerics,
                                        .variables = options.variables,
                                        .meaning = options.meaning},
                           .servers = {},
                           .link = {},
                           .ready_timeout = seconds_to_duration(options.ready_timeout),
                           .job_ended = options.job_ended,
                           .compression = options.compression,
                           .by_rows = options.rows_alone};
  for (size_t i = 0; i < plan_.shards.size(); ++i) store.servers.push_back(server_endpoint(int(i)));
  auto made = make_remote_store(env, plan_, std::move(store));
  std::vector<std::string> names = options.updates;
  names.insert(names.end(), options.by_rows.begin(), options.by_rows.end());
  EXPECT_TRUE(made->bind(names, options.updates, options.by_rows));
  return made;
}

std::string VirtualCluster::logs() const {
  std::string text;
  for (const std::string& line : *lines_) text += line + "\n";
  return text;
}

size_t VirtualCluster::count_log(const std::string& part) const {
  return size_t(
      std::count_if(lines_->begin(), lines_->end(), [&](const std::string& line) { return line.find(part) != line.npos; }));
}

Task<Result<Outcome>> VirtualCluster::step(Store& store, std::string position, float gradient) {
  SHOAL_CO_TRY(Step step, co_await store.begin({}));
  SHOAL_CO_TRY_VOID(store.start(step, 1, position));
  for (const backends::MutablePieces& pieces : step.updates) {
    for (const backends::MutablePiece& piece : pieces) {
      // The shapes are kernel [30, 16], bias [16], scale [].
      const int64_t row = step.updates.front().data() == pieces.data() ? 16 : 1;
      std::fill_n(reinterpret_cast<float*>(piece.data), (piece.row_end - piece.row_begin) * row, gradient);
    }
  }
  const double scalars[] = {1.0};
  co_return co_await store.commit(step, scalars);
}

Task<Result<int>> VirtualCluster::steps(Environment& env, RemoteStore& store, int count, Duration pause) {
  int counted = 0;
  while (counted < count) {
    if (pause > Duration::zero()) SHOAL_CO_TRY_VOID(co_await env.sleep_for(pause));
    auto outcome = co_await step(store);
    if (outcome) {
      ++counted;
      if (outcome->stop) break;
      continue;
    }
    if (outcome.error().kind() != ErrorKind::kUnavailable || !store.lost()) co_return std::move(outcome).error();
    SHOAL_CO_TRY_VOID((co_await store.attach(env.after(std::chrono::seconds(60)))));
  }
  co_return counted;
}

Task<Result<Ready>> VirtualCluster::prepare(Environment& env, RemoteStore& store, RestoreSource* source, double seconds) {
  return store.prepare(source, env.after(seconds_to_duration(seconds)));
}

Task<Result<Ready>> VirtualCluster::attach(Environment& env, RemoteStore& store, double seconds) {
  return store.attach(env.after(seconds_to_duration(seconds)));
}

Task<Result<float>> VirtualCluster::common_value(Store& store, size_t elements) {
  SHOAL_CO_TRY(std::unique_ptr<Snapshot> snapshot, co_await store.snapshot({}));
  std::vector<float> values;
  for (size_t shard = 0; shard < snapshot->plan().shards.size(); ++shard) {
    for (const Segment& segment : snapshot->plan().shards[shard].segments) {
      SHOAL_CO_TRY(const Snapshot::Part part, co_await snapshot->read(int(shard), 0, segment.offset, segment.bytes));
      const auto own = floats(part.bytes);
      values.insert(values.end(), own.begin(), own.end());
    }
  }
  SHOAL_CO_TRY_VOID(co_await snapshot->release());
  EXPECT_EQ(values.size(), elements);
  EXPECT_THAT(values, testing::Each(values.at(0)));
  co_return values.at(0);
}

Task<Result<void>> VirtualCluster::finish_job(Environment& env, RemoteStore& store) {
  JobEnd end{.failed = false, .reason = "max_steps"};
  SHOAL_CO_TRY_VOID(co_await store.finish(std::move(end), env.after(std::chrono::seconds(10))));
  co_return co_await store.leave(env.after(std::chrono::seconds(10)));
}

}  // namespace shoal::cluster
