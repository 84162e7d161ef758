// SPDX-License-Identifier: Apache-2.0
// Estimator::use_ops: ops of a program's own in training, evaluation, prediction and exports; an optimizer of its own.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "fixture.h"
#include "own_model.h"
#include "shoal/estimator/add_metrics.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/in_memory_evaluator.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const RuntimeOptions kReference{.threads = 1, .backend = "reference"};

class OwnOps : public ::testing::Test {
 protected:
  Estimator estimator(RunConfigOptions options = {}, Params params = {}) {
    Estimator made = place_.estimator(own_model, std::move(options), std::move(params));
    made.use_ops(own_ops());
    return made;
  }
  static Dataset points() { return line({-1, -0.5f, 0, 0.5f, 1, 1.5f}).batch(3); }
  static InputFn training() {
    return [] { return points().repeat(); };
  }
  static Tensor x() { return Tensor::of<float>({3, 1}, {-0.75f, 0.25f, 1.25f}); }
  /// A model whose loss depends on one op.
  static ModelFn model_with(std::string op) {
    return [op](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
      EstimatorSpec spec;
      spec.mode = mode;
      const Value y = nn::dense(features.single(), {.units = 1, .name = "linear"});
      const Value z = y.graph().add(op, {y}, {}, "own")[0];
      spec.predictions = {{"z", z}};
      spec.loss = ops::reduce_mean(z);
      if (mode == Mode::kTrain) spec.train_op = nn::sgd().minimize(spec.loss);
      return spec;
    };
  }
  /// The error that ends training with `op`.
  Error error_of(OpDef op, const RunConfigOptions& options = {}) {
    Estimator made = place_.estimator(model_with(op.name), options);
    made.use_ops({std::move(op)});
    const auto trained = made.try_train(training(), {.steps = 3});
    return trained ? invalid_argument("it trained") : trained.error();
  }
  static OpDef identity(std::string name) {
    OpDef op = round_off();
    op.name = std::move(name);
    op.gradient = [](const GradientRequest& request) { return request.output_gradients; };
    return op;
  }

  Place place_;
};

TEST_F(OwnOps, TrainEvaluateAndPredict) {
  Estimator own = estimator();
  own.train(training(), {.max_steps = 400});
  EXPECT_LT(own.evaluate(points).at("average_loss"), 0.1);
  EXPECT_THAT(own.variable_names(), Contains("linear/kernel/lion"));
  const auto predictions = own.predict([] { return Dataset::from_tensor_slices(x()).batch(3); });
  EXPECT_NEAR(predictions->next()->find("y")->as<float>()[0], 2 * -0.75 + 1, 0.6);
}

TEST_F(OwnOps, OfCopiesOfAnEstimatorAreThoseOfTheOriginal) {
  Estimator own = estimator();
  own.train(training(), {.max_steps = 3});
  const Estimator measured = add_metrics(own, [](const MetricsInput& input) -> NamedMetrics {
    return {{"mean", nn::mean(input.predictions["y"])}};
  });
  EXPECT_THAT(measured.evaluate(points), Contains(::testing::Key("mean")));
  EXPECT_EQ(own.with_config(own.config()).ops(), own.ops());
}

/// The estimator and the definitions may be destroyed before the predictions.
TEST_F(OwnOps, LiveAsLongAsPredictionsDo) {
  std::unique_ptr<Predictions> predictions;
  {
    Estimator own = estimator();
    own.train(training(), {.max_steps = 3});
    predictions = own.predict([] { return Dataset::from_tensor_slices(x()).batch(1); });
  }
  int rows = 0;
  while (predictions->next()) ++rows;
  EXPECT_EQ(rows, 3);
}

TEST_F(OwnOps, OfAnExportComeFromWhoeverLoadsIt) {
  Estimator own = estimator();
  own.train(training(), {.max_steps = 20});
  const InputFn serving = [] { return Dataset::from_tensor_slices(x()).batch(3); };
  const std::string folder = own.export_model(place_.folder / "exports", serving);
  const auto expected = own.predict(serving, {.yield_single_examples = false})->next();
  std::unique_ptr<ExportedModel> model = load_exported_model(folder, kReference, own_ops());
  EXPECT_TRUE(floats(*model->predict(x()).find("y")) == floats(*expected->find("y")));
  bool own_kernel = false;
  for (const auto& row : model->profile({.batch = 4, .runs = 2}).rows) own_kernel |= row.op == "squash";
  EXPECT_TRUE(own_kernel);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) EXPECT_TRUE(floats(*model->predict(x()).find("y")) == floats(*expected->find("y")));
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(refusal([&] { load_exported_model(folder, kReference); }, ErrorKind::kNotFound),
              AllOf(HasSubstr("export " + folder), HasSubstr("there is no op \"squash\""),
                    HasSubstr("load_exported_model()"), Not(HasSubstr("damaged"))));
  EXPECT_THAT(refusal(
                  [&] {
                    load_exported_model(folder, kReference, {squash(2), squash_grad(), round_off()});
                  },
                  ErrorKind::kFailedPrecondition),
              HasSubstr("squash \"squash\": it was made with version 1 of this op, but this program has version 2"));
  EXPECT_THAT(refusal([&] {
                load_exported_model(folder, kReference, {squash(), squash()});
              }),
              HasSubstr("load_exported_model: op \"squash\": two ops of yours have this name"));
}

TEST_F(OwnOps, ThatTheEstimatorDoesNotKnowAreNamed) {
  EXPECT_THAT(refusal([&] { place_.estimator(own_model).train(training(), {.steps = 1}); }, ErrorKind::kNotFound),
              HasSubstr("there is no op \"squash\": Shoal has no op of this name; pass an op of your own to "
                        "Estimator::use_ops()"));
  Estimator own = estimator();
  EXPECT_THAT(refusal([&] { own.use_ops({identity("relu")}); }),
              HasSubstr("Estimator::use_ops: op \"relu\": Shoal has an op of this name"));
  EXPECT_EQ(estimator().use_ops({}).ops(), nullptr);
}

TEST_F(OwnOps, FailByNameAndWhatTheyThrowComesOut) {
  OpDef fails = identity("fails"), throws = identity("throws");
  fails.kernel = [](const OpCall&) -> Result<void> { return failed_precondition("no luck"); };
  throws.kernel = [](const OpCall&) -> Result<void> { throw std::runtime_error("oh"); };
  EXPECT_THAT(error_of(fails).message(), HasSubstr("fails \"own\": no luck"));
  EXPECT_THAT(error_of(throws).message(), AllOf(HasSubstr("throws \"own\""), HasSubstr("oh")));
  OpDef rewrites = identity("rewrites");
  rewrites.rewrites.changes_nothing = [](const Attributes&) -> bool { throw std::runtime_error("lost"); };
  EXPECT_THAT(error_of(rewrites).message(), HasSubstr("lost"));
  OpDef cost = identity("cost");
  cost.multiply_adds = [](const Attributes&, auto, auto) -> double { throw std::runtime_error("dear"); };
  EXPECT_THAT(error_of(cost).message(), AllOf(HasSubstr("cost \"own\""), HasSubstr("dear")));
  cost.multiply_adds = [](const Attributes&, auto, auto) { return std::nan(""); };
  EXPECT_EQ(error_of(cost).message(), "it trained");
}

/// If a kernel, hook or map function reads a tensor as another type than it has, the error is permanent, so no restart
/// repeats it.
TEST_F(OwnOps, ThatReadAnotherTypeFailByName) {
  OpDef reads = identity("reads");
  reads.kernel = [](const OpCall& call) -> Result<void> {
    static_cast<void>(call.inputs[0].as<int64_t>());
    return {};
  };
  const std::string sentence = "a tensor of the shape [3, 1] has elements of type float32, not int64";
  const Error error = error_of(reads);
  EXPECT_EQ(error.kind(), ErrorKind::kTypeMismatch);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("reads \"own\": the kernel of a user's own op: "), HasSubstr(sentence)));
  Estimator raises = place_.estimator(model_with("reads"));
  raises.use_ops({reads});
  EXPECT_THAT(refusal([&] { raises.train(training(), {.steps = 3}); }, ErrorKind::kTypeMismatch),
              AllOf(HasSubstr("reads \"own\""), HasSubstr(sentence)));
}

TEST_F(OwnOps, AndHooksAndMapsThatReadAnotherTypeSayWhere) {
  struct Reads : Hook {
    void begin(HookSetup& setup) override { setup.fetch("y", setup.value("y")); }
    void before_step(RunContext&, StepRequest& request) override { request.fetch(); }
    void after_step(RunContext&, const StepValues& values) override { static_cast<void>(values["y"].as<int32_t>()); }
  };
  EXPECT_THAT(refusal([&] { estimator().train(training(), {.steps = 3, .hooks = {std::make_shared<Reads>()}}); },
                      ErrorKind::kTypeMismatch),
              HasSubstr("hook after_step: a tensor of the shape [3, 1] has elements of type float32, not int32"));
  const InputFn mapped = [] {
    return points().map([](data::Element element) {
      static_cast<void>(element.features.single().view().as<uint8_t>());
      return element;
    });
  };
  EXPECT_THAT(refusal([&] { estimator().train(mapped, {.steps = 3}); }, ErrorKind::kTypeMismatch),
              HasSubstr("the function of map: a tensor of the shape [3, 1] has elements of type float32, not uint8"));
}

TEST_F(OwnOps, WhoseResultsAreNotFiniteEndTraining) {
  OpDef wild = identity("wild");
  wild.kernel = [](const OpCall& call) -> Result<void> {
    std::ranges::fill(call.outputs[0].as<float>(), std::numeric_limits<float>::quiet_NaN());
    return {};
  };
  const Error error = error_of(wild);
  EXPECT_EQ(error.kind(), ErrorKind::kNanLoss) << error.message();
}

/// A view of more bytes than the tensor has would read memory of others.
TEST_F(OwnOps, ThatAreNoViewsAreRefused) {
  OpDef view = identity("wide");
  view.view = true;
  view.kernel = nullptr;
  view.shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Result<std::vector<ValueType>> {
    return std::vector{ValueType{DType::kFloat32, {inputs[0].shape[0], 1000}}};
  };
  view.gradient = [](const GradientRequest& request) -> std::vector<Value> { return {request.node.inputs[0] * 1.0}; };
  const Error error = error_of(view);
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("wide \"own\": the output of a view must have as many bytes as its operand"));
}

TEST_F(OwnOps, AndAnOptimizerOfOnesOwnGoOnAfterARestartWithTheSameBits) {
  Estimator own = estimator({.save_checkpoints_steps = 1000});
  own.train(training(), {.max_steps = 40});
  const auto expected = tensors(place_.model_dir() + "/" + retained(place_.model_dir()).back());
  Place again;
  for (const int64_t steps : {13, 40}) {
    Estimator interrupted = again.estimator(own_model, {.save_checkpoints_steps = 1000});
    interrupted.use_ops(own_ops()).train(training(), {.max_steps = steps});
  }
  EXPECT_EQ(tensors(again.model_dir() + "/" + retained(again.model_dir()).back()), expected);
}

/// The calls that use weights without training (CONTRACT RU-2).
TEST_F(OwnOps, OfAnotherVersionAreRefusedWhereNobodyTrains) {
  const auto newer = [this](bool accept) {
    Estimator made = place_.estimator(own_model, {.accept_changed_model = accept});
    made.use_ops({squash(2), squash_grad(), round_off()});
    return made;
  };
  const InputFn serving = [] { return Dataset::from_tensor_slices(x()).batch(3); };
  estimator().train(training(), {.max_steps = 2});
  const auto sentence = AllOf(HasSubstr("checkpoint " + place_.model_dir() +
                                        "/model.ckpt-2: the weights there were trained "
                                        "with other ops: op squash (version 1 there, version 2 in this program); take the "
                                        "program that has those versions"),
                              HasSubstr("(--accept-changed-model)"));
  constexpr ErrorKind kRefused = ErrorKind::kFailedPrecondition;
  EXPECT_THAT(refusal([&] { newer(false).evaluate(points); }, kRefused), sentence);
  EXPECT_THAT(refusal([&] { newer(false).predict(serving); }, kRefused), sentence);
  EXPECT_THAT(refusal([&] { newer(false).export_model(place_.folder / "exports", serving); }, kRefused), sentence);
  EXPECT_EQ(place_.log.count('W', "other ops"), 0);
  newer(true).evaluate(points);
  newer(true).predict(serving);
  newer(true).export_model(place_.folder / "exports", serving);
  EXPECT_EQ(place_.log.count('W', "trained with other ops, which accept_changed_model allows: op squash (version 1 there"),
            3);
  // Training continues, as after every change that a user makes on purpose.
  newer(false).train(training(), {.max_steps = 4});
  newer(false).evaluate(points);
  newer(false).predict(serving);
}

TEST_F(OwnOps, ThatOnlyTrainingUsesMayBeOfAnotherVersion) {
  estimator().train(training(), {.max_steps = 2});
  OpDef gradient = squash_grad();
  gradient.version = 2;
  Estimator newer = place_.estimator(own_model);
  newer.use_ops({squash(), gradient, round_off()}).evaluate(points);
}

TEST_F(OwnOps, OfAnotherVersionAreRefusedInMemoryToo) {
  const Estimator trained = estimator({.save_checkpoints_steps = 0});
  Estimator newer = estimator();
  newer.use_ops({squash(2), squash_grad(), round_off()});
  Estimator trains = trained;
  EXPECT_THAT(
      refusal([&] { trains.train(training(), {.max_steps = 2, .hooks = {in_memory_evaluator(newer, points)}}); },
              ErrorKind::kFailedPrecondition),
      HasSubstr("the training of this process: the weights there were trained with other ops: op squash (version 1"));
  trains.train(training(), {.max_steps = 2}).use_ops({squash(2), squash_grad(), round_off()});
  EXPECT_THAT(refusal([&] { trains.export_model(place_.folder / "exports", [] { return points(); }); },
                      ErrorKind::kFailedPrecondition),
              HasSubstr("the training of this process: the weights there were trained with other ops"));
}

TEST_F(OwnOps, OfAnotherVersionAreToldByAWarmStart) {
  estimator().train(training(), {.max_steps = 2});
  const std::string exported = estimator().export_model(place_.folder / "exports", [] { return points(); });
  for (const std::string& from : {place_.model_dir(), exported}) {
    Place other;
    Estimator newer = other.estimator(own_model);
    newer.use_ops({squash(2), squash_grad(), round_off()}).warm_start({.from = from}).train(training(), {.max_steps = 2});
    EXPECT_EQ(other.log.count('W', "taken as they are: op squash (version 1 there, version 2 in this program)"), 1) << from;
  }
}

/// The sum of the global steps before each update.
ModelFn sum_of_steps(const std::function<double(uint64_t)>& number) {
  return [number](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec spec = counting_model(features, {}, mode, {}, RunConfig());
    Graph& graph = spec.loss.graph();
    const Value sum = graph.variable("sum", Shape{1});
    spec.loss = spec.loss + ops::reduce_sum(sum) * 0.0;
    if (mode != Mode::kTrain) return spec;
    spec.train_op = nn::minimize_by(spec.loss,
                                    [](const nn::OwnStep& step) -> std::vector<nn::VariableUpdate> {
                                      return {nn::assign_add(step.variable(), step.gradient() + step.by_step("step"))};
                                    },
                                    {.by_step = {{"step", number}}});
    return spec;
  };
}

TEST(OwnOptimizerByStep, IsGivenTheGlobalStepAfterARestartToo) {
  for (const int replicas : {1, 3}) {
    Place place;
    const RunConfigOptions options{.runtime = RuntimeOptions{.threads = 1, .backend = "reference", .replicas = replicas}};
    Estimator sums = place.estimator(sum_of_steps([](uint64_t step) { return double(step); }), options);
    sums.train(endless, {.max_steps = 5});
    EXPECT_EQ(sums.variable_value("sum").as<float>()[0], 0 + 1 + 2 + 3 + 4);
    sums.train(endless, {.max_steps = 7});
    EXPECT_EQ(sums.variable_value("sum").as<float>()[0], 10 + 5 + 6);
    place.estimator(sum_of_steps([](uint64_t step) { return double(2 * step); }), options).train(endless, {.max_steps = 8});
    EXPECT_EQ(sums.variable_value("sum").as<float>()[0], 21 + 14);
    EXPECT_EQ(place.log.count('W', "was written: by_step/step"), 1);
  }
}

TEST(OwnOptimizerByStep, EndsTrainingByNameWhereItIsNotFinite) {
  Place place;
  const ModelFn model = sum_of_steps([](uint64_t step) { return 1 / (2 - double(step)); });
  EXPECT_THAT(refusal([&] { place.estimator(model).train(endless, {.max_steps = 5}); }),
              HasSubstr("by_step/step is inf at global step 2; its function has to give finite numbers"));
  Place other;
  const ModelFn throws = sum_of_steps([](uint64_t step) -> double {
    if (step > 1) throw std::out_of_range("late");
    return 0;
  });
  EXPECT_THROW(other.estimator(throws).train(endless, {.max_steps = 5}), std::out_of_range);
}

TEST_F(OwnOps, OfAnotherVersionAreToldAfterARestart) {
  estimator().train(training(), {.max_steps = 2});
  place_.log.clear();
  Estimator newer = estimator();
  newer.use_ops({squash(2), squash_grad(), round_off()}).train(training(), {.max_steps = 4});
  EXPECT_EQ(place_.log.count('I', "op squash (version 1 before, version 2 now)") +
                place_.log.count('W', "op squash (version 1 before, version 2 now)"),
            1);
  // A constant of the optimizer counts, too, since the optimizer is a graph like any other.
  place_.log.clear();
  estimator({}, {{"slope", 3.0}}).train(training(), {.max_steps = 6});
  EXPECT_EQ(place_.log.count('I', "squash (version 2 before, version 1 now)") +
                place_.log.count('W', "squash (version 2 before, version 1 now)"),
            1);
}

}  // namespace
}  // namespace shoal::testing
