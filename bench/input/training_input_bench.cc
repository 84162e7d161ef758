// SPDX-License-Identifier: Apache-2.0
// What it costs to train from files: the models of examples/mnist on the same digits from memory and from TFRecord files of
// tf.Example, in turn, with one thread that computes and one core more for the input.
//
//   training_input_bench [--model mlp,lenet5,cnn] [--batch 64] [--steps 300] [--rounds 5]
//
// Prints for each model the time of a step from memory and from files (medians over the rounds), and the ratio of the two in
// each round: median, least and most. A step that takes less time than its input is bound by the input: the time that the
// pipeline alone needs for a batch stands beside them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "digits.h"
#include "files.h"
#include "model.h"
#include "program.h"
#include "shoal/data/record_files.h"
#include "shoal/data/tf_example.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"

namespace shoal::bench {
namespace {

using Clock = std::chrono::steady_clock;
using data::Dataset;

constexpr int64_t kDigits = 20'000;
constexpr int64_t kWarmUpSteps = 30;

struct Options {
  std::vector<std::string> models = {"mlp", "lenet5", "cnn"};
  int64_t batch = 64, steps = 300;
  int rounds = 5;
};

/// A folder for the run, gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "shoal-training-XXXXXX").string()) {
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

/// Takes the time of the steps behind the first kWarmUpSteps.
class TimeHook final : public Hook {
 public:
  void after_step(RunContext& run, const StepValues&) override {
    if (run.iterations() == kWarmUpSteps) start_ = Clock::now();
    end_ = Clock::now();
    steps_ = run.iterations() - kWarmUpSteps;
  }
  double milliseconds() const { return std::chrono::duration<double, std::milli>(end_ - start_).count() / double(steps_); }

 private:
  Clock::time_point start_, end_;
  int64_t steps_ = 0;
};

Dataset from_memory(const mnist::Images& digits, int64_t batch) {
  return Dataset::from_tensor_slices(digits.pixels, digits.labels)
      .shuffle(10'000, {.seed = 1})
      .repeat()
      .batch(batch)
      .prefetch(2);
}

void write_digits(const mnist::Images& digits, const std::vector<std::string>& paths) {
  std::vector<data::TfRecordWriter> writers;
  for (const std::string& path : paths) writers.push_back(value_or_raise(data::TfRecordWriter::create(path)));
  size_t number = 0;
  for (const data::Element& one : Dataset::from_tensor_slices(digits.pixels, digits.labels).elements()) {
    const data::TensorMap tensors{{"image", one.features.single()}, {"label", one.labels.single()}};
    value_or_raise(writers[number++ % writers.size()].append(data::make_tf_example(tensors)));
  }
  for (data::TfRecordWriter& writer : writers) value_or_raise(writer.finish());
}

Dataset from_files(const std::vector<std::string>& paths, int64_t batch) {
  const data::MapFn parse =
      data::tf_examples({.features = {{.name = "image", .dtype = DType::kUInt8, .shape = {kSide, kSide, 1}},
                                      {.name = "label", .dtype = DType::kInt64}},
                         .labels = {"label"}});
  const data::MapFn digit = [parse](data::Element record) -> Result<data::Element> {
    SHOAL_TRY(data::Element element, parse(std::move(record)));
    element.features = data::TensorMap(element.features["image"]);  // The models take a lone tensor.
    return element;
  };
  return Dataset::tf_records(paths).shuffle(10'000, {.seed = 1}).repeat().map(digit).batch(batch).prefetch(2);
}

double step_milliseconds(const std::string& model, const Options& options, const InputFn& input) {
  const TemporaryFolder folder;
  RunConfigOptions config;
  config.model_dir = folder.path();
  config.save_checkpoints_steps = std::nullopt;
  config.save_checkpoints_secs = std::nullopt;
  config.save_summary_steps = std::nullopt;
  config.log_step_count_steps = std::nullopt;
  config.save_model_description = false;
  config.random_seed = 1;
  config.runtime = RuntimeOptions{.threads = 1};
  TaskHost host;
  host.sink = stderr_sink(LogLevel::kWarning);
  const auto model_fn = model == "mlp" ? mnist::mlp : model == "lenet5" ? mnist::lenet5 : mnist::cnn;
  const int64_t steps = kWarmUpSteps + options.steps;
  Estimator estimator(model_fn, RunConfig(config).with_host(std::make_shared<TaskHost>(host)),
                      {{"learning_rate", 1e-3}, {"steps", steps}});
  const auto hook = std::make_shared<TimeHook>();
  estimator.train(input, {.steps = steps, .hooks = {hook}});
  return hook->milliseconds();
}

/// Milliseconds of a batch of the pipeline with nobody who trains.
double batch_milliseconds(const Dataset& batches, int64_t count) {
  const Clock::time_point start = Clock::now();
  int64_t taken = 0;
  for ([[maybe_unused]] const data::Element& batch : batches.take(count).elements()) ++taken;
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count() / double(taken);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(const Options& options) {
  const mnist::Images digits = mnist::draw_digits(kDigits, 1);
  const TemporaryFolder folder;
  const std::vector<std::string> paths = parts_of(folder.path(), "digits", ".tfrecord");
  write_digits(digits, paths);
  std::printf("a batch of %lld alone: %.3f ms from memory, %.3f ms from files\n", (long long)options.batch,
              batch_milliseconds(from_memory(digits, options.batch), 2000),
              batch_milliseconds(from_files(paths, options.batch), 2000));
  std::printf("%-8s %14s %14s   %s\n", "model", "memory, ms", "files, ms", "files / memory (spread)");
  for (const std::string& model : options.models) {
    std::vector<double> memory, files, ratios;
    for (int round = 0; round < options.rounds; ++round) {
      memory.push_back(step_milliseconds(model, options, [&] { return from_memory(digits, options.batch); }));
      files.push_back(step_milliseconds(model, options, [&] { return from_files(paths, options.batch); }));
      ratios.push_back(files.back() / memory.back());
    }
    std::printf("%-8s %14.3f %14.3f   %.3f (%.3f..%.3f)\n", model.c_str(), median(memory), median(files), median(ratios),
                std::ranges::min(ratios), std::ranges::max(ratios));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  CLI::App app("Training from memory and from files, in turn.");
  Options options;
  app.add_option("--model", options.models, "models of examples/mnist")
      ->delimiter(',')
      ->check(CLI::IsMember({"mlp", "lenet5", "cnn"}));
  app.add_option("--batch", options.batch)->check(CLI::Range(1, 10'000));
  app.add_option("--steps", options.steps, "steps that are timed, in each round")->check(CLI::Range(1, 1'000'000));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000));
  parse_or_exit(app, argc, argv);
  return run_program("training_input_bench",
                     [&]() -> shoal::Result<void> { return compare(options), shoal::Result<void>(); });
}
