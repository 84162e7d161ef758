// SPDX-License-Identifier: Apache-2.0
// Two jobs at one address are told apart (CONTRACT RU-6, DI-4), in virtual time.
#include <gmock/gmock.h>

#include <map>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/run_file.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Both jobs have this description, as programs have that were copied.
std::string task_of(const std::string& type, int index = 0) {
  return R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["ps:1"]}, "task": {"type": ")" + type +
         R"(", "index": )" + std::to_string(index) + "}}";
}

struct TwoJobs {
  explicit TwoJobs(WorldOptions options = {.work = 50ms}) : world(std::move(options)) {
    world.add_task("ps", task_of("ps"), SmallJob{}, config("/shared/a"));
  }
  static RunConfigOptions config(const std::string& folder) {
    RunConfigOptions options = every_steps(20);
    options.model_dir = folder;
    options.random_seed.reset();
    options.ready_timeout_secs = 300;
    return options;
  }
  void add(const std::string& job, const std::string& name, const std::string& tf_config, int64_t max_steps = 400) {
    world.add_task(name, tf_config, SmallJob{.max_steps = max_steps}, config("/shared/" + job));
  }
  World world;
};

std::string run_in(World& world, const std::string& folder) {
  return value_or_raise(checkpoint::read_run(world.shared(), folder)).value().id;
}

TEST(TwoJobs, AWorkerOfAnotherRunIsRefusedAndDisturbsNobody) {
  TwoJobs jobs;
  World& world = jobs.world;
  jobs.add("a", "chief of a", task_of("chief"));
  jobs.add("a", "worker of a", task_of("worker"));
  // Job b had its folder before; its worker comes to the servers of job a, with the role that job a's worker has.
  world.add_process("b before", SmallJob{.max_steps = 20}, TwoJobs::config("/shared/b"));
  world.at(6s, [&world] { world.start_second("worker of a", "/shared/b"); });
  ASSERT_TRUE(world.run()) << world.report();
  ASSERT_EQ(world.exit_status("worker of a elsewhere"), 2) << world.report();
  const std::string refusal = world.outcome("worker of a elsewhere").error().message();
  EXPECT_THAT(refusal, AllOf(HasSubstr("two jobs at one address"), HasSubstr(run_in(world, "/shared/a")),
                             HasSubstr(run_in(world, "/shared/b")), HasSubstr("model_dir /shared/b")));
  for (const char* task : {"chief of a", "worker of a", "ps"}) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  EXPECT_EQ(world.count_log("was replaced"), 0U) << world.report();
}

TEST(TwoJobs, AWorkerThatCameFirstComparesTheRunThatItLearns) {
  TwoJobs jobs;
  World& world = jobs.world;
  world.add_process("b before", SmallJob{.max_steps = 20}, TwoJobs::config("/shared/b"));
  jobs.add("b", "worker of b", task_of("worker", 1));
  world.start_late("worker of b", 5s);  // No model is there yet, so that its hello is taken.
  jobs.add("a", "chief of a", task_of("chief"));
  world.start_late("chief of a", 20s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("worker of b"), 2) << world.report();
  EXPECT_THAT(world.outcome("worker of b").error().message(), HasSubstr("two jobs at one address"));
  EXPECT_EQ(world.exit_status("chief of a"), 0) << world.report();
  // What a stranger fails for is not a failure of job a, for which that would save nothing more.
  EXPECT_EQ(world.count_log("no checkpoint is written until"), 0U) << world.report();
}

TEST(TwoJobs, AChiefWithAnotherFolderDoesNotTakeTheWeightsOver) {
  TwoJobs jobs;
  World& world = jobs.world;
  jobs.add("a", "chief of a", task_of("chief"), 100000);
  jobs.add("a", "worker of a", task_of("worker"), 100000);
  jobs.add("b", "chief of b", task_of("chief"), 60);
  world.at_step(100, [&world] { world.kill("chief of a"); });
  world.start_late("chief of b", 1min);
  ASSERT_TRUE(world.run()) << world.report();
  // The servers are filled anew for job b, which begins at step 0; the worker of job a is refused.
  EXPECT_EQ(world.exit_status("chief of b"), 0) << world.report();
  EXPECT_EQ(value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/b")).value().global_step, 60);
  EXPECT_EQ(world.count_log("the servers still hold the model"), 0U) << world.report();
  EXPECT_EQ(world.exit_status("worker of a"), 2) << world.report();
  EXPECT_THAT(world.outcome("worker of a").error().message(), HasSubstr("two jobs at one address"));
}

/// The files of a folder and their bytes, without the lock, which names who locked it last.
std::map<std::string, std::string> files_in(World& world, const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const std::string& path : world.shared().paths()) {
    const std::string full = "/" + path;
    if (!full.starts_with(folder + "/") || full.ends_with("/training_lock")) continue;
    files[full] = value_or_raise(world.shared().read_all(full, uint64_t(1) << 24));
  }
  return files;
}

/// Two chiefs for one set of servers, where the second has a finished folder of its own (CONTRACT FA-11).
TEST(TwoJobs, AChiefIsRefusedWhileTheOtherLivesWithBothNamesAndItsFolderStaysAsItWas) {
  TwoJobs jobs;
  World& world = jobs.world;
  jobs.add("a", "chief of a", task_of("chief"));
  world.add_process("b before", SmallJob{.max_steps = 20}, TwoJobs::config("/shared/b"));
  std::map<std::string, std::string> before;
  world.at(5s, [&] {
    EXPECT_TRUE(world.outcome("b before").has_value());
    before = files_in(world, "/shared/b");
    world.start_second("chief of a", "/shared/b");
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_TRUE(before.contains("/shared/b/training_finished"));
  EXPECT_EQ(files_in(world, "/shared/b"), before);
  EXPECT_EQ(world.exit_status("chief of a"), 0) << world.report();
  ASSERT_EQ(world.exit_status("chief of a elsewhere"), 1) << world.report();
  EXPECT_THAT(world.outcome("chief of a elsewhere").error().message(),
              AllOf(HasSubstr(run_in(world, "/shared/a")), HasSubstr(run_in(world, "/shared/b")),
                    HasSubstr("model_dir /shared/a"), HasSubstr("model_dir /shared/b")));
}

TEST(TwoJobs, AChiefThatIsRefusedLeavesNothingInAFreshFolder) {  // CONTRACT FA-11
  TwoJobs jobs;
  World& world = jobs.world;
  jobs.add("a", "chief of a", task_of("chief"));
  world.at(5s, [&world] { world.start_second("chief of a", "/shared/b"); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief of a"), 0) << world.report();
  EXPECT_EQ(world.exit_status("chief of a elsewhere"), 1) << world.report();
  EXPECT_TRUE(files_in(world, "/shared/b").empty());
}

/// What a chief holds while it builds its model, it holds until it trains: another chief that comes meanwhile is refused,
/// however long that takes.
TEST(TwoJobs, AChiefThatStillBuildsItsModelHasItsServersAlready) {
  TwoJobs jobs({.work = 50ms});
  World& world = jobs.world;
  RunConfigOptions config = TwoJobs::config("/shared/a");
  config.ready_timeout_secs = 20;
  world.add_task(
      "slow chief", task_of("chief"),
      [&world](RunConfig own) {
        Estimator estimator(
            [&world](const Features& features, const Labels& labels, Mode mode, const Params& params, const RunConfig& at) {
              if (mode == Mode::kTrain) world.spend("slow chief", 60s);
              return small_model(features, labels, mode, params, at);
            },
            std::move(own));
        train_and_evaluate(estimator, {.input_fn = training_data, .max_steps = 40}, {.input_fn = test_data});
      },
      config);
  world.at(40s, [&world] { world.start_second("slow chief", "/shared/b"); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("slow chief"), 0) << world.report();
  EXPECT_EQ(world.exit_status("slow chief elsewhere"), 1) << world.report();
  EXPECT_TRUE(files_in(world, "/shared/b").empty());
}

TEST(TwoJobs, StartsOfOtherNamesAreRefusedBeforeAnyModel) {
  TwoJobs jobs;
  World& world = jobs.world;
  jobs.add("a", "chief of a", task_of("chief"));
  jobs.add("a", "worker of b", task_of("worker"));
  world.set_shoal_run("ps", "night a");
  world.set_shoal_run("chief of a", "night a");
  world.set_shoal_run("worker of b", "night b");
  world.start_late("chief of a", 5s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("worker of b"), 2) << world.report();
  EXPECT_THAT(world.outcome("worker of b").error().message(),
              AllOf(HasSubstr("two jobs at one address"), HasSubstr("night a"), HasSubstr("night b")));
  EXPECT_EQ(world.exit_status("chief of a"), 0) << world.report();
}

TEST(TwoJobs, AStartWithoutANameBesideOneWithIsOfTheSameJob) {
  TwoJobs jobs;
  World& world = jobs.world;
  jobs.add("a", "chief of a", task_of("chief"));
  jobs.add("a", "worker of a", task_of("worker"));
  world.set_shoal_run("ps", "night a");
  ASSERT_TRUE(world.run()) << world.report();
  for (const char* task : {"chief of a", "worker of a", "ps"}) EXPECT_EQ(world.exit_status(task), 0) << world.report();
}

}  // namespace
}  // namespace shoal::testing
