// SPDX-License-Identifier: Apache-2.0
// A new model_dir survives a power loss: the folder above it is synced before anything is written.
#include <vector>

#include "fixture.h"
#include "shoal/base/virtual.h"
#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/simulated_disk.h"
#include "train/train_task.h"

namespace shoal::testing {
namespace {

/// Records the order of the calls on which a new folder depends.
class RecordingDisk final : public ForwardingStorage {
 public:
  RecordingDisk() : ForwardingStorage(std::make_shared<SimulatedDisk>()) {}

  std::vector<std::string> calls;

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    calls.push_back("create " + path);
    return disk_->create(path);
  }
  Result<void> make_folders(const std::string& path) override {
    calls.push_back("make " + path);
    return disk_->make_folders(path);
  }
  Result<void> sync_folder(const std::string& path) override {
    calls.push_back("sync " + path);
    return disk_->sync_folder(path);
  }
};

TEST(NewFolder, IsOnDiskBeforeAnythingInItIs) {
  const auto disk = std::make_shared<RecordingDisk>();
  VirtualWorld world;
  Environment& env = world.add_task({.task = "local", .storage = disk});
  const Estimator estimator(counting_model, RunConfig({.model_dir = "/jobs/mnist/m", .save_summary_steps = 0}));
  const InputFn input = [](const InputContext&) { return endless(); };
  const auto trained = env.run(train_task(env, {.estimator = estimator, .input_fn = input, .max_steps = 2}));
  ASSERT_TRUE(trained) << trained.error().message();
  ASSERT_GE(disk->calls.size(), 5u);
  disk->calls.resize(5);
  EXPECT_THAT(disk->calls, ::testing::ElementsAre("make /jobs/mnist/m", "sync /", "sync /jobs", "sync /jobs/mnist",
                                                  ::testing::StartsWith("create /jobs/mnist/m/")));
}

}  // namespace
}  // namespace shoal::testing
