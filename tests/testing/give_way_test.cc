// SPDX-License-Identifier: Apache-2.0
// A terminate signal that means: give way, you will be started again (CONTRACT FA-12, on_sigterm = leave), in virtual time.
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kModel = "/shared/model";
constexpr int kGaveWay = 143;

int64_t newest_step(World& world) {
  const auto listed = value_or_raise(checkpoint::list(world.shared(), kModel, checkpoint::Check::kChecksums));
  return listed.empty() ? -1 : listed.back().global_step;
}

bool has_mark(World& world) { return value_or_raise(checkpoint::read_end_mark(world.shared(), kModel)).has_value(); }

/// All bytes of the newest checkpoint, by variable.
std::map<std::string, std::string> contents(World& world) {
  const auto prefix = value_or_raise(checkpoint::latest(world.shared(), kModel));
  const auto reader = value_or_raise(checkpoint::Reader::open(world.shared(), prefix.value()));
  std::map<std::string, std::string> all;
  for (const auto& entry : reader->manifest().tensors) {
    const Tensor tensor = value_or_raise(reader->read_tensor(entry.name));
    all[entry.name].assign(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
  }
  return all;
}

/// Where contents() looks, also for one process.
RunConfigOptions here(RunConfigOptions config) {
  config.model_dir = kModel;
  return config;
}

RunConfigOptions synchronous(RunConfigOptions config) {
  config.update_strategy.kind = UpdateStrategyKind::kSync;
  return config;
}

/// What the same job learns in one process, undisturbed.
std::map<std::string, std::string> of_replicas(int count, const SmallJob& job) {
  World world({.seed = 1});
  RunConfigOptions config = every_steps(20);
  config.runtime = RuntimeOptions{.replicas = count};
  world.add_process("alone", job, here(config));
  EXPECT_TRUE(world.run());
  EXPECT_EQ(world.exit_status("alone"), 0) << world.report();
  return contents(world);
}

void expect_all_well(const World& world) {
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  EXPECT_TRUE(world.leftovers().empty());
}

/// Lets `task` give way at `step`; started again two seconds later, it finds its job, which ends as if nothing had happened.
void drain_at(World& world, const std::string& task, uint64_t step) {
  world.at_step(step, [&world, task] {
    world.leave(task);
    world.after(25s, [&world, task] {
      EXPECT_EQ(world.exit_status(task), kGaveWay) << world.report();
      EXPECT_FALSE(has_mark(world)) << world.report();
      world.start(task);
    });
  });
}

TEST(GiveWay, EachTaskInTurnAndTheBitsStay) {
  const SmallJob job{.max_steps = 400};
  const auto expected = of_replicas(3, job);
  for (const char* task : {"chief 0", "ps 0", "ps 1", "worker 0", "worker 1"}) {
    World world({.seed = 5});
    world.add_cluster("ps:2,worker:2,evaluator", job, synchronous(every_steps(1000)));
    drain_at(world, task, 120);
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_well(world);
    EXPECT_EQ(newest_step(world), 400);
    EXPECT_EQ(contents(world), expected) << task;
  }
}

TEST(GiveWay, AServerAsksForACheckpointAndLosesNothingBeforeIt) {
  World world({.seed = 5});
  world.add_cluster("ps:2,worker:1", SmallJob{.max_steps = 3000}, every_steps(10000));
  uint64_t told_at = 0;
  world.at_step(200, [&] {
    told_at = world.global_step();
    world.leave("ps 1");
    world.after(3s, [&] {
      EXPECT_EQ(world.exit_status("ps 1"), kGaveWay) << world.report();
      EXPECT_GE(newest_step(world), int64_t(told_at));
      world.start("ps 1");
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(world.time().marks().at("server.asks_to_save"), 1u);
  EXPECT_GE(newest_step(world), 3000);
}

TEST(GiveWay, AChiefSavesAndFindsTheModelOnItsServersAgain) {
  World world({.seed = 5});
  world.add_cluster("ps:1,worker:2", SmallJob{.max_steps = 4000}, every_steps(10000));
  world.at_step(200, [&] {
    world.leave("chief 0");
    world.after(2s, [&] {
      EXPECT_EQ(world.exit_status("chief 0"), kGaveWay) << world.report();
      EXPECT_GE(newest_step(world), 200);
      EXPECT_FALSE(has_mark(world));
      EXPECT_TRUE(world.running("worker 0") && world.running("worker 1") && world.running("ps 0")) << world.report();
      world.start("chief 0");
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(world.count_log("the servers still hold the model"), 1u) << world.report();
  EXPECT_EQ(world.count_log("global step goes back"), 0u);
}

TEST(GiveWay, AllAtOnceAndTheSameStartGoesOnFromThere) {
  const SmallJob job{.max_steps = 300};
  const auto expected = of_replicas(3, job);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world({.seed = seed});
    world.add_cluster("ps:2,worker:2,evaluator", job, synchronous(every_steps(1000)));
    world.at_step(100 + seed, [&] {
      for (const std::string& task : world.tasks()) world.leave(task);
      world.after(22s, [&] {
        for (const std::string& task : world.tasks()) {
          EXPECT_EQ(world.exit_status(task), kGaveWay) << task << "\n" << world.report();
        }
        EXPECT_FALSE(has_mark(world));
        EXPECT_GE(newest_step(world), 100 + int64_t(seed)) << world.report();
        for (const std::string& task : world.tasks()) world.start(task);
      });
    });
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_well(world);
    EXPECT_EQ(contents(world), expected) << "seed " << seed;
    EXPECT_EQ(world.count_log("gives way without a checkpoint"), 0u) << world.report();
  }
}

TEST(GiveWay, AllAreGoneAsSoonAsTheirStateIsSaved) {
  World world({.seed = 3});
  world.add_cluster("ps:2,worker:3", SmallJob{.max_steps = 100000}, every_steps(10000));
  world.at_step(100, [&] {
    for (const std::string& task : world.tasks()) world.leave(task);
    world.after(4s, [&] {
      for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), kGaveWay) << task << world.report();
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_TRUE(world.leftovers().empty());
}

TEST(GiveWay, AWorkerIsNotTakenForDone) {
  World world({.seed = 4});
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = {}, .passes = 60}, every_steps(1000));
  drain_at(world, "worker 0", 100);
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(newest_step(world), 2 * 60 * 8);  // Nobody's batches are missing (CONTRACT OE-2).
}

TEST(GiveWay, AChiefThatWaitsForItsWorkersSavesWhatTheyDid) {
  World world({.seed = 4});
  world.add_task(
      "chief 0",
      R"({"cluster": {"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": {"type": "chief", "index": 0}})",
      SmallJob{.max_steps = {}, .passes = 5}, every_steps(10000));
  world.add_task("ps 0",
                 R"({"cluster": {"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": {"type": "ps", "index": 0}})",
                 SmallJob{.max_steps = {}}, every_steps(10000));
  world.add_task(
      "worker 0",
      R"({"cluster": {"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": {"type": "worker", "index": 0}})",
      SmallJob{.max_steps = {}, .passes = 100}, every_steps(10000));
  world.at_step(300, [&] {
    world.leave("chief 0");
    world.after(2s, [&] {
      EXPECT_EQ(world.exit_status("chief 0"), kGaveWay) << world.report();
      EXPECT_GE(newest_step(world), 300);
      EXPECT_FALSE(has_mark(world));
      world.start("chief 0");
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(newest_step(world), 5 * 8 + 100 * 8);
}

TEST(GiveWay, AServerWhoseChiefIsAwayWaitsTwentySeconds) {
  World world({.seed = 4});
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 100000}, every_steps(10000));
  world.at_step(100, [&] {
    world.kill("chief 0");
    world.kill("worker 0");
    world.leave("ps 0");
    world.after(19s, [&] { EXPECT_TRUE(world.running("ps 0")) << world.report(); });
    world.after(21s, [&] { EXPECT_EQ(world.exit_status("ps 0"), kGaveWay) << world.report(); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.count_log("gives way without a checkpoint"), 1u) << world.report();
}

TEST(GiveWay, WhoStillWaitsForOthersGoesAtOnce) {
  for (const char* task : {"chief 0", "ps 0", "worker 0", "evaluator 0"}) {
    World world({.seed = 4});
    world.add_cluster("ps:2,worker:1,evaluator", SmallJob{.start_delay_secs = 1000}, every_steps(10));
    world.start_late("ps 1", 1h);
    world.at(10s, [&] { world.leave(task); });
    world.at(12s, [&] { EXPECT_EQ(world.exit_status(task), kGaveWay) << task << world.report(); });
    world.run(13s);
    EXPECT_FALSE(has_mark(world));
  }
}

TEST(GiveWay, OneProcessSavesAndGoesOnBitForBit) {
  const SmallJob job{.max_steps = 200};
  const auto expected = of_replicas(1, job);
  World world({.seed = 4});
  world.add_process("alone", job, here(every_steps(1000)));
  world.at_step(77, [&] {
    world.leave("alone");
    world.after(1s, [&] {
      EXPECT_EQ(world.exit_status("alone"), kGaveWay) << world.report();
      EXPECT_GE(newest_step(world), 77);
      EXPECT_FALSE(has_mark(world));
      EXPECT_EQ(world.count_log("evaluation: accuracy"), 0u) << world.report();  // What is saved last is not evaluated.
      world.start("alone");
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(contents(world), expected);
}

/// Lets the task give way in the middle of its second evaluation.
class LeavesInAnEvaluation final : public Hook {
 public:
  LeavesInAnEvaluation(World& world, std::string task) : world_(world), task_(std::move(task)) {}
  void before_step(RunContext&, StepRequest&) override {
    if (++batches_ == kBatches + kBatches / 2) world_.leave(task_);
  }
  static constexpr int kBatches = 10;

 private:
  World& world_;
  const std::string task_;
  int batches_ = 0;
};

Program leaving_in_an_evaluation(World& world, const std::string& task) {
  return [&world, task](RunConfig config) {
    Estimator estimator(small_model, std::move(config));
    EvalSpec spec{.input_fn = [] { return small_data(8 * LeavesInAnEvaluation::kBatches, 2).batch(8); },
                  .throttle_secs = 0,
                  .start_delay_secs = 0};
    spec.hooks = {std::make_shared<LeavesInAnEvaluation>(world, task)};
    train_and_evaluate(estimator, {.input_fn = training_data, .max_steps = 400}, spec);
  };
}

TEST(GiveWay, AnEvaluationInHandIsDropped) {
  for (const std::string task : {"evaluator 0", "alone", "master 0"}) {
    World world({.seed = 4});
    if (task == "alone") {
      world.add_process(task, leaving_in_an_evaluation(world, task), here(every_steps(20)));
    } else {
      world.add_cluster(task == "master 0" ? "master,ps:1,worker:1" : "ps:1,evaluator",
                        leaving_in_an_evaluation(world, task), every_steps(20));
    }
    world.run(task == "evaluator 0" ? Duration(1h) : Duration(10s));
    EXPECT_EQ(world.exit_status(task), kGaveWay) << world.report();
    EXPECT_EQ(world.count_log("evaluation: accuracy"), 1u) << world.report();
    const bool trains = task != "evaluator 0";
    EXPECT_EQ(world.count_log("given up: this task gives way"), trains ? 1u : 0u) << world.report();
    EXPECT_EQ(has_mark(world), !trains);
  }
}

TEST(GiveWay, HooksHearOfNoEnd) {
  struct Recorder final : Hook {
    void end(RunContext&) override { ended = true; }
    bool ended = false;
  };
  const auto recorder = std::make_shared<Recorder>();
  World world({.seed = 4});
  SmallJob job{.max_steps = 100000};
  job.hooks = [recorder] { return std::vector<std::shared_ptr<Hook>>{recorder}; };
  world.add_process("alone", job, here(every_steps(1000)));
  world.at_step(50, [&] { world.leave("alone"); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("alone"), kGaveWay);
  EXPECT_FALSE(recorder->ended);
}

TEST(GiveWay, TheCallerIsToldThatItsJobHasNotEnded) {
  World world({.seed = 4});
  world.add_process("alone", SmallJob{.max_steps = 100000}, here(every_steps(1000)));
  world.at_step(50, [&] { world.leave("alone"); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.outcome("alone").error().kind(), ErrorKind::kCancelled);
  EXPECT_THAT(world.outcome("alone").error().message(), ::testing::HasSubstr("its job has not ended"));
}

}  // namespace
}  // namespace shoal::testing
