// SPDX-License-Identifier: Apache-2.0
// Hooks that replace the input of a step (StepRequest::feed()), and the errors about what they feed (CONTRACT HK-3).
#include "fixture.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<FunctionHook> feeding(std::string input, float value) {
  auto hook = std::make_shared<FunctionHook>();
  hook->before = [=](RunContext&, StepRequest& request) { request.feed(input, Tensor::of<float>({1}, {value})); };
  return hook;
}

TEST(HookFeeds, ReplaceTheInputOfTheStep) {
  Place place;
  auto recorder = std::make_shared<RecordingHook>();
  auto hook = std::make_shared<FunctionHook>();
  hook->before = [](RunContext& run, StepRequest& request) {
    if (run.global_step() == 1) request.feed("features", Tensor::of<float>({1}, {9}));
  };
  place.estimator(counting_model).train([] { return losses({1, 2, 3}); }, {.steps = 3, .hooks = {hook, recorder}});
  EXPECT_THAT(recorder->calls(), ::testing::IsSupersetOf({"after 1 (1)", "after 2 (9)", "after 3 (3)"}));
  EXPECT_EQ(place.estimator(counting_model)
                .evaluate(
                    [] {
                      return losses({1, 2});
                    },
                    {.hooks = {feeding("features", 5)}})
                .at("loss"),
            5);
}

TEST(HookFeeds, TwoOfOneInputAreRefusedByName) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(refusal([&] {
                estimator.train(endless, {.steps = 1, .hooks = {feeding("features", 1), feeding("features", 1)}});
              }),
              HasSubstr("features"));
}

TEST(HookFeeds, ThatMissEveryInputAreRefused) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(refusal([&] { estimator.train(endless, {.steps = 1, .hooks = {feeding("feature", 1)}}); }),
              AllOf(HasSubstr("feeds feature,"), HasSubstr("there are: features")));
}

TEST(HookFeeds, OfAnotherShapeAreRefused) {
  Place place;
  auto hook = std::make_shared<FunctionHook>();
  hook->before = [](RunContext&, StepRequest& request) { request.feed("features", Tensor::zeros(DType::kFloat32, {3})); };
  const Estimator estimator = place.estimator(counting_model);
  for (const std::string& refused :
       {refusal([&] { place.estimator(counting_model).train(endless, {.steps = 1, .hooks = {hook}}); }),
        refusal([&] { (void)estimator.evaluate(endless, {.steps = 1, .hooks = {hook}}); }),
        refusal([&] { (void)estimator.predict(endless, {.hooks = {hook}})->next(); })}) {
    EXPECT_THAT(refused, AllOf(HasSubstr("a hook feeds features with float32 [3]"), HasSubstr("needs float32 [1]"),
                               Not(HasSubstr("of the input"))));
  }
}

TEST(HookFeeds, OfAnotherNameOrTypeAreNotBlamedOnTheInput) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  const auto refused = [&](const std::string& name, Tensor tensor) {
    auto hook = std::make_shared<FunctionHook>();
    hook->before = [=](RunContext&, StepRequest& request) { request.feed(name, tensor); };
    return refusal([&] { (void)estimator.evaluate(endless, {.steps = 1, .hooks = {hook}}); });
  };
  EXPECT_THAT(refused("feature", Tensor::zeros(DType::kFloat32, {1})),
              AllOf(HasSubstr("a hook feeds feature,"), Not(HasSubstr("of the input"))));
  EXPECT_THAT(refused("features", Tensor::zeros(DType::kInt64, {1})),
              AllOf(HasSubstr("a hook feeds features with int64 [1]"), Not(HasSubstr("of the input"))));
}

TEST(HookFeeds, ThatTheModelRefusesAreNotBlamedOnTheInput) {
  Place place;
  const Estimator estimator = place.estimator([](const Features& features, const Labels& labels, Mode mode) {
    const Value logits = nn::dense(features.single(), {.units = 3});
    nn::HeadInput input{.mode = mode, .labels = labels, .logits = logits};
    return EstimatorSpec(nn::multi_class_head({.n_classes = 3, .label_vocabulary = {"oak", "elm", "yew"}})->build(input));
  });
  const InputFn trees = [] {
    return Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, {2, 1}), Tensor::of_strings(Shape{2}, {"oak", "elm"}))
        .batch(2);
  };
  auto hook = std::make_shared<FunctionHook>();
  hook->before = [](RunContext&, StepRequest& request) {
    request.feed("labels", Tensor::of_strings(Shape{2}, {"elm", "ash"}));
  };
  EXPECT_THAT(refusal([&] { (void)estimator.evaluate(trees, {.hooks = {hook}}); }),
              AllOf(HasSubstr("labels as a hook feeds it"), HasSubstr("\"ash\""), Not(HasSubstr("of the input"))));
}

}  // namespace
}  // namespace shoal::testing
