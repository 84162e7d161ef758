// SPDX-License-Identifier: Apache-2.0
// Estimator::evaluate: its results, the weights and data that it uses, and its events (CONTRACT 9.3 and 12).
#include <cmath>
#include <set>

#include "fixture.h"
#include "shoal/nn/head.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// y = 0 as long as nothing is trained, so the squared errors are the squared labels.
Dataset labelled(std::vector<float> labels) {
  const Shape shape{int64_t(labels.size()), 1};
  return Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, shape), Tensor::of<float>(shape, labels));
}

TEST(Evaluate, LossIsTheMeanOverBatchesAndMetricsOverExamples) {
  Place place;
  const Metrics metrics = place.estimator(linear_model).evaluate([] { return labelled({1, 3, 5}).batch(2); });
  // Batches (1, 9) and (25): means 5 and 25, their mean 15; over examples 35 / 3.
  EXPECT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics.at("loss"), 15);
  EXPECT_DOUBLE_EQ(metrics.at("average_loss"), 35.0 / 3);
  EXPECT_EQ(metrics.at("global_step"), 0);
  EXPECT_EQ(place.log.count('I', "freshly initialized"), 1);
}

/// Batches of these numbers of rows, whose labels count 1, 3, 5, ...
InputFn batches_of(std::vector<int64_t> sizes) {
  return [sizes] {
    return Dataset::from_resumable_generator([sizes](int64_t first) {
      return [sizes, next = size_t(first)](data::Element& batch) mutable -> Result<bool> {
        if (next == sizes.size()) return false;
        int64_t before = 0;
        for (size_t i = 0; i < next; ++i) before += sizes[i];
        const Shape shape{sizes[next++], 1};
        batch = {Tensor::zeros(DType::kFloat32, shape), Tensor::zeros(DType::kFloat32, shape)};
        for (int64_t i = 0; i < shape[0]; ++i) {
          batch.labels.single().mutable_as<float>()[size_t(i)] = float(2 * (before + i) + 1);
        }
        return true;
      };
    });
  };
}

TEST(Evaluate, BatchesWithoutRowsHaveNoWeight) {
  Place place;
  const Metrics metrics = place.estimator(linear_model).evaluate(batches_of({0, 2, 0, 0, 1, 0}));
  EXPECT_EQ(metrics, place.estimator(linear_model).evaluate(batches_of({2, 1})));
  EXPECT_EQ(metrics.at("loss"), 15);
  EXPECT_EQ(place.log.count('W', "has no rows and is skipped"), 1);
  refusal([&] { (void)place.estimator(linear_model).evaluate(batches_of({0, 0})); }, ErrorKind::kInvalidArgument);
}

TEST(Evaluate, TrainingPassesOverBatchesWithoutRows) {
  const auto trained_on = [](const std::vector<int64_t>& sizes) {
    Place place;
    Estimator estimator = place.estimator(linear_model, {.save_checkpoints_steps = 1, .random_seed = 1});
    estimator.train(batches_of(sizes));
    // Training continues behind the end of its input, where nothing is left, or begins a new pass.
    estimator.train(batches_of(sizes));
    return estimator.evaluate(batches_of({3}));
  };
  EXPECT_EQ(trained_on({0, 2, 0, 1, 0}), trained_on({2, 1}));
}

TEST(Evaluate, PredictsForRowsOnly) {
  Place place;
  const auto predictions = place.estimator(linear_model).predict(batches_of({0, 2, 0, 1, 0}));
  int rows = 0;
  while (predictions->next()) ++rows;
  EXPECT_EQ(rows, 3);
}

TEST(Evaluate, RunsUntilStepsOrTheEndOfTheInput) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  CountedInput input(losses({1, 2, 3, 6}));
  EXPECT_EQ(estimator.evaluate(input).at("loss"), 3);
  EXPECT_EQ(estimator.evaluate(input, {.steps = 3}).at("loss"), 2);
  EXPECT_EQ(estimator.evaluate(input, {.steps = 100}).at("loss"), 3);
  EXPECT_THAT(input.modes, ElementsAre(Mode::kEval, Mode::kEval, Mode::kEval));
}

TEST(Evaluate, TakesTheNewestCheckpointOrTheOneNamed) {
  Place place;
  Estimator estimator = place.estimator(linear_model, {.save_checkpoints_steps = 1});
  estimator.train([] { return line({1}).repeat().batch(1); }, {.steps = 2});  // The model gives y(0) = b: 0, 0.6, 1.26.
  const InputFn zero = [] { return labelled({0}).batch(1); };
  EXPECT_EQ(estimator.evaluate(zero).at("global_step"), 2);
  EXPECT_NEAR(estimator.evaluate(zero).at("loss"), 1.26 * 1.26, 1e-6);
  const Metrics first = estimator.evaluate(zero, {.checkpoint = place.model_dir() + "/model.ckpt-1"});
  EXPECT_NEAR(first.at("loss"), 0.36, 1e-6);
  EXPECT_EQ(first.at("global_step"), 1);
  refusal([&] { (void)estimator.evaluate(zero, {.checkpoint = place.model_dir() + "/model.ckpt-9"}); },
          ErrorKind::kNotFound);
}

TEST(Evaluate, WarnsThatWeightsWithoutACheckpointAreNotUsed) {
  Place place;
  Estimator estimator = place.estimator(linear_model, {.save_checkpoints_steps = 0});
  const InputFn input = [] { return labelled({1}).batch(1); };
  EXPECT_EQ(estimator.evaluate(input).at("global_step"), 0);
  EXPECT_EQ(place.log.count('W', "trained without checkpoints"), 0);
  estimator.train([] { return line({1}).repeat().batch(1); }, {.steps = 3});
  EXPECT_EQ(estimator.evaluate(input).at("global_step"), 0);
  EXPECT_EQ(place.log.count('W', "evaluation: the weights of step 3, which were trained without checkpoints, are not used"),
            1);
  EXPECT_TRUE(estimator.predict(input)->next());
  EXPECT_EQ(place.log.count('W', "prediction: the weights of step 3"), 1);
}

TEST(Evaluate, APointerThatLeadsNowhereIsDataLossNotAFreshModel) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const InputFn input = [] { return line({1}).batch(1); };
  estimator.train(input);
  for (const auto& entry : std::filesystem::directory_iterator(place.model_dir())) {
    if (entry.path().filename().string().starts_with("model.ckpt-")) std::filesystem::remove(entry.path());
  }
  refusal([&] { (void)estimator.evaluate(input); }, ErrorKind::kDataLoss);
  EXPECT_GE(place.log.count('E', "checkpoint"), 1);
  refusal([&] { (void)estimator.predict(input); }, ErrorKind::kDataLoss);
  refusal([&] { (void)estimator.export_model(place.folder / "x", input); }, ErrorKind::kDataLoss);
  refusal([&] { estimator.train(input); }, ErrorKind::kDataLoss);
}

/// Training finds the checkpoints of a folder whose list was lost, and so do those who only read (CONTRACT EST-11, CK-7).
TEST(Evaluate, ALostListIsNoFolderWithoutCheckpoints) {
  Place place;
  place.estimator(linear_model, {.save_checkpoints_steps = 1})
      .train([] { return line({1}).repeat().batch(1); }, {.steps = 3});
  const InputFn input = [] { return labelled({1}).batch(1); };
  const Metrics expected = place.estimator(linear_model).evaluate(input);
  std::filesystem::remove(place.model_dir() + "/checkpoint");
  place.log.clear();
  const Estimator estimator = place.estimator(linear_model);
  const auto warned = [&place] {
    const int count = place.log.count('W', "/m/checkpoint is missing; the checkpoints in the folder are tried");
    place.log.clear();
    return count;
  };
  const Metrics found = estimator.evaluate(input);
  EXPECT_EQ(found.integer("global_step"), 3);
  EXPECT_EQ(found.at("loss"), expected.at("loss"));
  EXPECT_EQ(warned(), 1);
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-3");
  EXPECT_EQ(warned(), 1);
  EXPECT_FALSE(estimator.variable_names().empty());
  EXPECT_EQ(warned(), 1);
  EXPECT_TRUE(estimator.predict(input)->next());
  EXPECT_EQ(warned(), 1);
  write_file(place.model_dir() + "/model.ckpt-3.unlisted", "");  // A save that is not complete has made no checkpoint yet.
  EXPECT_EQ(estimator.evaluate(input).integer("global_step"), 2);
  write_file(place.model_dir() + "/model.ckpt-2.index", "damaged");
  EXPECT_EQ(estimator.evaluate(input).integer("global_step"), 1);
  EXPECT_EQ(place.log.count('W', "checkpoint model.ckpt-2 is passed over"), 1);
}

TEST(Evaluate, WritesOneRecordOfItsMetricsAndTheCheckpoint) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const InputFn input = [] { return line({1}).batch(1); };
  estimator.train(input);
  const Metrics metrics = estimator.evaluate(input);
  std::map<std::string, double> written;
  std::vector<std::string> texts;
  std::set<int64_t> steps;
  const auto damage = value_or_raise(
      monitor::read_events(*make_file_storage(), estimator.eval_dir(), [&](const monitor::EventValue& value) {
        if (value.kind == monitor::EventValue::Kind::kScalar) written[value.tag] = value.scalar;
        if (value.kind == monitor::EventValue::Kind::kText) texts.push_back(value.tag + " " + value.text);
        steps.insert(value.global_step);
        EXPECT_GT(value.wall_time, 1.6e9);
        return true;
      }));
  EXPECT_TRUE(damage.empty());
  EXPECT_EQ(written.size(), 2u);  // global_step is not written as a metric.
  for (const char* name : {"loss", "average_loss"}) EXPECT_FLOAT_EQ(float(written.at(name)), float(metrics.at(name)));
  EXPECT_THAT(texts, ElementsAre("checkpoint_path " + place.model_dir() + "/model.ckpt-1"));
  EXPECT_THAT(steps, ElementsAre(1));
}

TEST(Evaluate, MetricsThatAreNotNumbersAreLeftOutOfTheRecordWithAWarning) {  // CONTRACT EVT-3
  Place place;
  const ModelFn model = [](const Features& features, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.loss = ops::reduce_mean(features.single());
    const Value zero = features.single() * 0.0;
    spec.eval_metrics = {{"none", nn::mean(zero / zero)},
                         {"one", nn::mean(features.single() / features.single())},
                         {"without_end", nn::mean(features.single() / zero)}};
    return spec;
  };
  const Estimator estimator = place.estimator(model);
  const InputFn input = [] { return losses({1, 1}); };
  const Metrics metrics = estimator.evaluate(input);
  EXPECT_TRUE(std::isnan(metrics.at("none")));
  EXPECT_TRUE(std::isinf(metrics.at("without_end")));
  EXPECT_THAT(scalars(estimator.eval_dir(), "none"), IsEmpty());
  EXPECT_EQ(scalars(estimator.eval_dir(), "without_end").size(), 1u);
  EXPECT_THAT(scalars(estimator.eval_dir(), "one"), ElementsAre(std::pair(0, 1)));
  EXPECT_THAT(place.log.all('W'),
              ElementsAre(AllOf(HasSubstr("evaluation: metric none is NaN at global step 0"), HasSubstr("look at"))));
}

TEST(Evaluate, ChecksItsOptions) {
  Place place;
  const Estimator estimator = place.estimator(counting_model);
  const auto refused = [&](EvaluateOptions options) {
    return refusal([&] { (void)estimator.evaluate(endless, options); });
  };
  EXPECT_THAT(refused({.steps = 0}), HasSubstr("steps"));
  EXPECT_THAT(refused({.hooks = {nullptr}}), HasSubstr("hooks"));
  EXPECT_THAT(refused({.name = ""}), HasSubstr("name"));
  EXPECT_THAT(refused({.name = "../x"}), HasSubstr("../x"));
  refusal([&] { (void)estimator.evaluate(nullptr); }, ErrorKind::kTypeMismatch);
  EXPECT_THAT(refusal([&] { (void)estimator.evaluate([] { return losses({}); }); }), HasSubstr("no batch"));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
}

TEST(Evaluate, RefusesAnInputWithoutAnEndUnlessStepsAreSet) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {});
  for (const Dataset& endless_one :
       {losses({1, 2}).repeat(), losses({1, 2}).filter([](const auto&) { return true; }).repeat()}) {
    EXPECT_THAT(refusal([&] { estimator.evaluate(endless_one); }),
                HasSubstr("it does not end; leave repeat() out, or set steps"));
    EXPECT_EQ(estimator.evaluate(endless_one, {.steps = 3}).at("global_step"), 0);
  }
}

TEST(Evaluate, TellsWhyAnInterruptIsNotHeededAtOnce) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {});
  const auto interrupt = after_each_step([&place](RunContext&, const StepValues&) { place.interrupt.request_stop(); });
  estimator.evaluate(losses({1, 2, 3}), {.hooks = {interrupt}});
  EXPECT_EQ(place.log.count('I', "evaluation: interrupted; this evaluation is finished first"), 1);
}

TEST(Evaluate, RunsTheCallersAndTheModelsEvaluationHooksOnly) {
  Place place;
  std::vector<std::string> calls;
  const ModelFn model = [&](const Features& features, const Labels& labels, Mode mode, const Params& params,
                            const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    spec.evaluation_hooks = {std::make_shared<RecordingHook>("model", &calls)};
    spec.training_hooks = {std::make_shared<RecordingHook>("training", &calls)};
    return spec;
  };
  place.estimator(model).evaluate([] { return losses({2}); }, {.hooks = {std::make_shared<RecordingHook>("own", &calls)}});
  EXPECT_THAT(calls, ElementsAre("own begin", "model begin", "own ready 0", "model ready 0", "own before 0",
                                 "model before 0", "own after 0 (2)", "model after 0 (2)", "own end 0", "model end 0"));
}

TEST(Evaluate, AHookMaySeeFetchedValuesAndStop) {
  Place place;
  std::vector<float> seen;
  auto hook = std::make_shared<FunctionHook>();
  hook->at_begin = [](HookSetup& setup) { setup.fetch("loss twice", setup.loss() * 2.0); };
  hook->at_ready = [&](RunContext& run) { EXPECT_EQ(run.model_dir(), place.model_dir()); };
  hook->before = [](RunContext&, StepRequest& request) { request.fetch(); };
  hook->after = [&](RunContext& run, const StepValues& values) {
    seen.push_back(values["loss twice"].as<float>()[0]);
    if (run.iterations() == 2) run.request_stop();
  };
  EXPECT_EQ(place.estimator(counting_model).evaluate([] { return losses({1, 2, 9}); }, {.hooks = {hook}}).at("loss"), 1.5);
  EXPECT_THAT(seen, ElementsAre(2, 4));
}

TEST(Evaluate, DoesNotTrain) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const InputFn input = [] { return line({1}).batch(1); };
  estimator.train(input);
  const auto before = tensors(place.model_dir() + "/model.ckpt-1");
  const Metrics once = estimator.evaluate(input);
  EXPECT_EQ(estimator.evaluate(input), once);
  EXPECT_EQ(tensors(place.model_dir() + "/model.ckpt-1"), before);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-1"));
}

// A head's metrics on data whose answer is known: 3 classes, told apart by their position on a line.

EstimatorSpec classifier(const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
  const Value logits = nn::dense(features.single(), {.units = 3});
  return nn::multi_class_head({.n_classes = 3, .label_vocabulary = {"low", "middle", "high"}})
      ->build({.mode = mode, .labels = labels, .logits = logits, .optimizer = nn::adam({.learning_rate = 0.1})});
}
Dataset words() {
  std::vector<float> x;
  std::vector<std::string> y;
  for (int i = 0; i < 30; ++i) {
    x.insert(x.end(), {float(i), float(i) * float(i) / 30});
    y.push_back(i < 10 ? "low" : i < 20 ? "middle" : "high");
  }
  return Dataset::from_tensor_slices(Tensor::of<float>({30, 2}, x), Tensor::of_strings({30}, y));
}

TEST(Evaluate, OfAHeadWithTextLabels) {
  Place place;
  Estimator estimator = place.estimator(classifier);
  estimator.train([] { return words().shuffle(30).repeat().batch(10); }, {.steps = 300});
  const Metrics metrics = estimator.evaluate([] { return words().batch(7); });
  EXPECT_EQ(metrics.size(), 4u);
  EXPECT_GE(metrics.at("accuracy"), 0.9);
  EXPECT_LT(metrics.at("average_loss"), 0.5);
  EXPECT_THAT(refusal([&] {
                (void)estimator.evaluate([] {
                  return Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, {1, 2}),
                                                     Tensor::of_strings({1}, {"odd"}))
                      .batch(1);
                });
              }),
              HasSubstr("odd"));
}

TEST(Evaluate, AFolderThatCannotBeWrittenIsToldBeforeAnythingIsComputed) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const InputFn input = [] { return line({1}).batch(1); };
  estimator.train(input);
  write_file(estimator.eval_dir(), "a file in the place of the folder");
  const auto hook = std::make_shared<RecordingHook>();
  EXPECT_THAT(refusal([&] { (void)estimator.evaluate(input, {.hooks = {hook}}); }, ErrorKind::kFailedPrecondition),
              HasSubstr(estimator.eval_dir()));
  EXPECT_THAT(hook->calls(), ::testing::IsEmpty());
}

TEST(Evaluate, OneThatFailsLeavesNoEvents) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  estimator.train([] { return line({1}).batch(1); });
  const auto failing = after_each_step([](RunContext&, const StepValues&) { raise(data_loss("no")); });
  refusal([&] { (void)estimator.evaluate([] { return line({1}).batch(1); }, {.hooks = {failing}}); }, ErrorKind::kDataLoss);
  EXPECT_TRUE(std::filesystem::is_empty(estimator.eval_dir()));
}

}  // namespace
}  // namespace shoal::testing
