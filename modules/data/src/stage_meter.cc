// SPDX-License-Identifier: Apache-2.0
#include "stage_meter.h"

#include <algorithm>
#include <chrono>

#include "stage.h"

namespace shoal::data {
namespace {

int64_t nanoseconds(Duration duration) { return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count(); }

class MeasuredStage final : public Stage {
 public:
  MeasuredStage(std::unique_ptr<Stage> stage, StageMeter& meter, Environment& env)
      : stage_(std::move(stage)), meter_(meter), env_(env) {}

  Result<bool> next(Item& item) override {
    ++calls_;
    if (calls_ - measured_ < interval_) return counted(stage_->next(item));
    const SteadyTime begin = env_.now();
    Result<bool> more = stage_->next(item);
    const int64_t taken = nanoseconds(env_.now() - begin);
    meter_.nanoseconds.fetch_add(taken * int64_t(calls_ - measured_), std::memory_order_relaxed);
    measured_ = calls_;
    interval_ = taken > kDearNanoseconds ? 1 : kInterval;
    return counted(std::move(more));
  }
  Result<int64_t> skip(int64_t count) override { return stage_->skip(count); }
  bool fails_for_one_element() const override { return stage_->fails_for_one_element(); }
  Result<void> restart() override { return stage_->restart(); }
  Result<void> save(StateWriter& out) const override { return stage_->save(out); }
  Result<void> load(StateReader& in) override { return stage_->load(in); }

 private:
  /// A prime, so that no batch or buffer has its border at every measured call.
  static constexpr uint64_t kInterval = 17;
  /// Next to a call of this length reading the clock takes nothing, and every call is measured.
  static constexpr int64_t kDearNanoseconds = 10'000;

  Result<bool> counted(Result<bool> more) {
    if (more && *more) {  // One thread at a time writes it.
      meter_.elements.store(meter_.elements.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return more;
  }

  const std::unique_ptr<Stage> stage_;
  StageMeter& meter_;
  Environment& env_;
  uint64_t calls_ = 0, measured_ = 0;  // All calls, and their number at the last measured one.
  uint64_t interval_ = 1;
};

std::string advice_for(const StageStatistics& stage, int cores) {
  const std::string& name = stage.name;
  if (name == "map" && stage.threads < cores) {
    return "give map " + std::string(stage.threads > 1 ? "more " : "") + "threads: {.parallel = " + std::to_string(cores) +
           "}";
  }
  if (name == "map") return "make the function of map cheaper, or put cache() behind it if it gives the same in each pass";
  if (name == "generator") return "make the generator cheaper, or put cache() behind it if it gives the same in each pass";
  if (name == "interleave") return "read more files at once: a larger `cycle`, and {.parallel = true}";
  if (stage.is_source)
    return "read several files at once, by interleave(..., {.parallel = true}), or put cache() behind " + name;
  return "put cache() behind " + name + " if it gives the same in each pass";
}

}  // namespace

StageMeter& StageMeters::begin(std::string_view kind) {
  if (!open_.empty()) meters_[open_.back()].inputs.push_back(meters_.size());
  open_.push_back(meters_.size());
  StageMeter& meter = meters_.emplace_back();
  meter.kind = kind;
  return meter;
}

InputStatistics StageMeters::statistics() const {
  InputStatistics statistics;
  std::vector<bool> beside(meters_.size(), false);
  for (size_t i = 0; i < meters_.size(); ++i) {  // A stage comes before its inputs.
    const StageMeter& meter = meters_[i];
    int64_t own = meter.nanoseconds.load(std::memory_order_relaxed);
    for (const size_t input : meter.inputs) {
      own -= meters_[input].nanoseconds.load(std::memory_order_relaxed);
      beside[input] = beside[i] || meter.is_border;
    }
    if (meter.waits) own = 0;
    own = std::max<int64_t>(own, 0) + meter.work_nanoseconds.load(std::memory_order_relaxed);
    statistics.stages.push_back({.name = std::string(meter.kind),
                                 .elements = meter.elements.load(std::memory_order_relaxed),
                                 .seconds = double(own) * 1e-9,
                                 .threads = meter.threads,
                                 .is_beside = beside[i],
                                 .is_source = meter.inputs.empty()});
  }
  std::reverse(statistics.stages.begin(), statistics.stages.end());
  return statistics;
}

std::unique_ptr<Stage> measured_stage(std::unique_ptr<Stage> stage, StageMeter& meter, Environment& env) {
  return std::make_unique<MeasuredStage>(std::move(stage), meter, env);
}

SlowestStage slowest_stage(const InputStatistics& statistics, int cores) {
  double sum = 0;
  const StageStatistics* slowest = nullptr;
  const auto load = [](const StageStatistics& stage) { return stage.seconds / std::max(stage.threads, 1); };
  for (const StageStatistics& stage : statistics.stages) {
    sum += load(stage);
    if (!slowest || load(stage) > load(*slowest)) slowest = &stage;
  }
  if (!slowest || sum <= 0) return {};
  SlowestStage found{.name = slowest->name, .share = load(*slowest) / sum, .advice = advice_for(*slowest, cores)};
  const bool works_beside =
      std::ranges::any_of(statistics.stages, [](const StageStatistics& stage) { return stage.is_beside; });
  if (!works_beside && cores > 1) {
    found.advice = "put prefetch() at the end of the pipeline, so that it works beside the training; then " + found.advice;
  }
  return found;
}

}  // namespace shoal::data
