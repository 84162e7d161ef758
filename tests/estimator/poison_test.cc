// SPDX-License-Identifier: Apache-2.0
// Values that are not finite, in local training: they end it, and are never saved (CONTRACT CK-17, HK-6, HK-10).
#include <cmath>
#include <limits>
#include <stdexcept>

#include "fixture.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/estimator/hooks.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A model whose loss is `loss` of (1 + w) x, with w starting at 0.
ModelFn one_weight_model(std::function<Value(Value product)> loss, std::optional<nn::Optimizer> optimizer = {}) {
  return [loss = std::move(loss), optimizer](const Features& features, const Labels&, Mode mode, const Params&,
                                             const RunConfig&) {
    EstimatorSpec spec;
    spec.mode = mode;
    const Value w = features.single().graph().variable("w", Shape{1});
    spec.loss = nn::reduce_loss(loss(features.single() * (w + 1.0)));
    if (mode == Mode::kTrain) spec.train_op = optimizer.value_or(nn::sgd({.learning_rate = 0.1})).minimize(spec.loss);
    return spec;
  };
}

Dataset rows_of_one(std::vector<float> values) { return losses(std::move(values)); }

/// The variable after each step that hooks saw.
struct WeightWatch {
  std::vector<float> seen;
  std::shared_ptr<Hook> hook() {
    return after_each_step(
        [this](RunContext& run, const StepValues&) { seen.push_back(run.variable("w").as<float>()[0]); });
  }
};

/// CONTRACT HK-6: updates are applied while the program runs, but not before its loss is known.
TEST(Poison, AStepWhoseLossIsNotFiniteMakesNoUpdate) {
  for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
    Place place;
    WeightWatch watch;
    const std::string message = refusal(
        [&] {
          place.estimator(one_weight_model([](Value product) { return product; }), {.save_checkpoints_steps = 1})
              .train(
                  [&] {
                    return rows_of_one({0.25f, bad, 0.5f});
                  },
                  {.hooks = {watch.hook()}});
        },
        ErrorKind::kNanLoss);
    EXPECT_THAT(message, AllOf(HasSubstr(std::isnan(bad) ? "NaN" : "infinite"), HasSubstr("global step 2")));
    ASSERT_EQ(watch.seen.size(), 2u);
    EXPECT_LT(watch.seen[0], 0);
    EXPECT_EQ(watch.seen[1], watch.seen[0]);
    EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-1"));
  }
}

TEST(Poison, AScheduleWhoseRateIsNoRateEndsTrainingByNameAndStep) {
  const auto train = [](nn::LearningRate rate) {
    Place place;
    const auto loss = [](Value product) { return product; };
    place.estimator(one_weight_model(loss, nn::sgd({.learning_rate = std::move(rate)}))).train([] {
      return rows_of_one({1, 1, 1});
    });
  };
  for (const double bad : {-0.5, double(kNan)}) {
    const auto rate = [bad](uint64_t step) { return step == 2 ? bad : 0.1; };
    EXPECT_THAT(refusal([&] { train(rate); }),
                AllOf(HasSubstr("learning_rate is " + std::string(bad < 0 ? "-0.5" : "nan") + " at global step 2"),
                      HasSubstr("has to be finite and at least 0")));
  }
  const auto throws = [](uint64_t step) -> double {
    if (step > 1) throw std::out_of_range("late");
    return 0.1;
  };
  EXPECT_THROW(train(throws), std::out_of_range);
}

/// The loss is finite and its gradient is not: sqrt at 0.
TEST(Poison, AValueThatAnUpdateMadeInfiniteEndsTrainingAndIsNeverSaved) {
  for (const int replicas : {1, 2}) {
    Place place;
    const std::string message = refusal(
        [&] {
          place
              .estimator(one_weight_model([](Value product) { return ops::sqrt(product); }),
                         {.save_checkpoints_steps = 1, .runtime = RuntimeOptions{.replicas = replicas}})
              .train([&] {
                return rows_of_one({1, 1, 0, 1}).repeat();
              });
        },
        ErrorKind::kNanLoss);
    EXPECT_THAT(message, AllOf(HasSubstr("variable w"), HasSubstr("NaN at global step")));
    const auto saved = retained(place.model_dir());
    for (const std::string& name : saved) {
      EXPECT_THAT(tensors(place.model_dir() + "/" + name), Not(IsEmpty()));
      const auto reader = value_or_raise(checkpoint::Reader::open(*make_file_storage(), place.model_dir() + "/" + name));
      EXPECT_TRUE(std::isfinite(value_or_raise(reader->read_tensor("w")).view().as<float>()[0])) << name;
    }
    const int64_t failed_at = std::stoll(message.substr(message.find("global step ") + 12));
    EXPECT_EQ(saved.back(), "model.ckpt-" + std::to_string(failed_at - 1));
    place.estimator(one_weight_model([](Value product) { return ops::sqrt(product); }), {.save_checkpoints_steps = 1})
        .train([] { return rows_of_one({1}).repeat(); }, {.steps = 2});
    EXPECT_EQ(retained(place.model_dir()).back(), "model.ckpt-" + std::to_string(failed_at + 1)) << "it goes on";
  }
}

TEST(Poison, ANormThatIsNotFiniteIsNamedBeforeTheUpdate) {
  const nn::Optimizer sgd = nn::sgd({.learning_rate = 1});
  for (const bool global : {true, false}) {
    Place place;
    WeightWatch watch;
    const auto optimizer = global ? sgd.clip_by_global_norm(1) : sgd.clip_by_norm(1);
    const std::string message = refusal(
        [&] {
          place
              .estimator(one_weight_model([](Value product) { return ops::sqrt(product); }, optimizer),
                         {.save_checkpoints_steps = 1})
              .train(
                  [] {
                    return rows_of_one({0.25f, 0, 1});
                  },
                  {.hooks = {watch.hook()}});
        },
        ErrorKind::kNanLoss);
    EXPECT_THAT(message, AllOf(HasSubstr(global ? "norm of all gradients" : "norm of the gradient of w"),
                               HasSubstr("global step 2")));
    ASSERT_EQ(watch.seen.size(), 2u);
    EXPECT_LT(watch.seen[0], 0);
    EXPECT_EQ(watch.seen[1], watch.seen[0]);
    EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-1"));
  }
}

TEST(Poison, MayBeAllowed) {
  Place place;
  place
      .estimator(one_weight_model([](Value product) { return product; }),
                 {.save_checkpoints_steps = 1, .allow_non_finite = true})
      .train([] { return rows_of_one({std::numeric_limits<float>::infinity()}); });
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-1"));
  // A variable that begins with such a value is exempt, so training may go on without allow_non_finite, until its loss is
  // not finite.
  const std::string message = refusal(
      [&] {
        place.estimator(one_weight_model([](Value product) { return product; }), {.save_checkpoints_steps = 1}).train([] {
          return rows_of_one({1});
        });
      },
      ErrorKind::kNanLoss);
  EXPECT_THAT(message, HasSubstr("the loss is"));
}

/// CONTRACT CK-17: the last good checkpoint is the last one, and the end is clean.
TEST(Poison, AQuietGuardStopsWithoutASave) {
  struct Case {
    ModelFn model;
    std::vector<float> input;
  };
  const nn::Optimizer clipping = nn::sgd({.learning_rate = 1}).clip_by_global_norm(1);
  const std::vector<Case> cases{
      {one_weight_model([](Value product) { return product; }), {0.25f, kNan, 0.5f}},
      {one_weight_model([](Value product) { return ops::sqrt(product); }), {0.25f, 0, 0.5f}},
      {one_weight_model([](Value product) { return ops::sqrt(product); }, clipping), {0.25f, 0, 0.5f}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    Place place;
    std::vector<std::string> told;
    auto listener = std::make_shared<RecordingListener>(&told);
    auto recorder = std::make_shared<RecordingHook>();
    place.estimator(cases[i].model, {.save_checkpoints_steps = 10})
        .train([&] { return rows_of_one(cases[i].input); },
               {.hooks = {nan_guard({.fail = false}), recorder}, .saving_listeners = {listener}});
    EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
    EXPECT_EQ(recorder->calls().back().substr(0, 3), "end");
    EXPECT_EQ(told.back(), "end 0");
    EXPECT_EQ(place.log.count('E', "global step"), 1);
  }
}

}  // namespace
}  // namespace shoal::testing
