// SPDX-License-Identifier: Apache-2.0
// What a parameter server answers while it applies large updates. One trainer pushes gradients of a whole shard, one after
// another; meanwhile another task says hello, again and again, over new connections, a third one listens to heartbeats, and
// a fourth pulls the weights. The server is a process of its own.
//
//   serving_bench [--mib 1024] [--pushes 8] [--threads 1,2] [--transport tcp] [--heartbeat 20]
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "free_endpoint.h"
#include "latencies.h"
#include "program.h"
#include "shoal/base/production.h"
#include "shoal/base/random.h"
#include "shoal/cluster/parameter_server.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/transport/registry.h"

namespace shoal::bench {
namespace {

using cluster::RemoteStore;
using transport::Connection;
using transport::Endpoint;

struct Options {
  int64_t mib = 1024;
  int pushes = 8;
  std::vector<int> threads{1, 2};
  std::string scheme = "tcp";
  int heartbeat_ms = 20;
  Duration heartbeat() const { return std::chrono::milliseconds(heartbeat_ms); }
};

constexpr auto kPatience = std::chrono::seconds(120);
constexpr const char* kJob = "ps 0: here\n";

std::unique_ptr<Environment> make_task(
    const std::string& name, int threads, LogSink sink = [](const LogRecord&) {}) {
  return make_production_environment(
      {.task = name, .sink = std::move(sink), .transports = transport::built_in_transports(), .pool_threads = threads});
}

cluster::ShardPlan plan_of(const Options& options) {
  constexpr int64_t kWidth = 1024;
  const nn::UpdateRule adam{.kind = nn::UpdateRule::Kind::kAdam, .constants = {0.9, 0.999, 1e-7}};
  const Initializer uniform{Initializer::Kind::kUniform, -1, 1};
  const cluster::VariableSpec kernel{.name = "kernel",
                                     .dtype = DType::kFloat32,
                                     .shape = {options.mib * (int64_t(1) << 20) / int64_t(sizeof(float)) / kWidth, kWidth},
                                     .initializer = uniform,
                                     .key = 1,
                                     .rule = adam};
  return value_or_raise(cluster::plan_shards({kernel}, 1, 1));
}

/// The server's process, which leaves when the chief says so. Says where it listens through `address_to`.
[[noreturn]] void serve(const Options& options, int threads, int address_to) {
  const auto tell = [address_to](const LogRecord& record) {
    constexpr std::string_view kStart = "parameter server at tcp://";
    const size_t at = record.message.find("://");
    if (at == std::string_view::npos || !record.message.starts_with(kStart.substr(0, 20))) return;
    const std::string_view rest = record.message.substr(at + 3);
    const std::string address(rest.substr(0, rest.find(',')));
    if (::write(address_to, address.data(), address.size()) < 0) std::abort();
    ::close(address_to);
  };
  const auto env = make_task("ps 0", threads, tell);
  cluster::ParameterServerOptions server;
  server.identity = {.job = kJob, .role = "ps", .index = 0, .incarnation = 1};
  server.listen_at = free_endpoint(*value_or_raise(env->transport(options.scheme)), options.scheme);
  server.link.heartbeat_interval = options.heartbeat();
  server.trainers = 4;
  const auto served = env->run(cluster::run_parameter_server(*env, std::move(server)));
  if (!served) std::fprintf(stderr, "server: %s\n", served.error().message().c_str());
  std::_Exit(served ? 0 : 1);
}

struct Cluster {
  const Options& options;
  Endpoint server;
  std::atomic<bool> ready{false};  // The model is ready.
  std::atomic<bool> over{false};
};

std::unique_ptr<RemoteStore> store_of(Environment& env, const Cluster& cluster, const std::string& role, int index) {
  cluster::RemoteStoreOptions options;
  options.identity = {.job = kJob, .role = role, .index = index, .trainer_index = role == "chief" ? 0 : index + 1};
  options.identity.incarnation = env.entropy() | 1;
  options.servers = {cluster.server};
  auto store = cluster::make_remote_store(env, plan_of(cluster.options), std::move(options));
  value_or_raise(store->bind({"kernel"}, {"kernel"}));
  return store;
}

struct Pushed {
  double seconds = 0;  // Time of the pushes alone, weights included.
  RandomKey weights = 0;
};

/// What the chief does: makes the model ready, pushes, ends the job.
Task<Result<Pushed>> push(Environment& env, Cluster& cluster, RemoteStore& store) {
  SHOAL_CO_TRY_VOID(co_await store.prepare(nullptr, env.after(kPatience)));
  cluster.ready = true;
  Pushed pushed;
  for (int i = 0; i <= cluster.options.pushes; ++i) {
    const double answered = now_seconds();
    SHOAL_CO_TRY(cluster::Step step, co_await store.begin({}));
    TaskGroup exchange(env);
    exchange.spawn(store.exchange(exchange.token()));
    Result<void> arrived;
    if (step.arrivals) arrived = co_await store.arrival(0);
    exchange.request_stop();
    Result<void> exchanged = co_await exchange.join();
    static_cast<void>(exchanged);  // What was in the way, commit() meets.
    SHOAL_CO_TRY_VOID(std::move(arrived));
    if (i > 0) pushed.seconds += now_seconds() - answered;
    const backends::Piece& weights = step.variables[0][0];
    const size_t count = size_t(weights.row_end - weights.row_begin) * 1024;
    if (i == cluster.options.pushes) {
      const std::string_view bytes(reinterpret_cast<const char*>(weights.data), count * sizeof(float));
      pushed.weights = fold_in(RandomKey(0), bytes);
      break;
    }
    SHOAL_CO_TRY_VOID(store.start(step, uint64_t(i + 1), {}));
    auto* const gradient = reinterpret_cast<float*>(step.updates[0][0].data);
    for (size_t k = 0; k < count; ++k) gradient[k] = float(int(k % 17) - 8) * 0.01f;
    const double scalars[] = {0.001};
    const double begin = now_seconds();
    SHOAL_CO_TRY_VOID(co_await store.commit(step, scalars));
    pushed.seconds += now_seconds() - begin;
  }
  cluster.over = true;
  cluster::JobEnd end{.failed = false, .reason = "max_steps"};
  SHOAL_CO_TRY_VOID(co_await store.finish(std::move(end), env.after(kPatience)));
  SHOAL_CO_TRY_VOID(co_await store.leave(env.after(kPatience)));
  co_return pushed;
}

Task<Result<std::unique_ptr<Connection>>> greet(Environment& env, const Cluster& cluster, int index) {
  SHOAL_CO_TRY(transport::Transport* const transport, env.transport(cluster.server.scheme));
  transport::LinkOptions options{.heartbeat_interval = cluster.options.heartbeat()};
  auto connecting = transport->connect(cluster.server, options, env.after(kPatience));
  SHOAL_CO_TRY(auto connection, co_await std::move(connecting));
  transport::Hello hello;
  hello.job = kJob;
  hello.role = "worker";
  hello.index = index;
  hello.incarnation = uint64_t(1000 + index);
  hello.strategy = "async";
  transport::Message message = transport::make_hello(env.buffers(), hello);
  SHOAL_CO_TRY_VOID(co_await connection->send(std::move(message), env.after(kPatience)));
  SHOAL_CO_TRY(const transport::Message welcome, co_await connection->receive(env.after(kPatience)));
  if (welcome.head.kind == transport::MessageKind::kError) co_return transport::read_error(welcome);
  co_return connection;
}

/// Waits until the server has the model: what comes before is not what is measured.
Task<Result<void>> wait_until_ready(Environment& env, Cluster& cluster) {
  while (!cluster.ready && !cluster.over) SHOAL_CO_TRY_VOID(co_await env.sleep_for(std::chrono::milliseconds(1)));
  co_return Result<void>();
}

Task<Result<void>> say_hello(Environment& env, Cluster& cluster, Latencies& hellos) {
  SHOAL_CO_TRY_VOID(co_await wait_until_ready(env, cluster));
  while (!cluster.over) {
    const double begin = now_seconds();
    SHOAL_CO_TRY(const auto connection, co_await greet(env, cluster, 0));
    hellos.add(now_seconds() - begin);
    connection->close(cancelled());
    SHOAL_CO_TRY_VOID(co_await env.sleep_for(std::chrono::milliseconds(5)));
  }
  co_return Result<void>();
}

/// How much later than due a sign of life comes.
Task<Result<void>> listen_to_heartbeats(Environment& env, Cluster& cluster, Latencies& late) {
  SHOAL_CO_TRY_VOID(co_await wait_until_ready(env, cluster));
  SHOAL_CO_TRY(const auto connection, co_await greet(env, cluster, 1));
  SteadyTime heard = connection->heard();
  while (!cluster.over) {
    SHOAL_CO_TRY_VOID(co_await env.sleep_for(std::chrono::microseconds(500)));
    const SteadyTime now = connection->heard();
    if (now == heard) continue;
    late.add(std::max(0.0, to_seconds(now - heard) - to_seconds(cluster.options.heartbeat())));
    heard = now;
  }
  co_return Result<void>();
}

Task<Result<void>> pull(Environment& env, Cluster& cluster, Latencies& pulls) {
  SHOAL_CO_TRY_VOID(co_await wait_until_ready(env, cluster));
  while (!cluster.over) {
    const auto store = store_of(env, cluster, "worker", 2);
    const double begin = now_seconds();
    Result<cluster::Ready> ready = co_await store->attach(env.after(kPatience));
    if (!ready) break;  // The job ended meanwhile.
    pulls.add(now_seconds() - begin);
    SHOAL_CO_TRY_VOID(co_await env.sleep_for(std::chrono::milliseconds(700)));
  }
  co_return Result<void>();
}

template <class Body>
std::thread task_thread(const char* name, Body body) {
  return std::thread([name, body] {
    const auto env = make_task(name, 1);
    const Result<void> done = env->run(body(*env));
    if (!done) std::fprintf(stderr, "%s: %s\n", name, done.error().message().c_str());
  });
}

void print(const char* what, Latencies& of) {
  std::printf("  %-12s %6zu times   median %9.2f ms   p99 %9.2f ms   most %9.2f ms\n", what, of.count(),
              1e3 * of.percentile(0.5), 1e3 * of.percentile(0.99), 1e3 * of.percentile(1));
}

bool measure(const Options& options, int threads) {
  int channel[2];
  if (::pipe(channel) != 0) return false;
  const pid_t server = ::fork();
  if (server == 0) serve(options, threads, channel[1]);
  ::close(channel[1]);
  std::string address(256, '\0');
  const ssize_t read = ::read(channel[0], address.data(), address.size());
  ::close(channel[0]);
  address.resize(size_t(std::max<ssize_t>(0, read)));
  Cluster cluster{options, {options.scheme, address}};
  Pushed pushed;
  Latencies hellos, heartbeats, pulls;
  std::thread pushing([&] {
    const auto env = make_task("chief 0", 1);
    const auto store = store_of(*env, cluster, "chief", 0);
    auto result = env->run(push(*env, cluster, *store));
    if (!result) std::fprintf(stderr, "chief: %s\n", result.error().message().c_str());
    if (result) pushed = *result;
    cluster.over = true;
  });
  std::thread others[] = {
      task_thread("worker 0", [&](Environment& env) { return say_hello(env, cluster, hellos); }),
      task_thread("worker 1", [&](Environment& env) { return listen_to_heartbeats(env, cluster, heartbeats); }),
      task_thread("worker 2", [&](Environment& env) { return pull(env, cluster, pulls); })};
  pushing.join();
  for (std::thread& other : others) other.join();
  int status = 0;
  ::waitpid(server, &status, 0);
  std::printf("%d server thread%s: %.3f s a push of %lld MiB (%.2f GiB/s), weights %016llx\n", threads,
              threads == 1 ? "" : "s", pushed.seconds / options.pushes, (long long)options.mib,
              double(options.mib) / 1024 * options.pushes / pushed.seconds, (unsigned long long)pushed.weights);
  print("hello", hellos);
  print("heartbeat", heartbeats);
  print("pull", pulls);
  std::fflush(stdout);
  return pushed.seconds > 0;
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  shoal::bench::Options options;
  CLI::App app("What a parameter server answers while it applies large updates");
  app.add_option("--mib", options.mib, "size of the shard")->capture_default_str()->check(CLI::Range(1, 1 << 20));
  app.add_option("--pushes", options.pushes, "how many")->capture_default_str()->check(CLI::Range(1, 1 << 20));
  app.add_option("--threads", options.threads, "of the server; one run each")->capture_default_str()->delimiter(',');
  app.add_option("--transport", options.scheme, "tcp or shm")->capture_default_str();
  app.add_option("--heartbeat", options.heartbeat_ms, "milliseconds between signs of life")->capture_default_str();
  shoal::bench::parse_or_exit(app, argc, argv);
  bool good = true;
  for (const int threads : options.threads) good = shoal::bench::measure(options, threads) && good;
  return good ? 0 : 1;
}
