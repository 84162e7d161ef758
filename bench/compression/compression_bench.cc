// SPDX-License-Identifier: Apache-2.0
// What compression is worth on a slow link: LeNet-5 (LeCun et al. 1998, "Gradient-Based Learning Applied to Document
// Recognition", with maxima and relu) learns MNIST, its one trainer behind a simulated link of 10 Mbit/s and 50 ms there
// and back, until a checkpoint reads 98% of the test images right. Time is the link's alone: computing takes none.
//
//   compression_bench [--data-dir ../shared/data] [--accuracy 0.98] [--steps 3000] [--compression none int8 top-k:0.01]
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "images.h"
#include "program.h"
#include "shoal/base/virtual.h"
#include "shoal/cluster/parameter_server.h"
#include "shoal/estimator/task_host.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"
#include "shoal/nn/pooling.h"
#include "shoal/transport/sim.h"
#include "task/task_network.h"
#include "train/train_task.h"

namespace shoal::bench {
namespace {

using transport::SimLink;
using transport::SimNetwork;

struct Options {
  std::string data_dir;
  double accuracy = 0.98;
  int64_t steps = 3000;
  int64_t every = 25;
  int64_t batch = 64;
  double learning_rate = 0.02;
  std::vector<std::string> compressions{"none",
                                        "bfloat16",
                                        "float16",
                                        "int8",
                                        "top-k:0.01",
                                        "gradients=top-k:0.01,weights=bfloat16",
                                        "gradients=top-k:0.01,weights=int8"};
};

constexpr SimLink kSlow{.latency = std::chrono::milliseconds(25), .bytes_per_second = 10e6 / 8};
constexpr SimLink kFast{.latency = {}};

EstimatorSpec lenet5(const Features& features, const Labels& labels, Mode mode, const Params& params, const RunConfig&) {
  Value x = ops::scale(ops::cast(features.single(), DType::kFloat32), 1.0 / 255);
  x = nn::conv2d(x, {.filters = 6, .kernel = 5, .padding = Padding::same(), .activation = nn::Activation::kRelu});
  x = nn::max_pool(x);
  x = nn::conv2d(x, {.filters = 16, .kernel = 5, .padding = Padding::valid(), .activation = nn::Activation::kRelu});
  x = nn::flatten(nn::max_pool(x));
  x = nn::dense(x, {.units = 120, .activation = nn::Activation::kRelu});
  x = nn::dense(x, {.units = 84, .activation = nn::Activation::kRelu});
  nn::HeadInput input{.mode = mode,
                      .features = {},
                      .labels = labels,
                      .logits = nn::dense(x, {.units = 10, .name = "logits"}),
                      .optimizer = {},
                      .train_op = {}};
  if (mode == Mode::kTrain) {
    input.optimizer = nn::sgd({.learning_rate = params.get_real("learning_rate"), .momentum = 0.9});
  }
  return nn::multi_class_head({.n_classes = 10})->build(input);
}

/// What it took until the accuracy was reached.
struct Outcome {
  uint64_t steps = 0;
  double seconds = 0;  ///< Virtual time.
  uint64_t bytes = 0;  ///< Both ways, heads too.
  double accuracy = 0;
};

std::shared_ptr<TaskHost> quiet_host() {
  auto host = std::make_shared<TaskHost>();
  host->sink = stderr_sink(LogLevel::kWarning);
  return host;
}

/// Looks at every checkpoint. Checkpoints are read over a link that takes no time, so that looking costs none.
class Watch final : public CheckpointListener {
 public:
  Watch(VirtualWorld& world, std::shared_ptr<SimNetwork> network, const Options& options, mnist::ImageSource& images,
        std::string model_dir)
      : world_(world),
        network_(std::move(network)),
        options_(options),
        images_(images),
        judge_(lenet5, RunConfig({.model_dir = std::move(model_dir)}).with_host(quiet_host()),
               {{"learning_rate", options.learning_rate}}) {}

  void before_save(RunContext&, uint64_t) override {
    outcome_.seconds = to_seconds(world_.now() - SteadyTime{});
    before_ = network_->stats().bytes;
    outcome_.bytes = before_ - saving_bytes_;
    network_->set_link("chief", "ps", kFast);
  }
  bool after_save(RunContext&, uint64_t global_step, const std::string& prefix) override {
    saving_bytes_ += network_->stats().bytes - before_;
    network_->set_link("chief", "ps", kSlow);
    const InputFn test = [this] {
      return data::Dataset::from_tensor_slices(images_.test().pixels, images_.test().labels).batch(500);
    };
    outcome_.steps = global_step;
    outcome_.accuracy = judge_.evaluate(test, {.checkpoint = prefix}).at("accuracy");
    return outcome_.accuracy >= options_.accuracy;
  }
  const Outcome& outcome() const { return outcome_; }

 private:
  VirtualWorld& world_;
  const std::shared_ptr<SimNetwork> network_;
  const Options& options_;
  mnist::ImageSource& images_;
  Estimator judge_;
  Outcome outcome_;
  uint64_t before_ = 0;        // The bytes when the save began.
  uint64_t saving_bytes_ = 0;  // The bytes of all saves so far.
};

RunConfig config_of(const std::string& role, const std::string& model_dir, const std::string& compression,
                    const Options& options) {
  RunConfigOptions config;
  config.model_dir = model_dir;
  config.save_checkpoints_steps = options.every;
  config.random_seed = 1;
  config.runtime =
      RuntimeOptions{.transport = "sim", .compression = value_or_raise(cluster::parse_compression(compression))};
  const std::string text =
      R"({"cluster": {"chief": ["chief:1"], "ps": ["ps:1"]}, "task": {"type": ")" + role + R"(", "index": 0}})";
  return RunConfig::from_environment(config, [&text](std::string_view name) -> std::optional<std::string> {
    return name == "TF_CONFIG" ? std::optional(text) : std::nullopt;
  });
}

Outcome train(const std::string& compression, const Options& options, mnist::ImageSource& images) {
  const std::string model_dir = (std::filesystem::temp_directory_path() / "shoal-compression-bench").string();
  std::filesystem::remove_all(model_dir);
  VirtualWorld world;
  const auto network = std::make_shared<SimNetwork>(1, kSlow);
  const auto task = [&](const std::string& name) -> Environment& {
    return world.add_task({.task = name,
                           .sink = stderr_sink(LogLevel::kWarning),
                           .transports = {{"sim", transport::sim_factory(network, name)}}});
  };
  Environment& ps = task("ps");
  Environment& chief = task("chief");
  const RunConfig server = config_of("ps", model_dir, compression, options);
  Task<Result<void>> serving = cluster::run_parameter_server(
      ps, {.identity = task_identity(ps, server), .listen_at = value_or_raise(own_endpoint(server)), .link = {}});
  ps.post([&serving] { serving.start(); });

  const Estimator estimator(lenet5, config_of("chief", model_dir, compression, options),
                            {{"learning_rate", options.learning_rate}});
  const InputFn training = [&] {
    return data::Dataset::from_tensor_slices(images.training().pixels, images.training().labels)
        .shuffle(60000)
        .repeat()
        .batch(options.batch, {.drop_remainder = true});
  };
  const auto watch = std::make_shared<Watch>(world, network, options, images, model_dir);
  const TrainRequest request{.estimator = estimator,
                             .input_fn = training,
                             .role = TrainRole::kChief,
                             .max_steps = options.steps,
                             .steps = {},
                             .hooks = {},
                             .listeners = {watch}};
  value_or_raise(chief.run(trainer_task(chief, request)));
  world.run_for(std::chrono::minutes(1));  // Meanwhile the server leaves.
  std::filesystem::remove_all(model_dir);
  return watch->outcome();
}

Result<void> run(const Options& options) {
  mnist::ImageSource images(options.data_dir.empty() ? std::nullopt : std::optional(options.data_dir), 1);
  std::printf("%-40s %7s %9s %10s %11s %9s %9s\n", "compression", "steps", "accuracy", "MB", "kB/step", "seconds",
              "of none");
  double reference = 0;
  for (const std::string& compression : options.compressions) {
    const Outcome outcome = train(compression, options, images);
    if (reference == 0) reference = outcome.seconds;
    std::printf("%-40s %7llu %9.4f %10.2f %11.1f %9.1f %9.3f\n", compression.c_str(), (unsigned long long)outcome.steps,
                outcome.accuracy, double(outcome.bytes) / 1e6, double(outcome.bytes) / 1e3 / double(outcome.steps),
                outcome.seconds, outcome.seconds / reference);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  shoal::bench::Options options;
  if (const char* data = std::getenv("SHOAL_DATA")) options.data_dir = data;
  CLI::App app("Time, steps and bytes until LeNet-5 has learnt MNIST over a slow link, by compression");
  app.add_option("--data-dir", options.data_dir, "Folder of the MNIST files; none: digits that the program draws");
  app.add_option("--accuracy", options.accuracy, "Of the test images, where it stops")->capture_default_str();
  app.add_option("--steps", options.steps, "Where it gives up")->capture_default_str();
  app.add_option("--every", options.every, "Looks after so many steps")->capture_default_str();
  app.add_option("--batch", options.batch)->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate)->capture_default_str();
  app.add_option("--compression", options.compressions,
                 "Which, separated by spaces; the first is what others are compared with");
  shoal::bench::parse_or_exit(app, argc, argv);
  return shoal::bench::run_program("compression_bench", [&] { return shoal::bench::run(options); });
}
