// SPDX-License-Identifier: Apache-2.0
// How fast one backend multiplies matrices, over 64 products of the training steps of bench/models.
//
//   products_bench [--backend NAME] [--threads N] [--seconds 0.03] [--weights]
//
// Writes a line of JSON for each product: {"product", "rows", "columns", "depth", "gflops"}. The sizes are those of the models'
// dense layers, matrix products and convolutions (a convolution as the product of its unrolled patches and its kernel) with 1, 32
// and 128 examples. Both operands are inputs, so that what a backend does to bring them into order counts each time; with
// --weights the right one is a variable whose version stays, so that a backend may keep what it made of it.
// bench/products/compare runs two of these programs in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel_cases.h"
#include "models.h"
#include "program.h"
#include "shoal/backends/backend.h"
#include "shoal/graph/passes.h"

namespace shoal::bench {
namespace {

constexpr size_t kProducts = 64;
constexpr int64_t kBatches[] = {1, 32, 128};

struct Options {
  std::string backend = backends::default_backend();
  int threads = 1;
  double seconds = 0.03;
  bool weights = false;
};

/// c [rows, columns] = a b, with a [depth, rows] if a is transposed and b [columns, depth] if b is.
struct Product {
  int64_t rows, columns, depth;
  bool transpose_a, transpose_b;

  auto operator<=>(const Product&) const = default;
  double flops() const { return 2.0 * double(rows) * double(columns) * double(depth); }
  std::string name() const {
    return std::string(transpose_a ? "T" : "N") + (transpose_b ? "T" : "N") + " " + std::to_string(rows) + "x" +
           std::to_string(columns) + "x" + std::to_string(depth);
  }
};

/// The three products of a layer y [rows, out] = x [rows, in] w^T: forward, and of its two gradients.
std::optional<Product> of_layer(const std::string& op, const std::string& layer, int64_t rows, int64_t out, int64_t in) {
  if (op == layer) return Product{rows, out, in, false, true};
  if (op == layer + "_grad_input") return Product{rows, in, out, false, false};
  if (op == layer + "_grad_kernel") return Product{out, in, rows, true, false};
  return std::nullopt;
}

int64_t rows_of(const Shape& shape) { return shape.elements() / shape[shape.rank() - 1]; }

/// Returns the product that a node computes, or none if it computes no single product of two matrices.
std::optional<Product> product_of(const FlowNode& node, const SymbolSizes& sizes) {
  const auto shape = [&](size_t i) { return value_or_raise(node.input_types[i].shape.resolve(sizes)); };
  const std::string& op = node.node.op;
  if (op.starts_with("dense")) {
    const Shape second = shape(1);  // [out, in], or for the gradient of that [rows, in]
    const int64_t out = op == "dense_grad_kernel" ? shape(0)[shape(0).rank() - 1] : second[0];
    return of_layer(op, "dense", rows_of(shape(0)), out, second[second.rank() - 1]);
  }
  if (op.starts_with("conv2d") && !op.starts_with("conv2d_transpose")) {
    const Shape kernel = op == "conv2d_grad_kernel" ? shape(2) : shape(1);  // [O, I, KH, KW]
    const Shape y = op == "conv2d" ? value_or_raise(node.node.outputs[0].shape.resolve(sizes)) : shape(0);
    return of_layer(op, "conv2d", rows_of(y), kernel[0], kernel.elements() / kernel[0]);
  }
  if (op == "matmul" && shape(1).rank() == 2) {
    const bool transpose_b = node.node.attributes.get_bool("transpose_b");
    const Shape b = shape(1);
    return Product{rows_of(shape(0)), b[transpose_b ? 0 : 1], b[transpose_b ? 1 : 0], false, transpose_b};
  }
  return std::nullopt;
}

/// Returns `kProducts` products of the models, evenly taken from the smallest to the largest.
std::vector<Product> products() {
  std::vector<Product> every;
  for (const ModelEntry& entry : models()) {
    const Model model = build(entry);
    for (const int64_t batch : kBatches) {
      const backends::CompileOptions step = step_of(model, batch, 1);
      const Flow flow = value_or_raise(simplify(*model.graph, step.fetches, step.updates));
      for (const FlowNode& node : flow.nodes) {
        if (!node.op || node.op->view) continue;
        if (const auto product = product_of(node, step.sizes)) every.push_back(*product);
      }
    }
  }
  std::sort(every.begin(), every.end());
  every.erase(std::unique(every.begin(), every.end()), every.end());
  std::stable_sort(every.begin(), every.end(), [](const Product& a, const Product& b) { return a.flops() < b.flops(); });
  SHOAL_CHECK(every.size() >= kProducts);
  std::vector<Product> taken;
  for (size_t i = 0; i < kProducts; ++i) taken.push_back(every[i * (every.size() - 1) / (kProducts - 1)]);
  return taken;
}

KernelCase case_of(const Product& of, bool weights) {
  const Shape a = of.transpose_a ? Shape{of.depth, of.rows} : Shape{of.rows, of.depth};
  const Shape b = of.transpose_b ? Shape{of.columns, of.depth} : Shape{of.depth, of.columns};
  return {.op = "matmul",
          .from = of.name(),
          .attributes = {{"transpose_a", of.transpose_a}, {"transpose_b", of.transpose_b}},
          .operands = {{DType::kFloat32, a}, {DType::kFloat32, b, weights}}};
}

/// Seconds of one product.
double measure(backends::Backend& backend, const Options& options, const KernelCase& of) {
  Graph graph;
  backends::CompileOptions compile{.fetches = add_case(graph, of)};
  compile.threads = options.threads;
  const auto program = value_or_raise(backend.compile(graph, compile));
  const Tensor a = operand_data(of, 0), b = operand_data(of, 1);
  std::vector<TensorView> inputs;
  for (const auto& input : program->info().inputs) inputs.push_back(input.name == "operand0" ? a.view() : b.view());
  std::vector<backends::Piece> pieces;
  if (!program->info().variables.empty()) pieces.push_back({b.view().data, 0, b.shape()[0]});
  std::vector<backends::Pieces> variables;
  for (const auto& piece : pieces) variables.emplace_back(&piece, 1);
  const auto run = [&] {
    value_or_raise(program->run({.inputs = inputs, .variables = variables, .updates = {}, .weights = {1, 1}}));
  };
  using Clock = std::chrono::steady_clock;
  run();
  run();
  const auto start = Clock::now();
  int64_t count = 0;
  double seconds = 0;
  do {
    run();
    ++count;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  } while (seconds < options.seconds);
  return seconds / double(count);
}

Result<void> body(const Options& options) {
  const auto backend = value_or_raise(backends::make_backend(options.backend));
  for (const Product& product : products()) {
    const double seconds = measure(*backend, options, case_of(product, options.weights));
    std::printf(R"({"product": "%s", "rows": %lld, "columns": %lld, "depth": %lld, "gflops": %.3f})"
                "\n",
                product.name().c_str(), (long long)product.rows, (long long)product.columns, (long long)product.depth,
                product.flops() / seconds * 1e-9);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  Options options;
  CLI::App app("How fast a backend multiplies the matrices of the models.");
  app.add_option("--backend", options.backend, "the backend")->capture_default_str();
  app.add_option("--threads", options.threads, "compute threads")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "time of each product")->capture_default_str();
  app.add_flag("--weights", options.weights, "the right operand is a variable that stays");
  parse_or_exit(app, argc, argv);
  return run_program("products_bench", [&options] { return body(options); });
}
