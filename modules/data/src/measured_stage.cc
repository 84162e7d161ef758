// SPDX-License-Identifier: Apache-2.0
// Measures the time of a stage's calls.
#include <chrono>

#include "positions.h"
#include "stage.h"

namespace shoal::data {
namespace {

int64_t nanoseconds(Duration duration) { return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count(); }

class MeasuredStage final : public Stage {
 public:
  MeasuredStage(std::unique_ptr<Stage> stage, StageMeter& meter, Environment& env)
      : stage_(std::move(stage)), meter_(meter), env_(env) {}

  Result<bool> next(Item& item) override {
    Result<bool> more = next_.measured(*this, [&] { return stage_->next(item); });
    if (more && *more) {  // No atomic addition is needed: one thread at a time writes.
      meter_.elements.store(meter_.elements.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return more;
  }
  Result<int64_t> skip(int64_t count) override {
    return skip_.measured(*this, [&] { return stage_->skip(count); });
  }
  bool fails_for_one_element() const override { return stage_->fails_for_one_element(); }
  Result<void> restart(uint64_t pass) override { return stage_->restart(pass); }
  Result<void> save(StateWriter& out) const override { return stage_->save(out); }
  Result<void> load(StateReader& in) override { return stage_->load(in); }

 private:
  /// One call in this many is measured. A prime, so that measured calls do not always meet the border of a batch or buffer.
  static constexpr uint64_t kInterval = 17;
  /// If a call takes longer than this, reading the clock costs little in comparison, and every call is measured.
  static constexpr int64_t kDearNanoseconds = 10'000;

  /// Measurements of the calls of one function of the stage, next() or skip().
  struct Calls {
    uint64_t all = 0, measured_last = 0;  // The number of calls so far, and `all` at the last call that was measured.
    uint64_t interval = 1;

    template <class Call>
    auto measured(MeasuredStage& stage, const Call& call) -> decltype(call()) {
      ++all;
      if (all - measured_last < interval) return call();
      const SteadyTime begin = stage.env_.now();
      auto result = call();
      const int64_t taken = nanoseconds(stage.env_.now() - begin);
      stage.meter_.nanoseconds.fetch_add(taken * int64_t(all - measured_last), std::memory_order_relaxed);
      measured_last = all;
      interval = taken > kDearNanoseconds ? 1 : kInterval;
      return result;
    }
  };

  const std::unique_ptr<Stage> stage_;
  StageMeter& meter_;
  Environment& env_;
  Calls next_, skip_;
};

}  // namespace

Result<std::unique_ptr<Stage>> Node::stage(StageContext& context) const {
  if (context.types_only && passes_elements_on()) {
    Result<std::unique_ptr<Stage>> made = input().stage(context);
    // The functions of later stages may rely on this node's function, which would have refused some elements.
    if (chooses_by_value()) context.has_unfit_elements = true;
    return made;
  }
  const bool must_end = context.must_end;
  const auto make = [&]() -> Result<std::unique_ptr<Stage>> {
    context.must_end = reads_to_the_end().value_or(must_end);
    Result<std::unique_ptr<Stage>> made = make_stage(context);
    context.must_end = must_end;
    if (made && context.has_unfit_elements && calls_function()) {
      return failed_precondition("the types of the dataset are those that the function of " + std::string(kind()) +
                                 " gives, and there is no element to call it with");
    }
    return made;
  };
  if (!context.meters) return make();
  StageMeter& meter = context.meters->begin(kind());
  meter.is_moved = repeats_for_ever() || !why_elements_move(*this).empty();
  Result<std::unique_ptr<Stage>> made = make();
  context.meters->end();
  if (!made) return made;
  return std::make_unique<MeasuredStage>(*std::move(made), meter, context.env);
}

}  // namespace shoal::data
