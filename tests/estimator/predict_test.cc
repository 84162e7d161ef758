// SPDX-License-Identifier: Apache-2.0
// Estimator::predict (CONTRACT 9.4).
#include <atomic>
#include <thread>

#include "fixture.h"
#include "shoal/nn/head.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> all(std::unique_ptr<Predictions> predictions, const std::string& key = "twice") {
  std::vector<float> values;
  while (const auto result = predictions->next()) {
    for (const float value : floats(*result->find(key))) values.push_back(value);
  }
  EXPECT_EQ(predictions->next(), std::nullopt);  // It stays there.
  return values;
}

TEST(Predict, YieldsOneResultPerExampleInInputOrder) {
  Place place;
  CountedInput input(losses({1, 2, 3, 4, 5}).unbatch().batch(2));
  auto predictions = place.estimator(counting_model).predict(input);
  const auto first = predictions->next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->size(), 1u);
  EXPECT_EQ(first->find("twice")->shape(), Shape{});
  EXPECT_THAT(all(std::move(predictions)), ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(input.modes, ElementsAre(Mode::kPredict));
  EXPECT_EQ(place.log.count('I', "freshly initialized"), 1);
}

TEST(Predict, OrOnePerBatch) {
  Place place;
  auto predictions = place.estimator(counting_model)
                         .predict(
                             [] {
                               return losses({1, 2, 3}).unbatch().batch(2);
                             },
                             {.yield_single_examples = false});
  EXPECT_THAT(floats(*predictions->next()->find("twice")), ElementsAre(2, 4));
  EXPECT_THAT(floats(*predictions->next()->find("twice")), ElementsAre(6));
  EXPECT_EQ(predictions->next(), std::nullopt);
}

TEST(Predict, IsLazy) {
  Place place;
  int drawn = 0;
  auto predictions = place.estimator(counting_model).predict([&drawn] {
    return losses({1, 2, 3, 4, 5, 6}).map([&drawn](data::Element element) -> Result<data::Element> {
      ++drawn;
      return element;
    });
  });
  EXPECT_LE(drawn, 1);
  for (int i = 0; i < 3; ++i) predictions->next();
  EXPECT_LE(drawn, 4);
  predictions.reset();  // The input has not ended.
  EXPECT_LE(drawn, 4);
}

TEST(Predict, ASecondCallBesideTheFirstIsRefused) {
  Place place;
  std::unique_ptr<Predictions> predictions;
  std::vector<Error> errors;
  const auto ask =
      after_each_step([&](RunContext&, const StepValues&) { errors.push_back(predictions->try_next().error()); });
  predictions = place.estimator(counting_model).predict([] { return losses({1, 2}); }, {.hooks = {ask}});
  EXPECT_THAT(floats(*predictions->next()->find("twice")), ElementsAre(2));
  EXPECT_THAT(floats(*predictions->next()->find("twice")), ElementsAre(4));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(errors[0].message(), HasSubstr("one thread at a time"));
}

TEST(Predict, EachResultOfTwoThreadsGoesToOneOfThem) {
  Place place;
  const auto predictions = place.estimator(counting_model).predict([] { return losses({1, 2, 3}).repeat(50); });
  std::atomic<int> results{0}, odd{0};
  const auto ask = [&] {
    for (bool more = true; more;) {
      const auto next = predictions->try_next();
      if (next) results += (more = next->has_value());
      if (!next) odd += next.error().kind() != ErrorKind::kFailedPrecondition;
    }
  };
  std::thread other(ask);
  ask();
  other.join();
  EXPECT_EQ(results, 150);
  EXPECT_EQ(odd, 0);
}

TEST(Predict, SeveralThreadsUseOneEstimator) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  std::atomic<int> odd{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto input = [i] { return losses({float(i), float(i)}); };
      for (int k = 0; k < 3; ++k) {
        odd += estimator.evaluate(input).at("loss") != i;
        odd += floats(*estimator.predict(input)->next()->find("twice")) != std::vector<float>{float(2 * i)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(odd, 0);
}

TEST(Predict, OutlivesItsEstimator) {
  Place place;
  std::unique_ptr<Predictions> predictions;
  {
    const Estimator estimator = place.estimator(counting_model);
    predictions = estimator.predict([] { return losses({1, 2}); });
  }
  EXPECT_THAT(all(std::move(predictions)), ElementsAre(2, 4));
}

TEST(Predict, EmptyInputsAndEmptyBatchesYieldNothing) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(all(estimator.predict([] { return losses({}); })), ElementsAre());
  const InputFn with_hole = [] {
    return losses({1}).concatenate(Dataset::from_tensors(Tensor::zeros(DType::kFloat32, {0}))).concatenate(losses({2}));
  };
  EXPECT_THAT(all(estimator.predict(with_hole)), ElementsAre(2, 4));
}

TEST(Predict, DropsLabelsAndUsesTheNewestOrTheNamedCheckpoint) {
  Place place;
  Estimator estimator = place.estimator(linear_model, {.save_checkpoints_steps = 1});
  estimator.train([] { return line({1}).repeat().batch(1); }, {.steps = 2});  // The weights are w = b = 0, 0.6, 1.26.
  const InputFn input = [] { return line({0, 1}).batch(2); };
  const std::vector<float> newest = all(estimator.predict(input), "y");
  EXPECT_NEAR(newest.at(0), 1.26, 1e-6);
  EXPECT_NEAR(newest.at(1), 2.52, 1e-6);
  EXPECT_NEAR(all(estimator.predict(input, {.checkpoint = place.model_dir() + "/model.ckpt-1"}), "y").at(1), 1.2, 1e-6);
}

EstimatorSpec classifier(const Features& features, const Labels& labels, Mode mode, const Params& params,
                         const RunConfig&) {
  // The logits are the features, so the class is the index of the largest feature.
  const bool text = params.has("text");
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = features.single()};
  input.train_op = [](Value) { return nn::train_op({}); };
  return nn::multi_class_head(
             {.n_classes = 3,
              .label_vocabulary = text ? std::vector<std::string>{"ant", "bee", "cat"} : std::vector<std::string>{}})
      ->build(input);
}
Dataset logits() { return Dataset::from_tensor_slices(Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 5})).batch(2); }

TEST(Predict, GivesAHeadsClassesAsText) {
  for (const bool text : {true, false}) {
    Place place;
    auto predictions = place.estimator(classifier, {}, text ? Params{{"text", true}} : Params{}).predict(logits);
    const auto first = predictions->next(), second = predictions->next();
    std::vector<std::string> keys;
    for (const auto& [key, tensor] : *first) keys.push_back(key);
    EXPECT_THAT(keys, ElementsAre("all_class_ids", "all_classes", "class_ids", "classes", "logits", "probabilities"));
    EXPECT_EQ(first->find("class_ids")->as<int64_t>()[0], 1);
    EXPECT_THAT(first->find("classes")->strings(), ElementsAre(text ? "bee" : "1"));
    EXPECT_THAT(second->find("classes")->strings(), ElementsAre(text ? "cat" : "2"));
    EXPECT_THAT(second->find("all_classes")->strings(),
                text ? ElementsAre("ant", "bee", "cat") : ElementsAre("0", "1", "2"));
    EXPECT_NEAR(first->find("probabilities")->as<float>()[1], 1 / (1 + 2 * std::exp(-5.0)), 1e-6);
  }
}

TEST(Predict, FiltersByKeys) {
  Place place;
  const Estimator estimator = place.estimator(classifier, {}, {{"text", true}});
  const auto keys_of = [&](std::vector<std::string> keys) {
    std::vector<std::string> got;
    const auto result = estimator.predict(logits, {.keys = std::move(keys)})->next();
    for (const auto& [key, tensor] : *result) got.push_back(key);
    return got;
  };
  EXPECT_THAT(keys_of({"logits", "class_ids"}), ElementsAre("class_ids", "logits"));
  // Classes are made from class_ids, which is not returned.
  EXPECT_THAT(keys_of({"classes"}), ElementsAre("classes"));
  EXPECT_THAT(keys_of({"logits", "unknown"}), ElementsAre("logits"));
  EXPECT_THAT(refusal([&] { (void)estimator.predict(logits, {.keys = {"probabilites"}}); }),
              HasSubstr("there is no prediction probabilites; did you mean probabilities?; there are: "));
  EXPECT_THAT(refusal([&] { (void)estimator.predict(logits, {.keys = {"unknown"}}); }),
              AllOf(HasSubstr("probabilities"), HasSubstr("classes")));
}

TEST(Predict, ALoneTensorTakesNoKeys) {
  Place place;
  const Estimator estimator =
      place.estimator([](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
        EstimatorSpec spec;
        spec.mode = mode;
        spec.predictions = {{"", features.single() * 2.0}};
        return spec;
      });
  EXPECT_THAT(all(estimator.predict([] { return losses({3}); }), ""), ElementsAre(6));
  EXPECT_THAT(refusal([&] { (void)estimator.predict(endless, {.keys = {"x"}}); }), HasSubstr("keys"));
}

TEST(Predict, ResultsWithoutARowPerExampleAreRefusedByKey) {
  Place place;
  const Estimator estimator =
      place.estimator([](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
        EstimatorSpec spec;
        spec.mode = mode;
        spec.predictions = {{"each", features.single() * 2.0}, {"sum", ops::reduce_sum(features.single())}};
        return spec;
      });
  const InputFn input = [] { return losses({1, 2}).unbatch().batch(2); };
  EXPECT_THAT(refusal([&] { (void)estimator.predict(input)->next(); }), HasSubstr("prediction sum"));
  EXPECT_THAT(all(estimator.predict(input, {.keys = {"each"}}), "each"), ElementsAre(2, 4));
  EXPECT_THAT(floats(*estimator.predict(input, {.yield_single_examples = false})->next()->find("sum")), ElementsAre(3));
}

TEST(Predict, RunsTheCallersAndTheModelsHooks) {
  Place place;
  std::vector<std::string> calls;
  const ModelFn model = [&](const Features& features, const Labels& labels, Mode mode, const Params& params,
                            const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    spec.prediction_hooks = {std::make_shared<RecordingHook>("model", &calls)};
    return spec;
  };
  std::vector<float> seen;
  auto hook = std::make_shared<FunctionHook>();
  hook->at_begin = [](HookSetup& setup) {
    EXPECT_FALSE(setup.loss().valid());
    setup.fetch("thrice", setup.graph().find("features") * 3.0);
  };
  hook->before = [](RunContext& run, StepRequest& request) {
    request.fetch();
    if (run.iterations() == 1) request.feed("features", Tensor::of<float>({1}, {7}));
  };
  hook->after = [&](RunContext&, const StepValues& values) { seen.push_back(values["thrice"].as<float>()[0]); };
  EXPECT_THAT(all(place.estimator(model).predict(
                  [] {
                    return losses({1, 2});
                  },
                  {.hooks = {std::make_shared<RecordingHook>("own", &calls), hook}})),
              ElementsAre(2, 14));
  EXPECT_THAT(seen, ElementsAre(3, 21));
  EXPECT_THAT(calls,
              ElementsAre("own begin", "model begin", "own ready 0", "model ready 0", "own before 0", "model before 0",
                          "own after 0 (0)", "model after 0 (0)", "own before 0", "model before 0", "own after 0 (0)",
                          "model after 0 (0)", "own before 0", "model before 0", "own end 0", "model end 0"));
}

TEST(Predict, AHookMayStop) {
  Place place;
  auto predictions =
      place.estimator(counting_model).predict(endless, {.hooks = {after_each_step([](RunContext& run, const StepValues&) {
                                                          if (run.iterations() == 2) run.request_stop();
                                                        })}});
  EXPECT_THAT(all(std::move(predictions)), ElementsAre(2, 2));
}

TEST(Predict, ErrorsComeAtTheirTurnAndUnchanged) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  auto predictions = estimator.predict([] {
    return losses({1, 2}).map([](data::Element element) -> Result<data::Element> {
      if (element.features.single().as<float>()[0] == 2) throw std::range_error("two");
      return element;
    });
  });
  EXPECT_TRUE(predictions->next());
  EXPECT_THROW(predictions->next(), std::range_error);
  EXPECT_THROW((void)estimator.predict([]() -> Dataset { throw std::range_error("none"); }), std::range_error);
  refusal([&] { (void)estimator.predict(nullptr); }, ErrorKind::kTypeMismatch);
  EXPECT_THAT(refusal([&] { (void)estimator.predict(endless, {.hooks = {nullptr}}); }), HasSubstr("hooks"));
}

TEST(Predict, AnErrorIsTheLastResult) {
  // The second batch has more rows than the first. The hook fails after the second batch is predicted, so rows of it are
  // there, or before it is predicted, so only the results of the first batch are there.
  for (const bool after : {true, false}) {
    for (const bool single : {true, false}) {
      Place place;
      auto hook = std::make_shared<FunctionHook>();
      if (after) {
        hook->after = [](RunContext& run, const StepValues&) {
          if (run.iterations() == 2) throw std::range_error("two");
        };
      } else {
        hook->before = [](RunContext& run, StepRequest& request) {
          if (run.iterations() == 1) request.feed("features", Tensor::zeros(DType::kFloat32, {9}));
        };
      }
      const InputFn input = [] {
        return losses({1}).concatenate(losses({2, 3, 4}).unbatch().batch(3)).concatenate(losses({5}));
      };
      auto predictions = place.estimator(counting_model).predict(input, {.hooks = {hook}, .yield_single_examples = single});
      EXPECT_THAT(floats(*predictions->next()->find("twice")), ElementsAre(2));
      const auto failed = predictions->try_next();
      ASSERT_FALSE(failed);
      for (int i = 0; i < 3; ++i) {
        const auto again = predictions->try_next();
        ASSERT_FALSE(again) << i;
        EXPECT_EQ(again.error(), failed.error());
      }
      if (after) {
        EXPECT_THROW(predictions->next(), std::range_error);
      }
    }
  }
}

TEST(Predict, TextPredictionsNeedIdsThatAreThere) {
  const auto refused = [](const nn::TextPrediction& text) {
    Place place;
    const Estimator estimator = place.estimator([text](const Features& features, Mode mode) {
      EstimatorSpec spec;
      spec.mode = mode;
      spec.predictions = {{"size", features.single()}, {"id", ops::cast(features.single(), DType::kInt64)}};
      spec.text_predictions = {text};
      return spec;
    });
    return refusal([&] { (void)estimator.predict([] { return losses({1}); }); });
  };
  EXPECT_THAT(refused({"name", "ids", nullptr}),
              AllOf(HasSubstr("text prediction \"name\""), HasSubstr("\"ids\""), HasSubstr("there are: size, id")));
  EXPECT_THAT(refused(nn::TextPrediction::of_positions("name", "ids", nullptr)), HasSubstr("there are: size, id"));
  EXPECT_THAT(refused({"name", "other", nullptr}), HasSubstr("model_fn: text prediction"));
  EXPECT_THAT(refused({"name", "size", nullptr}), AllOf(HasSubstr("float32"), HasSubstr("ids are int64")));
}

}  // namespace
}  // namespace shoal::testing
