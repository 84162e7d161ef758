// SPDX-License-Identifier: Apache-2.0
// Estimator::train: steps, resuming, checkpoints, end of the loop, errors of users' code (CONTRACT 7, 9.2, 10).
#include "fixture.h"

#include <algorithm>
#include "shoal/nn/dropout.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto every = [](int64_t steps) { return RunConfigOptions{.save_checkpoints_steps = steps}; };

TEST(Train, StepsAddUpAndMaxStepsDoesNot) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  CountedInput input(endless());
  EXPECT_EQ(&estimator.train(input, {.steps = 10}), &estimator);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-10"));
  estimator.train(input, {.steps = 10});
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-20");
  EXPECT_EQ(input.calls, 2);
  estimator.train(input, {.max_steps = 30});
  estimator.train(input, {.max_steps = 30});
  EXPECT_EQ(input.calls, 3);
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-30");
}

TEST(Train, WithoutLimitUntilTheInputEnds) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  estimator.train([] { return losses({1, 2, 3, 4, 5}); });
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-5"));
}

TEST(Train, APassPerCallWhenTheInputHasEnded) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  std::vector<double> seen;
  const auto watch = after_each_step([&](RunContext&, const StepValues& values) { seen.push_back(values.loss()); });
  const InputFn pass = [] { return losses({1, 2, 3}); };
  estimator.train(pass, {.steps = 2, .hooks = {watch}});
  estimator.train(pass, {.hooks = {watch}});  // The rest of the pass.
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  estimator.train(pass, {.hooks = {watch}});  // This is a new pass.
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-6");
  EXPECT_THAT(place.log.all('W'), IsEmpty());
}

TEST(Train, TheCheckpointsAreReadOnceAtTheStart) {
  Place place;
  place.estimator(counting_model, {.save_checkpoints_steps = 1}).train(endless, {.steps = 2});
  write_file(place.model_dir() + "/model.ckpt-2.index", "damaged");
  place.log.clear();
  place.estimator(counting_model).train(endless, {.steps = 1});
  EXPECT_EQ(place.log.count('W', "checkpoint model.ckpt-2 is passed over"), 1);
}

TEST(Train, EmptyInputIsWarnedOf) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  estimator.train([] { return losses({}); });
  EXPECT_EQ(place.log.count('W', "no step was made"), 1);
}

TEST(Train, ChecksItsOptions) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  const auto refused = [&](TrainOptions options) { return refusal([&] { estimator.train(endless, options); }); };
  EXPECT_THAT(refused({.steps = 1, .max_steps = 1}), HasSubstr("not both"));
  EXPECT_THAT(refused({.steps = 0}), HasSubstr("steps"));
  EXPECT_THAT(refused({.max_steps = -1}), HasSubstr("max_steps"));
  EXPECT_THAT(refused({.steps = 1, .hooks = {nullptr}}), HasSubstr("hooks"));
  EXPECT_THAT(refused({.steps = 1, .saving_listeners = {nullptr}}), HasSubstr("saving_listeners"));
  EXPECT_THAT(refusal([&] { estimator.train(nullptr); }, ErrorKind::kTypeMismatch), HasSubstr("input function"));
  Estimator silent = place.estimator(counting_model, {.save_checkpoints_steps = std::nullopt});
  std::vector<std::string> calls;
  EXPECT_THAT(refusal([&] {
                silent.train(endless, {.steps = 1, .saving_listeners = {std::make_shared<RecordingListener>(&calls)}});
              }),
              HasSubstr("saving_listeners"));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
  silent.train(endless, {.steps = 3});  // Without checkpoints it trains and saves nothing.
  EXPECT_EQ(silent.latest_checkpoint(), std::nullopt);
}

TEST(Train, OneStepOfMomentumByHand) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const InputFn one = [] { return line({1}).repeat().batch(1); };  // The example has x = 1, y = 3.
  estimator.train(one, {.steps = 1});
  // d/dw (w x + b - y)^2 = 2 (w x + b - y) x = -6, the same for b; the rate is 0.1.
  EXPECT_THAT(floats(estimator.variable_value("linear/kernel")), ElementsAre(0.6f));
  EXPECT_THAT(floats(estimator.variable_value("linear/bias")), ElementsAre(0.6f));
  EXPECT_THAT(floats(estimator.variable_value("linear/kernel/momentum")), ElementsAre(-6.0f));
  estimator.train(one, {.steps = 1});
  // The gradient is 2 (0.6 + 0.6 - 3) = -3.6, the momentum 0.5 * -6 - 3.6 = -6.6.
  EXPECT_NEAR(floats(estimator.variable_value("linear/kernel"))[0], 1.26, 1e-6);
  EXPECT_NEAR(floats(estimator.variable_value("linear/kernel/momentum"))[0], -6.6, 1e-6);
  EXPECT_THAT(
      estimator.variable_names(),
      ::testing::UnorderedElementsAre("linear/kernel", "linear/bias", "linear/kernel/momentum", "linear/bias/momentum"));
}

// Checkpoints.

TEST(Train, CadenceStartsAtTheStepOfTheStart) {
  Place place;
  Estimator estimator = place.estimator(counting_model, every(10));
  estimator.train(endless, {.steps = 13});
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-13"));
  std::vector<std::string> calls;
  estimator.train(endless, {.steps = 22, .saving_listeners = {std::make_shared<RecordingListener>(&calls)}});
  EXPECT_THAT(calls, ElementsAre("begin", "before 13", "after 13 model.ckpt-13", "before 23", "after 23 model.ckpt-23",
                                 "before 33", "after 33 model.ckpt-33", "before 35", "after 35 model.ckpt-35", "end 35"));
  // Five are kept: of seven saves in two runs, one of them the same step again.
  EXPECT_THAT(retained(place.model_dir()),
              ElementsAre("model.ckpt-10", "model.ckpt-13", "model.ckpt-23", "model.ckpt-33", "model.ckpt-35"));
  EXPECT_THAT(on_disk(place.model_dir()), ::testing::UnorderedElementsAreArray(retained(place.model_dir())));
}

TEST(Train, CadenceInSecondsSavesAtTheStartAndTheEnd) {
  Place place;
  Estimator slow = place.estimator(counting_model, {.save_checkpoints_secs = 1000});
  slow.train(endless, {.steps = 30});
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-30"));
  Estimator fast = place.estimator(counting_model, {.save_checkpoints_secs = 1e-9});
  fast.train(endless, {.steps = 3});
  EXPECT_THAT(retained(place.model_dir()),
              ElementsAre("model.ckpt-0", "model.ckpt-30", "model.ckpt-31", "model.ckpt-32", "model.ckpt-33"));
}

TEST(Train, KeepsAsManyCheckpointsAsAsked) {
  Place two;
  two.estimator(counting_model, {.save_checkpoints_steps = 10, .keep_checkpoint_max = 2}).train(endless, {.steps = 22});
  EXPECT_THAT(retained(two.model_dir()), ElementsAre("model.ckpt-20", "model.ckpt-22"));
  EXPECT_THAT(on_disk(two.model_dir()), ElementsAre("model.ckpt-20", "model.ckpt-22"));
  two.estimator(counting_model, {.save_checkpoints_steps = 10, .keep_checkpoint_max = 3}).train(endless, {.steps = 3});
  EXPECT_THAT(on_disk(two.model_dir()), ElementsAre("model.ckpt-20", "model.ckpt-22", "model.ckpt-25"));
  for (const std::optional<int64_t> all : {std::optional<int64_t>(0), std::optional<int64_t>()}) {
    Place place;
    place.estimator(counting_model, {.save_checkpoints_steps = 1, .keep_checkpoint_max = all})
        .train(endless, {.steps = 12});
    EXPECT_EQ(on_disk(place.model_dir()).size(), 13u);
  }
}

TEST(Train, ListenersSurroundEachSaveInListOrder) {
  Place place;
  std::vector<std::string> calls;
  place.estimator(counting_model, every(10))
      .train(endless, {.steps = 26,
                       .saving_listeners = {std::make_shared<RecordingListener>(&calls, "a"),
                                            std::make_shared<RecordingListener>(&calls, "b")}});
  const auto count = [&](const std::string& part) {
    return std::count_if(calls.begin(), calls.end(), [&](const std::string& call) { return call.starts_with(part); });
  };
  for (const std::string name : {"a", "b"}) {
    EXPECT_EQ(count(name + " begin"), 1);
    EXPECT_EQ(count(name + " before"), 4);
    EXPECT_EQ(count(name + " after"), 4);
    EXPECT_EQ(count(name + " end"), 1);
  }
  EXPECT_EQ(calls[0], "a begin");
  EXPECT_EQ(calls[1], "b begin");
  EXPECT_THAT(calls, ::testing::Contains("b after 26 model.ckpt-26"));
}

TEST(Train, ListenersErrorsComeOutUnchanged) {
  struct Failing : CheckpointListener {
    void before_save(RunContext&, uint64_t step) override {
      if (step == 10) throw std::underflow_error("not now");
    }
  };
  Place place;
  Estimator estimator = place.estimator(counting_model, every(10));
  EXPECT_THROW(estimator.train(endless, {.steps = 20, .saving_listeners = {std::make_shared<Failing>()}}),
               std::underflow_error);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
}

TEST(Train, AMovedFolderIsTrainedOn) {
  Place place;
  const InputFn input = [] { return line({1, 2}).repeat().batch(1); };
  place.estimator(linear_model).train(input, {.steps = 5});
  const auto before = tensors(place.model_dir() + "/model.ckpt-5");
  const std::string moved = place.folder / "elsewhere";
  std::filesystem::rename(place.model_dir(), moved);
  Estimator estimator = place.estimator(linear_model, {.model_dir = moved});
  std::map<std::string, std::string> at_start;
  auto hook = std::make_shared<FunctionHook>();
  hook->at_ready = [&](RunContext& run) {
    EXPECT_EQ(run.global_step(), 5u);
    at_start = tensors(moved + "/model.ckpt-5");
  };
  estimator.train(input, {.steps = 2, .hooks = {hook}});
  EXPECT_EQ(at_start, before);
  EXPECT_THAT(retained(moved), ElementsAre("model.ckpt-0", "model.ckpt-5", "model.ckpt-7"));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
}

EstimatorSpec wider_model(const Features& features, const Labels&, Mode mode, const Params& params, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  spec.loss =
      ops::reduce_mean(ops::square(nn::dense(features.single(), {.units = params.get_int("units"), .name = "linear"})));
  if (mode == Mode::kTrain) {
    spec.train_op = params.has("adam") ? nn::adam().minimize(spec.loss) : nn::sgd({.momentum = 0.5}).minimize(spec.loss);
  }
  return spec;
}

TEST(Train, AChangedModelIsRefusedByTheVariablesName) {
  Place place;
  const InputFn input = [] { return line({1, 2}).repeat().batch(1); };
  place.estimator(wider_model, {}, {{"units", 1}}).train(input, {.steps = 1});
  const auto refused = [&](Params params) {
    return refusal([&] { place.estimator(wider_model, {}, params).train(input, {.steps = 1}); });
  };
  EXPECT_THAT(refused({{"units", 2}}), AllOf(HasSubstr("linear/kernel"), HasSubstr("[1, 1]"), HasSubstr("[2, 1]")));
  EXPECT_THAT(refused({{"units", 1}, {"adam", true}}), HasSubstr("linear/kernel/m"));
  EXPECT_THAT(refusal([&] {
                (void)place.estimator(wider_model, {}, {{"units", 2}}).evaluate([] { return line({1}).batch(1); });
              }),
              HasSubstr("linear/kernel"));
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-1"));
}

TEST(Train, ADamagedNewestCheckpointFallsBackWithAWarning) {
  Place place;
  Estimator estimator = place.estimator(linear_model, every(2));
  const InputFn input = [] { return line({1, 2}).repeat().batch(1); };
  estimator.train(input, {.steps = 4});
  const auto damage = [&](const std::string& checkpoint) {
    for (const auto& entry : std::filesystem::directory_iterator(place.model_dir())) {
      const std::string path = entry.path().string();
      if (path.find(checkpoint + ".data") == std::string::npos) continue;
      std::string bytes = read_file(path);
      for (size_t i = 0; i < bytes.size(); i += 4) bytes[i] ^= 1;
      write_file(path, bytes);
    }
  };
  damage("model.ckpt-4");
  estimator.train(input, {.max_steps = 3});
  EXPECT_GE(place.log.count('W', "model.ckpt-4"), 1);
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-3");
  for (const char* checkpoint : {"model.ckpt-0", "model.ckpt-2", "model.ckpt-3"}) damage(checkpoint);
  // Training never begins silently from 0.
  refusal([&] { estimator.train(input, {.steps = 1}); }, ErrorKind::kDataLoss);
  refusal([&] { (void)estimator.evaluate([] { return line({1}).batch(1); }); }, ErrorKind::kDataLoss);
}

TEST(Train, AFolderThatCannotBeMadeIsRefused) {
  Place place;
  write_file(place.folder / "file", "");
  Estimator estimator = place.estimator(counting_model, {.model_dir = place.folder / "file/m"});
  EXPECT_THAT(refusal([&] { estimator.train(endless, {.steps = 1}); }, ErrorKind::kFailedPrecondition),
              HasSubstr("file/m"));
}

// Resuming: an interrupted run and an uninterrupted one end with the same bits.

EstimatorSpec noisy_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                          const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  Value hidden = nn::dense(features.single(), {.units = 16, .activation = nn::Activation::kRelu});
  hidden = nn::dropout(hidden, mode, {.rate = 0.5});
  spec.loss =
      nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = nn::dense(hidden, {.units = 1})}));
  if (mode == Mode::kTrain) {
    spec.train_op = value_or_raise(nn::make_optimizer(params.get_string("optimizer"), 0.01)).minimize(spec.loss);
  }
  return spec;
}

std::vector<float> ramp(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(float(i) / float(count));
  return values;
}

class Resume : public ::testing::TestWithParam<const char*> {};

TEST_P(Resume, EqualsTheUninterruptedRunBitForBit) {
  const Params params{{"optimizer", GetParam()}};
  // 37 examples in batches of 4: the last batch of a pass is smaller, and the interruption falls inside the second pass.
  const InputFn input = [] { return line(ramp(37)).shuffle(16).repeat().batch(4).prefetch(3); };
  Place whole, parts;
  whole.estimator(noisy_model, every(100), params).train(input, {.max_steps = 33});
  for (const int64_t until : {7, 14, 33}) parts.estimator(noisy_model, every(5), params).train(input, {.max_steps = until});
  const auto expected = tensors(whole.model_dir() + "/model.ckpt-33");
  EXPECT_EQ(tensors(parts.model_dir() + "/model.ckpt-33"), expected);
  EXPECT_GE(expected.size(), 4u);
  // The comparison is able to fail: another seed gives other bits.
  Place other;
  other.estimator(noisy_model, {.save_checkpoints_steps = 100, .random_seed = 8}, params).train(input, {.max_steps = 33});
  EXPECT_NE(tensors(other.model_dir() + "/model.ckpt-33"), expected);
}

TEST_P(Resume, AfterAFailureGoesOnFromTheLastCheckpoint) {
  const Params params{{"optimizer", GetParam()}};
  const InputFn input = [] { return line(ramp(37)).shuffle(64).repeat().batch(4); };
  Place whole, parts;
  whole.estimator(noisy_model, every(100), params).train(input, {.max_steps = 20});
  const auto failing = after_each_step([](RunContext& run, const StepValues&) {
    if (run.global_step() == 13) throw std::runtime_error("power cut");
  });
  Estimator estimator = parts.estimator(noisy_model, every(5), params);
  EXPECT_THROW(estimator.train(input, {.max_steps = 20, .hooks = {failing}}), std::runtime_error);
  EXPECT_EQ(estimator.latest_checkpoint(), parts.model_dir() + "/model.ckpt-10");
  estimator.train(input, {.max_steps = 20});
  EXPECT_EQ(tensors(parts.model_dir() + "/model.ckpt-20"), tensors(whole.model_dir() + "/model.ckpt-20"));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Resume,
                         ::testing::Values("SGD", "Adagrad", "Adam", "AdamW", "RMSProp", "Ftrl", "LAMB"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Resume, SaysWhatAnotherOptimizerOrModelLeavesBehind) {
  const InputFn input = [] { return line(ramp(10)).repeat().batch(2); };
  const auto train = [&](Place& place, const char* optimizer, int64_t until) {
    place.log.clear();
    place.estimator(noisy_model, {}, {{"optimizer", optimizer}}).train(input, {.max_steps = until});
  };
  Place place;
  train(place, "Adam", 2);
  train(place, "Adam", 4);
  EXPECT_EQ(place.log.count('W', "does not take"), 0);
  train(place, "SGD", 6);
  EXPECT_EQ(place.log.count('W',
                            "model.ckpt-4 has dense/bias/m, dense/bias/v, dense/kernel/m, dense/kernel/v and 4 more, "
                            "which this model does not take and the next checkpoint will not have"),
            1);
  train(place, "SGD", 8);
  EXPECT_EQ(place.log.count('W', "does not take"), 0);
  EXPECT_EQ(tensors(place.model_dir() + "/model.ckpt-8").size(), 4u);
  // A missing slot is an InvalidArgument, not DataLoss.
  EXPECT_THAT(refusal([&] { train(place, "Adam", 10); }),
              HasSubstr("has no variable dense/kernel/m; the model or its optimizer changed"));
}

TEST(Train, TheSameSeedGivesTheSameBitsAndNoSeedDoesNot) {
  const InputFn input = [] { return line(ramp(10)).shuffle(10).repeat().batch(2); };
  const Params params{{"optimizer", "SGD"}};
  Place a, b;
  for (Place* place : {&a, &b}) place->estimator(noisy_model, {}, params).train(input, {.steps = 5});
  EXPECT_EQ(tensors(a.model_dir() + "/model.ckpt-5"), tensors(b.model_dir() + "/model.ckpt-5"));
}

// The graph beside the checkpoints.

TEST(Train, WritesTheGraphUnlessToldNot) {
  Place with, without;
  with.estimator(linear_model).train([] { return line({1}).batch(1); });
  const std::string graph = read_file(with.model_dir() + "/graph.json");
  EXPECT_THAT(graph, AllOf(HasSubstr("linear/kernel"), ::testing::StartsWith("{")));
  without.estimator(linear_model, {.save_model_description = false}).train([] { return line({1}).batch(1); });
  EXPECT_FALSE(std::filesystem::exists(without.model_dir() + "/graph.json"));
}

// Errors of users' code come out as they were thrown.

struct Oddity {
  int number;
};

TEST(Train, ExceptionsOfUsersCodeComeOutUnchanged) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  const auto thrown_by = [&](const InputFn& input, std::vector<std::shared_ptr<Hook>> hooks = {}) {
    try {
      estimator.train(input, {.steps = 3, .hooks = std::move(hooks)});
    } catch (const Oddity& oddity) {
      return oddity.number;
    }
    return -1;
  };
  EXPECT_EQ(thrown_by([]() -> Dataset { throw Oddity{1}; }), 1);
  EXPECT_EQ(thrown_by([] {
              return losses({1, 2, 3}).map([](data::Element) -> Result<data::Element> { throw Oddity{2}; });
            }),
            2);
  EXPECT_EQ(thrown_by([] {
              return losses({1, 2, 3})
                  .map([](data::Element) -> Result<data::Element> { throw Oddity{3}; }, {.parallel = 2})
                  .prefetch(2);
            }),
            3);
  auto hook = std::make_shared<FunctionHook>();
  hook->at_begin = [](HookSetup&) { throw Oddity{4}; };
  EXPECT_EQ(thrown_by(endless, {hook}), 4);
  hook = std::make_shared<FunctionHook>();
  hook->at_ready = [](RunContext&) { throw Oddity{5}; };
  EXPECT_EQ(thrown_by(endless, {hook}), 5);
  hook = std::make_shared<FunctionHook>();
  hook->before = [](RunContext&, StepRequest&) { throw Oddity{6}; };
  EXPECT_EQ(thrown_by(endless, {hook}), 6);
  EXPECT_EQ(thrown_by(endless, {after_each_step([](RunContext&, const StepValues&) { throw Oddity{7}; })}), 7);
  struct Ending : Hook {
    void end(RunContext&) override { throw Oddity{8}; }
  };
  EXPECT_EQ(thrown_by(endless, {std::make_shared<Ending>()}), 8);
  const ModelFn failing = [](const Features&, const Labels&, Mode, const Params&, const RunConfig&) -> EstimatorSpec {
    throw Oddity{9};
  };
  estimator = place.estimator(failing);
  EXPECT_EQ(thrown_by(endless), 9);
}

TEST(Train, ErrorsOfTheInputNameIt) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(refusal([&] { estimator.train([] { return Dataset::range(3); }, {.steps = 1}); }),
              AllOf(HasSubstr("batch dimension"), HasSubstr(".batch(")));
  EXPECT_THAT(refusal([&] {
                estimator.train(
                    [] {
                      return Dataset::from_tensor_slices(Tensor::of_strings({2}, {"a", "b"})).batch(1);
                    },
                    {.steps = 1});
              }),
              HasSubstr("text"));
  EXPECT_THAT(
      refusal([&] {
        estimator.train(
            [] { return Dataset::from_tensors(Tensor::zeros(DType::kFloat32, {2}), Tensor::zeros(DType::kFloat32, {3})); },
            {.steps = 1});
      }),
      HasSubstr("3 rows"));
  // Later batches that do not fit.
  const auto one = [](const char* name) { return Dataset::from_tensors({{name, Tensor::zeros(DType::kFloat32, {1})}}); };
  Place named;
  Estimator taking_a =
      named.estimator([](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
        EstimatorSpec spec;
        spec.mode = mode;
        spec.loss = ops::reduce_mean(features["a"]);
        spec.train_op = nn::train_op({});
        return spec;
      });
  EXPECT_THAT(refusal([&] { taking_a.train([&] { return one("a").concatenate(one("b")); }); }),
              AllOf(HasSubstr("has features/b"), HasSubstr("built for features/a")));
  EXPECT_THAT(refusal([&] {
                estimator.train(
                    [] {
                      return losses({1}).concatenate(Dataset::from_tensors(Tensor::zeros(DType::kFloat32, {1, 2})));
                    },
                    {.steps = 2});
              }),
              HasSubstr("features"));
}

/// How often the event files of `folder` record a start of training with `first_step`, below 128: an Event with that step
/// and a SessionLog whose status is START (tests/monitor/event.proto).
int starts_at(const std::string& folder, int first_step) {
  const std::string record = std::string("\x10") + char(first_step) + "\x3a\x02\x08\x01";
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
    const std::string bytes = read_file(entry.path().string());
    for (size_t at = bytes.find(record); at != std::string::npos; at = bytes.find(record, at + 1)) ++found;
  }
  return found;
}

TEST(Train, EventFilesSayWhereTrainingBeginsAnew) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 5});
  estimator.train(endless, {.steps = 5});
  EXPECT_EQ(starts_at(place.model_dir(), 1), 1);
  estimator.train(endless, {.steps = 3});
  EXPECT_EQ(starts_at(place.model_dir(), 6), 1);
  // A start whose newest checkpoint is gone repeats steps that an earlier file has.
  for (const auto& entry : std::filesystem::directory_iterator(place.model_dir())) {
    if (entry.path().filename().string().starts_with("model.ckpt-8")) std::filesystem::remove_all(entry.path());
  }
  estimator.train(endless, {.steps = 1});
  EXPECT_EQ(starts_at(place.model_dir(), 6), 2);
  EXPECT_EQ(starts_at(place.model_dir(), 1), 1);
}

TEST(Train, ABatchThatTheModelRefusesIsNumbered) {
  Place place;
  const auto model = [](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.loss = ops::reduce_mean(ops::check_range(features.single(), {.low = 0, .what = "label"}));
    if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
    return spec;
  };
  Estimator estimator = place.estimator(model);
  const std::string expected = "batch 3 of the input (its rows count from 0): ";
  const InputFn input = [] { return losses({1, 2, -1, 4}); };
  EXPECT_THAT(refusal([&] { estimator.train(input); }),
              ::testing::AllOf(HasSubstr(expected), HasSubstr("label -1 in row 0")));
  EXPECT_THAT(refusal([&] { (void)estimator.evaluate(input, {.checkpoint = {}}); }),
              ::testing::AllOf(HasSubstr(expected), HasSubstr("label -1 in row 0")));
}

}  // namespace
}  // namespace shoal::testing
