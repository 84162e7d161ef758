// SPDX-License-Identifier: Apache-2.0
// Several training programs in one process, a thread each: whether together they are as fast as one alone times their
// number, and whether each computes what it computes alone, bit for bit. See bench/README.md.
#include <algorithm>
#include <barrier>
#include <bit>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "program.h"
#include "trainer.h"

namespace shoal::bench {
namespace {

struct Options {
  std::vector<std::string> models{"cnn", "mlp"};
  int64_t batch = 32;
  std::vector<int> programs{2};
  std::string backend = backends::default_backend();
  int rounds = 5;
  double seconds = 0.5;
};

using Clock = std::chrono::steady_clock;

struct Measured {
  double steps_per_second = 0;  ///< Steps of all programs.
  std::vector<float> losses;    ///< The loss of each program after kCheckedSteps.
};
constexpr int kCheckedSteps = 10;

/// `count` programs, each with one compute thread, for options.seconds.
Measured measure(const Options& options, const std::string& model, int count) {
  Measured measured{.losses = std::vector<float>(size_t(count))};
  std::vector<double> rates(measured.losses.size());
  std::vector<Result<void>> results(measured.losses.size());
  std::barrier start(count);
  auto train = [&](size_t index) -> Result<void> {
    auto trainer = Trainer::make(find_model(model), {.backend = options.backend, .batch = options.batch, .threads = 1});
    Result<void> done = trainer ? Result<void>() : Result<void>(std::move(trainer).error());
    for (int i = 0; done && i < kCheckedSteps; ++i) done = (*trainer)->step();
    start.arrive_and_wait();  // Whoever failed arrives too, since the others wait.
    if (!done) return done;
    measured.losses[index] = (*trainer)->loss();
    const auto begin = Clock::now();
    double elapsed = 0;
    int64_t steps = 0;
    for (; elapsed < options.seconds; elapsed = std::chrono::duration<double>(Clock::now() - begin).count(), ++steps) {
      SHOAL_TRY_VOID((*trainer)->step());
    }
    rates[index] = double(steps) / elapsed;
    return {};
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < rates.size(); ++i) threads.emplace_back([&, i] { results[i] = train(i); });
  for (std::thread& thread : threads) thread.join();
  for (Result<void>& result : results) value_or_raise(std::move(result));
  for (double rate : rates) measured.steps_per_second += rate;
  return measured;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Result<void> run_case(const Options& options, const std::string& model, int count) {
  std::vector<double> alone, together, scaling;
  const uint32_t expected = std::bit_cast<uint32_t>(measure(options, model, 1).losses[0]);
  bool equal = true;
  for (int round = 0; round < options.rounds; ++round) {
    alone.push_back(measure(options, model, 1).steps_per_second);
    const Measured all = measure(options, model, count);
    together.push_back(all.steps_per_second);
    scaling.push_back(together.back() / alone.back());
    for (float loss : all.losses) equal = equal && std::bit_cast<uint32_t>(loss) == expected;
  }
  const auto batch = double(options.batch);
  std::printf("%-14s %5lld %8d %12.0f %12.0f %8.3f  %s\n", model.c_str(), (long long)options.batch, count,
              median(alone) * batch, median(together) * batch, median(scaling) / double(count),
              equal ? "the same" : "DIFFERENT");
  std::fflush(stdout);
  if (!equal) return failed_precondition("programs side by side computed other bits than one alone");
  return {};
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Trains several programs in one process, a thread each, next to one alone");
  app.add_option("--model", options.models)->delimiter(',')->capture_default_str();
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--programs", options.programs)->delimiter(',')->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--backend", options.backend)->capture_default_str();
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seconds", options.seconds, "Per measurement")->check(CLI::PositiveNumber)->capture_default_str();
  parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  const Options options = parse(argc, argv);
  std::printf("%-14s %5s %8s %12s %12s %8s  %s\n", "model", "batch", "programs", "alone, ex/s", "all, ex/s", "scaling",
              "bits");
  int status = 0;
  for (const std::string& model : options.models) {
    for (int count : options.programs) {
      status = std::max(status, run_program("programs_bench", [&] { return run_case(options, model, count); }));
    }
  }
  return status;
}
