// SPDX-License-Identifier: Apache-2.0
// One worker and one server process: the worker pushes a value, the server adds it to its own and sends that back. What a
// training step asks of the transport, without the training. Next to it the same over blocking sockets, in the same run.
//
//   push_pull_bench [--transport tcp] [--bytes 4096,65536] [--seconds 1] [--json]
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "free_endpoint.h"
#include "latencies.h"
#include "program.h"
#include "raw.h"
#include "shoal/base/production.h"
#include "shoal/transport/registry.h"
#include "touch.h"

namespace shoal::bench {
namespace {

using transport::Connection;
using transport::Endpoint;
using transport::LinkOptions;
using transport::Message;
using transport::Transport;

struct Options {
  std::string scheme = "tcp";
  std::vector<int64_t> bytes{4 << 10, 64 << 10, 1 << 20, 16 << 20, 100'000'000};
  double seconds = 1;
  bool json = false;
  int serve = -1;  ///< In the server process, where it writes the address that it listens at.
};

constexpr auto kPatience = std::chrono::seconds(60);
constexpr int64_t kRoundsMax = 200'000;

LinkOptions link_options() { return {.receive_bytes_max = uint64_t(1) << 30}; }

std::unique_ptr<Environment> make_task(const char* name) {
  return make_production_environment({.task = name,
                                      .sink = {},
                                      .transports = transport::built_in_transports(),
                                      .pool_threads = 1,
                                      .spin = std::chrono::microseconds(50)});
}

/// The server's own value grows by each push: the sum is made in the message that goes back.
class Server {
 public:
  Server(Environment& env, Transport& transport) : env_(env), transport_(transport) {}

  Task<Result<void>> run(const std::string& scheme, int address_to) {
    SHOAL_CO_TRY(const auto listener, transport_.listen(free_endpoint(transport_, scheme), link_options()));
    const std::string address = to_string(listener->endpoint()) + "\n";
    if (::write(address_to, address.data(), address.size()) < 0) co_return unavailable("the worker is gone");
    ::close(address_to);
    auto accepting = listener->accept(env_.after(kPatience));
    SHOAL_CO_TRY(connection_, co_await std::move(accepting));
    for (;;) {
      auto receiving = connection_->receive(env_.after(kPatience));
      Result<Message> message = co_await std::move(receiving);
      if (!message) co_return Result<void>();  // The worker is done.
      SHOAL_CO_TRY_VOID(co_await add(std::move(*message)));
    }
  }

 private:
  Task<Result<void>> add(Message message) {
    SHOAL_CO_TRY(const transport::Chunk chunk, transport::read_chunk(message));
    Message sum = transport::make_weights(env_.buffers(), chunk.payload.size());
    const auto to = transport::mutable_payload(sum);
    if (value_.payload().size() != to.size()) {
      std::memcpy(to.data(), chunk.payload.data(), to.size());
    } else {
      add_floats(reinterpret_cast<const float*>(value_.payload().data()),
                 reinterpret_cast<const float*>(chunk.payload.data()), reinterpret_cast<float*>(to.data()),
                 to.size() / sizeof(float));
    }
    value_ = std::move(sum);
    Message reply = value_;
    reply.head.reply_to = message.head.sequence;
    message.body = {};
    co_return co_await connection_->send(std::move(reply), env_.after(kPatience));
  }

  Environment& env_;
  Transport& transport_;
  std::unique_ptr<Connection> connection_;
  Message value_;
};

Result<void> serve(const Options& options) {
  const auto env = make_task("server");
  SHOAL_TRY(Transport * transport, env->transport(options.scheme));
  Server server(*env, *transport);
  return env->run(server.run(options.scheme, options.serve));
}

/// A server process of this program, which is gone when this object is.
class ServerProcess {
 public:
  explicit ServerProcess(const Options& options) {
    int ends[2];
    SHOAL_CHECK(::pipe(ends) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      const std::string scheme = "--transport=" + options.scheme, serve = "--serve=" + std::to_string(ends[1]);
      ::execl("/proc/self/exe", "push_pull_bench", scheme.c_str(), serve.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    char letter;
    while (::read(ends[0], &letter, 1) == 1 && letter != '\n') address_ += letter;
    ::close(ends[0]);
  }
  ~ServerProcess() { ::waitpid(child_, nullptr, 0); }
  ServerProcess(const ServerProcess&) = delete;
  Result<Endpoint> endpoint() const { return transport::parse_endpoint(address_); }

 private:
  pid_t child_ = -1;
  std::string address_;
};

class Worker {
 public:
  Worker(Environment& env, Transport& transport) : env_(env), transport_(transport) {}

  Task<Result<void>> connect(Endpoint to) {
    auto connecting = transport_.connect(std::move(to), link_options(), env_.after(kPatience));
    SHOAL_CO_TRY(connection_, co_await std::move(connecting));
    co_return Result<void>();
  }
  Task<Result<Exchange>> rounds(size_t bytes, int64_t count) {
    Message push = transport::make_chunk(env_.buffers(), {.range_end = bytes, .closing = true}, bytes, 0).message;
    Exchange exchange;
    const double begin = now_seconds();
    for (int64_t i = 0; i < count; ++i) {
      Message copy = push;
      copy.head.sequence = uint64_t(i + 1);
      const double start = now_seconds();
      if (!connection_->try_send(copy))
        SHOAL_CO_TRY_VOID(co_await connection_->send(std::move(copy), env_.after(kPatience)));
      auto receiving = connection_->receive(env_.after(kPatience));
      SHOAL_CO_TRY(const Message reply, co_await std::move(receiving));
      if (reply.payload().size() != bytes) co_return internal_error("the answer has another size");
      exchange.round_trips.add(now_seconds() - start);
    }
    exchange.seconds = now_seconds() - begin;
    co_return exchange;
  }
  void close() { connection_.reset(); }

 private:
  Environment& env_;
  Transport& transport_;
  std::unique_ptr<Connection> connection_;
};

void print(const Options& options, int64_t bytes, Exchange& ours, Exchange& raw) {
  const double median = ours.round_trips.percentile(0.5), limit = raw.round_trips.percentile(0.5);
  const double rate = 2e-9 * double(bytes) / median;
  if (options.json) {
    const nlohmann::json line{{"transport", options.scheme}, {"bytes", bytes},
                              {"median_us", 1e6 * median},   {"p99_us", 1e6 * ours.round_trips.percentile(0.99)},
                              {"gb_per_second", rate},       {"sockets_median_us", 1e6 * limit}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("%-8s %12lld %12.1f %12.1f %9.2f %14.1f %8.2f\n", options.scheme.c_str(), (long long)bytes, 1e6 * median,
                1e6 * ours.round_trips.percentile(0.99), rate, 1e6 * limit, limit / median);
  }
  std::fflush(stdout);
}

Result<void> work(const Options& options) {
  std::vector<Exchange> raw;  // Made before there are threads, since it forks.
  for (const int64_t bytes : options.bytes) {
    const auto run = [bytes](int64_t count) { return socket_push_pull(size_t(bytes), count); };
    raw.push_back(run(repetitions(run(3).seconds / 3, options.seconds, 3, kRoundsMax)));
  }
  const ServerProcess server(options);
  SHOAL_TRY(const Endpoint endpoint, server.endpoint());
  const auto env = make_task("worker");
  SHOAL_TRY(Transport * transport, env->transport(options.scheme));
  Worker worker(*env, *transport);
  SHOAL_TRY_VOID(env->run(worker.connect(endpoint)));
  if (!options.json) {
    std::printf("%-8s %12s %12s %12s %9s %14s %8s\n", "", "bytes", "median, us", "p99, us", "GB/s", "sockets, us", "share");
  }
  for (size_t i = 0; i < options.bytes.size(); ++i) {
    const size_t bytes = size_t(options.bytes[i]);
    SHOAL_TRY(Exchange first, env->run(worker.rounds(bytes, 3)));
    const int64_t count = repetitions(first.seconds / 3, options.seconds, 3, kRoundsMax);
    SHOAL_TRY(Exchange exchange, env->run(worker.rounds(bytes, count)));
    print(options, options.bytes[i], exchange, raw[i]);
  }
  worker.close();
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  shoal::bench::Options options;
  CLI::App app("Pushes values to a server process, which adds them up and sends the sum back");
  app.add_option("--transport", options.scheme)->capture_default_str();
  app.add_option("--bytes", options.bytes, "Sizes, multiples of 4")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "Of each measurement")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--json", options.json, "A line of JSON for each size");
  app.add_option("--serve", options.serve)->group("");
  shoal::bench::parse_or_exit(app, argc, argv);
  return shoal::bench::run_program("push_pull_bench", [&options] {
    return options.serve >= 0 ? shoal::bench::serve(options) : shoal::bench::work(options);
  });
}
