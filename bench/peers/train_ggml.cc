// SPDX-License-Identifier: Apache-2.0
// Trains models of bench/models with ggml, for bench/peers/instructions.
//
//   train_ggml --model mlp|lenet5 --batch N --threads N --steps N
//
// Trains so many steps on random batches, writes the number of parameters and ends. ggml has no momentum beside AdamW, so that it
// updates by plain SGD, and it has no batch normalization, so that there is no ResNet-20.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-opt.h>
#include <ggml.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "program.h"

namespace {

constexpr int64_t kSide = 28, kClasses = 10;
constexpr size_t kTensors = 1024;  // More than a graph has.

struct Options {
  std::string model;
  int batch = 1, threads = 1, steps = 1;
};

using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
Context make_context() {
  const ggml_init_params params{
      .mem_size = kTensors * ggml_tensor_overhead() + 4 * ggml_graph_overhead(), .mem_buffer = nullptr, .no_alloc = true};
  return {ggml_init(params), ggml_free};
}

/// Builds a graph; its weights are made as they are named.
class Layers {
 public:
  Layers(ggml_context* weights, ggml_context* graph) : weights_(weights), graph_(graph) {}

  ggml_tensor* dense(ggml_tensor* x, int64_t units) {
    ggml_tensor* const y = ggml_mul_mat(graph_, weight({x->ne[0], units}), x);
    return ggml_add(graph_, y, weight({units}));
  }
  ggml_tensor* conv(ggml_tensor* x, int64_t filters, int padding) {
    constexpr int64_t kSize = 5;
    ggml_tensor* const kernel = weight({kSize, kSize, x->ne[2], filters});
    ggml_tensor* const y = ggml_conv_2d(graph_, kernel, x, 1, 1, padding, padding, 1, 1);
    return ggml_add(graph_, y, weight({1, 1, filters}));
  }
  ggml_tensor* pool(ggml_tensor* x) { return ggml_pool_2d(graph_, x, GGML_OP_POOL_MAX, 2, 2, 2, 2, 0, 0); }
  ggml_tensor* relu(ggml_tensor* x) { return ggml_relu(graph_, x); }
  const std::vector<ggml_tensor*>& weights() const { return all_; }

 private:
  ggml_tensor* weight(const std::vector<int64_t>& sizes) {
    ggml_tensor* const made = ggml_new_tensor(weights_, GGML_TYPE_F32, int(sizes.size()), sizes.data());
    ggml_set_param(made);
    all_.push_back(made);
    return made;
  }
  ggml_context *weights_, *graph_;
  std::vector<ggml_tensor*> all_;
};

ggml_tensor* mlp(Layers& layers, ggml_context*, ggml_tensor* images) {
  ggml_tensor* x = images;
  for (int i = 0; i < 2; ++i) x = layers.relu(layers.dense(x, 512));
  return layers.dense(x, kClasses);
}

ggml_tensor* lenet5(Layers& layers, ggml_context* graph, ggml_tensor* images) {
  const int64_t batch = images->ne[1];
  ggml_tensor* x = ggml_reshape_4d(graph, images, kSide, kSide, 1, batch);
  x = layers.pool(layers.relu(layers.conv(x, 6, 2)));
  x = layers.pool(layers.relu(layers.conv(x, 16, 0)));
  x = ggml_reshape_2d(graph, x, 400, batch);
  for (const int64_t units : {120, 84}) x = layers.relu(layers.dense(x, units));
  return layers.dense(x, kClasses);
}

void fill(ggml_tensor* tensor, float low, float high, std::mt19937& random) {
  std::vector<float> values(size_t(ggml_nelements(tensor)));
  for (float& value : values) value = std::uniform_real_distribution<float>(low, high)(random);
  ggml_backend_tensor_set(tensor, values.data(), 0, values.size() * sizeof(float));
}

void set_threads(ggml_backend_t backend, int threads) {
  ggml_backend_reg_t const registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
  void* const set = ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads");
  if (set) reinterpret_cast<ggml_backend_set_n_threads_t>(set)(backend, threads);
}

shoal::Result<void> train(const Options& options) {
  ggml_backend_load_all();
  ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr);
  if (!backend) return shoal::failed_precondition("ggml has no backend for processors (Debian: libggml0)");
  set_threads(backend, options.threads);
  const Context weights = make_context(), graph = make_context();
  ggml_tensor* const images = ggml_new_tensor_2d(weights.get(), GGML_TYPE_F32, kSide * kSide, options.batch);
  ggml_set_input(images);
  Layers layers(weights.get(), graph.get());
  ggml_tensor* const logits =
      options.model == "mlp" ? mlp(layers, graph.get(), images) : lenet5(layers, graph.get(), images);
  ggml_set_output(logits);
  ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(weights.get(), backend);
  std::mt19937 random(1);
  int64_t parameters = 0;
  for (ggml_tensor* const weight : layers.weights()) {
    fill(weight, -0.05f, 0.05f, random);
    parameters += ggml_nelements(weight);
  }
  ggml_backend_sched_t scheduler = ggml_backend_sched_new(&backend, nullptr, 1, GGML_DEFAULT_GRAPH_SIZE, false, true);
  ggml_opt_params params = ggml_opt_default_params(scheduler, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
  ggml_opt_optimizer_params optimizer = ggml_opt_get_default_optimizer_params(nullptr);
  optimizer.sgd = {.alpha = 0.01f, .wd = 0.0f};
  params.ctx_compute = graph.get();
  params.inputs = images;
  params.outputs = logits;
  params.optimizer = GGML_OPT_OPTIMIZER_TYPE_SGD;
  params.get_opt_pars = ggml_opt_get_constant_optimizer_params;
  params.get_opt_pars_ud = &optimizer;
  ggml_opt_context_t const training = ggml_opt_init(params);
  constexpr size_t kBatches = 8;  // Different ones, taken in turn.
  const size_t pixels = size_t(options.batch) * kSide * kSide, classes = size_t(options.batch) * kClasses;
  std::vector<float> all_pixels(kBatches * pixels), all_labels(kBatches * classes, 0.0f);
  for (float& pixel : all_pixels) pixel = std::uniform_real_distribution<float>()(random);
  for (size_t row = 0; row < all_labels.size(); row += kClasses) all_labels[row + random() % kClasses] = 1.0f;
  for (size_t step = 0; step < size_t(options.steps); ++step) {
    const size_t batch = step % kBatches;
    ggml_opt_alloc(training, true);
    ggml_backend_tensor_set(ggml_opt_inputs(training), &all_pixels[batch * pixels], 0, pixels * sizeof(float));
    ggml_backend_tensor_set(ggml_opt_labels(training), &all_labels[batch * classes], 0, classes * sizeof(float));
    ggml_opt_eval(training, nullptr);
  }
  std::printf("%lld\n", (long long)parameters);
  ggml_opt_free(training);
  ggml_backend_sched_free(scheduler);
  ggml_backend_buffer_free(memory);
  ggml_backend_free(backend);
  return {};
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a model of bench/models with ggml for some steps");
  app.add_option("--model", options.model)->required()->check(CLI::IsMember({"mlp", "lenet5"}));
  app.add_option("--batch", options.batch)->required()->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps)->required()->check(CLI::PositiveNumber);
  shoal::bench::parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  return shoal::bench::run_program("train_ggml", [&] { return train(options); });
}
