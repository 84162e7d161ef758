// SPDX-License-Identifier: Apache-2.0
// Every op of the catalogue on every backend, as programs of one node: GFLOP/s, GB/s, and `share`, the least time that this
// machine could take for those operations and bytes (the roofline, measured at the start of the same run on one core) as a
// share of the time taken.
//
//   kernels_bench [--benchmark_filter='onednn/conv2d']
//
// What it runs is in bench/models/kernel_cases.h.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "kernel_cases.h"
#include "shoal/backends/backend.h"
#include "shoal/backends/machine_limits.h"

namespace shoal::bench {
namespace {

/// A program of one node, and memory for it.
class Bound {
 public:
  Bound(backends::Backend& backend, const KernelCase& of) {
    for (size_t i = 0; i < of.operands.size(); ++i) data_.push_back(operand_data(of, i));
    program_ = value_or_raise(backend.compile(graph_, {.fetches = add_case(graph_, of)}));
    for (const auto& input : program_->info().inputs) inputs_.push_back(data_of(input.name).view());
    for (const auto& variable : program_->info().variables) {
      pieces_.push_back({data_of(variable.name).view().data, 0, variable.shape.rank() == 0 ? 1 : variable.shape[0]});
    }
    for (const auto& piece : pieces_) variables_.emplace_back(&piece, 1);
  }
  /// One version for all runs: kept weights stay, as in a step's second use of them.
  void run() {
    value_or_raise(program_->run({.inputs = inputs_, .variables = variables_, .updates = {}, .weights = {1, 1}}));
  }
  const backends::CompiledProgramInfo::KernelInfo& kernel() const {
    SHOAL_CHECK(program_->info().kernels.size() == 1);
    return program_->info().kernels[0];
  }

 private:
  const Tensor& data_of(const std::string& name) const { return data_[size_t(std::stoul(name.substr(7)))]; }
  Graph graph_;
  std::unique_ptr<backends::Program> program_;
  std::vector<Tensor> data_;
  std::vector<TensorView> inputs_;
  std::vector<backends::Piece> pieces_;
  std::vector<backends::Pieces> variables_;
};

void measure(benchmark::State& state, const std::string& backend_name, const KernelCase& of,
             const backends::MachineLimits& limits) {
  const auto backend = value_or_raise(backends::make_backend(backend_name));
  Bound bound(*backend, of);
  bound.run();
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) bound.run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / double(state.iterations());
  const NodeCost cost = bound.kernel().cost;
  state.counters["GFLOP/s"] = 1e-9 * cost.flops / seconds;
  state.counters["GB/s"] = 1e-9 * cost.bytes / seconds;
  state.counters["share"] = limits.least_seconds(cost) / seconds;
  std::string shapes;
  for (const auto& operand : of.operands) shapes += (shapes.empty() ? "" : " ") + to_string(operand.shape);
  state.SetLabel(bound.kernel().implementation + ", " + shapes);
}

void add_limits_to_heading(const backends::MachineLimits& limits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GFLOP/s", limits.flops_per_second * 1e-9);
  benchmark::AddCustomContext("peak, one core", text);
  for (const auto& copy : limits.copies) {
    std::snprintf(text, sizeof text, "%.1f GB/s", copy.bytes_per_second * 1e-9);
    benchmark::AddCustomContext("copy of " + std::to_string(int64_t(copy.bytes) >> 10) + " KiB", text);
  }
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal;
  const std::vector<bench::KernelCase> cases = bench::kernel_cases();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const backends::MachineLimits limits = backends::measure_machine_limits(1);
  bench::add_limits_to_heading(limits);
  for (const auto& entry : backends::built_in_backends()) {
    for (const auto& of : cases) {
      auto run = [name = entry.name, &of, &limits](benchmark::State& state) { bench::measure(state, name, of, limits); };
      benchmark::RegisterBenchmark((entry.name + "/" + of.name()).c_str(), run)
          ->Unit(benchmark::kMicrosecond)
          ->MinTime(0.1)
          ->UseRealTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
