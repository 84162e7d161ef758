// SPDX-License-Identifier: Apache-2.0
// Shoal's side of bench/peers/compare: trains one model of bench/models through an Estimator, as users do, in local mode,
// step by step when it is told to.
//
//   compute_bench --model NAME --batch N --threads N [--backend NAME] [--compute-dtype float32|bfloat16]
//                 [--first-step | --plan | --steps N]
//   compute_bench --list
//
// Writes one line of JSON when it is ready, {"settings", "parameters"}, and for each line "measure <seconds>" that it reads
// one more: {"steps", "ms"}, the time per step. The end of its input ends it. With --first-step it trains 20 steps on one
// batch instead, and writes when the first had ended (the monotonic clock, in ns) and the most memory that was resident.
// With --steps it trains so many steps, writes the number of parameters and ends, for tools that count what a process does.
// With --plan it compiles the training step and writes its planned memory next to the lower bound. --list writes the names
// of the models.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "models.h"
#include "program.h"
#include "shoal/backends/backend.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"

namespace shoal::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatches = 8;      // Different ones, taken in turn.
constexpr int kWarmUpSteps = 5;  // Steps before it says that it is ready.
constexpr int kFirstStepSteps = 20;

struct Options {
  std::string model, backend = backends::default_backend();
  DType compute_dtype = DType::kFloat32;
  int64_t batch = 0, steps = 0;  // Steps: 0 if it is not told how many.
  int threads = 1;
  bool first_step = false, plan = false, list = false;
};

long long peak_resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long long kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

int64_t trainable_parameters(const Graph& graph) {
  int64_t count = 0;
  for (const Variable& variable : graph.variables()) {
    if (variable.trainable) count += variable.shape.elements();
  }
  return count;
}

/// Turns lines of the standard input into timed steps.
class MeasureHook final : public Hook {
 public:
  explicit MeasureHook(std::string settings) : settings_(std::move(settings)) {}

  void begin(HookSetup& setup) override { parameters_ = trainable_parameters(setup.graph()); }
  void before_step(RunContext& run, StepRequest&) override {
    if (run.iterations() < kWarmUpSteps || seconds_ > 0) return;
    if (run.iterations() == kWarmUpSteps) {
      std::printf("{\"settings\": \"%s\", \"parameters\": %lld}\n", settings_.c_str(), (long long)parameters_);
      std::fflush(stdout);
    }
    std::string command;
    if (!(std::cin >> command >> seconds_) || command != "measure" || !(seconds_ > 0)) return run.request_stop();
    steps_ = 0;
    start_ = Clock::now();
  }
  void after_step(RunContext&, const StepValues&) override {
    if (!(seconds_ > 0)) return;
    ++steps_;
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (elapsed < seconds_) return;
    std::printf("{\"steps\": %lld, \"ms\": %.6f}\n", (long long)steps_, elapsed * 1e3 / double(steps_));
    std::fflush(stdout);
    seconds_ = 0;
  }

 private:
  std::string settings_;
  int64_t parameters_ = 0;
  double seconds_ = 0;  // Time of the measurement under way; 0 if there is none.
  int64_t steps_ = 0;
  Clock::time_point start_;
};

class FirstStepHook final : public Hook {
 public:
  void after_step(RunContext& run, const StepValues&) override {
    if (run.iterations() == 1) ended_ = Clock::now();
    if (run.iterations() < kFirstStepSteps) return;
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(ended_.time_since_epoch()).count();
    std::printf("{\"settings\": \"\", \"first_step_ns\": %lld, \"peak_resident_kib\": %lld}\n", (long long)nanoseconds,
                peak_resident_kib());
    run.request_stop();
  }

 private:
  Clock::time_point ended_;
};

class ParametersHook final : public Hook {
 public:
  void begin(HookSetup& setup) override { std::printf("%lld\n", (long long)trainable_parameters(setup.graph())); }
};

/// A folder for the run, gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "shoal-compute-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) raise(failed_precondition("no temporary folder can be made at " + path_));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Nothing is written beside the steps: no checkpoints, no summaries, no lines.
RunConfig config_of(const Options& options, const std::string& folder) {
  RunConfigOptions config;
  config.model_dir = folder;
  config.save_checkpoints_steps = std::nullopt;
  config.save_checkpoints_secs = std::nullopt;
  config.save_summary_steps = std::nullopt;
  config.log_step_count_steps = std::nullopt;
  config.save_model_description = false;
  config.random_seed = 1;
  config.runtime = RuntimeOptions{
      .threads = options.threads, .transport = {}, .backend = options.backend, .compute_dtype = options.compute_dtype};
  TaskHost host;
  host.sink = stderr_sink(LogLevel::kWarning);
  return RunConfig(config).with_host(std::make_shared<TaskHost>(host));
}

void train(const Options& options) {
  const ModelEntry& model = find_model(options.model);
  const TemporaryFolder folder;
  Estimator estimator(model.model_fn, config_of(options, folder.path()));
  const bool rounded = options.compute_dtype != DType::kFloat32;
  const std::string settings = options.backend + (rounded ? " " + std::string(to_string(options.compute_dtype)) : "");
  std::shared_ptr<Hook> hook = std::make_shared<MeasureHook>(settings);
  if (options.first_step) hook = std::make_shared<FirstStepHook>();
  if (options.steps > 0) hook = std::make_shared<ParametersHook>();
  const int count = options.first_step ? 1 : kBatches;
  TrainOptions training{.hooks = {hook}};
  if (options.steps > 0) training.steps = options.steps;
  estimator.train([&] { return batches(model, options.batch, count); }, training);
}

void plan(const Options& options) {
  const Model model = build(find_model(options.model));
  const auto backend = value_or_raise(backends::make_backend(options.backend));
  backends::CompileOptions step = step_of(model, options.batch, options.threads);
  step.compute_dtype = options.compute_dtype;
  const auto program = value_or_raise(backend->compile(*model.graph, step));
  const backends::CompiledProgramInfo& info = program->info();
  std::printf("{\"arena_bytes\": %zu, \"lower_bound_bytes\": %zu, \"scratch_bytes\": %zu, \"kept_bytes\": %zu}\n",
              info.arena_bytes, info.lower_bound_bytes, info.scratch_bytes, info.kept_bytes);
}

void list() {
  for (const ModelEntry& model : models()) std::printf("%s\n", std::string(model.name).c_str());
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a model of bench/models step by step, as bench/peers/compare tells it to");
  app.add_flag("--list", options.list, "Only write the names of the models");
  app.add_option("--model", options.model);
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  app.add_option("--backend", options.backend)->capture_default_str();
  app.add_option_function<std::string>("--compute-dtype", [&](const std::string& name) {
    const auto dtype = dtype_from_string(name);
    if (!dtype) throw CLI::ValidationError("--compute-dtype", "float32 or bfloat16, not " + name);
    options.compute_dtype = *dtype;
  });
  app.add_flag("--first-step", options.first_step, "When the first of 20 steps ended, and the most memory");
  app.add_option("--steps", options.steps, "Train so many steps, and end")->check(CLI::PositiveNumber);
  app.add_flag("--plan", options.plan, "The planned memory of a step");
  app.callback([&] {
    if (options.list) return;
    for (const char* needed : {"--model", "--batch", "--threads"}) {
      if (app.count(needed) == 0) throw CLI::RequiredError(needed);
    }
  });
  parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  const Options options = parse(argc, argv);
  return run_program("compute_bench", [&]() -> shoal::Result<void> {
    options.list ? list() : options.plan ? plan(options) : train(options);
    return {};
  });
}
