// SPDX-License-Identifier: Apache-2.0
// A model_dir that cannot be written when training starts (CONTRACT FA-7).
#include <cerrno>

#include "fixture.h"
#include "shoal/base/memory_storage.h"
#include "shoal/base/path_error.h"
#include "shoal/testing/forwarding_storage.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A disk on which calls that write fail with errno `number`, from call `first` on.
class UnwritableDisk final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return fails("create", path) ? path_error("create", path, number) : disk_->create(path);
  }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override {
    return fails("create", path) ? path_error("create", path, number) : disk_->append(path);
  }
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override {
    return fails("lock", path) ? path_error("lock", path, number) : disk_->lock(path, note);
  }
  Result<void> make_folders(const std::string& path) override {
    return fails("make", path) && !disk_->exists(path) ? path_error("make", path, number) : disk_->make_folders(path);
  }

  int number = 0;  ///< 0: nothing fails.
  int first = 0;
  std::string failed;  ///< The first call that failed.

 private:
  bool fails(const std::string& call, const std::string& path) {
    if (number == 0 || calls_++ < first) return false;
    if (failed.empty()) failed = call + " " + path.substr(0, path.find(".tmp-"));
    return true;
  }
  int calls_ = 0;
};

class UnwritableFolder : public ::testing::Test {
 protected:
  Estimator estimator() {
    return place_.estimator(counting_model, {.model_dir = "m", .save_summary_steps = 1, .storage = disk_});
  }
  /// The error that training ends with.
  Error trained() {
    Estimator made = estimator();
    Result<TrainAndEvaluateResult> result =
        try_train_and_evaluate(made, {.input_fn = endless, .max_steps = 3}, {.input_fn = [] { return losses({1}); }});
    return result ? failed_precondition("none") : result.error();
  }
  void new_disk() { disk_ = std::make_shared<UnwritableDisk>(make_memory_storage()); }

  Place place_;
  std::shared_ptr<UnwritableDisk> disk_ = std::make_shared<UnwritableDisk>(make_memory_storage());
};

TEST_F(UnwritableFolder, AtAStartIsAFailedPreconditionWhateverIsWrittenFirst) {
  for (const int number : {ENOSPC, EDQUOT, EROFS, EACCES, ENOTDIR}) {
    std::vector<std::string> failed;
    for (int first = 0;; ++first) {
      new_disk();
      disk_->number = number;
      disk_->first = first;
      const Error error = trained();
      SCOPED_TRACE(disk_->failed + ": " + error.message());
      // From here on the first checkpoint is written.
      if (disk_->exists("m/checkpoint")) break;
      if (error.message() == "none") continue;  // What failed can be done without, and was warned of.
      failed.push_back(disk_->failed);
      const ErrorKind kind = error.kind() == ErrorKind::kInvalidArgument ? ErrorKind::kFailedPrecondition : error.kind();
      EXPECT_EQ(to_string(kind), to_string(ErrorKind::kFailedPrecondition));
      EXPECT_EQ(exit_status(error.kind()), 2);
      EXPECT_THAT(error.message(), AllOf(HasSubstr("m"), ::testing::Not(HasSubstr("is in use"))));
    }
    EXPECT_THAT(failed, ::testing::IsSupersetOf({"make m", "lock m/training_lock", "create m/training_run"}));
    EXPECT_THAT(failed, ::testing::Contains(StartsWith("create m/model.ckpt-0")));
    EXPECT_THAT(failed, ::testing::Contains(StartsWith("create m/events")));
  }
}

TEST_F(UnwritableFolder, AFullDiskOfAJobUnderWayIsTriedAgain) {
  EXPECT_EQ(trained().message(), "none");
  disk_->number = ENOSPC;
  Estimator made = estimator();
  const Result<void> again = made.try_train(endless, {.steps = 3});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(again.error().message(), HasSubstr("free some space"));
}

TEST_F(UnwritableFolder, AnErrorThatMayPassIsTriedAgain) {
  disk_->number = EIO;
  for (int first : {1, 2}) {  // The lock, and the number of the start.
    disk_->first = first;
    EXPECT_EQ(trained().kind(), ErrorKind::kUnavailable);
  }
}

TEST_F(UnwritableFolder, AFinishedJobWhoseEndMarkIsLostNeedsAFolderThatCanBeWritten) {
  EXPECT_EQ(trained().message(), "none");
  ASSERT_TRUE(checkpoint::remove_end_mark(*disk_, "m"));
  disk_->number = EROFS;
  disk_->first = 2;  // A lock may also be had of a folder that cannot be written.
  const Error error = trained();
  EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("model_dir m cannot be written"), HasSubstr("the end mark"),
                                     HasSubstr("choose a folder that can be written")));
}

}  // namespace
}  // namespace shoal::testing
