// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/value_hooks.h"

#include <cstring>
#include <set>

#include "shoal/base/format.h"
#include "shoal/base/half.h"
#include "shoal/base/names_text.h"
#include "shoal/estimator/interval_timer.h"

namespace shoal {
namespace {

constexpr int64_t kDefaultIterations = 100;
constexpr int64_t kShownMax = 8;  // The most elements of one tensor in a log line.

std::string real_text(double value) { return formatted("%.6g", value); }

std::string element_text(const TensorView& tensor, int64_t index) {
  const auto load = [&](auto value) {
    std::memcpy(&value, tensor.data + size_t(index) * sizeof value, sizeof value);
    return value;
  };
  switch (tensor.dtype) {
    case DType::kFloat32: return real_text(load(float()));
    case DType::kBFloat16: return real_text(from_bfloat16(load(uint16_t())));
    case DType::kFloat16: return real_text(from_float16(load(uint16_t())));
    case DType::kInt32: return std::to_string(load(int32_t()));
    case DType::kInt64: return std::to_string(load(int64_t()));
    case DType::kUInt8: return std::to_string(load(uint8_t()));
    case DType::kBool: return load(uint8_t()) != 0 ? "true" : "false";
    case DType::kString: break;  // A graph has no tensors of strings.
  }
  return "?";
}

std::string tensor_text(const TensorView& tensor) {
  if (tensor.elements() == 1) return element_text(tensor, 0);
  std::string text = "[";
  for (int64_t i = 0; i < std::min(tensor.elements(), kShownMax); ++i) {
    text += (i == 0 ? "" : ", ") + element_text(tensor, i);
  }
  const bool cut = tensor.elements() > kShownMax;
  text += cut ? ", ...]" : "]";
  return cut || tensor.shape.rank() > 1 ? text + " of " + to_string(tensor.shape) : text;
}

/// Checks the values to report, as far as that is possible without a graph, and returns them.
std::vector<ReportedValue> checked(const std::string& call, std::vector<ReportedValue> values) {
  if (values.empty()) raise(invalid_argument(call + ": name at least one value"));
  std::set<std::string> names;
  for (const ReportedValue& told : values) {
    if (told.name.empty()) raise(invalid_argument(call + ": a value has the name \"\""));
    if (!names.insert(told.name).second) raise(invalid_argument(call + ": two values have the name " + told.name));
    if (told.value && !told.value->valid()) raise(invalid_argument(call + ": " + told.name + " is no value of a graph"));
  }
  return values;
}

Value value_of(const std::string& call, const ReportedValue& told, HookSetup& setup) {
  if (!told.value) return setup.value(told.name);
  if (&told.value->graph() != &setup.graph()) {
    raise(invalid_argument(
        call + ": " + told.name +
        " is a value of another graph; make the hook inside the model function, each time that it is called"));
  }
  if (const std::string other = setup.other_of_name(told.name, *told.value); !other.empty()) {
    raise(invalid_argument(call + ": a value is given the name " + told.name + ", which is that of " + other +
                           " of the model; give it another one"));
  }
  return *told.value;
}

NamedTensors final_values_of(const RunContext& run, const std::vector<ReportedValue>& values) {
  NamedTensors told;
  for (const ReportedValue& value : values) told.emplace_back(value.name, run.final_value(value.name));
  return told;
}

class LogValues final : public Hook {
 public:
  LogValues(std::vector<ReportedValue> values, LogValuesOptions options)
      : values_(std::move(values)), options_(std::move(options)), timer_(options_.every_iterations, options_.every_secs) {}

  void begin(HookSetup& setup) override {  // One hook may serve several runs, so each run begins with a reset.
    timer_.reset();
    for (const ReportedValue& told : values_) {
      const Value value = value_of("log_values", told, setup);
      if (timer_.enabled()) setup.fetch(told.name, value);
      if (options_.at_end) setup.fetch_at_end(told.name, value);
    }
  }
  void before_step(RunContext& run, StepRequest& request) override {
    const uint64_t iteration = run.iterations() + 1;  // The next iteration.
    wanted_ = timer_.due(iteration, run.now());
    if (!wanted_) return;
    first_ = !timer_.last_step();
    elapsed_ = timer_.trigger(iteration, run.now()).time;
    request.fetch();
  }
  void after_step(RunContext& run, const StepValues& values) override {
    if (!wanted_) return;
    NamedTensors told;
    for (const ReportedValue& value : values_) told.emplace_back(value.name, values[value.name]);
    log(run, told, first_ ? "" : formatted(" (%.3f s)", to_seconds(elapsed_)));
  }
  void end(RunContext& run) override {
    if (options_.at_end && run.has_final_values()) log(run, final_values_of(run, values_), "");
  }

 private:
  void log(RunContext& run, const NamedTensors& told, const std::string& seconds) const {
    run.log().info(options_.format ? options_.format(told)
                                   : "step = " + std::to_string(run.global_step()) + ", " + to_text(told) + seconds);
  }

  const std::vector<ReportedValue> values_;
  const LogValuesOptions options_;
  IntervalTimer timer_;
  // The members below describe the current step, the last two only if wanted_ is true.
  bool wanted_ = false;  // True if the hook logs values of this step.
  bool first_ = false;   // True if no line was logged before.
  Duration elapsed_{};   // The time since the last line.
};

class FinalValues final : public Hook {
 public:
  FinalValues(std::vector<ReportedValue> values, FinalValuesOptions options)
      : values_(std::move(values)), options_(std::move(options)) {}

  void begin(HookSetup& setup) override {
    for (const ReportedValue& told : values_) setup.fetch_at_end(told.name, value_of("final_values", told, setup));
  }
  void end(RunContext& run) override {
    if (!run.has_final_values()) return run.is_chief() ? warn(run) : void();
    const NamedTensors values = final_values_of(run, values_);
    if (options_.log) run.log().info("final values at step " + std::to_string(run.global_step()) + ": " + to_text(values));
    if (options_.then) options_.then(run, values);
  }

 private:
  static void warn(RunContext& run) {
    run.log().warning("final values: there are none, for this run made no step, or ended for values that are not finite");
  }

  const std::vector<ReportedValue> values_;
  const FinalValuesOptions options_;
};

}  // namespace

std::string to_text(const NamedTensors& values) {
  return comma_separated(values, [](const auto& value) { return value.first + " = " + tensor_text(value.second); });
}

std::shared_ptr<Hook> log_values(std::vector<ReportedValue> values, LogValuesOptions options) {
  const std::string call = "log_values";
  if (options.every_iterations && options.every_secs) {
    raise(invalid_argument(call + ": every_iterations and every_secs are both set; choose one"));
  }
  if (options.every_iterations.value_or(1) <= 0 || !(options.every_secs.value_or(1) > 0)) {
    raise(invalid_argument(call + ": every_iterations and every_secs must be greater than 0"));
  }
  const bool unset = !options.every_iterations && !options.every_secs;
  if (unset && !options.at_end) options.every_iterations = kDefaultIterations;
  return std::make_shared<LogValues>(checked(call, std::move(values)), std::move(options));
}

std::shared_ptr<Hook> final_values(std::vector<ReportedValue> values, FinalValuesOptions options) {
  return std::make_shared<FinalValues>(checked("final_values", std::move(values)), std::move(options));
}

ReportedValue::ReportedValue(const char* n) : name(n) {}
ReportedValue::ReportedValue(std::string n) : name(std::move(n)) {}
ReportedValue::ReportedValue(std::string n, Value v) : name(std::move(n)), value(v) {}

}  // namespace shoal
