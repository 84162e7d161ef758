// SPDX-License-Identifier: Apache-2.0
// Update rules in bytes per second, next to memcpy in the same run. Names: update/<rule>/contributors:<n>/elements:<n>.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "shoal/nn/apply_update.h"

namespace {

using shoal::nn::UpdateRule;

void copy(benchmark::State& state) {
  const auto count = size_t(state.range(0));
  std::vector<float> source(count, 0.5f), target(count);
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), count * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(count) * 8);
}

/// Into a new buffer, as a server makes the next version. Bytes: what is read and written once each.
void update(benchmark::State& state, const UpdateRule& rule) {
  const auto contributors = size_t(state.range(0));
  const auto count = size_t(state.range(1));
  std::vector<float> current(count, 0.5f), next(count);
  std::vector<std::vector<float>> pushes(contributors, std::vector<float>(count, 0.01f));
  std::vector<std::vector<float>> slots;
  std::vector<float*> slot_pointers;
  for (int s = 0; s < slot_count(rule); ++s) slots.emplace_back(count, 0.1f);
  for (auto& slot : slots) slot_pointers.push_back(slot.data());
  std::vector<const float*> gradients;
  for (const auto& push : pushes) gradients.push_back(push.data());
  const std::vector<float> scales(contributors, 1.0f);
  for (auto _ : state) {
    apply_update(rule, 1e-3, 10, int64_t(count), current.data(), next.data(), slot_pointers,
                 {gradients, scales, 1.0f / float(contributors)});
    benchmark::ClobberMemory();
  }
  const size_t streams = 2 + contributors + 2 * slots.size();
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(count * streams * sizeof(float)));
}

constexpr int64_t kSizes[] = {16384, 3270000};

void register_all() {
  const std::pair<const char*, UpdateRule> rules[] = {
      {"sgd", {.kind = UpdateRule::Kind::kSgd}},
      {"momentum", {.kind = UpdateRule::Kind::kMomentum, .constants = {0.9, 0}}},
      {"adagrad", {.kind = UpdateRule::Kind::kAdagrad, .constants = {0.1, 1e-7}}},
      {"adam", {.kind = UpdateRule::Kind::kAdam, .constants = {0.9, 0.999, 1e-7}}},
      {"adamw", {.kind = UpdateRule::Kind::kAdamW, .constants = {0.9, 0.999, 1e-7, 0.01}}},
      {"rmsprop", {.kind = UpdateRule::Kind::kRmsProp, .constants = {0.9, 0, 1e-7, 0}}},
      {"ftrl", {.kind = UpdateRule::Kind::kFtrl, .constants = {0.1, 0.001, 0, 0, 0}}},
      {"lamb", {.kind = UpdateRule::Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0.01}}},
  };
  for (const int64_t elements : kSizes) {
    benchmark::RegisterBenchmark("memcpy", copy)->ArgName("elements")->Arg(elements);
    for (const auto& [name, rule] : rules) {
      auto* bench = benchmark::RegisterBenchmark(("update/" + std::string(name)).c_str(),
                                                 [rule = rule](benchmark::State& state) { update(state, rule); });
      bench->ArgNames({"contributors", "elements"})->Args({1, elements})->Args({2, elements});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
