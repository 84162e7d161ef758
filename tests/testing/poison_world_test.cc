// SPDX-License-Identifier: Apache-2.0
// Values that are not finite, and tasks that fail for good, in jobs of several tasks (CONTRACT CK-17, HK-6, JE-3).
#include <gmock/gmock.h>

#include <cstring>

#include "shoal/base/finite.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/estimator/hooks.h"
#include "shoal/graph/ops.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

enum class Bad { kGradient, kLoss };

/// small_model(), beside a term that is nearly nothing but where all features of a batch are 0: then its loss is NaN, or that is
/// fine and the gradient of the variable `gate` is NaN.
ModelFn sensitive_model(Bad bad) {
  return [bad](const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    const Value size = ops::reduce_mean(ops::square(features.single()));
    const Value gate = features.single().graph().variable("gate", Shape{});
    const Value term = bad == Bad::kLoss ? size / size : ops::sqrt(size * (ops::square(gate) + 1.0));
    Value x = nn::dense(features.single(), {.units = 4, .activation = nn::Activation::kRelu});
    nn::HeadInput input{
        .mode = mode, .labels = labels, .logits = nn::dense(x, {.units = 3}) + ops::scale(term, 1e-3) + gate};
    if (mode == Mode::kTrain) input.optimizer = nn::sgd({.learning_rate = 0.1, .momentum = 0.9});
    return nn::multi_class_head({.n_classes = 3})->build(input);
  };
}

/// What a hook of one trainer shall do, until it has.
struct Dose {
  std::string task;
  std::function<bool(uint64_t global_step)> when;
  bool given = false;
};

class Poisoner final : public Hook {
 public:
  explicit Poisoner(std::shared_ptr<Dose> dose) : dose_(std::move(dose)) {}
  void before_step(RunContext& run, StepRequest& request) override {
    if (dose_->given || !dose_->when(run.global_step())) return;
    dose_->given = true;
    Tensor zeros(DType::kFloat32, {8, 2});
    std::memset(zeros.mutable_view().data, 0, zeros.bytes());
    request.feed("features", std::move(zeros));
  }

 private:
  std::shared_ptr<Dose> dose_;
};

struct PoisonedJob {
  Bad bad = Bad::kGradient;
  std::shared_ptr<Dose> dose;
  std::optional<int64_t> max_steps = 60;
  bool quiet = false;
  std::vector<std::shared_ptr<CheckpointListener>> listeners = {};

  void operator()(RunConfig config) const {
    std::vector<std::shared_ptr<Hook>> hooks;
    if (quiet) hooks.push_back(nan_guard({.fail = false}));
    if (config.task().name() == dose->task) hooks.push_back(std::make_shared<Poisoner>(dose));
    Estimator estimator(sensitive_model(bad), std::move(config));
    train_and_evaluate(estimator,
                       {.input_fn = [] { return training_data(); },
                        .max_steps = max_steps,
                        .hooks = std::move(hooks),
                        .saving_listeners = listeners},
                       {.input_fn = [] { return test_data(); }});
  }
};

std::shared_ptr<Dose> dose_at(const std::string& task, uint64_t step) {
  return std::make_shared<Dose>(Dose{task, [step](uint64_t at) { return at >= step; }});
}

RunConfigOptions saving(int64_t steps, bool sync = false) {
  RunConfigOptions config = every_steps(steps);
  config.max_worker_delay_secs = 0;
  config.keep_checkpoint_max = 0;
  if (sync) config.update_strategy = {.kind = UpdateStrategyKind::kSync};
  return config;
}

std::vector<int64_t> steps_listed(World& world) {
  std::vector<int64_t> steps;
  for (const auto& entry :
       value_or_raise(checkpoint::list(world.shared(), "/shared/model", checkpoint::Check::kChecksums))) {
    EXPECT_FALSE(entry.damage) << entry.name;
    steps.push_back(entry.global_step);
  }
  return steps;
}

void expect_finite_checkpoints(World& world) {
  for (const auto& entry :
       value_or_raise(checkpoint::list(world.shared(), "/shared/model", checkpoint::Check::kChecksums))) {
    const auto reader = value_or_raise(checkpoint::Reader::open(world.shared(), "/shared/model/" + entry.name));
    for (const checkpoint::TensorEntry& tensor : reader->manifest().tensors) {
      const Tensor values = value_or_raise(reader->read_tensor(tensor.name));
      if (tensor.dtype != DType::kFloat32) continue;
      EXPECT_TRUE(all_finite(values.as<float>())) << entry.name << ": " << tensor.name;
    }
  }
}

void start_again(World& world) {
  for (const std::string& task : world.tasks()) world.start(task);
}

TEST(Poison, AnUpdateThatIsNotFiniteEndsTheJobAndIsNeverSaved) {
  for (const char* const size : {"ps:1", "ps:2,worker:1", "ps:3,worker:2"}) {
    for (const bool sync : {false, true}) {
      for (const char* const task : {"chief 0", "worker 0"}) {
        if (std::string(size) == "ps:1" && std::string(task) != "chief 0") continue;
        SCOPED_TRACE(std::string(size) + (sync ? ", sync, " : ", async, ") + task);
        World world({.seed = 5});
        world.add_cluster(size, PoisonedJob{.dose = dose_at(task, 20)}, saving(1, sync));
        ASSERT_TRUE(world.run()) << world.report();
        ASSERT_EQ(world.exit_status("chief 0"), 3) << world.report();
        EXPECT_THAT(world.outcome("chief 0").error().message(), HasSubstr("variable gate, or a slot")) << world.report();
        expect_finite_checkpoints(world);
        const std::vector<int64_t> before = steps_listed(world);
        ASSERT_FALSE(before.empty());
        EXPECT_GE(before.back(), 5);  // The chief may have been slower than the worker.
        EXPECT_FALSE(value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model")));
        start_again(world);  // Nothing is poisoned any more, and the newest checkpoint is good.
        ASSERT_TRUE(world.run()) << world.report();
        EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
        EXPECT_GE(steps_listed(world).back(), 60);
      }
    }
  }
}

/// It is held while another trainer makes the update that is not sound.
TEST(Poison, AVersionBeforeItThatIsBeingSavedIsPublished) {
  struct Notes final : CheckpointListener {
    void before_save(RunContext&, uint64_t step) override { begun = int64_t(step); }
    std::atomic<int64_t> begun{-1};
  };
  const auto notes = std::make_shared<Notes>();
  const auto dose = std::make_shared<Dose>(Dose{"worker 0", [notes](uint64_t) { return notes->begun >= 20; }});
  World world({.seed = 5, .work = 20ms, .work_jitter = 0ms});
  world.add_cluster("ps:2,worker:1", PoisonedJob{.dose = dose, .listeners = {notes}}, saving(20));
  world.at_step(15, [&world] { world.shared().set_faults({.seed = 1, .slow = 1, .slow_max = 200ms}); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 3) << world.report();
  EXPECT_EQ(steps_listed(world).back(), notes->begun) << world.report();
  EXPECT_GE(notes->begun, 20);
  expect_finite_checkpoints(world);
}

/// CONTRACT JE-3: what the others make is sound.
TEST(Poison, ALossThatIsNanOnAWorkerFailsThatWorkerAlone) {
  for (const bool sync : {false, true}) {
    World world({.seed = 5});
    world.add_cluster("ps:2,worker:1", PoisonedJob{.bad = Bad::kLoss, .dose = dose_at("worker 0", 20)}, saving(10, sync));
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("worker 0"), 3) << world.report();
    EXPECT_THAT(world.outcome("worker 0").error().message(), HasSubstr("NaN at global step 2"));
    EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
    EXPECT_GE(steps_listed(world).back(), 60);
    expect_finite_checkpoints(world);
    // Those of steps 30, 40 and 50 were due while it was known that a task had failed for good (CONTRACT CK-17).
    for (const int64_t step : steps_listed(world)) EXPECT_TRUE(step < 30 || step >= 60) << step;
    EXPECT_EQ(world.count_log("no checkpoint is written until a task that has failed for good is back"), 1U);
  }
}

/// A launcher stops the others because one has failed for good: that is no end to save for, whatever the signal means.
void expect_nothing_saved_after_a_failure(bool leaves) {
  for (const char* const size : {"ps:1,worker:1", "ps:2,worker:2,evaluator"}) {
    for (const bool sync : {false, true}) {
      SCOPED_TRACE(std::string(size) + (sync ? ", sync" : ", async"));
      World world({.seed = 5, .work = 10ms});
      world.add_cluster(size, PoisonedJob{.bad = Bad::kLoss, .dose = dose_at("worker 0", 20), .max_steps = std::nullopt},
                        saving(1000, sync));
      std::function<void()> launcher = [&] {
        if (world.running("worker 0")) return world.after(100ms, launcher);
        for (const std::string& task : world.tasks()) {
          if (world.running(task)) leaves ? world.leave(task) : world.interrupt(task);
        }
      };
      world.at_step(20, launcher);
      ASSERT_TRUE(world.run()) << world.report();
      EXPECT_EQ(world.exit_status("worker 0"), 3) << world.report();
      ASSERT_EQ(world.exit_status("chief 0"), 3) << world.report();
      EXPECT_THAT(world.outcome("chief 0").error().message(), HasSubstr("worker 0: the loss is NaN"));
      EXPECT_EQ(steps_listed(world), std::vector<int64_t>{0}) << world.report();
      EXPECT_FALSE(value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model")));
    }
  }
}

TEST(Poison, ASignalAfterATaskHasFailedForGoodSavesNothing) { expect_nothing_saved_after_a_failure(false); }
TEST(Poison, NorDoesOneThatAsksToGiveWay) { expect_nothing_saved_after_a_failure(true); }

/// Somebody has started the worker again, and nothing is in the way of the chief's end.
TEST(Poison, AFailureIsForgottenOnceItsTaskIsBack) {
  World world({.seed = 5, .work = 10ms});
  world.add_cluster("ps:2,worker:1",
                    PoisonedJob{.bad = Bad::kLoss, .dose = dose_at("worker 0", 20), .max_steps = std::nullopt},
                    saving(1000));
  world.at_step(20, [&] { world.after(3s, [&] { world.start("worker 0"); }); });
  world.at_step(20, [&] {
    world.after(10s, [&] {
      for (const auto& task : world.tasks()) world.interrupt(task);
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_GT(steps_listed(world).back(), 20) << world.report();
}

TEST(Poison, AQuietGuardEndsAJobWithItsLastGoodCheckpoint) {
  for (const Bad bad : {Bad::kGradient, Bad::kLoss}) {
    for (const bool sync : {false, true}) {
      SCOPED_TRACE(std::string(bad == Bad::kLoss ? "a loss" : "a gradient") + (sync ? ", sync" : ", async"));
      World world({.seed = 5});
      world.add_cluster("ps:2,worker:1", PoisonedJob{.bad = bad, .dose = dose_at("chief 0", 25), .quiet = true},
                        saving(20, sync));
      ASSERT_TRUE(world.run()) << world.report();
      EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
      EXPECT_EQ(world.exit_status("worker 0"), 0) << world.report();
      EXPECT_LE(steps_listed(world).back(), 25);
      EXPECT_GE(steps_listed(world).back(), 20);
      expect_finite_checkpoints(world);
      const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
      ASSERT_TRUE(mark);
      EXPECT_EQ(mark->checkpoint, "model.ckpt-" + std::to_string(steps_listed(world).back()));
    }
  }
}

}  // namespace
}  // namespace shoal::testing
