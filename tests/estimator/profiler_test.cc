// SPDX-License-Identifier: Apache-2.0
// The profiler hook, profiles of exports, and log lines about memory plans.
#include "shoal/estimator/profiler.h"

#include <nlohmann/json.hpp>

#include "fixture.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/hooks.h"

namespace shoal::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const backends::MachineLimits kLimits{.flops_per_second = 1e12, .copies = {{1e6, 1e12}}};

Dataset points() { return line({0, 1, 2, 3}).repeat().batch(2); }

nlohmann::json profile_in(const Place& place, const std::string& file = "profile.json") {
  return nlohmann::json::parse(read_file(place.model_dir() + "/" + file));
}

TEST(Profiler, MeasuresTheStepsAskedFor) {
  Place place;
  place.estimator(linear_model)
      .train(points, {.steps = 20, .hooks = {profiler({.skip = 3, .steps = 5, .limits = kLimits})}});
  const auto profile = profile_in(place);
  EXPECT_EQ(profile["runs"], 5);
  EXPECT_EQ(profile["backend"], "reference");
  EXPECT_EQ(profile["threads"], 1);
  EXPECT_EQ(profile["peak_flops_per_second"], 1e12);
  std::vector<std::string> ops;
  for (const auto& kernel : profile["kernels"]) {
    ops.push_back(kernel["op"]);
    EXPECT_EQ(kernel["implementation"], "reference");
    EXPECT_GT(kernel["bytes"], 0);
    EXPECT_GE(kernel["share"], 0);
  }
  EXPECT_THAT(ops, Contains("dense"));
  EXPECT_THAT(ops, Contains("dense_grad_kernel"));
  EXPECT_EQ(place.log.count('I', "per run (median of 5)"), 1);
  EXPECT_EQ(place.log.count('I', "dense_grad_kernel"), 1);
  EXPECT_EQ(place.log.count('I', "profile written to " + place.model_dir() + "/profile.json"), 1);
}

TEST(Profiler, ChangesNoBit) {
  Place with, without;
  with.estimator(linear_model)
      .train(points, {.steps = 20, .hooks = {profiler({.skip = 3, .steps = 5, .limits = kLimits})}});
  without.estimator(linear_model).train(points, {.steps = 20});
  EXPECT_EQ(tensors(with.model_dir() + "/model.ckpt-20"), tensors(without.model_dir() + "/model.ckpt-20"));
}

/// Counts the kernels of the steps that it observes.
class KernelCounter final : public backends::KernelObserver {
 public:
  void run_started(const backends::CompiledProgramInfo&) override { ++runs; }
  void kernel_started(size_t) override {}
  void kernel_ended(size_t) override { ++kernels; }
  void run_ended() override {}
  int runs = 0, kernels = 0;
};

TEST(KernelObserver, SeesTheStepsThatAHookAsksForInEveryMode) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const InputFn three = [] { return line({0, 1, 2, 3, 4, 5}).batch(2); };
  const auto observed = [](const auto& run) {
    KernelCounter counter;
    auto hook = std::make_shared<FunctionHook>();
    hook->before = [&counter](RunContext& context, StepRequest& request) {
      if (context.iterations() < 2) request.observe(counter);
    };
    run(hook);
    EXPECT_GE(counter.kernels, 2);
    return counter.runs;
  };
  EXPECT_EQ(observed([&](const auto& hook) { estimator.train(three, {.steps = 3, .hooks = {hook}}); }), 2);
  EXPECT_EQ(observed([&](const auto& hook) { (void)estimator.evaluate(three, {.hooks = {hook}}); }), 2);
  EXPECT_EQ(observed([&](const auto& hook) {
              const auto predictions = estimator.predict(three, {.hooks = {hook}});
              while (predictions->next()) {
              }
            }),
            2);
}

TEST(Profiler, GivesWhatThereWasWhenTheRunEndsEarly) {
  Place place;
  place.estimator(linear_model)
      .train(points, {.steps = 7, .hooks = {profiler({.skip = 3, .file = "p.json", .limits = kLimits})}});
  EXPECT_EQ(profile_in(place, "p.json")["runs"], 4);
}

TEST(Profiler, WarnsOfARunThatEndsBeforeAnythingIsMeasured) {
  Place place;
  place.estimator(linear_model).train(points, {.steps = 3, .hooks = {profiler()}});
  EXPECT_EQ(place.log.count('W', "profile: the run ended within the 10 steps that are not measured"), 1);
  EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/profile.json"));
}

TEST(Profiler, TwoOfThemInOneStepAreRefused) {
  Place place;
  const auto train = [&] {
    place.estimator(linear_model).train(points, {.steps = 9, .hooks = {profiler({.skip = 0}), profiler({.skip = 0})}});
  };
  EXPECT_THAT(refusal(train, ErrorKind::kFailedPrecondition), HasSubstr("two hooks observe the kernels of one step"));
}

TEST(Profiler, RefusesNumbersOutOfRange) {
  EXPECT_THAT(refusal([] { profiler({.skip = -1}); }), HasSubstr("skip must be at least 0, not -1"));
  EXPECT_THAT(refusal([] { profiler({.steps = 0}); }), HasSubstr("steps must be at least 1, not 0"));
}

TEST(Profiler, IsAddedWhereTheHostAsksForIt) {
  Place place;
  RunConfig config = place.config();
  TaskHost host = *config.host();
  host.profile_steps = 2;
  Estimator(linear_model, config.with_host(std::make_shared<TaskHost>(host))).train(points, {.steps = 15});
  EXPECT_EQ(profile_in(place)["runs"], 2);
}

TEST(MemoryPlanLine, IsWrittenOncePerTrainingProgram) {
  Place place;
  place.estimator(linear_model).train(points, {.steps = 5});
  EXPECT_EQ(place.log.count('I', "program for batch 2: "), 1);
  EXPECT_EQ(place.log.count('I', " nodes, memory plan 0.00 MiB, lower bound 0.00 MiB (1.000 times), on 1 thread"), 1);
}

TEST(MemoryPlanLine, TellsTheThreadsThatTheBackendKnows) {
  Place place;
  RunConfigChanges changes;
  changes.runtime = RuntimeOptions{.threads = 2, .backend = "reference"};
  Estimator(linear_model, place.config().replace(changes)).train(points, {.steps = 5});
  EXPECT_EQ(place.log.count('I', " times), on 1 thread"), 1);
  EXPECT_EQ(place.log.count('I', "too small"), 0);
}

struct ExportProfile : ::testing::Test {
  Place place;
  std::unique_ptr<ExportedModel> model;
  void SetUp() override {
    Estimator estimator = place.estimator(linear_model);
    estimator.train(points, {.steps = 1});
    const auto serving = [] { return line({0, 1}).batch(2); };
    model = load_exported_model(estimator.export_model(place.folder / "exports", serving),
                                {.threads = 1, .backend = "reference"});
  }
};

TEST_F(ExportProfile, RunsOnGeneratedInputs) {
  const backends::Profile profile = model->profile({.batch = 3, .runs = 4});
  EXPECT_EQ(profile.runs, 4);
  ASSERT_FALSE(profile.rows.empty());
  EXPECT_EQ(profile.rows[0].op, "dense");
  EXPECT_EQ(profile.rows[0].cost.flops, 2 * 3) << "two for each of three examples";
  EXPECT_GT(profile.limits.flops_per_second, 0);
}

TEST_F(ExportProfile, RefusesNumbersOutOfRange) {
  EXPECT_THAT(refusal([&] { model->profile({.batch = 0}); }), HasSubstr("batch must be at least 1, not 0"));
  EXPECT_THAT(refusal([&] { model->profile({.runs = 0}); }), HasSubstr("runs must be at least 1, not 0"));
}

TEST(Profiler, ComparesWithWhatTheHostMeasures) {
  Place place;
  RunConfig config = place.config();
  TaskHost host = *config.host();
  host.measure_limits = [](int threads) { return backends::MachineLimits{double(threads) * 7e12, {{1e6, 1e12}}}; };
  const auto hook = profiler({.skip = 3, .steps = 5});
  Estimator(linear_model, config.with_host(std::make_shared<TaskHost>(host))).train(points, {.steps = 20, .hooks = {hook}});
  EXPECT_EQ(profile_in(place)["peak_flops_per_second"], 7e12);
}

}  // namespace
}  // namespace shoal::testing
