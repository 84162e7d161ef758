// SPDX-License-Identifier: Apache-2.0
// Built-in hooks when the global step goes back because a server lost its state (CONTRACT HK-7, FA-4, FA-5).
#include "fixture.h"
#include "hooks/loop_context.h"
#include "shoal/base/virtual.h"
#include "shoal/cluster/local_store.h"
#include "shoal/estimator/hooks.h"
#include "shoal/monitor/event_writer.h"
#include "train/checkpoint_saver.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;

/// Drives one hook as a training loop does, in virtual time: a step takes a second.
class DrivenHook {
 public:
  explicit DrivenHook(std::shared_ptr<Hook> hook) : hook_(std::move(hook)) {
    context_.set_task(true, folder_ / "m", events_.get());
  }
  ~DrivenHook() { value_or_raise(events_->close()); }
  /// The model is ready at `step`: at the start, and after a recovery.
  void ready(uint64_t step) {
    context_.set_global_step(step);
    hook_->after_ready(context_);
  }
  void train_to(uint64_t last) {
    while (context_.global_step() < last) {
      StepRequest request;
      hook_->before_step(context_, request);
      world_.run_for(std::chrono::seconds(1));
      context_.set_global_step(context_.global_step() + 1);
      context_.count_iteration();
      hook_->after_step(context_, StepValues());
    }
  }
  void wait(Duration duration) { world_.run_for(duration); }
  Scalars recorded(const std::string& tag) {
    value_or_raise(events_->flush());
    return scalars(folder_ / "m", tag);
  }
  std::vector<int64_t> steps(const std::string& tag) {
    std::vector<int64_t> steps;
    for (const auto& [step, value] : recorded(tag)) steps.push_back(step);
    return steps;
  }
  const Log& log() const { return log_; }

 private:
  TemporaryFolder folder_;
  Log log_;
  VirtualWorld world_;
  Environment& env_ = world_.add_task({.task = "chief 0", .sink = log_.sink()});
  std::unique_ptr<monitor::EventWriter> events_ = value_or_raise(monitor::EventWriter::open(env_, folder_ / "m"));
  LoopContext context_{env_};
  std::shared_ptr<Hook> hook_;
};

TEST(RollBack, TheStepCounterStartsItsClockAnew) {
  DrivenHook counter(step_counter(10));
  counter.ready(0);
  counter.train_to(25);
  counter.wait(std::chrono::seconds(100));
  counter.ready(12);
  counter.train_to(40);
  EXPECT_THAT(counter.steps("global_step/sec"), ElementsAre(11, 21, 23, 33));
  for (const auto& [step, rate] : counter.recorded("global_step/sec")) EXPECT_DOUBLE_EQ(rate, 1.0) << step;
}

TEST(RollBack, TheStepCounterCountsNoWaitForServersThatLostNothing) {
  DrivenHook counter(step_counter(10));
  counter.ready(0);
  counter.train_to(15);
  counter.wait(std::chrono::seconds(100));
  counter.ready(15);
  counter.train_to(30);
  EXPECT_THAT(counter.steps("global_step/sec"), ElementsAre(11, 26));
  for (const auto& [step, rate] : counter.recorded("global_step/sec")) EXPECT_DOUBLE_EQ(rate, 1.0) << step;
}

TEST(RollBack, TheSummarySaverGoesOnFromTheOlderStep) {
  DrivenHook saver(summary_saver(8));
  saver.ready(0);
  saver.train_to(20);
  saver.ready(10);
  saver.train_to(28);
  EXPECT_THAT(saver.steps("loss"), ElementsAre(1, 9, 17, 11, 19, 27));
}

TEST(RollBack, TheSummarySaverKeepsItsStepsWhereNothingWasLost) {
  DrivenHook saver(summary_saver(8));
  saver.ready(0);
  saver.train_to(20);
  saver.ready(20);
  saver.train_to(28);
  EXPECT_THAT(saver.steps("loss"), ElementsAre(1, 9, 17, 25));
}

TEST(RollBack, TheLossLoggerGoesByStepsOfThisTask) {
  DrivenHook logger(loss_logger(10));
  logger.ready(0);
  logger.train_to(15);
  logger.ready(2);
  logger.train_to(10);  // There were 23 iterations.
  EXPECT_EQ(logger.log().count('I', "loss = "), 3);
  EXPECT_EQ(logger.log().count('I', "step = 8 (10.000 s)"), 1);
}

TEST(RollBack, ATimerTellsNoStepsThatWentBack) {
  IntervalTimer timer(10, std::nullopt);
  timer.trigger(25, SteadyTime(std::chrono::seconds(1)));
  const auto elapsed = timer.trigger(12, SteadyTime(std::chrono::seconds(3)));
  EXPECT_EQ(elapsed.steps, 0u);
  EXPECT_EQ(elapsed.time, Duration::zero());
  timer.reset_if_behind(12);
  EXPECT_FALSE(timer.due(13, SteadyTime(std::chrono::seconds(4)))) << "it is where it triggered last";
  timer.reset_if_behind(11);
  EXPECT_TRUE(timer.due(12, SteadyTime(std::chrono::seconds(4))));
}

TEST(RollBack, TheCheckpointSaverCountsFromTheOlderStep) {
  struct At final : cluster::RestoreSource {
    explicit At(uint64_t step) { state.global_step = step, state.shards.resize(1); }
    const cluster::StateInfo& info() const override { return state; }
    Result<void> read(const cluster::Segment&, cluster::ArenaIndex, std::span<std::byte>) override { return {}; }
    cluster::StateInfo state;
  };
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "m");
  VirtualWorld world;
  Environment& env = world.add_task({.task = "chief 0"});
  const cluster::VariableSpec w{
      .name = "w", .shape = Shape{4}, .initializer = {Initializer::Kind::kConstant, 1, 0}, .rule = {}};
  const auto store = cluster::make_local_store(env, value_or_raise(cluster::plan_shards({w}, 1, 0)));
  LoopContext context(env);
  CheckpointSaver saver(env, RunConfig({.model_dir = folder / "m", .save_checkpoints_steps = 10}),
                        {.model_dir = folder / "m"});
  for (const uint64_t start : {20, 5}) {
    At at(start);
    ASSERT_TRUE(env.run(store->prepare(&at, kNoDeadline)));
    ASSERT_TRUE(env.run(saver.save_at_start(*store, context, {})));
    EXPECT_FALSE(saver.due(start + 9, env.now()));
    EXPECT_TRUE(saver.due(start + 10, env.now()));
  }
}

}  // namespace
}  // namespace shoal::testing
