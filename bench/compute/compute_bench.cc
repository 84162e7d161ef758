// Shoal's side of bench/peers/compare: trains one model of bench/models through an Estimator, as users do, in local mode,
// step by step when it is told to.
//
//   compute_bench --model NAME --batch N --threads N [--backend NAME] [--compute-dtype float32|bfloat16]
//                 [--first-step | --plan]
//   compute_bench --list
//
// Writes one line of JSON when it is ready, {"settings", "parameters"}, and for each line "measure <seconds>" that it reads
// one more: {"steps", "ms"}, the time per step. The end of its input ends it. With --first-step it trains 20 steps on one
// batch instead, and writes when the first had ended (the monotonic clock, in ns) and the most memory that was resident.
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
#include "shoal/backends/backend.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"

namespace shoal::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatches = 8;      // different ones, taken in turn
constexpr int kWarmUpSteps = 5;  // before it says that it is ready
constexpr int kFirstStepSteps = 20;

struct Options {
  std::string model, backend = backends::default_backend();
  DType compute_dtype = DType::kFloat32;
  int64_t batch = 0;
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

/// Turns lines of the standard input into timed steps.
class MeasureHook final : public Hook {
 public:
  explicit MeasureHook(std::string settings) : settings_(std::move(settings)) {}

  void begin(HookSetup& setup) override {
    for (const Variable& variable : setup.graph().variables()) {
      if (variable.trainable) parameters_ += variable.shape.elements();
    }
  }
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
  double seconds_ = 0;  // of the measurement under way; 0: none
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
  const int count = options.first_step ? 1 : kBatches;
  estimator.train([&] { return batches(model, options.batch, count); }, {.hooks = {hook}});
}

void plan(const Options& options) {
  const Model model = build(find_model(options.model));
  backends::CompileOptions compile{.sizes = {{"batch", options.batch}},
                                   .fetches = {model.loss},
                                   .threads = options.threads,
                                   .compute_dtype = options.compute_dtype};
  for (const nn::VariableUpdate& update : model.train_op.updates) compile.updates.push_back(update.update);
  const auto backend = value_or_raise(backends::make_backend(options.backend));
  const auto program = value_or_raise(backend->compile(*model.graph, compile));
  const backends::ProgramInfo& info = program->info();
  std::printf("{\"arena_bytes\": %zu, \"lower_bound_bytes\": %zu, \"scratch_bytes\": %zu, \"kept_bytes\": %zu}\n",
              info.arena_bytes, info.lower_bound_bytes, info.scratch_bytes, info.kept_bytes);
}

void list() {
  for (const ModelEntry& model : models()) std::printf("%s\n", std::string(model.name).c_str());
}

[[noreturn]] void usage() {
  std::fprintf(
      stderr,
      "usage: compute_bench --model NAME --batch N --threads N [--backend NAME] [--compute-dtype float32|bfloat16]\n"
      "                     [--first-step | --plan]\n"
      "       compute_bench --list\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--first-step") {
      options.first_step = true;
    } else if (flag == "--plan") {
      options.plan = true;
    } else if (flag == "--list") {
      options.list = true;
    } else if (flag == "--model" && has_value) {
      options.model = argv[++i];
    } else if (flag == "--backend" && has_value) {
      options.backend = argv[++i];
    } else if (flag == "--compute-dtype" && has_value) {
      const auto dtype = dtype_from_string(argv[++i]);
      if (!dtype) usage();
      options.compute_dtype = *dtype;
    } else if (flag == "--batch" && has_value) {
      options.batch = std::atoll(argv[++i]);
    } else if (flag == "--threads" && has_value) {
      options.threads = std::atoi(argv[++i]);
    } else {
      usage();
    }
  }
  if (!options.list && (options.model.empty() || options.batch < 1 || options.threads < 1)) usage();
  return options;
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  const Options options = parse(argc, argv);
  const auto done = shoal::call_user("compute_bench", [&] {
    options.list ? list() : options.plan ? plan(options) : train(options);
  });
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return shoal::exit_status(done.error().kind());
}
