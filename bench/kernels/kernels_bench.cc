// Single ops of the backends, forward and backward, as programs of one node: rates, and the fraction of what one core
// reached at all (multiply-adds in registers for FLOP/s, a copy of the same size for bytes/s) just before.
//   kernels_bench --benchmark_filter=conv2d
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"

namespace shoal::bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Independent multiply-adds in registers: as many as hide their latency. One source, three instruction sets.
constexpr int kChains = 12, kLanes = 16;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("fp-contract=fast")))
#endif
float multiply_add(float* values, int64_t rounds) {
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains * kLanes; ++i) values[i] = values[i] * 0.999f + 0.001f;
  }
  return values[0];
}

/// FLOP/s of one core, the best of several short tries.
double peak_flops() {
  static const double peak = [] {
    alignas(64) float values[kChains * kLanes] = {};
    constexpr int64_t kRounds = 1'000'000;
    double best = 0;
    for (int attempt = 0; attempt < 7; ++attempt) {
      const auto start = Clock::now();
      benchmark::DoNotOptimize(multiply_add(values, kRounds));
      best = std::max(best, 2.0 * kChains * kLanes * kRounds / seconds_since(start));
    }
    return best;
  }();
  return peak;
}

/// Bytes read and written per second by memcpy of a block of that many bytes, read plus written.
double copy_bytes_per_second(int64_t bytes) {
  std::vector<char> from(size_t(bytes / 2), 1), to(size_t(bytes / 2), 2);
  double best = 0;
  for (int attempt = 0; attempt < 7; ++attempt) {
    const auto start = Clock::now();
    for (int i = 0; i < 4; ++i) {
      std::memcpy(to.data(), from.data(), from.size());
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
    best = std::max(best, 4.0 * double(bytes) / seconds_since(start));
  }
  return best;
}

/// One op and what it costs: FLOPs, or the bytes it must read and write.
struct Work {
  std::string name;
  std::function<std::vector<Value>(Graph&)> build;
  double flops = 0;
  int64_t bytes = 0;
};

Value floats(Graph& graph, const char* name, const Shape& shape) { return graph.input(name, DType::kFloat32, shape); }

void add_dense(std::vector<Work>& works, int64_t n, int64_t in, int64_t out) {
  const std::string size = "/" + std::to_string(n) + "x" + std::to_string(in) + "x" + std::to_string(out);
  const double flops = 2.0 * double(n) * double(in) * double(out);
  const Shape x{n, in}, w{out, in}, y{n, out};
  works.push_back({"dense" + size, [=](Graph& g) { return std::vector{ops::dense(floats(g, "x", x), g.variable("w", w))}; }, flops});
  works.push_back({"dense_grad_input" + size, [=](Graph& g) { return g.add("dense_grad_input", {floats(g, "dy", y), g.variable("w", w)}); }, flops});
  works.push_back({"dense_grad_kernel" + size, [=](Graph& g) { return g.add("dense_grad_kernel", {floats(g, "dy", y), floats(g, "x", x)}); }, flops});
}

void add_conv2d(std::vector<Work>& works, int64_t n, int64_t side, int64_t in, int64_t kernel, int64_t out) {
  const std::string size = "/" + std::to_string(n) + "x" + std::to_string(side) + "x" + std::to_string(side) + "x" +
                           std::to_string(in) + "/" + std::to_string(kernel) + "x" + std::to_string(kernel) + "x" + std::to_string(out);
  const double flops = 2.0 * double(n * side * side) * double(kernel * kernel * in * out);
  const Shape x{n, side, side, in}, w{out, in, kernel, kernel}, y{n, side, side, out};
  const int64_t pad = kernel / 2;
  const Attributes attributes{{"strides", std::vector<int64_t>{1, 1}}, {"padding", std::vector<int64_t>{pad, pad, pad, pad}}};
  works.push_back({"conv2d" + size, [=](Graph& g) {
                     return std::vector{ops::conv2d(floats(g, "x", x), g.variable("w", w), {}, {.padding = Padding::same()})};
                   }, flops});
  if (in > 4) {  // the first layer's image needs no gradient
    works.push_back({"conv2d_grad_input" + size, [=](Graph& g) {
                       return g.add("conv2d_grad_input", {floats(g, "dy", y), g.variable("w", w), floats(g, "x", x)}, attributes);
                     }, flops});
  }
  works.push_back({"conv2d_grad_kernel" + size, [=](Graph& g) {
                     return g.add("conv2d_grad_kernel", {floats(g, "dy", y), floats(g, "x", x), g.variable("w", w)}, attributes);
                   }, flops});
}

void add_elementwise(std::vector<Work>& works, const Shape& image) {
  const int64_t bytes = 4 * image.elements();
  const std::string size = "/" + std::to_string(image.elements());
  works.push_back({"relu_grad" + size, [=](Graph& g) { return g.add("relu_grad", {floats(g, "dy", image), floats(g, "y", image)}); }, 0, 3 * bytes});
  works.push_back({"bias_grad" + size, [=](Graph& g) { return g.add("bias_grad", {floats(g, "dy", image)}); }, 0, bytes});
  works.push_back({"dropout" + size, [=](Graph& g) { return std::vector{ops::dropout(floats(g, "x", image), 0.4)}; }, 0, 2 * bytes});
  works.push_back({"max_pool" + size, [=](Graph& g) { return std::vector{ops::max_pool(floats(g, "x", image))}; }, 0, bytes + bytes / 4 + bytes / 16});
}

std::vector<Work> all_works() {
  std::vector<Work> works;
  add_dense(works, 128, 784, 512);
  add_dense(works, 128, 512, 512);
  add_dense(works, 32, 3136, 1024);
  add_conv2d(works, 32, 28, 1, 5, 32);
  add_conv2d(works, 32, 14, 32, 5, 64);
  add_conv2d(works, 16, 28, 64, 3, 64);
  add_elementwise(works, {32, 28, 28, 32});
  return works;
}

/// A program with random operands.
class Bound {
 public:
  Bound(backends::Backend& backend, const Work& work, DType compute_dtype) {
    const auto fetches = work.build(graph_);
    program_ = value_or_raise(backend.compile(graph_, {.fetches = {fetches[0]}, .compute_dtype = compute_dtype}));
    for (const auto& input : program_->info().inputs) operands_.push_back(random(input));
    for (const auto& operand : operands_) inputs_.push_back(operand.view());
    for (const auto& variable : program_->info().variables) {
      operands_.push_back(random(variable));
      pieces_.push_back({operands_.back().view().data, 0, variable.shape[0]});
    }
    for (const auto& piece : pieces_) variables_.emplace_back(&piece, 1);
  }
  /// One version for all runs: kept weights stay, as in a step's second use of them.
  void run() {
    value_or_raise(program_->run({.inputs = inputs_, .variables = variables_, .updates = {}, .weights = {1, 1}, .key = {}, .ready = nullptr}));
  }
  std::string implementation() const {
    for (const auto& kernel : program_->info().kernels) {
      if (kernel.implementation != "view") return kernel.implementation;
    }
    return "";
  }

 private:
  static Tensor random(const backends::ProgramInfo::Binding& binding) {
    Tensor tensor(binding.dtype, binding.shape);
    fill_uniform(1, 0, tensor.mutable_as<float>(), -1.0f, 1.0f);
    return tensor;
  }
  Graph graph_;
  std::unique_ptr<backends::Program> program_;
  std::vector<Tensor> operands_;
  std::vector<TensorView> inputs_;
  std::vector<backends::Piece> pieces_;
  std::vector<backends::Pieces> variables_;
};

void measure(benchmark::State& state, const std::string& backend_name, const Work& work, DType compute_dtype) {
  const auto backend = value_or_raise(backends::make_backend(backend_name));
  Bound bound(*backend, work, compute_dtype);
  bound.run();
  double seconds = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    bound.run();
    seconds += seconds_since(start);
  }
  const double amount = (work.flops > 0 ? work.flops : double(work.bytes)) * double(state.iterations());
  const double limit = work.flops > 0 ? peak_flops() : copy_bytes_per_second(work.bytes);
  state.counters[work.flops > 0 ? "FLOP/s" : "bytes/s"] = benchmark::Counter(amount / seconds);
  state.counters["of_limit"] = benchmark::Counter(amount / seconds / limit);
  state.SetLabel(bound.implementation());
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal;
  const auto works = bench::all_works();
  for (const auto& entry : backends::built_in_backends()) {
    for (const auto& work : works) {
      for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
        const bool rounded = dtype == DType::kBFloat16;
        if (rounded && (work.flops == 0 || !entry.make()->check_compute_dtype(dtype))) continue;
        auto run = [name = entry.name, &work, dtype](benchmark::State& state) { bench::measure(state, name, work, dtype); };
        const std::string name = entry.name + "/" + work.name + (rounded ? "/bfloat16" : "");
        benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMicrosecond)->UseRealTime();
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
