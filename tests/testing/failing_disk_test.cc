// SPDX-License-Identifier: Apache-2.0
// A disk that fails one write in twenty for an hour: with a spare folder on another disk, and tasks that are started again, as a launcher
// does it, nothing is lost.
#include <map>
#include <utility>

#include "fixture.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSteps = 900;

struct Ended {
  std::map<std::string, std::vector<uint64_t>> checksums;  // Of the last checkpoint's tensors, by name.
  Duration took{};
  int64_t failed_writes = 0;
  int starts_again = 0;
  size_t spared = 0, restored = 0;  // Checkpoints in the spare folder, and starts from there.
};

/// Where the disk fails, everything is killed each fifth time that a checkpoint did not fit. A step takes a second or more, and a checkpoint follows each fifth.
void train(bool failing, Ended& ended) {
  World world({.seed = 5, .work = 1s, .work_jitter = {}});
  RunConfigOptions config = every_steps(5);
  config.spare_dir = "/spare";  // It is on the chief's own disk, and model_dir on the shared one.
  config.update_strategy = {.kind = UpdateStrategyKind::kSync};
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = kSteps}, config);
  if (failing) world.shared().set_faults({.seed = 11, .full = 0.05, .full_writes_max = 1});
  const auto spared = [&] { return world.count_log("and this one is written to the spare folder /spare/run-"); };
  size_t struck = 0;
  bool all_fine = false;
  while (!all_fine && world.elapsed() < 4h) {
    world.run_for(10s);
    if (spared() % 5 == 1 && std::exchange(struck, spared()) != spared()) {
      for (const std::string& task : world.tasks())
        world.kill(task);  // The newest checkpoint is in the spare folder alone.
    }
    all_fine = true;
    for (const std::string& task : world.tasks()) {
      if (world.running(task)) {
        all_fine = false;
      } else if (world.killed(task) || world.exit_status(task) != 0) {
        all_fine = false;
        ++ended.starts_again;
        world.start(task);
      }
    }
  }
  ASSERT_TRUE(all_fine) << world.report();
  ended.took = world.elapsed();
  ended.failed_writes = world.shared().fault_counts().full;
  ended.spared = spared();
  ended.restored = world.count_log("training goes on from the spare folder");
  world.shared().set_faults({});
  const auto reader = checkpoint::Reader::open(world.shared(), "/shared/model/model.ckpt-" + std::to_string(kSteps));
  ASSERT_TRUE(reader) << reader.error().message() << "\n" << world.report();
  ASSERT_TRUE((*reader)->verify());
  for (const checkpoint::TensorEntry& tensor : (*reader)->manifest().tensors) {
    for (const checkpoint::Piece& piece : tensor.pieces) ended.checksums[tensor.name].push_back(piece.checksum);
  }
}

TEST(FailingDisk, OneWriteInTwentyForAnHourLosesNothing) {
  Ended undisturbed, disturbed;
  train(false, undisturbed);
  train(true, disturbed);
  EXPECT_GE(disturbed.took, 1h);
  EXPECT_GE(disturbed.failed_writes, 20);
  EXPECT_GE(disturbed.spared, 5u);
  EXPECT_GE(disturbed.restored, 3u);
  EXPECT_EQ(undisturbed.spared, 0u);
  EXPECT_FALSE(undisturbed.checksums.empty());
  EXPECT_EQ(disturbed.checksums, undisturbed.checksums)
      << "every batch counts once, however often a task was started again (" << disturbed.starts_again << " times)";
}

}  // namespace
}  // namespace shoal::testing
