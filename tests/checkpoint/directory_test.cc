// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/directory.h"

#include "fixture.h"
#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using ::testing::ElementsAre;
using testing::fails_with;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::save;
using testing::saved_value;

std::string pointer_text(SimulatedDisk& disk) { return disk.contents("m/checkpoint"); }

std::vector<std::string> retained(SimulatedDisk& disk) {
  const auto pointer = read_pointer(disk, "m");
  return pointer && *pointer ? (*pointer)->retained : std::vector<std::string>{};
}

std::vector<std::string> indexes(SimulatedDisk& disk) {
  std::vector<std::string> names;
  for (const std::string& path : disk.paths()) {
    if (path.ends_with(".index")) names.push_back(path.substr(2, path.size() - 8));
  }
  return names;
}

void damage(SimulatedDisk& disk, const std::string& path) { disk.contents(path).back() ^= 1; }

TEST(PointerFile, NamesNewestAndRetainedOldestFirst) {
  SimulatedDisk disk;
  ASSERT_OK(save(disk, "m", 0, 1));
  ASSERT_OK(save(disk, "m", 5, 2));
  EXPECT_EQ(pointer_text(disk),
            "model_checkpoint_path: \"model.ckpt-5\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-0\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-5\"\n");
}

TEST(PointerFile, ReadsWhatOthersWrite) {
  const auto pointer = decode_pointer(
      "# by hand\r\n"
      "  model_checkpoint_path : \"model.ckpt-5\"  \r\n"
      "\n"
      "all_model_checkpoint_paths: \"model.ckpt-3\"\n"
      "all_model_checkpoint_timestamps: 1700000000.5\n"
      "last_preserved_timestamp: 1700000000.5");
  ASSERT_OK(pointer);
  EXPECT_EQ(pointer->newest, "model.ckpt-5");
  EXPECT_THAT(pointer->retained, ElementsAre("model.ckpt-3", "model.ckpt-5"));
}

TEST(PointerFile, RefusesWhatItCannotMean) {
  EXPECT_TRUE(fails_with(decode_pointer(""), ErrorKind::kDataLoss, "has no line model_checkpoint_path"));
  EXPECT_TRUE(fails_with(decode_pointer("hello"), ErrorKind::kDataLoss, "line 1 is not of the form"));
  EXPECT_TRUE(fails_with(decode_pointer("\nmodel_checkpoint_path: model.ckpt-5\n"), ErrorKind::kDataLoss,
                         "line 2 has no name in quotes"));
  EXPECT_TRUE(fails_with(decode_pointer("model_checkpoint_path: \""), ErrorKind::kDataLoss, "quotes"));
  EXPECT_TRUE(fails_with(decode_pointer("model_checkpoint_path: \"model.ckpt-1\"\nmodel_checkpoint_path: \"model.ckpt-2\""),
                         ErrorKind::kDataLoss, "line 2 is the second"));
  // Names that retention would delete outside of the folder.
  for (const char* name : {"/etc/passwd", "../model.ckpt-5", "model.ckpt-5/../../x", "model.ckpt-05", ""}) {
    EXPECT_TRUE(fails_with(decode_pointer("model_checkpoint_path: \"" + std::string(name) + "\""), ErrorKind::kDataLoss,
                           "which is not model.ckpt-<step>"))
        << name;
  }
}

TEST(Retention, KeepsTheNewestN) {
  SimulatedDisk disk;
  for (int64_t step : {0, 10, 20, 22}) ASSERT_OK(save(disk, "m", step, 1, {.keep_max = 2}));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-20", "model.ckpt-22"));
  EXPECT_THAT(indexes(disk), ElementsAre("model.ckpt-20", "model.ckpt-22"));
  EXPECT_EQ(disk.paths().size(), 5u);  // They are two files for each checkpoint, and `checkpoint`.
}

TEST(Retention, ZeroKeepsAll) {
  SimulatedDisk disk;
  for (int64_t step = 0; step < 12; ++step) ASSERT_OK(save(disk, "m", step, 1, {.keep_max = 0}));
  EXPECT_EQ(indexes(disk).size(), 12u);
  EXPECT_EQ((*read_pointer(disk, "m"))->newest, "model.ckpt-11");
}

TEST(Retention, FiveIsTheDefault) {
  SimulatedDisk disk;
  for (int64_t step = 0; step < 8; ++step) ASSERT_OK(save(disk, "m", step, 1));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-3", "model.ckpt-4", "model.ckpt-5", "model.ckpt-6", "model.ckpt-7"));
}

TEST(Retention, GoesOnInASecondRun) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5, 10}) ASSERT_OK(save(disk, "m", step, 1, {.keep_max = 3}));
  // A run that resumes at 10 writes 10 again.
  for (int64_t step : {10, 15}) ASSERT_OK(save(disk, "m", step, 2, {.keep_max = 3}));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-5", "model.ckpt-10", "model.ckpt-15"));
  // The indexes are sorted by the bytes of the name.
  EXPECT_THAT(indexes(disk), ElementsAre("model.ckpt-10", "model.ckpt-15", "model.ckpt-5"));
}

TEST(Retention, SameStepTwiceIsReplacedAndMovesToTheEnd) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5, 10}) ASSERT_OK(save(disk, "m", step, float(step)));
  const auto saved = save(disk, "m", 5, 55);
  ASSERT_OK(saved);
  EXPECT_THAT(saved->retained, ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-5"));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-5"));
  EXPECT_EQ((*read_pointer(disk, "m"))->newest, "model.ckpt-5");
  const auto reader = latest_intact(disk, "m", {});
  ASSERT_OK(reader);
  EXPECT_EQ(*saved_value(**reader), 55);
  EXPECT_EQ(disk.paths().size(), 7u);  // The replaced data is gone.
}

TEST(Retention, DropsEntriesWhoseFilesAreGone) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5, 10}) ASSERT_OK(save(disk, "m", step, 1));
  ASSERT_OK(disk.remove("m/model.ckpt-5.index"));
  ASSERT_OK(save(disk, "m", 15, 1));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-15"));
}

TEST(Retention, WaitsForPinnedOnes) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5}) ASSERT_OK(save(disk, "m", step, 1, {.keep_max = 2}));
  ASSERT_OK(save(disk, "m", 10, 1, {.keep_max = 2, .pinned = {"model.ckpt-0"}}));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-0", "model.ckpt-10"));
  ASSERT_OK(save(disk, "m", 15, 1, {.keep_max = 1, .pinned = {"model.ckpt-0", "model.ckpt-10"}}));
  EXPECT_THAT(retained(disk), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-15"));
  ASSERT_OK(save(disk, "m", 20, 1, {.keep_max = 1}));
  EXPECT_THAT(indexes(disk), ElementsAre("model.ckpt-20"));
}

TEST(Retention, LeavesForeignFilesAlone) {
  SimulatedDisk disk({.folders = {"m/model.ckpt-1"}});
  for (const char* name :
       {"m/model.ckpt-0x.data-1.tmp", "m/notes.tmp", "m/model.ckpt-1/keep", "m/graph.json", "m/training_finished"}) {
    ASSERT_OK(disk.create(name));
  }
  for (int64_t step : {0, 1, 2}) ASSERT_OK(save(disk, "m", step, 1, {.keep_max = 1}));
  EXPECT_EQ(disk.paths().size(), 5u + 3u);
}

TEST(Latest, IsNothingWithoutAnyCheckpoint) {
  SimulatedDisk disk;
  ASSERT_OK(latest(disk, "m"));
  EXPECT_EQ(*latest(disk, "m"), std::nullopt);
  EXPECT_EQ(*latest_intact(disk, "m", {}), nullptr);
  EXPECT_THAT(*list(disk, "m", Check::kChecksums), IsEmpty());
  const auto storage = make_file_storage();
  EXPECT_EQ(*latest(*storage, "/no/such/folder"), std::nullopt);
  ASSERT_OK(latest_intact(*storage, "/no/such/folder", {}));
  EXPECT_EQ(*latest_intact(*storage, "/no/such/folder", {}), nullptr);
}

TEST(Latest, IsWhatTheFileSaysNotTheLargestNumber) {
  SimulatedDisk disk;
  for (int64_t step : {20, 30, 7}) ASSERT_OK(save(disk, "m", step, float(step)));
  EXPECT_EQ(*latest(disk, "m"), "m/model.ckpt-7");
  EXPECT_EQ((*latest_intact(disk, "m", {}))->global_step(), 7);
}

TEST(Latest, MissingFilesAreAnErrorForEvaluation) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5}) ASSERT_OK(save(disk, "m", step, 1));
  ASSERT_OK(disk.remove("m/model.ckpt-5.data-00000-of-00001"));
  EXPECT_TRUE(fails_with(latest(disk, "m"), ErrorKind::kNotFound,
                         "m/model.ckpt-5: its index exists, but not its file model.ckpt-5.data-00000-of-00001"));
  ASSERT_OK(disk.remove("m/model.ckpt-5.index"));
  EXPECT_TRUE(fails_with(latest(disk, "m"), ErrorKind::kNotFound, "m/model.ckpt-5"));
}

/// Before the given one of the files that a reader opens, somebody else does something.
class Overtaken final : public shoal::testing::ForwardingStorage {
 public:
  Overtaken(std::shared_ptr<Storage> disk, int at, std::function<void(Storage&)> other)
      : ForwardingStorage(std::move(disk)), at_(at), other_(std::move(other)) {}
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (opened_++ == at_) other_(*disk_);
    return disk_->open(path);
  }
  int opened() const { return opened_; }

 private:
  const int at_;
  const std::function<void(Storage&)> other_;
  int opened_ = 0;
};

/// A task that trains saves step 6 and deletes step 5 before each of the files that is opened.
TEST(Latest, IsANewerOneIfItIsDeletedBeforeItIsOpened) {
  for (int at = 0;; ++at) {
    SCOPED_TRACE(at);
    const auto disk = std::make_shared<SimulatedDisk>();
    ASSERT_OK(save(*disk, "m", 5, 2, {.keep_max = 1}));
    Overtaken busy(disk, at, [](Storage& storage) { ASSERT_OK(save(storage, "m", 6, 3, {.keep_max = 1})); });
    const auto reader = open_latest(busy, "m");
    ASSERT_OK(reader);
    if (busy.opened() <= at) break;  // All of its files were overtaken once.
    EXPECT_EQ((*reader)->prefix(), "m/model.ckpt-6");
    EXPECT_EQ(saved_value(**reader).value_or(0), 3);
    EXPECT_EQ(*latest(busy, "m"), "m/model.ckpt-6");
  }
}

TEST(Reader, AStepThatIsSavedAgainMeanwhileIsReadAsOneOfTheTwo) {
  const auto again = [](Storage& disk) { ASSERT_OK(save(disk, "m", 5, 2)); };
  int overtaken = 0;
  for (int at = 0; at == overtaken; ++at) {
    SCOPED_TRACE("saved again before the file number " + std::to_string(at));
    const auto disk = std::make_shared<SimulatedDisk>();
    ASSERT_OK(save(*disk, "m", 5, 1));
    Overtaken storage(disk, at, again);
    ASSERT_OK(verify(storage, "m/model.ckpt-5"));
    const auto reader = Reader::open(storage, "m/model.ckpt-5");
    ASSERT_OK(reader);
    ASSERT_OK(saved_value(**reader));
    EXPECT_EQ(*saved_value(**reader), storage.opened() > at ? 2 : 1);
    overtaken += storage.opened() > at;
  }
  EXPECT_EQ(overtaken, 4);  // The index and the data are opened twice.
}

TEST(Reader, ACheckpointThatIsDeletedMeanwhileIsNotFound) {
  const auto disk = std::make_shared<SimulatedDisk>();
  ASSERT_OK(save(*disk, "m", 5, 1));
  Overtaken storage(disk, 1, [](Storage& other) { ASSERT_OK(save(other, "m", 6, 1, {.keep_max = 1})); });
  EXPECT_TRUE(fails_with(verify(storage, "m/model.ckpt-5"), ErrorKind::kNotFound, "m/model.ckpt-5"));
  EXPECT_EQ(storage.opened(), 3);  // It opened the index, the data, and the index again.
}

TEST(Latest, MissingFilesFallBackForTrainingWithAWarning) {
  for (const char* missing : {"m/model.ckpt-10.index", "m/model.ckpt-10.data-00000-of-00001"}) {
    SimulatedDisk disk;
    for (int64_t step : {0, 5, 10}) ASSERT_OK(save(disk, "m", step, float(step)));
    ASSERT_OK(disk.remove(missing));
    std::vector<std::string> warnings;
    const auto reader = latest_intact(disk, "m", [&](const std::string& sentence) { warnings.push_back(sentence); });
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->global_step(), 5);
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("checkpoint model.ckpt-10 is passed over")));
  }
}

TEST(Latest, DamageFallsBackForTrainingUntilAnIntactOne) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5, 10}) ASSERT_OK(save(disk, "m", step, float(step)));
  damage(disk, "m/model.ckpt-10.data-00000-of-00001");
  disk.contents("m/model.ckpt-5.index").resize(100);
  std::vector<std::string> warnings;
  const auto reader = latest_intact(disk, "m", [&](const std::string& sentence) { warnings.push_back(sentence); });
  ASSERT_OK(reader);
  EXPECT_EQ(*saved_value(**reader), 0);
  EXPECT_EQ(warnings.size(), 2u);
  damage(disk, "m/model.ckpt-0.data-00000-of-00001");
  EXPECT_TRUE(fails_with(latest_intact(disk, "m", {}), ErrorKind::kDataLoss, "none of them is intact"));
}

TEST(Latest, NeverStartsOverWhenOnlyThePointerIsLeft) {
  SimulatedDisk disk;
  ASSERT_OK(save(disk, "m", 5, 1));
  ASSERT_OK(disk.remove("m/model.ckpt-5.index"));
  ASSERT_OK(disk.remove("m/model.ckpt-5.data-00000-of-00001"));
  EXPECT_TRUE(fails_with(latest_intact(disk, "m", {}), ErrorKind::kDataLoss, "the folder has checkpoints"));
}

TEST(Latest, AMissingOrDamagedPointerFileFallsBackToWhatLiesThere) {
  for (const bool missing : {true, false}) {
    SimulatedDisk disk;
    for (int64_t step : {5, 10, 9}) ASSERT_OK(save(disk, "m", step, float(step)));
    if (missing) {
      ASSERT_OK(disk.remove("m/checkpoint"));
    } else {
      disk.contents("m/checkpoint") = "garbage";
      EXPECT_TRUE(fails_with(latest(disk, "m"), ErrorKind::kDataLoss, "m/checkpoint"));
    }
    std::vector<std::string> warnings;
    const auto reader = latest_intact(disk, "m", [&](const std::string& sentence) { warnings.push_back(sentence); });
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->global_step(), 10);
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("tried in the order of their steps")));
  }
}

TEST(Latest, ASaveReplacesAMissingOrDamagedPointerFileAndDeletesNothing) {
  for (const std::optional<std::string>& damage :
       std::vector<std::optional<std::string>>{{}, "", "garbage", "model_checkpoint_path: \"model.ckpt-1"}) {
    for (const int64_t step : {10, 11}) {  // The step that training resumes from is saved again, or a later one is.
      SimulatedDisk disk;
      for (const int64_t earlier : {5, 10}) ASSERT_OK(save(disk, "m", earlier, 1));
      if (damage) {
        disk.contents("m/checkpoint") = *damage;
      } else {
        ASSERT_OK(disk.remove("m/checkpoint"));
      }
      ASSERT_OK(save(disk, "m", step, 2, {.keep_max = 1})) << damage.value_or("missing");
      const auto newest = latest_intact(disk, "m", {});
      ASSERT_OK(newest);
      EXPECT_EQ((*newest)->global_step(), step);
      EXPECT_EQ(*saved_value(**newest), 2);
      for (const std::string older : {"m/model.ckpt-5", "m/model.ckpt-10"}) EXPECT_OK(verify(disk, older));
    }
  }
}

TEST(List, TellsStepsSizesTimesAndDamage) {
  SimulatedDisk disk;
  for (int64_t step : {0, 5, 10}) ASSERT_OK(save(disk, "m", step, 1));
  damage(disk, "m/model.ckpt-5.data-00000-of-00001");
  ASSERT_OK(disk.remove("m/model.ckpt-0.index"));
  const auto fast = list(disk, "m", Check::kLengths);
  ASSERT_OK(fast);
  EXPECT_FALSE((*fast)[1].damage);
  const auto full = list(disk, "m", Check::kChecksums);
  ASSERT_OK(full);
  ASSERT_EQ(full->size(), 3u);
  EXPECT_EQ((*full)[0].damage->kind(), ErrorKind::kNotFound);
  EXPECT_EQ((*full)[1].damage->kind(), ErrorKind::kDataLoss);
  EXPECT_FALSE((*full)[2].damage);
  EXPECT_TRUE((*full)[2].newest);
  EXPECT_EQ((*full)[2].global_step, 10);
  EXPECT_EQ((*full)[2].bytes,
            disk.contents("m/model.ckpt-10.index").size() + disk.contents("m/model.ckpt-10.data-00000-of-00001").size());
}

TEST(Directory, MayBeMoved) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::string before = folder.path() + "/before";
  const std::string after = folder.path() + "/after";
  for (int64_t step : {0, 5}) ASSERT_OK(save(*storage, before, step, float(step)));
  std::filesystem::rename(before, after);
  const auto reader = latest_intact(*storage, after, {});
  ASSERT_OK(reader);
  EXPECT_EQ(*saved_value(**reader), 5);
  ASSERT_OK(save(*storage, after, 10, 10, {.keep_max = 2}));
  EXPECT_EQ(std::filesystem::exists(after + "/model.ckpt-0.index"), false);
}

}  // namespace
}  // namespace shoal::checkpoint
