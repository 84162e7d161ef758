// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixtures for the tests of the estimator: tiny models on the reference backend, inputs that count their calls, recorders,
// and readers of the files that a run leaves in its folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../base/temporary_folder.h"
#include "shoal/base/storage.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/graph/ops.h"
#include "shoal/monitor/event_reader.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"

namespace shoal::testing {

using data::Dataset;

/// Collects log lines as "W message" (E, W, I, D), from any thread.
class Log {
 public:
  LogSink sink() {
    return [this](const LogRecord& record) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::string(1, "DIWE"[size_t(record.level)]) + " " + std::string(record.message));
    };
  }
  /// Lines of `level` that contain `part`.
  int count(char level, const std::string& part) const {
    int found = 0;
    for (const std::string& line : lines_) found += line[0] == level && line.find(part) != std::string::npos;
    return found;
  }
  std::vector<std::string> all(char level) const {
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line[0] == level) found.push_back(line.substr(2));
    }
    return found;
  }
  void clear() { lines_.clear(); }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// An environment that holds TF_CONFIG and nothing else.
inline cluster::GetEnv environment(std::string tf_config) {
  return [tf_config](std::string_view name) { return name == "TF_CONFIG" ? std::optional(tf_config) : std::nullopt; };
}

/// A folder and a log for one test's runs.
struct Place {
  TemporaryFolder folder;
  Log log;
  TaskReport report;  ///< The report of the last run.
  StopSource interrupt;

  std::string model_dir() const { return folder / "m"; }
  /// Sets model_dir, the reference backend, one thread, and the host that catches log lines.
  RunConfig config(RunConfigOptions options = {}) {
    if (!options.model_dir) options.model_dir = model_dir();
    if (!options.runtime) options.runtime = RuntimeOptions{.threads = 1, .backend = "reference"};
    if (!options.random_seed) options.random_seed = 7;
    auto host = std::make_shared<TaskHost>();
    host->sink = log.sink();
    host->stop = interrupt.token();
    host->report = [this](const TaskReport& done) { report = done; };
    return RunConfig(std::move(options)).with_host(std::move(host));
  }
  Estimator estimator(ModelFn model, RunConfigOptions options = {}, Params params = {}) {
    return Estimator(std::move(model), config(std::move(options)), std::move(params));
  }
};

/// A model that only counts: its train_op advances the step and nothing else. The loss is the mean of the features, so the
/// input determines the losses; the prediction is twice the features.
inline EstimatorSpec counting_model(const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  spec.loss = ops::reduce_mean(features.single());
  spec.predictions = {{"twice", features.single() * 2.0}};
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  return spec;
}

/// y = w x + b, both starting at 0, squared error; SGD with momentum 0.5 unless `optimizer` names another.
inline EstimatorSpec linear_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                  const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value y = nn::dense(features.single(), {.units = 1, .kernel_initializer = nn::zeros(), .name = "linear"});
  spec.predictions = {{"y", y}};
  if (mode == Mode::kPredict) return spec;
  const Value losses = nn::squared_error({.labels = labels.single(), .predictions = y});
  spec.loss = nn::reduce_loss(losses);
  if (mode == Mode::kEval) spec.eval_metrics = {{"average_loss", nn::mean(losses)}};
  const double rate = params.get_real("learning_rate", 0.1);
  if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = rate, .momentum = 0.5}).minimize(spec.loss);
  return spec;
}

/// Batches of one float each, value by value: the losses of counting_model.
inline Dataset losses(std::vector<float> values) {
  const int64_t count = int64_t(values.size());
  return Dataset::from_tensor_slices(Tensor::of<float>({count}, values)).batch(1);
}
inline Dataset endless() { return losses({1}).repeat(); }
/// x of [n, 1] with y = 2 x + 1.
inline Dataset line(std::vector<float> x) {
  std::vector<float> y;
  for (float value : x) y.push_back(2 * value + 1);
  const Shape shape{int64_t(x.size()), 1};
  return Dataset::from_tensor_slices(Tensor::of<float>(shape, x), Tensor::of<float>(shape, y));
}

/// An input function that counts its calls.
struct CountedInput {
  explicit CountedInput(Dataset given) : dataset(std::move(given)) {}
  operator InputFn() {  // NOLINT: stands where one does
    return [this](const InputContext& context) {
      ++calls;
      modes.push_back(context.mode);
      return dataset;
    };
  }
  Dataset dataset;
  int calls = 0;
  std::vector<Mode> modes;
};

/// Notes every callback: "begin", "ready 0", "before 0", "after 1 (1)" with step and loss, "end 1".
class RecordingHook : public Hook {
 public:
  explicit RecordingHook(std::string name = "", std::vector<std::string>* shared = nullptr)
      : name_(std::move(name)), calls_(shared ? *shared : own_) {}
  void begin(HookSetup&) override { note("begin"); }
  void after_ready(RunContext& run) override { note("ready " + std::to_string(run.global_step())); }
  void before_step(RunContext& run, StepRequest&) override { note("before " + std::to_string(run.global_step())); }
  void after_step(RunContext& run, const StepValues& values) override {
    std::ostringstream text;
    text << "after " << run.global_step() << " (" << values.loss() << ")";
    note(text.str());
  }
  void end(RunContext& run) override { note("end " + std::to_string(run.global_step())); }
  const std::vector<std::string>& calls() const { return calls_; }

 private:
  void note(const std::string& what) { calls_.push_back(name_.empty() ? what : name_ + " " + what); }
  std::string name_;
  std::vector<std::string> own_;
  std::vector<std::string>& calls_;
};

/// A hook whose callbacks are functions.
struct FunctionHook : Hook {
  std::function<void(HookSetup&)> at_begin;
  std::function<void(RunContext&)> at_ready;
  std::function<void(RunContext&, StepRequest&)> before;
  std::function<void(RunContext&, const StepValues&)> after;
  std::function<void(RunContext&)> at_end;
  void begin(HookSetup& setup) override {
    if (at_begin) at_begin(setup);
  }
  void after_ready(RunContext& run) override {
    if (at_ready) at_ready(run);
  }
  void before_step(RunContext& run, StepRequest& request) override {
    if (before) before(run, request);
  }
  void after_step(RunContext& run, const StepValues& values) override {
    if (after) after(run, values);
  }
  void end(RunContext& run) override {
    if (at_end) at_end(run);
  }
};
inline std::shared_ptr<Hook> after_each_step(std::function<void(RunContext&, const StepValues&)> call) {
  auto hook = std::make_shared<FunctionHook>();
  hook->after = std::move(call);
  return hook;
}
inline std::shared_ptr<Hook> stop_after(uint64_t step) {
  return after_each_step([step](RunContext& run, const StepValues&) {
    if (run.global_step() == step) run.request_stop();
  });
}

/// Notes "begin", "before 0", "after 0 model.ckpt-0", "end 1"; asks to stop after the save of `stop_at`.
class RecordingListener : public CheckpointListener {
 public:
  explicit RecordingListener(std::vector<std::string>* calls, std::string name = "", std::optional<uint64_t> stop_at = {})
      : calls_(*calls), name_(name.empty() ? "" : name + " "), stop_at_(stop_at) {}
  void begin() override { calls_.push_back(name_ + "begin"); }
  void before_save(RunContext&, uint64_t step) override { calls_.push_back(name_ + "before " + std::to_string(step)); }
  bool after_save(RunContext&, uint64_t step, const std::string& prefix) override {
    calls_.push_back(name_ + "after " + std::to_string(step) + " " + prefix.substr(prefix.rfind('/') + 1));
    return stop_at_ == step;
  }
  void end(RunContext&, uint64_t step) override { calls_.push_back(name_ + "end " + std::to_string(step)); }

 private:
  std::vector<std::string>& calls_;
  std::string name_;
  std::optional<uint64_t> stop_at_;
};

/// Writes nothing; notes step and final flag: "10", "22 final".
class RecordingExporter : public Exporter {
 public:
  explicit RecordingExporter(std::string name = "recorder") : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    calls.push_back(std::to_string(int64_t(request.eval_result.at("global_step"))) +
                    (request.is_the_final_export ? " final" : ""));
    checkpoints.push_back(request.checkpoint_path.substr(request.checkpoint_path.rfind('/') + 1));
    path = request.export_path;
    return calls.back();
  }
  std::vector<std::string> calls;
  std::vector<std::string> checkpoints;
  std::string path;

 private:
  std::string name_;
};

/// Calls `call`, checks the kind of the exception that it raises, and returns the sentence.
template <class Call>
std::string refusal(Call&& call, ErrorKind kind = ErrorKind::kInvalidArgument) {
  try {
    call();
  } catch (const Exception& exception) {
    EXPECT_EQ(to_string(exception.kind()), to_string(kind)) << exception.what();
    return exception.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

// Readers of files on disk that do not use the Estimator.

/// The names in the `checkpoint` file, oldest to newest.
inline std::vector<std::string> retained(const std::string& model_dir) {
  const auto storage = make_file_storage();
  const auto pointer = value_or_raise(checkpoint::read_pointer(*storage, model_dir));
  if (!pointer) return {};
  EXPECT_EQ(pointer->newest, pointer->retained.back());
  return pointer->retained;
}
/// The names of the checkpoints that have an index on disk, sorted.
inline std::vector<std::string> on_disk(const std::string& model_dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(model_dir)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model.ckpt-") && name.ends_with(".index")) names.push_back(name.substr(0, name.size() - 6));
  }
  std::sort(names.begin(), names.end());
  return names;
}
/// Every tensor of a checkpoint, bit for bit, by name.
inline std::map<std::string, std::string> tensors(const std::string& prefix) {
  const auto storage = make_file_storage();
  const auto reader = value_or_raise(checkpoint::Reader::open(*storage, prefix));
  std::map<std::string, std::string> bits;
  for (const auto& entry : reader->manifest().tensors) {
    const Tensor tensor = value_or_raise(reader->read_tensor(entry.name));
    bits[entry.name] = std::string(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
  }
  return bits;
}
inline std::optional<checkpoint::EndMark> end_mark(const std::string& model_dir) {
  return value_or_raise(checkpoint::read_end_mark(*make_file_storage(), model_dir));
}

/// The scalars of one tag in a folder's event files: (step, value) in file order.
using Scalars = std::vector<std::pair<int64_t, double>>;
inline Scalars scalars(const std::string& folder, const std::string& tag) {
  Scalars found;
  const auto damage =
      value_or_raise(monitor::read_events(*make_file_storage(), folder, [&](const monitor::EventValue& value) {
        if (value.tag == tag && value.kind == monitor::EventValue::Kind::kScalar)
          found.emplace_back(value.global_step, value.scalar);
        return true;
      }));
  EXPECT_TRUE(damage.empty());
  return found;
}
inline std::vector<int64_t> steps_of(const std::string& folder, const std::string& tag) {
  std::vector<int64_t> steps;
  for (const auto& [step, value] : scalars(folder, tag)) steps.push_back(step);
  return steps;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

inline std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

}  // namespace shoal::testing
