// SPDX-License-Identifier: Apache-2.0
// Several writers in one folder, as hosts that share it are; and what killed ones leave there.
#include "fixture.h"
#include "timed_disk.h"

namespace shoal::checkpoint {
namespace {

using namespace std::chrono_literals;
using testing::save;
using testing::SimulatedDisk;
using testing::TimedDisk;

/// A save in its steps.
struct SaveInSteps {
  SaveInSteps(Storage& storage, const std::string& folder, int64_t step, float value)
      : writer(std::move(Writer::begin(storage, folder, step)).value()),
        weights(Tensor::of<float>({3, 2}, std::vector<float>(6, value))) {}
  Result<void> write() {
    const std::vector<Writer::NamedTensor> tensors{{"w", weights.view()}, {"w/m", weights.view(), "w"}};
    return writer->add_tensors(tensors);
  }
  Result<Saved> commit() { return writer->commit({}, {}); }

  std::unique_ptr<Writer> writer;
  Tensor weights;
};

TEST(Writers, OfTwoHostsNeverWriteTheSameTemporaryFile) {
  const TemporaryFolder folder;
  const auto here = make_file_storage(), there = make_file_storage();
  SaveInSteps a(*here, folder / "m", 200, 1), b(*there, folder / "m", 200, 2);
  ASSERT_OK(a.write());
  ASSERT_OK(b.write());
  for (SaveInSteps* each : {&a, &b}) {  // Each is whole while it is the newest.
    ASSERT_OK(each->commit());
    ASSERT_OK(verify(*here, folder / "m/model.ckpt-200"));
    EXPECT_EQ(*testing::saved_value(**Reader::open(*here, folder / "m/model.ckpt-200")), each->weights.as<float>()[0]);
  }
}

TEST(Writers, LeaveWhatALivingOneIsWriting) {
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  SaveInSteps slow(timed, "m", 5, 1);
  ASSERT_OK(slow.write());
  timed.now += 59min;
  ASSERT_OK(save(timed, "m", 10, 2));
  ASSERT_OK(save(timed, "m", 5, 3));  // It saves the same step.
  ASSERT_OK(slow.commit());
  EXPECT_OK(verify(timed, "m/model.ckpt-5"));
  EXPECT_EQ(*testing::saved_value(**latest_intact(timed, "m", {})), 1);
}

TEST(Writers, RemoveWhatAKilledOneLeftAnHourAgo) {
  const std::vector<std::string> unfinished{
      "m/checkpoint.tmp-8-2",
      "m/model.ckpt-5.data-00000-of-00001",  // Its writer was killed after the rename.
      "m/model.ckpt-7.data-00000.tmp",       // An older version of Shoal named it so.
      "m/model.ckpt-7.data-00000.tmp-8-0",
      "m/model.ckpt-7.index.tmp-8-1",
  };
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  for (const std::string& path : unfinished) ASSERT_OK(timed.create(path));
  timed.now += 1h - 1ns;
  ASSERT_OK(save(timed, "m", 10, 1));
  for (const std::string& path : unfinished) EXPECT_TRUE(disk.exists(path)) << path;
  timed.now += 1ns;
  ASSERT_OK(save(timed, "m", 20, 2));
  for (const std::string& path : unfinished) EXPECT_FALSE(disk.exists(path)) << path;
  EXPECT_OK(verify(timed, "m/model.ckpt-10"));
}

/// Checkpoint 5, listed; then 10, of which the save is killed before the list has it.
void save_and_be_killed_unlisted(SimulatedDisk& disk, TimedDisk& timed) {
  ASSERT_OK(save(timed, "m", 5, 1));
  const std::string list = disk.contents("m/checkpoint");
  for (int64_t call = 0; !disk.exists("m/model.ckpt-10.index"); ++call) {
    disk.arm(shoal::testing::Fault::kCrash, call);
    (void)save(timed, "m", 10, 2);
    disk.disarm();
  }
  ASSERT_EQ(disk.contents("m/checkpoint"), list);
}

TEST(Writers, CollectACheckpointThatAKillLeftUnlisted) {
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  save_and_be_killed_unlisted(disk, timed);
  timed.now += 59min;
  ASSERT_OK(save(timed, "m", 15, 3));
  EXPECT_OK(verify(timed, "m/model.ckpt-10"));  // Its writer may be alive.
  timed.now += 1min;
  ASSERT_OK(save(timed, "m", 20, 4));
  for (const std::string& path : disk.paths()) EXPECT_FALSE(path.starts_with("m/model.ckpt-10")) << path;
  EXPECT_THAT((*read_pointer(disk, "m"))->retained,
              ::testing::ElementsAre("model.ckpt-5", "model.ckpt-15", "model.ckpt-20"));
}

TEST(Writers, ListAnUnlistedCheckpointOnceItIsSavedAgain) {
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  save_and_be_killed_unlisted(disk, timed);
  ASSERT_OK(save(timed, "m", 10, 3));
  timed.now += 2h;
  ASSERT_OK(save(timed, "m", 15, 4));
  EXPECT_OK(verify(timed, "m/model.ckpt-10"));
  EXPECT_FALSE(disk.exists("m/model.ckpt-10.unlisted"));
}

TEST(Writers, CollectTheDataOfASecondSaveOfAStepThatWasKilled) {
  constexpr char kSecond[] = "m/model.ckpt-5.data-00000-of-00001.2";
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  ASSERT_OK(save(timed, "m", 5, 1));
  for (int64_t call = 0; !disk.exists(kSecond); ++call) {
    disk.arm(shoal::testing::Fault::kCrash, call);
    (void)save(timed, "m", 5, 2);
    disk.disarm();
  }
  ASSERT_OK(save(timed, "m", 10, 3));
  EXPECT_TRUE(disk.exists(kSecond));
  timed.now += 1h;
  ASSERT_OK(save(timed, "m", 15, 4));
  EXPECT_FALSE(disk.exists(kSecond));
  EXPECT_OK(verify(timed, "m/model.ckpt-5"));
}

TEST(Writers, NeverCollectWhatIsKeptForGoodOrWhatSomebodyPutThere) {
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  ASSERT_OK(save(timed, "m", 5, 1));
  ASSERT_OK(save(timed, "other", 7, 2));
  for (const std::string& path : disk.paths()) {  // Another job's checkpoint is put into the folder.
    if (!path.starts_with("other/model")) continue;
    ASSERT_OK(timed.rename(path, "m" + path.substr(5)));
  }
  for (const int64_t step : {10, 15, 20}) {
    ASSERT_OK(save(timed, "m", step, 3,
                   {.keep_max = 1, .keeps_for_good = [](const std::string& name) { return name == "model.ckpt-5"; }}));
    timed.now += 24h;
  }
  for (const char* name : {"m/model.ckpt-5", "m/model.ckpt-7", "m/model.ckpt-20"}) EXPECT_OK(verify(timed, name));
  for (const char* name : {"m/model.ckpt-10.index", "m/model.ckpt-15.index"}) EXPECT_FALSE(disk.exists(name)) << name;
}

TEST(Writers, CollectNothingUnlistedWhereThereIsNoList) {
  SimulatedDisk disk({.folders = {"m", "other"}});
  TimedDisk timed(disk, 100h);
  save_and_be_killed_unlisted(disk, timed);
  ASSERT_OK(disk.remove("m/checkpoint"));
  timed.now += 2h;
  ASSERT_OK(save(timed, "m", 15, 4));
  EXPECT_OK(verify(timed, "m/model.ckpt-10"));
}

}  // namespace
}  // namespace shoal::checkpoint
