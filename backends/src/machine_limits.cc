// SPDX-License-Identifier: Apache-2.0
#include "shoal/backends/machine_limits.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>

#include "shoal/base/environment.h"
#include "shoal/base/vector_loop.h"

namespace shoal::backends {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAttempts = 5;
// kChains independent chains of multiply-adds hide the latency of a single one. The numbers suit all three instruction sets
// for which the function below is compiled.
constexpr int kChains = 12, kLanes = 16;

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("fp-contract=fast")))
#endif
SHOAL_VECTOR_LOOP void
multiply_add(float* values, int64_t rounds) {
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains * kLanes; ++i) values[i] = values[i] * 0.999f + 0.001f;
  }
}

/// Runs the job that work() makes on `threads` threads in parallel, several times. Returns the slowest thread's best time.
template <class Work>
double best_seconds(int threads, const Work& work) {
  std::vector<double> best(size_t(threads), 0.0);
  std::barrier together(threads);
  std::vector<std::jthread> team;
  const auto start = [&](double& mine) {
    team.emplace_back([&together, &work, &mine] {
      auto job = work();
      job();  // The first run touches the memory for the first time, so it is not timed.
      for (int attempt = 0; attempt < kAttempts; ++attempt) {
        together.arrive_and_wait();
        const auto begun = Clock::now();
        job();
        const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        mine = attempt == 0 ? seconds : std::min(mine, seconds);
      }
    });
  };
  for (double& mine : best) {
    const Result<void> started = call_user("the measurement of this machine", [&] { start(mine); });
    if (started) continue;
    // The barrier waits for every planned thread, so its count is reduced by one for each thread that could not be started.
    for (size_t missing = best.size() - team.size(); missing > 0; --missing) together.arrive_and_drop();
    team.clear();
    raise(started.error());
  }
  team.clear();
  return *std::max_element(best.begin(), best.end());
}

double measure_flops(int threads) {
  constexpr int64_t kRounds = 500'000;
  const double seconds = best_seconds(threads, [] {
    return [] {
      alignas(64) float values[kChains * kLanes] = {};
      multiply_add(values, kRounds);
      asm volatile("" : : "r"(&values[0]) : "memory");  // Keeps the compiler from removing the computation.
    };
  });
  return 2.0 * kChains * kLanes * kRounds * threads / seconds;
}

/// Each thread copies its share of bytes / 2, so that reads and writes together move `bytes`.
MachineLimits::Copy measure_copy(size_t bytes, int threads) {
  const size_t share = std::max<size_t>(64, bytes / 2 / size_t(threads));
  const int64_t repetitions = std::max<int64_t>(1, int64_t(16 << 20) / int64_t(2 * share));
  const double seconds = best_seconds(threads, [share, repetitions] {
    return [from = std::vector<char>(share, 1), to = std::vector<char>(share), repetitions]() mutable {
      for (int64_t i = 0; i < repetitions; ++i) {
        std::memcpy(to.data(), from.data(), from.size());
        asm volatile("" : : "r"(to.data()) : "memory");  // Keeps the compiler from removing the copy.
      }
    };
  });
  return {double(bytes), 2.0 * double(share) * double(threads) * double(repetitions) / seconds};
}

}  // namespace

double MachineLimits::bytes_per_second(double bytes) const {
  SHOAL_CHECK(!copies.empty());
  for (const Copy& copy : copies) {
    if (copy.bytes >= bytes) return copy.bytes_per_second;
  }
  return copies.back().bytes_per_second;
}

double MachineLimits::least_seconds(const NodeCost& cost) const {
  return std::max(cost.flops / flops_per_second, cost.bytes / bytes_per_second(cost.bytes));
}

MachineLimits measure_machine_limits(int threads) {
  SHOAL_CHECK(threads >= 1);
  constexpr size_t kSmallest = size_t(16) << 10, kLargest = size_t(256) << 20;
  MachineLimits limits{.flops_per_second = measure_flops(threads), .copies = {}};
  for (size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) limits.copies.push_back(measure_copy(bytes, threads));
  return limits;
}

}  // namespace shoal::backends
