// SPDX-License-Identifier: Apache-2.0
// Messages between two tasks, over every transport of this build, next to what the machine can do at most, measured in the
// same run.
//
//   transport_bench [--benchmark_filter='tcp/.*']
//
// round_trip: a message there and one of the same size back. Time: the median. p99, one way (median and p99), bytes copied
// by the two tasks per payload byte, and for `spin` both event loops look for work before they sleep (1 ms). `limit` is the
// raw round trip over blocking sockets (tcp), the same through OpenSSL (tcp+tls) or through shared memory (others, one
// word), in turns with it; `times` the median over that. stream: messages one way, filled by the sender and added up by the
// receiver. GB/s; processor ns per KiB; `limit` is the same over raw sockets (tcp), through OpenSSL (tcp+tls) or slots of
// shared memory, as many as the transport used `buffers` for messages; `share` the part of it that was reached.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <string>

#include "pair.h"
#include "raw.h"
#include "raw_tls.h"
#include "shoal/transport/registry.h"

namespace shoal::bench {
namespace {

constexpr double kBudget = 0.3;  // Seconds of a measurement.
constexpr Duration kSpin = std::chrono::milliseconds(1);
// The queue of a stream is small: messages wait for their receiver, not in it.
constexpr uint64_t kQueueBytesMax = 64 << 10;

std::string size_name(size_t bytes) {
  if (bytes >= size_t(1) << 20) return std::to_string(bytes >> 20) + "MiB";
  if (bytes >= size_t(1) << 10) return std::to_string(bytes >> 10) + "KiB";
  return std::to_string(bytes) + "B";
}

using Run = std::function<Exchange(int64_t)>;

/// How often it fits the budget, from one short run.
int64_t fitting(const Run& run, int64_t most) {
  const int64_t first = 3;
  return repetitions(run(first).seconds / double(first), kBudget, first, most);
}

Exchange measure(const Run& run, int64_t most) { return run(fitting(run, most)); }

struct Both {
  Exchange ours, limit;
};

/// Measures both in turns, so that what the machine does meanwhile, and on which cores it puts the threads, meets both
/// alike.
Both measure_in_turns(const Run& ours, const Run& limit, int64_t most) {
  constexpr int64_t kTurns = 6, kPerTurn = 16;  // The first of a turn wakes who has slept.
  const int64_t our_count = fitting(ours, most), limit_count = fitting(limit, most);
  const int64_t turns = std::clamp<int64_t>(std::min(our_count, limit_count) / kPerTurn, 1, kTurns);
  Both both;
  for (int64_t i = 0; i < turns; ++i) {
    both.ours.append(ours(our_count / turns));
    both.limit.append(limit(limit_count / turns));
  }
  return both;
}

/// What a transport is held against.
enum class Limit : uint8_t { kMemory, kSockets, kTls };

Limit limit_for(const PairOptions& options) {
  if (options.scheme != "tcp") return Limit::kMemory;
  return options.credential ? Limit::kTls : Limit::kSockets;
}

Exchange round_trip_limit(const PairOptions& options, size_t bytes, int64_t count) {
  switch (limit_for(options)) {
    case Limit::kSockets: return socket_round_trips(bytes, count);
    case Limit::kTls: return tls_round_trips(bytes, count);
    case Limit::kMemory: break;  // A message's size does not matter: it is handed over.
  }
  return futex_round_trips(count, options.spin > Duration::zero());
}

/// `buffers`: as many as the transport used, so that what lies in which cache is the same.
Exchange stream_limit(const PairOptions& options, size_t bytes, int64_t count, size_t buffers) {
  switch (limit_for(options)) {
    case Limit::kSockets: return socket_stream(bytes, count, true);
    case Limit::kTls: return tls_stream(bytes, count, true);
    case Limit::kMemory: break;
  }
  return hand_over(bytes, count, buffers);
}

double rate(const Exchange& exchange, size_t bytes) {
  return double(bytes) * double(exchange.one_way.count()) / exchange.seconds;
}

void round_trip(benchmark::State& state, const PairOptions& options, size_t bytes) {
  Pair pair(options);
  auto [taken, raw] = measure_in_turns([&](int64_t count) { return pair.round_trips(bytes, count); },
                                       [&](int64_t count) { return round_trip_limit(options, bytes, count); }, 200'000);
  for (auto _ : state) state.SetIterationTime(taken.round_trips.percentile(0.5));
  const double limit = raw.round_trips.percentile(0.5);
  state.counters["p99 us"] = 1e6 * taken.round_trips.percentile(0.99);
  state.counters["one way us"] = 1e6 * taken.one_way.percentile(0.5);
  state.counters["one way p99 us"] = 1e6 * taken.one_way.percentile(0.99);
  state.counters["copied/byte"] = double(taken.bytes_copied) / (2.0 * double(bytes) * double(taken.round_trips.count()));
  state.counters["limit us"] = 1e6 * limit;
  state.counters["times"] = taken.round_trips.percentile(0.5) / limit;
}

void stream(benchmark::State& state, const PairOptions& options, size_t bytes) {
  PairOptions unqueued = options;
  unqueued.send_queue_bytes_max = kQueueBytesMax;
  Pair pair(unqueued);
  const int64_t most = std::clamp<int64_t>((int64_t(4) << 30) / int64_t(bytes + 1024), 3, 300'000);
  const auto run = [&](int64_t count) { return pair.stream(bytes, count, true); };
  (void)run(16);  // The pool gets its buffers, and both sides their pages.
  const Exchange taken = measure(run, most);
  const double messages = double(taken.one_way.count()), all = double(bytes) * messages;
  for (auto _ : state) state.SetIterationTime(taken.seconds / messages);
  const size_t buffers = std::max<size_t>(2, pair.buffers_made());
  const Exchange raw = measure(
      [&](int64_t count) {
        Exchange exchange = stream_limit(options, bytes, count, buffers);
        for (int64_t i = 0; i < count; ++i) exchange.one_way.add(0);
        return exchange;
      },
      most);
  state.counters["GB/s"] = 1e-9 * rate(taken, bytes);
  state.counters["ns/KiB"] = 1e9 * taken.processor_seconds / (all / 1024);
  state.counters["copied/byte"] = double(taken.bytes_copied) / all;
  state.counters["buffers"] = double(buffers);
  state.counters["limit GB/s"] = 1e-9 * rate(raw, bytes);
  state.counters["share"] = rate(taken, bytes) / rate(raw, bytes);
}

using Measurement = void (*)(benchmark::State&, const PairOptions&, size_t);

void add(const std::string& name, Measurement measurement, const PairOptions& options, size_t bytes) {
  benchmark::RegisterBenchmark((name + "/" + size_name(bytes)).c_str(),
                               [=](benchmark::State& state) { measurement(state, options, bytes); })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

constexpr size_t kSizes[] = {
    64, size_t(1) << 10, size_t(16) << 10, size_t(256) << 10, size_t(1) << 20, size_t(16) << 20, size_t(256) << 20};

void add_scheme(const std::string& name, const PairOptions& options) {
  PairOptions spinning = options;
  spinning.spin = kSpin;
  for (const size_t bytes : kSizes) {
    add(name + "/round_trip", &round_trip, options, bytes);
    add(name + "/round_trip_spin", &round_trip, spinning, bytes);
  }
  for (const size_t bytes : kSizes) {
    add(name + "/stream", &stream, options, bytes);
    add(name + "/stream_spin", &stream, spinning, bytes);
  }
}

void add_limits_to_heading() {
  char text[64];
  for (const size_t bytes : kSizes) {
    std::snprintf(text, sizeof text, "%.1f GB/s", 1e-9 * double(bytes) / copy_seconds(bytes));
    benchmark::AddCustomContext("memcpy of " + size_name(bytes), text);
  }
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bench::add_limits_to_heading();
  for (const auto& [scheme, factory] : transport::built_in_transports()) {
    if (scheme == "auto") continue;  // It carries nothing itself.
    bench::add_scheme(scheme, {.scheme = scheme});
    if (scheme != "tcp") continue;
    bench::add_scheme("tcp+checksum", {.scheme = scheme, .checksum = true});
    if (!bench::has_tls()) continue;
    const auto token = std::make_shared<const transport::Credential>(transport::Token::fresh());
    bench::add_scheme("tcp+tls", {.scheme = scheme, .credential = token});
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
