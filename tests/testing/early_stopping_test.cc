// SPDX-License-Identifier: Apache-2.0
// Early stopping of whole jobs, in virtual time: who hears of it, when, and what is left of it (CONTRACT HK-12).
#include "shoal/estimator/early_stopping.h"

#include <gmock/gmock.h>

#include <set>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr int64_t kMaxSteps = 300;
const EarlyStoppingOptions kEachStep{.run_every_secs = std::nullopt, .run_every_steps = 1};

/// Which trainers made updates that counted, and how far.
class Counted final : public cluster::UpdateObserver {
 public:
  void counted(const cluster::ObservedUpdate& update) override {
    trainers.insert(update.trainer);
    step = std::max(step, update.global_step);
  }
  std::set<int> trainers;
  uint64_t step = 0;
};

/// A job whose steps take 100 ms, and whose chief stops once an evaluation is of step 40, or a later one.
struct StoppedJob {
  explicit StoppedJob(UpdateStrategyKind kind, uint64_t seed = 5, std::string size = "ps:2,worker:2,evaluator")
      : world({.seed = seed, .work = 100ms, .work_jitter = 0ms, .observer = counted}) {
    RunConfigOptions config = every_steps(20);
    config.update_strategy = {.kind = kind};
    SmallJob job{.max_steps = kMaxSteps};
    job.hooks = [this]() -> std::vector<std::shared_ptr<Hook>> {
      if (!stops) return {};
      const auto decide = [this](const EvaluationHistory& history) {
        if (history.empty() || history.rbegin()->first < stop_from) return false;
        decided.push_back(world.global_step());
        if (on_decision) on_decision();
        return true;
      };
      return {stop_if(decide, kEachStep)};
    };
    world.add_cluster(size, job, config);
  }
  void expect_all_ended_well() const {
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  }
  checkpoint::EndMark mark() { return value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model")).value(); }
  int64_t newest_step() {
    return value_or_raise(checkpoint::list(world.shared(), "/shared/model", checkpoint::Check::kChecksums))
        .back()
        .global_step;
  }

  const std::shared_ptr<Counted> counted = std::make_shared<Counted>();
  World world;
  bool stops = true;
  int64_t stop_from = 40;         // It stops once an evaluation is of this step, or a later one.
  std::vector<uint64_t> decided;  // The furthest global step whenever a chief decided.
  std::function<void()> on_decision;
};

class EarlyStoppedJob : public ::testing::TestWithParam<UpdateStrategyKind> {};
INSTANTIATE_TEST_SUITE_P(, EarlyStoppedJob, ::testing::Values(UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

TEST_P(EarlyStoppedJob, EndsWithinAStepOfEachWorker) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    StoppedJob job(GetParam(), seed, seed % 2 ? "ps:1,worker:2,evaluator" : "ps:2,worker:2,evaluator");
    ASSERT_TRUE(job.world.run()) << job.world.report();
    job.expect_all_ended_well();
    ASSERT_EQ(job.decided.size(), 1u) << job.world.report();
    const uint64_t last = GetParam() == UpdateStrategyKind::kSync ? job.decided[0] : job.decided[0] + 2;
    EXPECT_GE(job.counted->step, job.decided[0]);
    EXPECT_LE(job.counted->step, last) << job.world.report();
    EXPECT_THAT(job.counted->trainers, ElementsAre(0, 1, 2));
    EXPECT_EQ(uint64_t(job.newest_step()), job.counted->step) << "what was answered is in the last checkpoint";
    EXPECT_EQ(job.mark().reason, checkpoint::EndReason::kStopRequested);
    EXPECT_EQ(job.mark().global_step, job.newest_step());
    const std::string last_result = "global_step = " + std::to_string(job.newest_step()) + ",";
    EXPECT_GE(job.world.count_log(last_result), 1u) << "the evaluator has the last checkpoint\n" << job.world.report();
    EXPECT_EQ(job.world.count_log("early stopping at global step"), 1u);
    EXPECT_TRUE(job.world.leftovers().empty());
  }
}

/// CONTRACT HK-12, the flag's lifetime: whoever is started again, with the same checkpoint, trains.
TEST_P(EarlyStoppedJob, IsForgottenByTheNextRun) {
  StoppedJob job(GetParam());
  ASSERT_TRUE(job.world.run()) << job.world.report();
  ASSERT_EQ(job.mark().reason, checkpoint::EndReason::kStopRequested);
  job.stops = false;
  job.counted->trainers.clear();
  for (const std::string& task : job.world.tasks()) job.world.start(task);
  ASSERT_TRUE(job.world.run()) << job.world.report();
  job.expect_all_ended_well();
  EXPECT_EQ(job.mark().reason, checkpoint::EndReason::kMaxSteps);
  EXPECT_GE(job.newest_step(), kMaxSteps);
  EXPECT_THAT(job.counted->trainers, ElementsAre(0, 1, 2));
}

/// The servers outlive the chief that has asked for the stop: the flag is that chief's.
TEST_P(EarlyStoppedJob, IsDecidedAnewByAChiefThatWasKilledInBetween) {
  int killed = 0;
  for (int i = 0; i < 10; ++i) {  // At one moment or another of the end.
    StoppedJob job(GetParam());
    const auto kill = [&job, &killed] {
      if (!job.world.running("chief 0")) return;  // It was through with the end.
      ++killed;
      job.world.kill("chief 0");
      job.world.after(3s, [&job] { job.world.start("chief 0"); });
    };
    job.on_decision = [&job, kill, i] {
      if (job.decided.size() == 1) job.world.after(i * 10ms, kill);
    };
    ASSERT_TRUE(job.world.run()) << job.world.report();
    job.expect_all_ended_well();
    EXPECT_EQ(job.mark().reason, checkpoint::EndReason::kStopRequested) << job.world.report();
    EXPECT_LT(job.newest_step(), kMaxSteps);
  }
  EXPECT_GT(killed, 3);
}

TEST(EarlyStopping, LooksByTheClockOfTheJob) {
  World world({.seed = 3, .work = 100ms, .work_jitter = 0ms});
  SmallJob job{.max_steps = kMaxSteps};
  std::vector<Duration> looks;
  job.hooks = [&world, &looks]() -> std::vector<std::shared_ptr<Hook>> {
    return {stop_if(
        [&](const EvaluationHistory&) {
          looks.push_back(world.elapsed());
          return looks.size() == 3;
        },
        {.run_every_secs = 5})};
  };
  world.add_cluster("ps:1,worker:1,evaluator", job, every_steps(1000));  // No checkpoint comes between.
  ASSERT_TRUE(world.run()) << world.report();
  ASSERT_EQ(looks.size(), 3u) << "the first after the first step, and the chief's alone\n" << world.report();
  for (size_t i = 1; i < looks.size(); ++i) {
    EXPECT_GE(looks[i] - looks[i - 1], 5s);
    EXPECT_LE(looks[i] - looks[i - 1], 6s);
  }
}

/// A job of half a minute, of which the look once a minute would see the first step alone.
struct ShortJob {
  ShortJob() : world({.seed = 3, .work = 100ms, .work_jitter = 0ms}) {
    job.hooks = [this]() -> std::vector<std::shared_ptr<Hook>> {
      const auto decide = [this](const EvaluationHistory& history) {
        looks.push_back(world.global_step());
        return !history.empty() && history.rbegin()->first >= 40;
      };
      return {stop_if(decide)};
    };
  }
  /// Runs it, and gives the step that it ends at.
  int64_t ended_at() {
    EXPECT_TRUE(world.run()) << world.report();
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
    const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
    EXPECT_EQ(mark->reason, checkpoint::EndReason::kStopRequested) << world.report();
    EXPECT_LT(world.elapsed(), 60s);
    return mark->global_step;
  }
  World world;
  SmallJob job{.max_steps = kMaxSteps};
  std::vector<uint64_t> looks;
};

TEST(ShortEarlyStopping, EndsALocalRunAtItsOwnEvaluation) {
  ShortJob run;
  RunConfigOptions config = every_steps(20);
  config.model_dir = "/shared/model";
  run.world.add_process("alone", run.job, config);
  EXPECT_EQ(run.ended_at(), 40);
  EXPECT_THAT(run.looks, ElementsAre(1, 20, 40)) << "after the first step, and after each evaluation";
}

TEST(ShortEarlyStopping, EndsAJobAtTheEvaluationOfItsMaster) {
  ShortJob run;
  run.world.add_cluster("master,ps:1,worker:1", run.job, every_steps(20));
  EXPECT_LE(run.ended_at(), 60);
}

/// Results of an evaluator are looked at with each checkpoint, since it has had the time between two.
TEST(ShortEarlyStopping, EndsAJobThatHasAnEvaluator) {
  ShortJob run;
  run.world.add_cluster("ps:1,worker:1,evaluator", run.job, every_steps(20));
  EXPECT_LE(run.ended_at(), 100);
}

/// CONTRACT HK-12: results before min_steps are ignored by these looks, too.
TEST(ShortEarlyStopping, HeedsMinSteps) {
  ShortJob run;
  run.job.hooks = []() -> std::vector<std::shared_ptr<Hook>> { return {stop_if_lower("loss", 100, {.min_steps = 50})}; };
  RunConfigOptions config = every_steps(20);
  config.model_dir = "/shared/model";
  run.world.add_process("alone", run.job, config);
  EXPECT_EQ(run.ended_at(), 60);
}

TEST(EarlyStopping, EndsALocalRunAtTheEvaluationThatSaysSo) {
  World world({.seed = 3});
  SmallJob job{.max_steps = kMaxSteps};
  job.hooks = []() -> std::vector<std::shared_ptr<Hook>> { return {stop_if_lower("loss", 100, kEachStep)}; };
  RunConfigOptions config = every_steps(20);
  config.model_dir = "/shared/model";
  world.add_process("alone", job, config);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("alone"), 0) << world.report();
  const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(mark->checkpoint, "model.ckpt-20");
}

}  // namespace
}  // namespace shoal::testing
