// SPDX-License-Identifier: Apache-2.0
// Examples per second of whole training steps, next to the time that oneDNN's own primitives need, taken in turn on one
// thread of one process. See bench/README.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "allocations.h"
#include "primitives.h"
#include "program.h"
#include "shoal/backends/profile.h"
#include "trainer.h"

namespace shoal::bench {
namespace {

struct Options {
  std::vector<std::string> models{"cnn", "mlp"};
  std::vector<int64_t> batches{32, 128};
  std::vector<int> threads{1, 2};
  std::string backend = backends::default_backend();
  int rounds = 7;
  double seconds = 0.5;  ///< Time of each side of one round.
  bool json = false;
  bool profile = false;
  bool apply_after = false;  ///< Updates are a pass of their own after each run, as over servers.
};

struct Case {
  std::string model;
  int64_t batch;
  int threads;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Milliseconds per call, over as many calls as fit.
double milliseconds(double seconds, const std::function<void()>& call) {
  const auto start = Clock::now();
  int64_t calls = 0;
  do {
    call();
    ++calls;
  } while (seconds_since(start) < seconds);
  return seconds_since(start) * 1e3 / double(calls);
}

struct Sample {
  double median, low, high;
  explicit Sample(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    median = values[values.size() / 2], low = values.front(), high = values.back();
  }
};

/// Per step.
struct AllocationRates {
  double shoal, onednn;
};

void print_header() {
  std::printf("%-5s %5s %7s  %-26s %10s  %-26s %6s %6s %12s\n", "model", "batch", "threads", "step, ms (least..most)",
              "examples/s", "primitives, ms", "ratio", "allocs", "(in oneDNN)");
}

void print_row(const Options& options, const Case& test, const Sample& step, const Sample& primitives,
               const AllocationRates& allocated) {
  const double rate = double(test.batch) / step.median * 1e3;
  if (options.json) {
    std::printf(
        "{\"system\":\"shoal\",\"backend\":\"%s\",\"model\":\"%s\",\"batch\":%lld,\"threads\":%d,\"examples_per_second\":%."
        "1f,"
        "\"step_ms\":%.4f,\"step_ms_least\":%.4f,\"step_ms_most\":%.4f,\"primitives_ms\":%.4f,"
        "\"allocations_per_step\":%g,\"allocations_inside_onednn_per_step\":%g}\n",
        options.backend.c_str(), test.model.c_str(), (long long)test.batch, test.threads, rate, step.median, step.low,
        step.high, primitives.median, allocated.shoal, allocated.onednn);
  } else {
    std::printf("%-5s %5lld %7d  %8.3f (%7.3f..%8.3f) %10.0f  %8.3f (%7.3f..%8.3f) %6.3f %6g %12g\n", test.model.c_str(),
                (long long)test.batch, test.threads, step.median, step.low, step.high, rate, primitives.median,
                primitives.low, primitives.high, primitives.median / step.median, allocated.shoal, allocated.onednn);
  }
  std::fflush(stdout);
}

/// Where the time of a step goes, kernel by kernel. Measured apart from the rounds, since looking at the clock takes
/// time too.
Result<void> print_profile(Trainer& trainer, int threads) {
  constexpr int kRuns = 200;
  backends::Profiler profiler([] { return SteadyTime(Clock::now().time_since_epoch()); });
  trainer.observe(&profiler);
  Result<void> failed;
  for (int i = 0; i < kRuns && failed; ++i) failed = trainer.step();
  trainer.observe(nullptr);
  SHOAL_TRY_VOID(std::move(failed));
  std::printf("%s\n", to_table(profiler.profile(backends::measure_machine_limits(threads))).c_str());
  return {};
}

Result<void> run_case(const Options& options, const Case& test) {
  SHOAL_TRY(const auto trainer, Trainer::make(find_model(test.model), {.backend = options.backend,
                                                                       .batch = test.batch,
                                                                       .threads = test.threads,
                                                                       .apply_during_run = !options.apply_after}));
  Result<void> failed;
  auto step = [&] {
    if (auto done = trainer->step(); !done) failed = std::move(done);
  };
  const auto primitives = make_primitive_sum(test.model, test.batch, test.threads);
  for (int i = 0; i < 3; ++i) {
    step();
    if (primitives) primitives->run();
  }
  if (primitives) std::this_thread::sleep_for(std::chrono::milliseconds(30));  // For the same reason as below.

  std::vector<double> step_times, primitive_times;
  Allocations allocated;
  uint64_t steps = 0;
  const std::function<void()> counted_step = [&] { step(), ++steps; };  // Made here, since std::function may allocate.
  step_times.reserve(size_t(options.rounds));
  for (int round = 0; round < options.rounds; ++round) {
    const Allocations before = allocations();
    step_times.push_back(milliseconds(options.seconds, counted_step));
    const Allocations during = allocations() - before;
    allocated = {allocated.onednn + during.onednn, allocated.others + during.others};
    primitive_times.push_back(primitives ? milliseconds(options.seconds, [&] { primitives->run(); }) : 0);
    // OpenMP's threads look out for work for some more milliseconds, on cores that the next step needs.
    if (primitives) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  SHOAL_TRY_VOID(failed);
  print_row(options, test, Sample(step_times), Sample(primitive_times),
            {double(allocated.others) / double(steps), double(allocated.onednn) / double(steps)});
  return options.profile ? print_profile(*trainer, test.threads) : Result<void>();
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Times whole training steps, next to oneDNN's own primitives where those are listed");
  app.add_option("--model", options.models)->delimiter(',')->capture_default_str();
  app.add_option("--batch", options.batches)->delimiter(',')->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", options.threads)->delimiter(',')->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--backend", options.backend)->capture_default_str();
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seconds", options.seconds, "Per side of one round")->check(CLI::PositiveNumber)->capture_default_str();
  CLI::Option* const json = app.add_flag("--json", options.json);
  app.add_flag("--profile", options.profile, "Also where the time of a step goes, kernel by kernel")->excludes(json);
  app.add_flag("--apply-after", options.apply_after, "Updates in a pass of their own after each run, as over servers");
  parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  const Options options = parse(argc, argv);
  if (!options.json) print_header();
  int status = 0;
  for (const auto& model : options.models) {
    for (int64_t batch : options.batches) {
      for (int threads : options.threads) {
        // A thread of its own: teams belong to the thread that made them.
        std::thread([&] {
          const int failed = run_program("train_bench", [&] { return run_case(options, {model, batch, threads}); });
          if (failed != 0) status = failed;
        }).join();
      }
    }
  }
  return status;
}
