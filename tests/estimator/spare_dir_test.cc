// SPDX-License-Identifier: Apache-2.0
// RunConfigOptions::spare_dir: the folder for checkpoints that cannot be written to model_dir.
#include <set>

#include "fixture.h"
#include "shoal/base/memory_storage.h"
#include "shoal/monitor/event_writer.h"
#include "shoal/testing/forwarding_storage.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file of a disk that may be full.
class FileOfFullDisk final : public WritableFile {
 public:
  FileOfFullDisk(std::unique_ptr<WritableFile> file, const bool& full) : file_(std::move(file)), full_(full) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    return full_ ? Result<void>(unavailable("No space left on device")) : file_->append(bytes);
  }
  Result<void> flush() override { return file_->flush(); }
  Result<void> sync() override { return file_->sync(); }
  Result<void> close() override { return file_->close(); }

 private:
  const std::unique_ptr<WritableFile> file_;
  const bool& full_;
};

/// A storage that refuses to create files of checkpoints in the folders that `full` names, as a full disk does.
class FullDisks final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    if (takes_nothing && path.starts_with("m/")) return unavailable("cannot write " + path + ": No space left on device");
    for (const std::string& folder : full) {
      if (refused < refusals_max && path.starts_with(folder + "/") && path.find("/model.ckpt-") != std::string::npos) {
        ++refused;
        return unavailable("cannot write " + path + ": No space left on device");
      }
    }
    SHOAL_TRY(auto file, disk_->create(path));
    if (!path.starts_with("m/")) return file;
    return std::unique_ptr<WritableFile>(new FileOfFullDisk(std::move(file), takes_nothing));
  }
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override {
    if (spare_takes_nothing && path.starts_with("spare/"))
      return unavailable("cannot write " + path + ": No space left on device");
    return ForwardingStorage::lock(path, note);
  }
  std::set<std::string> full{};
  bool spare_takes_nothing = false;  ///< True: no file of a lock can be made in the spare folder.
  bool takes_nothing = false;        ///< True: no file of model_dir can be created or takes a byte.
  int refused = 0;
  int refusals_max = 1000;
};

class SpareDir : public ::testing::Test {
 protected:
  Estimator estimator(std::optional<std::string> spare = "spare", std::string model_dir = "m") {
    return place_.estimator(linear_model, {.model_dir = std::move(model_dir),
                                           .spare_dir = std::move(spare),
                                           .save_checkpoints_steps = 2,
                                           .random_seed = 7,
                                           .storage = disks_});
  }
  /// Trains until `step`; model_dir's disk is full while the global step is in [from, to).
  void train(Estimator estimator, int64_t step, uint64_t from, uint64_t to) {
    disks_->full.erase("m");
    const auto fill = after_each_step([this, from, to](RunContext& run, const StepValues&) {
      if (run.global_step() >= from && run.global_step() < to) {
        disks_->full.insert("m");
      } else {
        disks_->full.erase("m");
      }
    });
    estimator.train([] { return line({1, 2, 3, 4}).repeat().batch(2); }, {.max_steps = step, .hooks = {fill}});
  }
  /// Trains until `step` with a disk that stays full, and returns the sentence of the error.
  std::string end_of(int64_t step) { return end_of(estimator(), step); }
  std::string end_of(Estimator estimator, int64_t step) {
    try {
      train(std::move(estimator), step, 3, 100);
    } catch (const Exception& exception) {
      EXPECT_EQ(exception.kind(), ErrorKind::kUnavailable);
      return exception.what();
    }
    return "it ended well";
  }
  std::vector<std::string> retained(const std::string& folder) {
    const auto list = value_or_raise(checkpoint::read_pointer(*disks_, folder));
    return list ? list->retained : std::vector<std::string>{};
  }
  /// The checkpoints of all runs in the spare folder.
  std::vector<std::string> spared() {
    std::vector<std::string> names;
    const auto runs = disks_->list("spare");
    if (!runs) return names;
    for (const FileInfo& run : *runs) {
      for (const std::string& name : retained("spare/" + run.name)) names.push_back(name);
    }
    return names;
  }

  /// The path of owner.json in the one folder of the spare folder.
  std::string owner_file() {
    const auto runs = value_or_raise(disks_->list("spare"));
    EXPECT_EQ(runs.size(), 1u);
    return "spare/" + runs.at(0).name + "/owner.json";
  }
  int goes_on() const { return place_.log.count('W', "training goes on from the spare folder"); }

  Place place_;
  std::shared_ptr<FullDisks> disks_ = std::make_shared<FullDisks>(make_memory_storage());
};

TEST_F(SpareDir, TrainingGoesOnAndTheNextCheckpointIsInItsPlace) {
  train(estimator(), 8, 3, 5);  // The checkpoint of step 4 does not fit.
  EXPECT_EQ(disks_->refused, 1);
  EXPECT_EQ(place_.log.count('W', "model.ckpt-4 was not saved"), 1);
  EXPECT_EQ(place_.log.count(
                'W', "No space left on device; training goes on, and this one is written to the spare folder spare/run-"),
            1);
  EXPECT_EQ(place_.log.count('I', "/model.ckpt-4 written at global step 4"), 1);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-6", "model.ckpt-8"));
  EXPECT_THAT(spared(), ElementsAre()) << "what is older than model_dir's is of no use";
}

TEST_F(SpareDir, TheLastCheckpointIsTriedOnceMoreAtTheEnd) {
  disks_->refusals_max = 1;
  train(estimator(), 4, 3, 100);  // The checkpoint of step 4, which is the last, is due, and does not fit at first.
  EXPECT_EQ(disks_->refused, 1);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-4"));
  EXPECT_THAT(spared(), ::testing::IsEmpty());
}

TEST_F(SpareDir, AStartGoesOnFromIt) {
  EXPECT_THAT(end_of(4), AllOf(HasSubstr("training has come to its end, but model_dir does not take the last checkpoint"),
                               HasSubstr("make room there and start again")));
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-4"));
  place_.log.clear();
  train(estimator(), 6, 100, 100);
  EXPECT_EQ(place_.log.count('W', "training goes on from the spare folder"), 1);
  EXPECT_EQ(place_.log.count('I', "/model.ckpt-4 at global step 4"), 1);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-4", "model.ckpt-6"));
  EXPECT_THAT(spared(), ElementsAre());
  // The same bits as without a full disk.
  Place undisturbed;
  auto whole = undisturbed.estimator(linear_model, {.save_checkpoints_steps = 2, .random_seed = 7});
  whole.train([] { return line({1, 2, 3, 4}).repeat().batch(2); }, {.max_steps = 4});
  whole.train([] { return line({1, 2, 3, 4}).repeat().batch(2); }, {.max_steps = 6});
  const auto loss = [](Estimator& of) { return of.evaluate([] { return line({5, 6}).batch(2); }).at("loss"); };
  auto again = estimator();
  EXPECT_EQ(loss(again), loss(whole));
}

TEST_F(SpareDir, ThatIsFullTooEndsTraining) {
  disks_->full.insert("spare");
  try {
    train(estimator(), 8, 3, 6);
    FAIL();
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(exception.what(), AllOf(HasSubstr("m/model.ckpt-4 was not saved"),
                                        HasSubstr("; and in the spare folder: checkpoint spare/run-")));
  }
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2"));
}

TEST_F(SpareDir, WithoutOneTrainingEnds) {
  EXPECT_THROW(train(estimator(std::nullopt), 8, 3, 6), Exception);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2"));
}

TEST_F(SpareDir, ACheckpointOfAnotherRunIsLeftAlone) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  ASSERT_TRUE(disks_->remove_all("m"));
  train(estimator(), 2, 100, 100);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-4")) << "it is all that is left of the run before";
}

TEST_F(SpareDir, HelpsWhereModelDirIsDamaged) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  disks_->full.clear();
  for (const FileInfo& file : value_or_raise(disks_->list("m"))) {
    if (file.name.find(".data-") == std::string::npos) continue;
    ASSERT_TRUE(disks_->write_atomically("m/" + file.name, "damage"));
  }
  train(estimator(), 6, 100, 100);
  EXPECT_EQ(place_.log.count('W', "training goes on from the spare folder"), 1);
}

/// The next evaluation is that of the first checkpoint in model_dir after the ones in the spare folder.
TEST_F(SpareDir, TrainAndEvaluateGoesOnWithoutAnEvaluation) {
  auto trained = estimator();
  const auto fill = after_each_step([this](RunContext& run, const StepValues&) {
    if (run.global_step() == 3) disks_->full.insert("m");
    if (run.global_step() == 5) disks_->full.erase("m");
  });
  train_and_evaluate(trained,
                     {.input_fn =
                          [] {
                            return line({1, 2, 3, 4}).repeat().batch(2);
                          },
                      .max_steps = 8,
                      .hooks = {fill}},
                     {.input_fn =
                          [] {
                            return line({5, 6}).batch(2);
                          },
                      .throttle_secs = 0,
                      .start_delay_secs = 0});
  EXPECT_EQ(place_.log.count('I', "/model.ckpt-4 is left out: it is in the spare folder"), 1);
  EXPECT_GE(place_.log.count('I', "global_step = 6"), 1);
  EXPECT_THAT(spared(), ElementsAre());
}

/// The disk takes no byte at all, and events and the description of the graph are on it as well.
TEST_F(SpareDir, EventsThatCannotBeWrittenAreDropped) {
  auto config = estimator().config().replace({.save_summary_steps = 1, .log_step_count_steps = 1});
  Estimator trained(linear_model, config);
  const auto fill = after_each_step([this](RunContext& run, const StepValues&) {
    disks_->takes_nothing = run.global_step() >= 3 && run.global_step() < 5;
    EXPECT_TRUE(run.summaries()->flush()) << "as it is done every ten seconds";
  });
  trained.train([] { return line({1, 2, 3, 4}).repeat().batch(2); }, {.max_steps = 8, .hooks = {fill}});
  EXPECT_EQ(place_.log.count('W', "events of the next minute are dropped, and the run continues"), 1);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-6", "model.ckpt-8"));
}

TEST_F(SpareDir, HelpsWhereTheNewestInModelDirIsDamaged) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  disks_->full.erase("m");
  for (const FileInfo& file : value_or_raise(disks_->list("m"))) {
    if (!file.name.starts_with("model.ckpt-2.data-")) continue;
    ASSERT_TRUE(disks_->write_atomically("m/" + file.name, "damage"));
  }
  train(estimator(), 6, 100, 100);
  EXPECT_EQ(goes_on(), 1) << "it goes on from model.ckpt-0, too";
}

TEST_F(SpareDir, IsNotForACopyOfTheFolder) {
  train(estimator(), 2, 100, 100);
  ASSERT_TRUE(copy_folder(*disks_, "m", *disks_, "copy"));
  EXPECT_THAT(end_of(6), HasSubstr("training has come to its end"));
  ASSERT_TRUE(copy_folder(*disks_, "m", *disks_, "late_copy"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-6"));
  for (const std::string copy : {"copy", "late_copy"}) {
    place_.log.clear();
    train(estimator("spare", copy), 8, 100, 100);
    EXPECT_EQ(goes_on(), 0) << copy;
    EXPECT_EQ(place_.log.count('W', "has a checkpoint of global step 6, newer than those of " + copy), 1);
    EXPECT_EQ(place_.log.count('W', "it belongs to /m, another folder of the same run"), 1);
    EXPECT_THAT(retained(copy),
                ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-4", "model.ckpt-6", "model.ckpt-8"));
    EXPECT_THAT(spared(), ElementsAre("model.ckpt-6")) << copy;
  }
  train(estimator(), 8, 100, 100);
  EXPECT_EQ(goes_on(), 1);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-6", "model.ckpt-8"));
  EXPECT_THAT(spared(), ElementsAre());
  EXPECT_FALSE(disks_->exists(owner_file()));
}

TEST_F(SpareDir, ACopyHasOneOfItsOwn) {
  train(estimator(), 2, 100, 100);
  ASSERT_TRUE(copy_folder(*disks_, "m", *disks_, "copy"));
  EXPECT_THAT(end_of(6), HasSubstr("training has come to its end"));
  disks_->full.insert("copy");
  EXPECT_THAT(end_of(estimator("spare", "copy"), 4), HasSubstr("training has come to its end"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-6", "model.ckpt-4"));
  disks_->full.clear();
  train(estimator("spare", "copy"), 6, 100, 100);
  EXPECT_EQ(goes_on(), 1);
  EXPECT_THAT(retained("copy"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-4", "model.ckpt-6"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-6"));
  train(estimator(), 8, 100, 100);
  EXPECT_EQ(goes_on(), 2);
  EXPECT_THAT(spared(), ElementsAre());
}

TEST_F(SpareDir, IsFoundByAFolderThatWasMoved) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  ASSERT_TRUE(disks_->rename("m", "moved"));
  train(estimator("spare", "moved"), 6, 100, 100);
  EXPECT_EQ(goes_on(), 1);
  EXPECT_THAT(retained("moved"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-4", "model.ckpt-6"));
  EXPECT_THAT(spared(), ElementsAre());
}

/// Its disk may be away for a while, so that its path does not exist.
TEST_F(SpareDir, OfAFolderThatIsAwayIsNotForACopyThatNeedsNothingOfIt) {
  EXPECT_THAT(end_of(6), HasSubstr("training has come to its end"));
  ASSERT_TRUE(copy_folder(*disks_, "m", *disks_, "copy"));
  ASSERT_TRUE(disks_->rename("m", "away"));
  train(estimator(std::nullopt, "copy"), 8, 100, 100);
  train(estimator("spare", "copy"), 10, 100, 100);
  EXPECT_EQ(goes_on(), 0);
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-6"));
  ASSERT_TRUE(disks_->rename("away", "m"));
  train(estimator(), 8, 100, 100);
  EXPECT_EQ(goes_on(), 1);
}

TEST_F(SpareDir, ThatIsFullTooCollectsNoEmptyFolders) {
  disks_->spare_takes_nothing = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(end_of(4 + i), HasSubstr("No space left on device"));
    EXPECT_LE(value_or_raise(disks_->list("spare")).size(), 2u);
  }
}

TEST_F(SpareDir, IsFoundByAFolderWhosePlaceAnotherRunHas) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  ASSERT_TRUE(disks_->rename("m", "moved"));
  train(estimator(), 2, 100, 100);
  train(estimator("spare", "moved"), 6, 100, 100);
  EXPECT_EQ(goes_on(), 1);
}

TEST_F(SpareDir, ANewerBranchGoesOnByItself) {
  EXPECT_THAT(end_of(6), HasSubstr("training has come to its end"));
  train(estimator(std::nullopt), 4, 100, 100);
  place_.log.clear();
  train(estimator(), 8, 100, 100);
  EXPECT_EQ(goes_on(), 0);
  EXPECT_EQ(place_.log.count('W', "it does not go on from m/model.ckpt-4"), 1);
  EXPECT_EQ(place_.log.count('I', "restored from checkpoint m/model.ckpt-4"), 1);
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-6"));
}

TEST_F(SpareDir, ANewerBranchHasAFolderOfItsOwn) {
  EXPECT_THAT(end_of(8), HasSubstr("training has come to its end"));
  train(estimator(std::nullopt), 4, 100, 100);
  EXPECT_THAT(end_of(6), HasSubstr("training has come to its end"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-8", "model.ckpt-6"));
  train(estimator(), 7, 100, 100);
  EXPECT_EQ(goes_on(), 1);
  EXPECT_EQ(place_.log.count('I', "/model.ckpt-6 at global step 6"), 1);
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-8"));
}

TEST_F(SpareDir, WithADamagedOwnerFileStaysAsItIs) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  const std::string owner = owner_file();
  ASSERT_TRUE(disks_->write_atomically(owner, "{\"version\":1}"));
  train(estimator(), 6, 100, 100);
  EXPECT_EQ(goes_on(), 0);
  EXPECT_EQ(place_.log.count('W', owner + ": "), 1);
  EXPECT_THAT(retained("m"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-4", "model.ckpt-6"));
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-4"));
}

TEST_F(SpareDir, OfAnOlderVersionHasNoOwnerFile) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  ASSERT_TRUE(disks_->remove(owner_file()));
  train(estimator(), 6, 100, 100);
  EXPECT_EQ(goes_on(), 1);
  EXPECT_THAT(spared(), ElementsAre());
}

TEST_F(SpareDir, IsUsedByOneProcessAtATime) {
  EXPECT_THAT(end_of(4), HasSubstr("training has come to its end"));
  const std::string folder = owner_file().substr(0, owner_file().rfind('/'));
  auto lock = value_or_raise(disks_->lock(folder + "/spare_lock", "somebody"));
  EXPECT_THAT(end_of(6), AllOf(HasSubstr("the newest checkpoint of m is in the spare folder " + folder),
                               HasSubstr("which cannot be locked"), HasSubstr("somebody")));
  ASSERT_TRUE(disks_->rename("m", "moved"));
  train(estimator("spare", "moved"), 3, 100, 100);
  EXPECT_EQ(goes_on(), 0);
  EXPECT_EQ(place_.log.count('W', "training goes on without it: " + folder + "/spare_lock is held by somebody"), 1);
  EXPECT_THAT(spared(), ElementsAre("model.ckpt-4"));
}

TEST_F(SpareDir, IsASecondFolder) {
  for (const char* folder : {"", "m"}) EXPECT_THROW(estimator(folder), Exception) << folder;
}

}  // namespace
}  // namespace shoal::testing
