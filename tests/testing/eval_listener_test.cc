// SPDX-License-Identifier: Apache-2.0
// Listeners of evaluations, which may end them, in virtual time (CONTRACT EV-15).
#include "shoal/estimator/eval_listener.h"

#include <gmock/gmock.h>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Writes down what it hears, and answers false at one call of each kind, from 1.
class ScriptedListener final : public EvalListener {
 public:
  bool before_eval() override {
    calls.push_back("before");
    if (throws) throw std::runtime_error("no more, please");
    return ++asked != refuse_before;
  }
  bool after_eval(const EvalOutcome& look) override {
    if (look.status == EvalStatus::kEvaluated) {
      calls.push_back("evaluated " + look.checkpoint_path + " at " + std::to_string(int(look.metrics.at("global_step"))));
    } else {
      calls.push_back(look.status == EvalStatus::kMissing ? "missing" : "not new");
      EXPECT_TRUE(look.checkpoint_path.empty() && look.metrics.empty());
    }
    return ++told != refuse_after;
  }
  int refuse_before = 0, refuse_after = 0;
  bool throws = false;
  int asked = 0, told = 0;
  std::vector<std::string> calls;
};

RunConfigOptions in_shared_model(int64_t save_steps = 10) {
  RunConfigOptions config = every_steps(save_steps);
  config.model_dir = "/shared/model";
  return config;
}

/// Chief and server train to step 40 while an evaluator with `listener` looks every 5 s; a step takes a second.
struct EvaluatedJob {
  explicit EvaluatedJob(std::shared_ptr<ScriptedListener> listener, Duration evaluator_starts = 0s) {
    world.add_cluster("ps:1", SmallJob{.max_steps = 40}, in_shared_model());
    world.add_task("evaluator 0", kEvaluatorConfig,
                   SmallJob{.max_steps = 40, .throttle_secs = 5, .eval_listener = std::move(listener)}, in_shared_model());
    world.start_late("evaluator 0", evaluator_starts);
    EXPECT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
    EXPECT_EQ(world.global_step(), 40u);  // Training goes on, whatever becomes of the evaluator.
  }
  World world{{.work = 500ms, .work_jitter = 0ms}};
};

constexpr const char* kAtZero = "evaluated /shared/model/model.ckpt-0 at 0";
constexpr const char* kAtTen = "evaluated /shared/model/model.ckpt-10 at 10";

TEST(EvalListener, HearsOfEveryLookOfAnEvaluator) {
  const auto listener = std::make_shared<ScriptedListener>();
  const EvaluatedJob job(listener);
  ASSERT_GE(listener->calls.size(), 8u) << job.world.report();
  EXPECT_THAT(listener->calls, ::testing::IsSupersetOf({"missing", "not new", kAtZero, kAtTen}));
  EXPECT_EQ(listener->calls.back(), "evaluated /shared/model/model.ckpt-40 at 40");
  for (size_t i = 0; i < listener->calls.size(); ++i) EXPECT_EQ(listener->calls[i] == "before", i % 2 == 0) << i;
  EXPECT_EQ(job.world.exit_status("evaluator 0"), 0);
}

TEST(EvalListener, EndsAnEvaluatorBeforeALook) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->refuse_before = 2;
  const EvaluatedJob job(listener, 10s);
  EXPECT_THAT(listener->calls, ElementsAre("before", StartsWith("evaluated"), "before"));
  EXPECT_EQ(job.world.exit_status("evaluator 0"), 0) << job.world.report();
  EXPECT_EQ(job.world.count_log("evaluation ends: the listener asked for it before a look"), 1u);
}

TEST(EvalListener, EndsAnEvaluatorAfterALook) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->refuse_after = 1;
  const EvaluatedJob job(listener, 10s);
  EXPECT_THAT(listener->calls, ElementsAre("before", StartsWith("evaluated")));
  EXPECT_EQ(job.world.exit_status("evaluator 0"), 0) << job.world.report();
  EXPECT_EQ(job.world.count_log("evaluation ends: the listener asked for it after a look"), 1u);
}

TEST(EvalListener, MayEndAnEvaluatorThatFoundNothing) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->refuse_after = 1;
  const EvaluatedJob job(listener);
  EXPECT_THAT(listener->calls, ElementsAre("before", "missing"));
  EXPECT_EQ(job.world.exit_status("evaluator 0"), 0) << job.world.report();
  EXPECT_EQ(job.world.count_log("nothing was ever evaluated"), 0u);  // That warning is about jobs that end.
}

TEST(EvalListener, ThatThrowsFailsTheEvaluator) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->throws = true;
  const EvaluatedJob job(listener);
  EXPECT_EQ(job.world.exit_status("evaluator 0"), 1) << job.world.report();
  EXPECT_THAT(job.world.outcome("evaluator 0").error().message(), HasSubstr("no more, please"));
}

/// Trains without a cluster to step 40 or until `listener` refuses, with a checkpoint every 10 steps. Returns the mark.
checkpoint::EndMark train_locally(std::shared_ptr<ScriptedListener> listener, int64_t throttle_secs = 0) {
  World world;
  world.add_process("a", SmallJob{.max_steps = 40, .throttle_secs = throttle_secs, .eval_listener = std::move(listener)},
                    in_shared_model());
  EXPECT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("a"), 0) << world.report();
  return value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model")).value();
}

TEST(EvalListener, IsAskedInLocalModeAtEachCheckpointButTheFirst) {
  const auto listener = std::make_shared<ScriptedListener>();
  EXPECT_EQ(train_locally(listener).reason, checkpoint::EndReason::kMaxSteps);
  EXPECT_THAT(listener->calls, ElementsAre("before", kAtTen, "before", "evaluated /shared/model/model.ckpt-20 at 20",
                                           "before", "evaluated /shared/model/model.ckpt-30 at 30", "before",
                                           "evaluated /shared/model/model.ckpt-40 at 40"));
}

TEST(EvalListener, IsAskedInLocalModeWhereTheThrottleSkips) {
  const auto listener = std::make_shared<ScriptedListener>();
  EXPECT_EQ(train_locally(listener, 600).global_step, 40);
  EXPECT_THAT(listener->calls, ElementsAre("before", kAtTen, "before", "before", "before", "before",
                                           "evaluated /shared/model/model.ckpt-40 at 40"));
}

TEST(EvalListener, EndsLocalTrainingBeforeAnEvaluation) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->refuse_before = 2;
  const checkpoint::EndMark mark = train_locally(listener);
  EXPECT_EQ(mark.reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(mark.checkpoint, "model.ckpt-20");
  EXPECT_THAT(listener->calls, ElementsAre("before", kAtTen, "before"));  // Nothing is called at the end.
}

TEST(EvalListener, EndsLocalTrainingAfterAnEvaluation) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->refuse_after = 1;
  const checkpoint::EndMark mark = train_locally(listener);
  EXPECT_EQ(mark.reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(mark.checkpoint, "model.ckpt-10");
  EXPECT_THAT(listener->calls, ElementsAre("before", kAtTen));
}

TEST(EvalListener, MayLeaveTheLastStepOfLocalTrainingUnevaluated) {
  const auto listener = std::make_shared<ScriptedListener>();
  listener->refuse_before = 5;  // It is asked at 10, 20, 30, 40, and when training ends with 40.
  EXPECT_EQ(train_locally(listener, 600).reason, checkpoint::EndReason::kMaxSteps);
  EXPECT_THAT(listener->calls, ElementsAre("before", kAtTen, "before", "before", "before", "before"));
}

}  // namespace
}  // namespace shoal::testing
