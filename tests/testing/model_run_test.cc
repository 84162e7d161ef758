// SPDX-License-Identifier: Apache-2.0
// The run of a model_dir, which outlives its starts (CONTRACT 10.1), in virtual time.
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/run_file.h"
#include "shoal/nn/dropout.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kModel = "/shared/model";

RunConfigOptions without_seed(int64_t every = 10) {
  RunConfigOptions config = every_steps(every);
  config.model_dir = kModel;
  config.random_seed.reset();
  return config;
}

RunConfigOptions synchronous(RunConfigOptions config) {
  config.update_strategy.kind = UpdateStrategyKind::kSync;
  return config;
}

EstimatorSpec model_with_dropout(const Features& features, const Labels& labels, Mode mode, const Params&,
                                 const RunConfig&) {
  Value x = nn::dense(features.single(), {.units = 4, .activation = nn::Activation::kRelu});
  if (mode == Mode::kTrain) x = nn::dropout(x, nn::Mode::kTrain, {.rate = 0.5});
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(x, {.units = 3})};
  if (mode == Mode::kTrain) input.optimizer = nn::sgd({.learning_rate = 0.1, .momentum = 0.9});
  return nn::multi_class_head({.n_classes = 3})->build(input);
}

/// A program in which chance counts everywhere: initial weights, the order of data, dropout.
void drawing_program(RunConfig config) {
  Estimator estimator(model_with_dropout, std::move(config));
  train_and_evaluate(estimator, {.input_fn = training_data, .max_steps = 60},
                     {.input_fn = test_data, .throttle_secs = 0, .start_delay_secs = 0});
}

checkpoint::RunFile run_in(Storage& storage, const std::string& folder = kModel) {
  return value_or_raise(checkpoint::read_run(storage, folder)).value();
}

/// All values of the newest checkpoint, as text.
std::string weights_in(Storage& storage, const std::string& folder = kModel) {
  const auto reader = value_or_raise(checkpoint::latest_intact(storage, folder, {}));
  std::string all = std::to_string(reader->global_step());
  for (const checkpoint::TensorEntry& entry : reader->manifest().tensors) {
    const Tensor tensor = value_or_raise(reader->read_tensor(entry.name));
    for (const float value : tensor.as<float>()) all += " " + std::to_string(std::bit_cast<uint32_t>(value));
  }
  return all;
}

TEST(ModelRun, BeginsInAnEmptyFolderAndGoesOnOverStarts) {  // CONTRACT RU-1
  World world;
  world.add_process("first", SmallJob{.max_steps = 20}, without_seed());
  world.add_process("second", SmallJob{.max_steps = 40}, without_seed());
  world.start_late("second", 1min);
  checkpoint::RunFile first;
  world.at(59s, [&] { first = run_in(world.shared()); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("second"), 0) << world.report();
  EXPECT_EQ(run_in(world.shared()), first);
  const auto reader = value_or_raise(checkpoint::latest_intact(world.shared(), kModel, {}));
  EXPECT_EQ(value_or_raise(checkpoint::decode_run(reader->manifest().info.run)).id, first.id);
  EXPECT_EQ(world.count_log("drawn for this run"), 1U);
  EXPECT_EQ(world.count_log("as the run had it before"), 1U);
}

TEST(ModelRun, IsAdoptedWhereRunJsonIsMissingOrDamaged) {
  for (const bool missing : {true, false}) {
    World world;
    world.add_process("first", SmallJob{.max_steps = 20}, without_seed());
    world.add_process("second", SmallJob{.max_steps = 40}, without_seed());
    world.start_late("second", 1min);
    checkpoint::RunFile first;
    world.at(59s, [&] {
      first = run_in(world.shared());
      if (missing) {
        ASSERT_TRUE(world.shared().remove(kModel + "/run.json"));
      } else {
        world.shared().contents(kModel + "/run.json") = "{";
      }
    });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("second"), 0) << world.report();
    EXPECT_EQ(run_in(world.shared()), first);
  }
}

/// The same job twice, with the same chance: once undisturbed, and once with what `disturb` does to it.
void expect_equal_bits(std::string_view size, const RunConfigOptions& config, const std::function<void(World&)>& disturb) {
  std::string weights[2];
  for (const bool disturbed : {false, true}) {
    World world({.seed = 11});
    if (size.empty()) {
      world.add_process("local", drawing_program, config);
    } else {
      world.add_cluster(size, drawing_program, config);
    }
    if (disturbed) disturb(world);
    ASSERT_TRUE(world.run()) << world.report();
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
    weights[disturbed] = weights_in(world.shared());
  }
  EXPECT_EQ(weights[0], weights[1]);
}

void kill_and_start(World& world, const std::string& task) {
  world.kill(task);
  world.after(2s, [&world, task] { world.start(task); });
}

TEST(ModelRun, WithoutASeedALocalRunGoesOnWithItsBits) {  // CONTRACT RU-7
  expect_equal_bits("", without_seed(),
                    [](World& world) { world.at_step(25, [&world] { kill_and_start(world, "local"); }); });
}

TEST(ModelRun, WithoutASeedASynchronousClusterGoesOnWithItsBits) {
  const RunConfigOptions config = synchronous(without_seed());
  for (const std::string task : {"chief 0", "worker 0", "worker 1", "ps 0", "ps 1"}) {
    SCOPED_TRACE(task);
    expect_equal_bits("ps:2,worker:2", config,
                      [&task](World& world) { world.at_step(25, [&world, task] { kill_and_start(world, task); }); });
  }
}

TEST(ModelRun, WithoutASeedAllTasksOfAJobStartAgainWithItsBits) {
  expect_equal_bits("ps:2,worker:2", synchronous(without_seed()), [](World& world) {
    world.at_step(25, [&world] {
      for (const std::string& task : world.tasks()) kill_and_start(world, task);
    });
  });
}

TEST(ModelRun, ItsSeedGivesTheSameToWhoNamesIt) {
  World drawn;
  drawn.add_cluster("ps:1,worker:2", drawing_program, synchronous(without_seed()));
  ASSERT_TRUE(drawn.run()) << drawn.report();
  RunConfigOptions named = without_seed();
  named.random_seed = run_in(drawn.shared()).seed;
  named.runtime = RuntimeOptions{.replicas = 3};
  World world;
  world.add_process("replicas", drawing_program, named);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(weights_in(world.shared()), weights_in(drawn.shared()));
}

TEST(ModelRun, AWorkerThatSeesAnotherFolderLearnsTheSeedFromTheServers) {
  std::string weights[2];
  for (const bool own_folder : {false, true}) {
    World world({.seed = 12});
    const auto task = [&](const std::string& type, const std::string& folder) {
      RunConfigOptions config = synchronous(without_seed());
      config.model_dir = folder;
      world.add_task(type,
                     R"({"cluster": {"chief": ["chief:1"], "worker": ["worker:1"], "ps": ["ps:1"]}, "task": {"type": ")" +
                         type + R"(", "index": 0}})",
                     drawing_program, config);
    };
    task("chief", kModel);
    task("worker", own_folder ? "/own/model" : kModel);
    task("ps", kModel);
    ASSERT_TRUE(world.run()) << world.report();
    for (const std::string& name : world.tasks()) EXPECT_EQ(world.exit_status(name), 0) << world.report();
    weights[own_folder] = weights_in(world.shared());
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST(ModelRun, ASeedThatAStartIsGivenWinsAndIsNoted) {
  World world;
  RunConfigOptions given = without_seed();
  given.random_seed = 7;
  world.add_process("first", SmallJob{.max_steps = 20}, without_seed());
  world.add_process("given", SmallJob{.max_steps = 40}, given);
  world.add_process("after", SmallJob{.max_steps = 60}, without_seed());
  world.start_late("given", 1min);
  world.start_late("after", 2min);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.count_log("random seed 7, which this start was given; the run had"), 1U) << world.report();
  EXPECT_EQ(world.count_log("random seed 7, as the run had it before"), 1U) << world.report();
  EXPECT_EQ(run_in(world.shared()).seed, 7);
}

TEST(ModelRun, ProgramsThatTrainPassByPassMeetAnotherOrderInEach) {
  std::vector<std::vector<int64_t>> passes;
  World world;
  world.add_process(
      "local",
      [&passes](RunConfig config) {
        struct Orders final : Hook {
          explicit Orders(std::vector<int64_t>& into) : seen(into) {}
          void begin(HookSetup& setup) override { setup.fetch("order", setup.graph().find("features")); }
          void before_step(RunContext&, StepRequest& request) override { request.fetch(); }
          void after_step(RunContext&, const StepValues& values) override {
            seen.push_back(int64_t(values["order"].as<float>()[0]));
          }
          std::vector<int64_t>& seen;
        };
        const auto numbers = [] {
          Tensor points(DType::kFloat32, {32, 2}), labels(DType::kInt64, {32});
          for (size_t i = 0; i < 64; ++i) points.mutable_as<float>()[i] = float(i / 2);
          for (size_t i = 0; i < 32; ++i) labels.mutable_as<int64_t>()[i] = 0;
          return data::Dataset::from_tensor_slices(points, labels).shuffle(32).batch(1);
        };
        Estimator estimator(small_model, std::move(config));
        for (int pass = 0; pass < 3; ++pass) {
          passes.emplace_back();
          estimator.train(numbers, {.hooks = {std::make_shared<Orders>(passes.back())}});
        }
      },
      without_seed());
  ASSERT_TRUE(world.run()) << world.report();
  ASSERT_EQ(world.exit_status("local"), 0) << world.report();
  ASSERT_EQ(passes.size(), 3U);
  for (std::vector<int64_t>& pass : passes) ASSERT_EQ(pass.size(), 32U);
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
  std::ranges::sort(passes[2]);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(passes[2][i], int64_t(i));
}

// A folder that goes (CONTRACT RU-4).

enum class Going { kRemoved, kMoved, kReplaced };

void let_go(World& world, Going how) {
  if (how == Going::kRemoved) {
    ASSERT_TRUE(world.shared().remove_all(kModel));
  } else {
    ASSERT_TRUE(world.shared().rename(kModel, "/shared/moved"));
  }
  if (how == Going::kReplaced) {
    ASSERT_TRUE(world.shared().make_folders(kModel));
    for (const FileInfo& file : value_or_raise(world.shared().list("/shared/moved"))) {  // A copy keeps the run's id.
      if (file.is_folder) continue;
      const std::string text = value_or_raise(world.shared().read_all("/shared/moved/" + file.name));
      ASSERT_TRUE(world.shared().write_atomically(kModel + "/" + file.name, text));
    }
  }
}

std::vector<std::string> names_in_model(World& world) {
  std::vector<std::string> names;
  const auto files = world.shared().list(kModel);
  if (!files) return names;
  for (const FileInfo& file : *files) names.push_back(file.name);
  return names;
}

TEST(FolderThatGoes, EndsALocalRunWhichMakesNothingAnew) {
  for (const Going how : {Going::kRemoved, Going::kMoved, Going::kReplaced}) {
    for (const int64_t every : {10, 100000}) {  // It shows at the next save, or between saves.
      World world({.work = 100ms});
      world.add_process("local", SmallJob{.max_steps = 1000}, without_seed(every));
      std::vector<std::string> names;
      world.at_step(35, [&] {
        let_go(world, how);
        names = names_in_model(world);
      });
      ASSERT_TRUE(world.run(1min)) << world.report();
      EXPECT_EQ(world.exit_status("local"), 2) << world.report();
      EXPECT_THAT(world.outcome("local").error().message(), HasSubstr("is not the folder of this run any more"));
      EXPECT_EQ(names_in_model(world), names);
    }
  }
}

TEST(FolderThatGoes, EndsAClusterAndItsEvaluator) {
  for (const Going how : {Going::kRemoved, Going::kMoved}) {
    World world({.work = 50ms});
    world.add_cluster("ps:1,worker:1,evaluator", SmallJob{.max_steps = 100000}, without_seed());
    world.at_step(35, [&] { let_go(world, how); });
    ASSERT_TRUE(world.run(5min)) << world.report();
    EXPECT_EQ(world.exit_status("chief 0"), 2) << world.report();
    EXPECT_EQ(world.exit_status("evaluator 0"), 2) << world.report();
    EXPECT_FALSE(world.shared().exists(kModel)) << world.report();
  }
}

TEST(FolderThatGoes, IsAnothersOnceThatHasBegunThere) {
  World world({.work = 100ms});
  world.add_process("old", SmallJob{.max_steps = 1000}, without_seed(100000));
  world.add_process("new", SmallJob{.max_steps = 200}, without_seed(20));
  world.start_late("new", 1h);
  world.at_step(35, [&] {
    let_go(world, Going::kRemoved);
    world.start("new");
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("old"), 2) << world.report();
  EXPECT_EQ(world.exit_status("new"), 0) << world.report();
  EXPECT_EQ(value_or_raise(checkpoint::read_end_mark(world.shared(), kModel)).value().global_step, 200);
}

TEST(FolderThatGoes, IsWaitedForWhereItCannotBeSeen) {
  World world({.work = 100ms});
  world.add_process("local", SmallJob{.max_steps = 200}, without_seed(50));
  world.at_step(60, [&] { world.cut_off_shared("local", true); });
  world.at(3min, [&] {
    EXPECT_TRUE(world.running("local")) << world.report();
    world.cut_off_shared("local", false);
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("local"), 0) << world.report();
  EXPECT_EQ(world.count_log("waiting for model_dir"), 1U) << world.report();
}

TEST(FolderThatGoes, IsWaitedForByAChiefWhoseServersStay) {
  for (const bool comes_back : {true, false}) {
    World world({.work = 100ms});
    RunConfigOptions options = without_seed(50);
    options.ready_timeout_secs = 20;
    world.add_cluster("ps:2,worker:1", SmallJob{.max_steps = 200}, options);
    world.at_step(60, [&] {
      world.cut_off_shared("chief 0", true);
      if (comes_back) world.after(20s, [&] { world.cut_off_shared("chief 0", false); });
    });
    ASSERT_TRUE(world.run(5min)) << world.report();
    EXPECT_EQ(world.count_log("chief 0 sent nothing for"), 0U) << world.report();
    EXPECT_EQ(world.count_log("waiting for the parameter servers"), 0U) << world.report();
    EXPECT_EQ(world.exit_status("chief 0"), comes_back ? 0 : 1) << world.report();
    if (comes_back) continue;
    EXPECT_THAT(world.outcome("chief 0").error().message(), HasSubstr("/shared"));
  }
}

TEST(FolderThatGoes, CopiedAndMovedBetweenStartsIsTheSameRun) {
  World world;
  world.add_process("first", SmallJob{.max_steps = 20}, without_seed());
  RunConfigOptions moved = without_seed();
  moved.model_dir = "/shared/moved";
  world.add_process("second", SmallJob{.max_steps = 40}, moved);
  world.start_late("second", 1min);
  checkpoint::RunFile first;
  world.at(59s, [&] {
    first = run_in(world.shared());
    let_go(world, Going::kMoved);
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("second"), 0) << world.report();
  EXPECT_EQ(run_in(world.shared(), "/shared/moved"), first);
}

// What killed processes left (CONTRACT CK-18).

TEST(TemporaryFiles, OfAKilledRunGoWhenTheFolderIsLocked) {
  World world({.work = 10ms});
  world.add_process("local", SmallJob{.max_steps = 400}, without_seed(10));
  for (int kill = 1; kill <= 20; ++kill) {  // Each in the middle of a save.
    world.at(kill * 2s, [&world, kill] { world.kill_in_storage("local", 3 + kill % 9); });
    world.at(kill * 2s + 1s, [&world] {
      if (!world.running("local")) world.start("local");
    });
  }
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("local"), 0) << world.report();
  const std::vector<std::string> names = names_in_model(world);
  EXPECT_THAT(names, Not(Contains(HasSubstr(".tmp-"))));
  EXPECT_THAT(names, Not(Contains(HasSubstr(".unlisted"))));
}

TEST(TemporaryFiles, OnlyOfTheHolderGo) {
  World world;
  ASSERT_TRUE(world.shared().make_folders(kModel));
  const auto put = [&world](const std::string& name) {
    ASSERT_TRUE(world.shared().write_atomically(kModel + "/" + name, "x"));
  };
  for (const char* name :
       {"model.ckpt-5.index.tmp-ab-1", "model.ckpt-5.data-00000.tmp-ab-1", "checkpoint.tmp-ab-2", "run.json.tmp-ab-3",
        "training_run.tmp-ab-4", "report.json.tmp-ab-5", "notes.txt.tmp-mine", "my.tmp"}) {
    put(name);
  }
  world.add_process("local", SmallJob{.max_steps = 20}, without_seed());
  ASSERT_TRUE(world.run()) << world.report();
  const std::vector<std::string> names = names_in_model(world);
  EXPECT_THAT(names, Contains("notes.txt.tmp-mine"));
  EXPECT_THAT(names, Contains("my.tmp"));
  EXPECT_THAT(names, Not(Contains(HasSubstr(".tmp-ab-"))));
}

}  // namespace
}  // namespace shoal::testing
