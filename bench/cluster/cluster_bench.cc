// SPDX-License-Identifier: Apache-2.0
// What a cluster makes of its trainers. Computing is replaced by a timed wait, so that more trainers than this machine has
// cores can be looked at: applied batches per second against their number, next to as many times that of one (`of linear`).
// Then without the wait and with large weights: the bytes that go through servers, next to what memory, or a socket, lets
// through in the same run.
//
//   cluster_bench [--transport inproc,shm,tcp] [--strategy async,sync] [--servers 1,4] [--trainers 1,2,4,8,16,64]
//                 [--kib 64] [--step-ms 50] [--straggler 1] [--mib 64] [--seconds 2]
//   cluster_bench --draw [--transport ...] [--strategy ...] [--servers 1,2,4] [--kib 64]
//
// With --draw one trainer steps without a wait: what the exchange with several servers costs next to that with one, what
// drawing a batch from memory costs, and what is saved where the next batch is drawn while servers commit.
//
// A straggler is the last trainer; what it costs with backup workers: --strategy "sync(3)" --trainers 4 --straggler 10, next to
// --strategy sync --trainers 3.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "job.h"
#include "program.h"
#include "raw.h"
#include "shoal/backends/machine_limits.h"

namespace shoal::bench {
namespace {

struct Options {
  std::vector<std::string> transports{"inproc", "shm", "tcp"};
  std::vector<std::string> strategies{"async", "sync"};
  std::vector<int> servers{1, 4};
  std::vector<int> trainers{1, 2, 4, 8, 16, 64};
  int kib = 64;
  double step_ms = 50;
  double straggler = 1;
  int mib = 64;
  double seconds = 2;
  bool draw = false;
};

/// Bytes that the least work for a batch reads and writes: the trainer writes a gradient, its server reads that and the
/// weights, and writes the new ones.
constexpr int kMemoryPasses = 4;
/// The gradient there, the weights back.
constexpr int kSocketPasses = 2;

Result<void> measure_scaling(const Options& options, JobPlan plan) {
  double alone = 0;
  for (const int trainers : options.trainers) {
    plan.trainers = trainers;
    SHOAL_TRY(const JobSpeed speed, measure(plan));
    if (alone == 0) alone = speed.batches_per_second / trainers;
    std::printf("%-9s %-8s %7d %8d %9.1f %10.3f %9.1f %6.2f\n", plan.transport.c_str(), plan.strategy.c_str(), plan.servers,
                trainers, speed.batches_per_second, speed.batches_per_second / (alone * trainers), speed.dropped_per_second,
                speed.cores);
    std::fflush(stdout);
  }
  return {};
}

Result<void> measure_bandwidth(const Options& options, JobPlan plan) {
  plan.bytes = uint64_t(options.mib) << 20;
  plan.step = {};
  const bool socket = plan.transport == "tcp";
  for (const int trainers : {1, 2, 4}) {
    plan.trainers = trainers;
    const int passes = socket ? kSocketPasses : kMemoryPasses;
    double limit = 0;
    if (socket) {
      constexpr int kTimes = 8;
      const Exchange stream = socket_stream(plan.bytes, kTimes, true);
      limit = double(plan.bytes) * kTimes / stream.seconds;
    } else {
      limit = backends::measure_machine_limits(std::min(plan.servers, 2)).bytes_per_second(double(plan.bytes) * 2);
    }
    SHOAL_TRY(const JobSpeed speed, measure(plan));
    const double through = speed.batches_per_second * double(plan.bytes) * passes;
    std::printf("%-9s %-8s %7d %8d %9.1f %9.2f %10.2f %6.2f %6.2f\n", plan.transport.c_str(), plan.strategy.c_str(),
                plan.servers, trainers, speed.batches_per_second, through / 1e9, limit / 1e9, through / limit, speed.cores);
    std::fflush(stdout);
  }
  return {};
}

/// The three in turn, three times, and the medians: the machine is shared.
Result<void> measure_drawing(const Options& options, JobPlan plan) {
  constexpr Draw kKinds[] = {Draw::kNever, Draw::kAfterTheCommit, Draw::kDuringTheCommit};
  std::vector<double> micros[3];
  plan.step = {};
  plan.seconds = options.seconds / 2;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 3; ++i) {
      plan.draw = kKinds[i];
      SHOAL_TRY(const JobSpeed speed, measure(plan));
      micros[i].push_back(1e6 / speed.batches_per_second);
    }
  }
  for (std::vector<double>& of : micros) std::sort(of.begin(), of.end());
  const double exchange = micros[0][1], in_turn = micros[1][1], beside = micros[2][1];
  std::printf("%-9s %-8s %7d %12.0f %12.0f %12.0f %12.0f\n", plan.transport.c_str(), plan.strategy.c_str(), plan.servers,
              exchange, in_turn - exchange, in_turn, in_turn - beside);
  std::fflush(stdout);
  return {};
}

Result<void> run(const Options& options) {
  const auto each = [&options](const auto& measure_one) -> Result<void> {
    for (const std::string& transport : options.transports) {
      for (const std::string& strategy : options.strategies) {
        for (const int servers : options.servers) {
          SHOAL_TRY_VOID(measure_one(options, JobPlan{.transport = transport,
                                                      .strategy = strategy,
                                                      .servers = servers,
                                                      .bytes = uint64_t(options.kib) << 10,
                                                      .step = seconds_to_duration(options.step_ms / 1e3),
                                                      .straggler = options.straggler,
                                                      .seconds = options.seconds}));
        }
      }
    }
    return {};
  };
  if (options.draw) {
    std::printf("one trainer, no wait, weights of %d KiB; microseconds\n", options.kib);
    std::printf("transport strategy servers     exchange      drawing      in turn  saved beside\n");
    return each(measure_drawing);
  }
  std::printf("a step of %.3g ms, weights of %d KiB\n", options.step_ms, options.kib);
  std::printf("transport strategy servers trainers batches/s  of linear dropped/s  cores\n");
  SHOAL_TRY_VOID(each(measure_scaling));
  if (options.straggler > 1) return {};
  std::printf(
      "\nno wait, weights of %d MiB; memory: %d passes a batch, next to a copy; tcp: %d over the socket, next to one "
      "stream\n",
      options.mib, kMemoryPasses, kSocketPasses);
  std::printf("transport strategy servers trainers batches/s      GB/s      limit  share  cores\n");
  return each(measure_bandwidth);
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  shoal::bench::Options options;
  CLI::App app("Applied batches per second of a cluster whose trainers wait instead of computing");
  app.add_option("--transport", options.transports, "inproc, shm, tcp")->capture_default_str()->delimiter(',');
  app.add_option("--strategy", options.strategies, "async, sync")->capture_default_str()->delimiter(',');
  app.add_option("--servers", options.servers, "how many")->capture_default_str()->delimiter(',');
  app.add_option("--trainers", options.trainers, "how many")->capture_default_str()->delimiter(',');
  app.add_option("--kib", options.kib, "weights, where trainers wait")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--step-ms", options.step_ms, "what stands for computing")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e4));
  app.add_option("--straggler", options.straggler, "times that the last trainer is slower")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e3));
  app.add_option("--mib", options.mib, "weights, where they do not")->capture_default_str()->check(CLI::Range(1, 4096));
  app.add_flag("--draw", options.draw, "what drawing the next batch during the commit saves, instead");
  app.add_option("--seconds", options.seconds, "that each row is measured")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 600.0));
  shoal::bench::parse_or_exit(app, argc, argv);
  return shoal::bench::run_program("cluster_bench", [&options] { return shoal::bench::run(options); });
}
