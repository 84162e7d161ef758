// SPDX-License-Identifier: Apache-2.0
// A trainer that is through with its input waits for the end of the job, since what it did is durable only with the last
// checkpoint (CONTRACT JE-1).
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Tensors = std::map<std::string, std::string>;

constexpr const char* kEndedDir = "/shared/model";

/// Of the newest checkpoint: values by name, slots among them.
Tensors newest_tensors(World& world) {
  const auto prefix = value_or_raise(checkpoint::latest(world.shared(), kEndedDir));
  if (!prefix) return {};
  const auto reader = value_or_raise(checkpoint::Reader::open(world.shared(), *prefix));
  Tensors tensors;
  for (const auto& entry : reader->manifest().tensors) {
    const Tensor value = value_or_raise(reader->read_tensor(entry.name));
    tensors[entry.name].assign(reinterpret_cast<const char*>(value.view().data), value.bytes());
  }
  return tensors;
}

const checkpoint::Manifest newest_manifest(World& world) {
  const auto prefix = value_or_raise(checkpoint::latest(world.shared(), kEndedDir));
  return value_or_raise(checkpoint::Reader::open(world.shared(), *prefix))->manifest();
}

int64_t last_step(World& world) { return newest_manifest(world).global_step; }

/// The chief has 120 batches, worker 0 has 20, worker 1 has 100.
SmallJob uneven() { return {.max_steps = {}, .batches = {120, 20, 100}}; }

RunConfigOptions saves(int64_t steps, bool sync) {
  RunConfigOptions config = every_steps(steps);
  if (sync) config.update_strategy = {.kind = UpdateStrategyKind::kSync};
  return config;
}

/// What one process learns that computes for all three trainers.
const Tensors& tensors_of_replicas() {
  static const Tensors tensors = [] {
    World world({.seed = 1});
    RunConfigOptions config = every_steps(1000);
    config.model_dir = kEndedDir;
    config.runtime = RuntimeOptions{.threads = 1, .replicas = 3};
    world.add_process("alone", uneven(), config);
    EXPECT_TRUE(world.run()) << world.report();
    EXPECT_EQ(last_step(world), 120);
    return newest_tensors(world);
  }();
  return tensors;
}

/// A job of three trainers whose inputs end at different times, and which is as long as without faults, in the end.
class Ended : public ::testing::TestWithParam<bool> {
 protected:
  bool sync() const { return GetParam(); }
  void add_job(World& world, int servers = 1, int64_t save_steps = 1000, SmallJob job = uneven()) {
    RunConfigOptions config = saves(save_steps, sync());
    config.runtime = RuntimeOptions{.threads = 1};
    world.add_cluster("ps:" + std::to_string(servers) + ",worker:2", job, config);
  }
  void lose(World& world, const std::string& server, Duration away = 100ms) {
    world.kill(server);
    world.after(away, [&world, server] { world.start(server); });
  }
  void expect_whole(World& world) {
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
    EXPECT_EQ(last_step(world), sync() ? 120 : 240) << world.report();
    if (sync()) {
      EXPECT_EQ(newest_tensors(world), tensors_of_replicas()) << world.report();
    }
    EXPECT_EQ(world.count_log("has been away for"), 0u) << world.report();
    EXPECT_TRUE(world.leftovers().empty());
  }
};
INSTANTIATE_TEST_SUITE_P(Both, Ended, ::testing::Bool(), [](const auto& param) { return param.param ? "sync" : "async"; });

TEST_P(Ended, AServerThatIsLostAfterAWorkersEndCostsNoStep) {
  for (const int64_t save_steps : {1000, 60, 10}) {
    World world({.seed = 3, .work = 10ms});
    add_job(world, 1, save_steps);
    world.at_step(sync() ? 50 : 100, [&] { lose(world, "ps 0"); });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.count_log("chief 0: global step goes back from"), 1u) << world.report();
    EXPECT_LT(world.elapsed(), 30s) << "nobody waited for the grace\n" << world.report();
    expect_whole(world);
  }
}

TEST_P(Ended, AServerMayBeLostAtAnyMomentOfTheEnd) {
  for (int i = 0; i < 60; ++i) {
    World world({.seed = 4, .work = 5ms, .work_jitter = 0ms});
    add_job(world, 1, 60);
    world.at_step(sync() ? 118 : 236, [&, i] {
      world.after(i * 2ms, [&] {
        if (world.running("chief 0")) lose(world, "ps 0");  // Who starts it later starts it for nothing.
      });
    });
    world.run(40s);  // A server that is killed behind the announcement is started for nothing, and waits for longer.
    for (const char* const task : {"chief 0", "worker 0", "worker 1"}) {
      EXPECT_FALSE(world.running(task)) << "lost " << 2 * i << " ms later\n" << world.report();
      EXPECT_EQ(world.exit_status(task), 0) << world.report();
    }
    const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), kEndedDir));
    ASSERT_TRUE(mark) << world.report();
    EXPECT_EQ(last_step(world), sync() ? 120 : 240) << "lost " << 2 * i << " ms later\n" << world.report();
    if (sync()) {
      EXPECT_EQ(newest_tensors(world), tensors_of_replicas()) << "lost " << 2 * i << " ms later\n" << world.report();
    }
  }
}

TEST_P(Ended, EachOfTwoServersMayBeLostAtEachMoment) {
  for (const char* const server : {"ps 0", "ps 1"}) {
    for (const uint64_t step : {10, 19, 21, 60, 99, 101, 119}) {
      SCOPED_TRACE(std::string(server) + " at " + std::to_string(step));
      World world({.seed = 5});
      add_job(world, 2, 30);
      world.at_step(sync() ? step : 2 * step, [&] { lose(world, server); });
      ASSERT_TRUE(world.run()) << world.report();
      expect_whole(world);
    }
  }
}

TEST_P(Ended, AServerMayBeLostTwice) {
  World world({.seed = 6});
  add_job(world, 2, 1000);
  const uint64_t step = sync() ? 100 : 200;
  world.at_step(step, [&] { lose(world, "ps 0"); });
  world.at_step(step + 10, [&] { lose(world, "ps 1"); });
  world.after(3s, [&] {
    if (world.running("chief 0")) lose(world, "ps 0");
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_whole(world);
}

TEST_P(Ended, AChiefThatIsLostAfterTheWorkersEndComesBackToThem) {
  World world({.seed = 7, .work = 10ms});
  add_job(world, 2, 30);
  world.at_step(sync() ? 110 : 230, [&] {
    world.kill("chief 0");
    world.after(5s, [&] { world.start("chief 0"); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_GE(world.count_log("this worker is through (end_of_input)"), 2u) << world.report();
  expect_whole(world);
}

TEST_P(Ended, EverythingMayBeKilledAfterAWorkersEnd) {
  for (const uint64_t step : {45, 105}) {
    World world({.seed = 8, .work = 10ms});
    add_job(world, 2, 10);
    world.at_step(sync() ? step : 2 * step, [&] {
      for (const std::string& task : world.tasks()) {
        world.kill(task);
        world.after(task == "worker 0" ? 200s : 1s, [&world, task] { world.start(task); });  // Longer than the grace.
      }
    });
    world.run(150s);
    if (step == 45) {
      EXPECT_FALSE(world.running("ps 0")) << "nobody needs worker 0\n" << world.report();
    }
    ASSERT_TRUE(world.run()) << world.report();
    expect_whole(world);
  }
}

TEST_P(Ended, AWorkerThatIsKilledWhileItRestsTrainsNothingTwice) {
  World world({.seed = 9, .work = 10ms});
  add_job(world, 1, 30);
  world.at_step(sync() ? 60 : 120, [&] {
    world.kill("worker 0");
    world.after(1s, [&] { world.start("worker 0"); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_whole(world);
}

TEST_P(Ended, IsSavedBesideThePositions) {
  World world({.seed = 10, .work = 10ms});
  add_job(world, 2, 13);
  std::set<std::string> before, between;
  world.at_step(15, [&] { before = newest_manifest(world).info.ended; });
  world.at_step(sync() ? 80 : 160, [&] { between = newest_manifest(world).info.ended; });
  ASSERT_TRUE(world.run()) << world.report();
  using ::testing::ElementsAre;
  EXPECT_THAT(before, ElementsAre());
  EXPECT_THAT(between, ElementsAre("1"));
  EXPECT_THAT(newest_manifest(world).info.ended, ElementsAre("0", "1", "2"));
  expect_whole(world);
}

/// With another input positions mean nothing, and so does who had ended: all trainers train, and wait for each other.
TEST_P(Ended, MeansNothingWhereTheInputIsAnotherOne) {
  World world({.seed = 11});
  auto job = std::make_shared<SmallJob>(uneven());
  RunConfigOptions config = saves(10, sync());
  world.add_cluster(
      "ps:1,worker:2", [job](RunConfig run) { (*job)(std::move(run)); }, config);
  ASSERT_TRUE(world.run()) << world.report();
  const int64_t first = last_step(world);
  job->batches = {30, 30, 30};
  for (const std::string& task : world.tasks()) world.start(task);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(last_step(world) - first, sync() ? 30 : 90) << world.report();
}

class TellsEnd final : public Hook {
 public:
  explicit TellsEnd(std::function<void()> told) : told_(std::move(told)) {}
  void end(RunContext&) override { told_(); }

 private:
  std::function<void()> told_;
};

TEST_P(Ended, HooksOfWorkersHearOfTheEndWhenItIsAnnounced) {
  World world({.seed = 12});
  int before = 0, after = 0;
  SmallJob job = uneven();
  job.hooks = [&] {
    return std::vector<std::shared_ptr<Hook>>{std::make_shared<TellsEnd>(
        [&] { ++(world.shared().exists(std::string(kEndedDir) + "/training_finished") ? after : before); })};
  };
  add_job(world, 1, 1000, job);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(before, 1) << "the chief";
  EXPECT_EQ(after, 2) << "the workers";
  expect_whole(world);
}

TEST_P(Ended, AWorkerSaysForWhomItWaitsAndGivesUpWithoutAChief) {
  World world({.seed = 13, .work = 1s});
  RunConfigOptions config = saves(1000, sync());
  config.ready_timeout_secs = 600;
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = {}, .batches = {2000, 5}}, config);
  world.at(200s, [&] { world.kill("chief 0"); });
  world.run(15min);
  EXPECT_EQ(world.exit_status("worker 0"), 5) << world.report();
  EXPECT_GE(world.count_log("waiting for chief 0"), 3u) << world.report();
  EXPECT_LE(world.count_log("waiting for chief 0"), 14u) << world.report();
  EXPECT_THAT(world.outcome("worker 0").error().message(), HasSubstr("waiting for the chief to save the last checkpoint"));
}

TEST_P(Ended, AnInterruptOfAWorkerThatRestsEndsIt) {
  World world({.seed = 14, .work = 100ms});
  add_job(world, 1, 1000);
  world.at_step(sync() ? 50 : 100, [&] {
    EXPECT_TRUE(world.running("worker 0"));
    world.interrupt("worker 0");
    world.after(2s, [&] {
      EXPECT_FALSE(world.running("worker 0")) << world.report();
      EXPECT_EQ(world.exit_status("worker 0"), 0);
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_whole(world);
}

TEST_P(Ended, AConnectionThatBreaksMeansNothing) {
  World world({.seed = 15, .work = 100ms});
  add_job(world, 2, 1000);
  world.at_step(sync() ? 50 : 100, [&] {
    world.network().reset("worker 0", "ps 0");
    world.network().reset("worker 0", "ps 1");
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.count_log("goes back"), 0u) << world.report();
  expect_whole(world);
}

/// A hook that asked for a stop is not asked again: its trainer stays stopped where the job goes back.
class StopsTrainer final : public Hook {
 public:
  explicit StopsTrainer(std::shared_ptr<int> later) : later_(std::move(later)) {}
  void before_step(RunContext&, StepRequest&) override { *later_ += stopped_; }
  void after_step(RunContext& run, const StepValues&) override {
    if (run.is_chief() || run.iterations() < 15) return;
    run.request_stop();
    stopped_ = true;
  }

 private:
  std::shared_ptr<int> later_;
  bool stopped_ = false;
};

TEST_P(Ended, AWorkerThatItsHookStoppedStaysStopped) {
  World world({.seed = 16, .work = 10ms});
  const auto later = std::make_shared<int>(0);
  SmallJob job{.max_steps = {}, .batches = {60, 60, 60}};
  job.hooks = [later] { return std::vector<std::shared_ptr<Hook>>{std::make_shared<StopsTrainer>(later)}; };
  add_job(world, 1, 50, job);
  world.at_step(sync() ? 40 : 70, [&] {
    EXPECT_TRUE(world.running("worker 0"));
    lose(world, "ps 0");
  });
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  EXPECT_EQ(*later, 0) << "a step followed the one in which a stop was asked for";
  EXPECT_LT(world.elapsed(), 30s) << world.report();
}

TEST_P(Ended, AServerThatIsLostInTheLastSaveOfMaxStepsCostsNothing) {
  for (int i = 0; i < 20; ++i) {
    World world({.seed = 17, .work = 5ms, .work_jitter = 0ms});
    add_job(world, 2, 20, SmallJob{.max_steps = 50});
    world.at_step(50, [&, i] {
      world.after(i * 1ms, [&] {
        if (world.running("chief 0")) lose(world, "ps 1");
      });
    });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
    EXPECT_GE(last_step(world), 50) << world.report();
    EXPECT_LE(last_step(world), sync() ? 50 : 53) << world.report();
    EXPECT_LT(world.elapsed(), 30s) << world.report();
  }
}

}  // namespace
}  // namespace shoal::testing
