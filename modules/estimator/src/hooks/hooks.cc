// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/hooks.h"

#include <algorithm>

#include "shoal/base/finite.h"
#include "shoal/base/format.h"
#include "shoal/monitor/event_writer.h"

namespace shoal {
namespace {

class StopAtStep final : public Hook {
 public:
  explicit StopAtStep(StopAtStepOptions options) : options_(options) {}
  void begin(HookSetup&) override { last_step_.reset(); }  // A hook may serve several runs, here and below.
  void after_ready(RunContext& run) override {
    if (!last_step_)
      last_step_ = options_.last_step ? uint64_t(*options_.last_step) : run.global_step() + uint64_t(*options_.num_steps);
  }
  void after_step(RunContext& run, const StepValues&) override {
    if (run.global_step() >= *last_step_) run.request_stop();
  }

 private:
  StopAtStepOptions options_;
  std::optional<uint64_t> last_step_;
};

class NanGuard final : public Hook {
 public:
  explicit NanGuard(NanGuardOptions options) : options_(options) {}
  void after_step(RunContext& run, const StepValues& values) override {
    if (!is_nan(values.loss())) return;
    const std::string sentence = "the loss is NaN at global step " + std::to_string(run.global_step()) +
                                 "; a lower learning rate, or a look at the input, may help";
    if (options_.fail) raise(nan_loss(sentence));
    run.log().error(sentence);
    run.request_stop();
  }
  bool is_quiet_nan_guard() const override { return !options_.fail; }

 private:
  NanGuardOptions options_;
};

class LossLogger final : public Hook {
 public:
  explicit LossLogger(int64_t every) : timer_(every, std::nullopt) {}
  void begin(HookSetup&) override { timer_.reset(); }
  void after_step(RunContext& run, const StepValues& values) override {
    if (!timer_.due(run.iterations(), run.now())) return;
    const bool first = !timer_.last_step();
    const auto elapsed = timer_.trigger(run.iterations(), run.now());
    std::string text =
        formatted("loss = %.6g, step = %llu", values.loss(), static_cast<unsigned long long>(run.global_step()));
    if (!first) text += formatted(" (%.3f s)", to_seconds(elapsed.time));
    run.log().info(text);
  }

 private:
  IntervalTimer timer_;
};

class StepCounter final : public Hook {
 public:
  explicit StepCounter(int64_t every) : timer_(every, std::nullopt) {}
  void begin(HookSetup&) override {
    timer_.reset();
    seen_step_ = ~uint64_t(0);
  }
  // Called at the start and after each recovery. The wait for servers, and steps that were lost, do not count in the rate.
  void after_ready(RunContext&) override { timer_.reset(); }
  void after_step(RunContext& run, const StepValues&) override {
    watch_standstill(run);
    if (!timer_.due(run.global_step(), run.now())) return;
    const auto elapsed = timer_.trigger(run.global_step(), run.now());
    if (elapsed.steps == 0 || elapsed.time <= Duration::zero()) return;
    const double rate = double(elapsed.steps) / to_seconds(elapsed.time);
    run.log().info(formatted("global_step/sec: %.4g", rate));
    if (run.summaries()) value_or_raise(run.summaries()->add_scalar(int64_t(run.global_step()), "global_step/sec", rate));
  }

 private:
  static constexpr int kLooksMax = 20;
  void watch_standstill(RunContext& run) {
    if (run.global_step() != seen_step_) {
      seen_step_ = run.global_step();
      looks_ = 0;
    } else if (++looks_ == kLooksMax) {
      run.log().warning("the global step has stood at " + std::to_string(seen_step_) + " for " + std::to_string(kLooksMax) +
                        " steps of this task; does the train_op advance it?");
    }
  }

  IntervalTimer timer_;
  uint64_t seen_step_ = ~uint64_t(0);
  int looks_ = 0;
};

class SummarySaver final : public Hook {
 public:
  explicit SummarySaver(int64_t every) : timer_(every, std::nullopt) {}
  void begin(HookSetup&) override { timer_.reset(); }
  void after_ready(RunContext& run) override { timer_.reset_if_behind(run.global_step()); }
  void before_step(RunContext& run, StepRequest& request) override {
    // The coming step has the number global_step() + 1. So step 1 is recorded, and after it one step in N.
    wanted_ = run.summaries() && timer_.due(run.global_step() + 1, run.now());
    if (wanted_) request.fetch();
  }
  void after_step(RunContext& run, const StepValues& values) override {
    if (!wanted_) return;
    timer_.trigger(run.global_step(), run.now());
    record(run, values);
  }
  void end(RunContext& run) override {
    if (run.summaries()) value_or_raise(run.summaries()->flush());
  }

 private:
  void record(RunContext& run, const StepValues& values) {
    const int64_t step = int64_t(run.global_step());
    value_or_raise(run.summaries()->add_scalar(step, "loss", values.loss()));
    for (const auto& [name, number] : values.scalars()) {
      const auto is_of_model = [tag = "summary/" + name](const auto& value) { return value.first == tag; };
      if (std::ranges::none_of(values.values(), is_of_model))
        value_or_raise(run.summaries()->add_scalar(step, name, number));
    }
    for (const auto& [name, value] : values.values()) {
      if (!name.starts_with("summary/") || value.dtype != DType::kFloat32) continue;
      const std::string_view tag = std::string_view(name).substr(8);
      const std::span<const float> elements = value.as<float>();
      value_or_raise(value.elements() == 1 ? run.summaries()->add_scalar(step, tag, elements[0])
                                           : run.summaries()->add_histogram(step, tag, monitor::make_histogram(elements)));
    }
  }

  IntervalTimer timer_;
  bool wanted_ = false;
};

}  // namespace

std::shared_ptr<Hook> stop_at_step(StopAtStepOptions options) {
  if (options.num_steps.has_value() == options.last_step.has_value()) {
    raise(invalid_argument("stop_at_step: give exactly one of num_steps and last_step"));
  }
  if (options.num_steps.value_or(1) <= 0 || options.last_step.value_or(1) <= 0) {
    raise(invalid_argument("stop_at_step: num_steps and last_step must be greater than 0"));
  }
  return std::make_shared<StopAtStep>(options);
}

std::shared_ptr<Hook> nan_guard(NanGuardOptions options) { return std::make_shared<NanGuard>(options); }

std::shared_ptr<Hook> loss_logger(int64_t every_iterations) { return std::make_shared<LossLogger>(every_iterations); }
std::shared_ptr<Hook> step_counter(int64_t every_steps) { return std::make_shared<StepCounter>(every_steps); }
std::shared_ptr<Hook> summary_saver(int64_t every_steps) { return std::make_shared<SummarySaver>(every_steps); }

}  // namespace shoal
