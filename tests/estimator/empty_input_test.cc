// SPDX-License-Identifier: Apache-2.0
// Inputs without any element, in training, evaluation and prediction (CONTRACT EST-8, LO-8, TL-4, HK-2, HK-11).
#include "fixture.h"
#include "shoal/estimator/in_memory_evaluator.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A dataset that gives no element, and from which nobody can tell what its elements would be.
Dataset untold() {
  return Dataset::from_generator([] { return [](data::Element&) -> Result<bool> { return false; }; }).batch(1);
}

/// Ways in which a dataset of known types comes to have no element.
std::vector<std::pair<std::string, Dataset>> empty_datasets() {
  const Dataset one = Dataset::from_tensor_slices(Tensor::of<float>({1}, {1}));
  const data::MapFn twice = [](data::Element element) -> Result<data::Element> {
    element.features = data::TensorMap(Tensor::scalar(2 * element.features.single().as<float>()[0]));
    return element;
  };
  return {{"no rows", losses({})},
          {"repeat of no rows", losses({}).repeat()},
          {"a filter", one.map(twice).filter([](const data::Element&) -> Result<bool> { return false; }).repeat().batch(2)},
          {"drop_remainder", one.batch(2, {.drop_remainder = true})},
          {"a shard", one.shard(2, 1).map(twice).shuffle(10).batch(1).prefetch(1)},
          {"take", one.cache().take(0).batch(1)},
          {"skip", one.skip(1).batch(1)}};
}

TEST(EmptyInput, TrainingSavesAndCallsHooksAllTheSame) {
  for (const auto& [why, dataset] : empty_datasets()) {
    SCOPED_TRACE(why);
    Place place;
    Estimator estimator = place.estimator(counting_model);
    const auto hook = std::make_shared<RecordingHook>();
    std::vector<std::string> saves;
    estimator.train([&dataset = dataset] { return dataset; },
                    {.hooks = {hook, in_memory_evaluator(estimator, [] { return losses({3}); })},
                     .saving_listeners = {std::make_shared<RecordingListener>(&saves)}});
    EXPECT_EQ(place.log.count('W', "no step was made"), 1);
    EXPECT_THAT(hook->calls(), ElementsAre("begin", "ready 0", "before 0", "end 0"));
    EXPECT_THAT(saves, ElementsAre("begin", "before 0", "after 0 model.ckpt-0", "end 0"));
    EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
    EXPECT_THAT(scalars(estimator.eval_dir(), "loss"), ElementsAre(std::pair(0, 3)));
  }
}

TEST(EmptyInput, ATrainingWhoseModelCannotBeBuiltIsRefused) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(refusal([&] { estimator.train(untold); }),
              AllOf(HasSubstr("the training input is empty"), HasSubstr("look at")));
  EXPECT_EQ(estimator.latest_checkpoint(), std::nullopt);
}

TEST(EmptyInput, AFunctionOfMapGetsNoElementThatAFilterRefuses) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  const auto input = [] {
    return Dataset::range(3)
        .filter([](const data::Element&) -> Result<bool> { return false; })
        .map([](data::Element element) -> Result<data::Element> {
          ADD_FAILURE() << "called";
          return element;
        })
        .batch(1);
  };
  EXPECT_THAT(refusal([&] { estimator.train(input); }), HasSubstr("the training input is empty"));
}

TEST(EmptyInput, ALaterTrainingWithoutDataKeepsTheCheckpoint) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  estimator.train(endless, {.steps = 3});
  estimator.train(untold);
  EXPECT_EQ(place.log.count('W', "no step was made, no hook was called, and checkpoint model.ckpt-3 stays the newest"), 1);
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-3");
}

TEST(EmptyInput, TrainAndEvaluateNamesBothInputsIfBothAreEmpty) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(refusal([&] { train_and_evaluate(estimator, {.input_fn = untold}, {.input_fn = untold}); }),
              HasSubstr("the training input and the evaluation input are both empty"));
  // Where the model can be built, the training ends as with any empty input. The evaluation has nothing to do its work on.
  const InputFn none = [] { return losses({}); };
  EXPECT_THAT(refusal([&] { train_and_evaluate(estimator, {.input_fn = none}, {.input_fn = none}); }),
              HasSubstr("the evaluation input is empty"));
  EXPECT_EQ(place.log.count('W', "training: the input is empty or wrongly set up; no step was made"), 1);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
}

TEST(EmptyInput, TheTypesComeFromTheEvaluationInputIfTheTrainingInputCannotTellThem) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  const auto result = train_and_evaluate(estimator, {.input_fn = untold}, {.input_fn = [] { return losses({3}); }});
  EXPECT_EQ(place.log.count('W', "no step was made"), 1);
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 3}, {"global_step", 0}}));
}

TEST(EmptyInput, AnEmptyEvaluationInputIsRefusedByName) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  const auto refused = [&](EvaluateOptions options) {
    return refusal([&] { estimator.evaluate([] { return losses({}); }, options); });
  };
  EXPECT_THAT(refused({}), AllOf(HasSubstr("evaluation: the evaluation input is empty"), HasSubstr("look at")));
  EXPECT_THAT(refused({.name = "held"}), HasSubstr("evaluation held: the evaluation input is empty"));
}

TEST(EmptyInput, APredictionOfNothingIsWarnedOf) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  EXPECT_EQ(estimator.predict([] { return losses({}); })->next(), std::nullopt);
  EXPECT_EQ(place.log.count('W', "prediction: the input is empty"), 1);
}

}  // namespace
}  // namespace shoal::testing
