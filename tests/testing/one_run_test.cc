// SPDX-License-Identifier: Apache-2.0
// One run at a time in a model_dir, and Estimator::train() as a task of a cluster.
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfigOptions in_shared_model() {
  RunConfigOptions config = every_steps(1000);
  config.model_dir = "/shared/model";
  return config;
}

TEST(ModelDir, ASecondLocalRunIsRefusedAtOnce) {  // CONTRACT FA-11
  World world({.work = 100ms});
  world.add_process("first", SmallJob{}, in_shared_model());
  world.add_process("second", SmallJob{}, in_shared_model());
  world.start_late("second", 3s);
  world.at(2s, [&world] { EXPECT_THAT(world.leftovers(), ElementsAre("somebody holds /shared/model/training_lock")); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_TRUE(world.leftovers().empty());
  EXPECT_EQ(world.exit_status("first"), 0) << world.report();
  ASSERT_EQ(world.exit_status("second"), 1) << world.report();
  EXPECT_THAT(world.outcome("second").error().message(), AllOf(HasSubstr("model_dir /shared/model is in use"),
                                                               HasSubstr("a local run on first (process 1000) since 20")));
}

TEST(ModelDir, ASecondChiefIsRefusedBeforeItWritesAnything) {
  World world({.work = 100ms});
  world.add_cluster("ps:1", SmallJob{}, every_steps(1000));
  world.add_task("another chief",
                 R"({"cluster": {"chief": ["chief-1:1"], "ps": ["ps-1:1"]}, "task": {"type": "chief", "index": 0}})",
                 SmallJob{}, every_steps(1000));
  world.start_late("another chief", 3s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  ASSERT_EQ(world.exit_status("another chief"), 1) << world.report();
  EXPECT_THAT(world.outcome("another chief").error().message(), HasSubstr("chief 0 on chief 0"));
}

TEST(ModelDir, ADeadOwnerDoesNotKeepIt) {
  World world({.work = 100ms});
  world.add_process("first", SmallJob{}, in_shared_model());
  world.add_process("second", SmallJob{}, in_shared_model());
  world.at(2s, [&world] { world.kill("first"); });
  world.start_late("second", 3s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("second"), 0) << world.report();
}

/// A disk on which the host of its task stands still for a minute, in the middle of its second save: when all data is written.
class StopsInASave final : public ForwardingStorage {
 public:
  StopsInASave(std::shared_ptr<Storage> disk, World* world, std::string task)
      : ForwardingStorage(std::move(disk)), world_(world), task_(std::move(task)) {}
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (to.find(".data-") != std::string::npos && ++saves_ == 2) {
      world_->freeze(task_);
      world_->after(60s, [world = world_, task = task_] { world->thaw(task); });
    }
    return ForwardingStorage::rename(from, to);
  }

 private:
  World* const world_;
  const std::string task_;
  int saves_ = 0;
};

/// A world in which the host of `task` stops in its second save.
struct WithAStop {
  explicit WithAStop(std::string task, bool locks = true) {
    WorldOptions options;
    options.work = 50ms;
    options.wrap_storage = [this, task = std::move(task), locks](const std::string& name, std::shared_ptr<Storage> disk) {
      if (!locks) disk = std::make_shared<HasNoLocks>(std::move(disk));
      return name == task ? std::make_shared<StopsInASave>(std::move(disk), world.get(), name) : std::move(disk);
    };
    world = std::make_unique<World>(std::move(options));
  }
  struct HasNoLocks final : ForwardingStorage {
    using ForwardingStorage::ForwardingStorage;
    Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view) override {
      return failed_precondition(path + ": no locks here");
    }
  };
  std::unique_ptr<World> world;
};

RunConfigOptions in_folder(const std::string& folder) {
  RunConfigOptions config = every_steps(20);
  config.model_dir = folder;
  return config;
}

/// Servers take a chief that is silent for three heartbeats for lost, and another may lead when it comes back.
TEST(Lease, AChiefThatServersTookForLostAsksBeforeItPublishes) {  // CONTRACT FA-11
  WithAStop with("chief 0");
  World& world = *with.world;
  world.add_cluster("ps:1", SmallJob{}, in_folder("/shared/model"));
  world.at(61s, [&world] { EXPECT_EQ(world.count_log("model.ckpt-20 written"), 0u); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.count_log("the peer has been silent"), 2u) << world.report();
  EXPECT_EQ(world.count_log("the servers still hold the model at global step 20"), 1u);
  // The checkpoint is written then, and not before the chief had asked.
  EXPECT_EQ(world.count_log("model.ckpt-20 written"), 1u) << world.report();
}

TEST(Lease, ALocalRunThatWasReplacedMeanwhilePublishesNothing) {  // No lock keeps the second from coming.
  WithAStop with("old", false);
  World& world = *with.world;
  world.add_process("old", SmallJob{}, in_folder("/shared/model"));
  world.add_process("new", SmallJob{}, in_folder("/shared/model"));
  world.start_late("new", 5s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("new"), 0) << world.report();
  EXPECT_EQ(world.exit_status("old"), 1) << world.report();
  EXPECT_THAT(world.outcome("old").error().message(),
              HasSubstr("run 2 has begun in model_dir /shared/model since this one (run 1) did"));
  EXPECT_EQ(checkpoint::read_pointer(world.shared(), "/shared/model")->value().newest, "model.ckpt-60") << world.report();
}

/// A hurried user starts a task twice, or two launchers do. The port of the first is taken.
TEST(StartedTwice, TheSecondGoesAndTheFirstGoesOn) {
  for (const char* const task : {"chief 0", "worker 0", "ps 0"}) {
    World world;
    world.add_cluster("ps:1,worker:1", SmallJob{}, every_steps(20));
    std::string second;
    world.at_step(20, [&] { second = world.start_second(task); });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status(second), 1) << world.report();
    EXPECT_THAT(world.outcome(second).error().message(), HasSubstr("another task listens there already")) << second;
    for (const char* const name : {"chief 0", "worker 0", "ps 0"}) EXPECT_EQ(world.exit_status(name), 0) << world.report();
    EXPECT_TRUE(world.leftovers().empty());
  }
}

TEST(StartedTwice, ItsHostIsThatOfTheFirst) {
  World world({.work = 100ms});
  world.add_process("first", SmallJob{}, in_shared_model());
  std::string second;
  world.at(1s, [&] {
    second = world.start_second("first");
    try {
      world.start_second("first");
      ADD_FAILURE() << "a third one was started while the second runs";
    } catch (const Exception& refused) {
      EXPECT_EQ(refused.kind(), ErrorKind::kFailedPrecondition);
    }
  });
  world.at(2s,
           [&] { EXPECT_THAT(world.outcome(second).error().message(), HasSubstr("a local run on first (process 1000)")); });
  world.at(3s, [&] { EXPECT_THROW(world.start_second("second"), Exception); });  // No task has that name.
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("first"), 0) << world.report();
}

TEST(EstimatorTrain, IsATaskOfItsCluster) {  // Its port, its checks and its end are those of a task.
  const Program trains = [](RunConfig config) {
    Estimator estimator(small_model, std::move(config));
    estimator.train(training_data, {.max_steps = 40});
  };
  World world;
  const std::string cluster =
      R"({"cluster": {"chief": ["chief-0:1"], "worker": ["worker-0:1"], "ps": ["ps-0:1"]}, "task": )";
  world.add_task("chief 0", cluster + R"({"type": "chief", "index": 0}})", trains, every_steps(20));
  world.add_task("worker 0", cluster + R"({"type": "worker", "index": 0}})", trains, every_steps(20));
  world.add_task("ps 0", cluster + R"({"type": "ps", "index": 0}})", SmallJob{.max_steps = {}}, every_steps(20));
  world.add_task("evaluator 0", cluster + R"({"type": "evaluator", "index": 0}})", SmallJob{.max_steps = {}},
                 every_steps(20));
  world.at_step(10, [&world] {  // A worker that comes late is told what went on, by the mark or by the servers.
    world.kill("worker 0");
    world.after(10s, [&world] { world.start("worker 0"); });
  });
  world.at_step(5, [&world] {
    for (const char* port : {"chief-0:1", "worker-0:1", "ps-0:1"}) {
      EXPECT_THAT(world.leftovers(), ::testing::Contains(HasSubstr(port))) << world.report();
    }
  });
  ASSERT_TRUE(world.run(10min)) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  EXPECT_TRUE(value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model")));
}

/// Two servers hold the model, which goes with them (CONTRACT EST-13).
TEST(EstimatorTrain, ExportsWhatServersHeldWithoutCheckpoints) {
  std::vector<std::string> predictions;
  for (const bool saves : {true, false}) {
    World world;
    const std::string cluster = R"({"cluster": {"chief": ["chief-0:1"], "ps": ["ps-0:1", "ps-1:1"]}, "task": )";
    RunConfigOptions config = every_steps(1000);
    if (!saves) {
      config.save_checkpoints_steps = std::nullopt;
      config.save_checkpoints_secs = 0;
    }
    const Program trains = [](RunConfig task) {
      Estimator estimator(small_model, std::move(task));
      estimator.train(training_data, {.max_steps = 40});
      estimator.export_model("/shared/exports", test_data);
    };
    world.add_task("chief 0", cluster + R"({"type": "chief", "index": 0}})", trains, config);
    for (const char* index : {"0", "1"}) {
      world.add_task(std::string("ps ") + index, cluster + R"({"type": "ps", "index": )" + index + "}}",
                     SmallJob{.max_steps = {}}, config);
    }
    ASSERT_TRUE(world.run(10min)) << world.report();
    for (const std::string& task : world.tasks()) ASSERT_EQ(world.exit_status(task), 0) << world.report();
    EXPECT_EQ(value_or_raise(checkpoint::latest(world.shared(), "/shared/model")).has_value(), saves);
    const auto exports = value_or_raise(world.shared().list("/shared/exports"));
    ASSERT_EQ(exports.size(), 1u);
    const auto model =
        load_exported_model(world.shared(), "/shared/exports/" + exports[0].name, {.threads = 1, .backend = "reference"});
    EXPECT_EQ(model->global_step(), 40);
    const Tensor logits = *model->predict(Tensor::of<float>({2, 2}, {0.5f, -1, 0.25f, 1})).find("logits");
    predictions.emplace_back(reinterpret_cast<const char*>(logits.view().data), logits.bytes());
  }
  EXPECT_EQ(predictions[0], predictions[1]);
}

TEST(EstimatorTrain, ChecksItsTaskFirst) {
  World world;
  world.add_task(
      "chief 0",
      R"({"cluster": {"chief": ["chief-0:1"], "worker": ["worker-0:1"]}, "task": {"type": "chief", "index": 0}})",
      [](RunConfig config) {
        Estimator estimator(small_model, std::move(config));
        estimator.train(training_data, {.max_steps = 40});
      },
      every_steps(20));
  ASSERT_TRUE(world.run(10min)) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 2) << world.report();  // There are workers without servers (CONTRACT CL-14).
  EXPECT_TRUE(world.shared().paths().empty());
}

}  // namespace
}  // namespace shoal::testing
