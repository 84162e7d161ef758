// SPDX-License-Identifier: Apache-2.0
// First the memory plans of the training steps of all models, next to their lower bounds: the largest sum of activations
// and workspaces that are alive at the same time. Then the memory of each task of a cluster, next to the formula of
// docs/memory.md: trains the models of examples/mnist for a few steps with checkpoints in between, each task with a
// pool of its own, and prints the most that each pool ever held.
//
// usage: memory_bench [--plans | scheme, default tcp]      --plans: those alone
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "model.h"
#include "models.h"
#include "shoal/backends/backend.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/cluster/server_memory.h"
#include "shoal/estimator/task_host.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/transport/inproc.h"

namespace {

constexpr int64_t kSteps = 60;
constexpr int64_t kBatch = 32;
constexpr double kMiB = 1 << 20;

struct Job {
  const char* model;
  shoal::ModelFn model_fn;
  int workers;  ///< Workers beside the chief.
  std::string scheme;
  std::string model_dir;
};

/// What a process with this TF_CONFIG would be. Ports are fixed: nothing else of a benchmark's machine listens there.
shoal::RunConfig config_of(const Job& job, const std::string& role, int index) {
  std::string workers;
  for (int i = 0; i < job.workers; ++i) workers += (i ? ", " : "") + ("\"127.0.0.1:" + std::to_string(47110 + i) + "\"");
  const std::string text = R"({"cluster": {"chief": ["127.0.0.1:47100"], "ps": ["127.0.0.1:47101"])" +
                           (workers.empty() ? "" : ", \"worker\": [" + workers + "]") + R"(}, "task": {"type": ")" + role +
                           R"(", "index": )" + std::to_string(index) + "}}";
  shoal::RunConfigOptions options;
  options.model_dir = job.model_dir;
  options.save_checkpoints_steps = 10;
  options.random_seed = 1;
  options.runtime = shoal::RuntimeOptions{.threads = 1, .transport = job.scheme, .backend = {}};
  return shoal::RunConfig::from_environment(options, [&text](std::string_view name) -> std::optional<std::string> {
    return name == "TF_CONFIG" ? std::optional(text) : std::nullopt;
  });
}

shoal::data::Dataset images() {
  shoal::Tensor pixels = shoal::Tensor::zeros(shoal::DType::kUInt8, {256, 28, 28, 1});
  shoal::Tensor labels = shoal::Tensor::zeros(shoal::DType::kInt64, {256});
  return shoal::data::Dataset::from_tensor_slices(pixels, labels).shuffle(256).repeat().batch(kBatch);
}

/// One task, on a thread and a buffer pool of its own.
class TaskThread {
 public:
  TaskThread(const Job& job, const std::string& role, int index, const std::shared_ptr<shoal::transport::InprocHub>& hub)
      : pool_(shoal::BufferPool::create()) {
    shoal::TaskHost host{.sink = shoal::stderr_sink(shoal::LogLevel::kWarning), .transports = {}, .stop = {}};
    host.buffers = pool_;
    host.transports["inproc"] = shoal::transport::inproc_factory(hub);
    const shoal::RunConfig config = config_of(job, role, index).with_host(std::make_shared<shoal::TaskHost>(host));
    thread_ = std::jthread([job, config] {
      shoal::Estimator estimator(job.model_fn, config, {{"learning_rate", 1e-3}, {"steps", kSteps}});
      shoal::train_and_evaluate(estimator, {.input_fn = images, .max_steps = kSteps}, {.input_fn = images});
    });
  }
  /// The peak, once the task has ended.
  double peak_bytes() {
    if (thread_.joinable()) thread_.join();
    return double(pool_->stats().peak_in_use_bytes);
  }

 private:
  std::shared_ptr<shoal::BufferPool> pool_;
  std::jthread thread_;
};

/// P: the bytes of all weights, as the last checkpoint has them.
double weight_bytes(const Job& job) {
  const auto storage = shoal::make_file_storage();
  const auto config = config_of(job, "chief", 0);
  const std::string prefix = *shoal::Estimator(job.model_fn, config).latest_checkpoint();
  double bytes = 0;
  for (const auto& tensor : shoal::value_or_raise(shoal::checkpoint::Reader::open(*storage, prefix))->manifest().tensors) {
    if (!tensor.is_slot()) bytes += double(tensor.bytes());
  }
  return bytes;
}

void measure(const Job& job) {
  std::filesystem::remove_all(job.model_dir);
  auto hub = std::make_shared<shoal::transport::InprocHub>();
  std::vector<std::unique_ptr<TaskThread>> tasks;
  tasks.push_back(std::make_unique<TaskThread>(job, "ps", 0, hub));
  tasks.push_back(std::make_unique<TaskThread>(job, "chief", 0, hub));
  for (int i = 0; i < job.workers; ++i) tasks.push_back(std::make_unique<TaskThread>(job, "worker", i, hub));
  std::vector<double> peaks;
  for (const auto& task : tasks) peaks.push_back(task->peak_bytes());
  const double weights = weight_bytes(job);
  const int trainers = 1 + job.workers;
  const shoal::cluster::ShardSpec shard{
      .segments = {}, .arena_bytes = uint64_t(weights), .slot_count = 2, .scalar_count = 1};  // Adam has these.
  const double formula = double(shoal::cluster::server_memory(shard, trainers).total()) / kMiB;
  const double worker = job.workers ? *std::max_element(peaks.begin() + 2, peaks.end()) / kMiB : 0;
  std::printf("%-6s %-7s %8d %9.2f %12.1f %12.1f %12.1f %12.1f\n", job.model, job.scheme.c_str(), trainers, weights / kMiB,
              formula, peaks[0] / kMiB, peaks[1] / kMiB, worker);
  std::fflush(stdout);
  std::filesystem::remove_all(job.model_dir);
}

void print_plans() {
  const auto backend = shoal::value_or_raise(shoal::backends::make_backend(shoal::backends::default_backend()));
  std::printf("MiB, backend %s  batch  nodes      plan     bound  plan/bound   scratch\n",
              std::string(backend->name()).c_str());
  for (const shoal::bench::ModelEntry& entry : shoal::bench::models()) {
    const shoal::bench::Model model = shoal::bench::build(entry);
    for (int64_t batch : {1, 32, 128}) {
      const auto program = shoal::value_or_raise(backend->compile(*model.graph, shoal::bench::step_of(model, batch, 1)));
      const auto& info = program->info();
      std::printf("%-19s %6lld %6zu %9.2f %9.2f %11.3f %9.2f\n", std::string(entry.name).c_str(), (long long)batch,
                  info.kernels.size(), double(info.arena_bytes) / kMiB, double(info.lower_bound_bytes) / kMiB,
                  double(info.arena_bytes) / double(info.lower_bound_bytes), double(info.scratch_bytes) / kMiB);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scheme = argc > 1 ? argv[1] : "tcp";
  print_plans();
  if (scheme == "--plans") return 0;
  const std::string folder = (std::filesystem::temp_directory_path() / "shoal-memory-bench").string();
  std::printf("MiB    scheme  trainers         P   ps formula     ps pool   chief pool  worker pool\n");
  for (const auto& [name, model_fn] :
       {std::pair{"mlp", shoal::ModelFn(mnist::mlp)}, std::pair{"cnn", shoal::ModelFn(mnist::cnn)}}) {
    for (int workers : {0, 1, 3}) measure({name, model_fn, workers, scheme, folder});
  }
}
