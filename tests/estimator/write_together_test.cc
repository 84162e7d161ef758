// SPDX-License-Identifier: Apache-2.0
#include "evaluate/write_together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<WholeFile> kFiles{{"/m/new/c/model.h", "header"}, {"/m/new/c/model.cc", "source"}};

struct WriteTogether : ::testing::TestWithParam<Fault> {
  std::unique_ptr<SimulatedDisk> disk() { return std::make_unique<SimulatedDisk>(SimulatedDiskOptions{.folders = {"/m"}}); }
};

TEST_P(WriteTogether, AnErrorLeavesNeitherFilesNorFolders) {
  const auto undisturbed = disk();
  ASSERT_TRUE(write_together_in(*undisturbed, "/m/new/c", kFiles));
  EXPECT_THAT(undisturbed->paths(), ElementsAre("m/new/c/model.cc", "m/new/c/model.h"));
  ASSERT_GT(undisturbed->calls(), 10);
  for (int64_t call = 0; call < undisturbed->calls(); ++call) {
    const auto failing = disk();
    failing->arm(GetParam(), call);
    const Result<void> written = write_together_in(*failing, "/m/new/c", kFiles);
    failing->disarm();
    if (written) {  // A disk that is full still gives names.
      EXPECT_EQ(GetParam(), Fault::kDiskFull) << call;
      EXPECT_EQ(failing->paths(), undisturbed->paths()) << call;
    } else {
      EXPECT_THAT(failing->paths(), IsEmpty()) << call;
      EXPECT_FALSE(failing->exists("/m/new")) << call;
      EXPECT_TRUE(failing->exists("/m")) << call;
    }
  }
}

TEST_P(WriteTogether, AnErrorWhileFilesAreWrittenKeepsThoseOfBefore) {
  const auto failing = disk();
  ASSERT_TRUE(write_together_in(*failing, "/m/new/c", {{"/m/new/c/model.h", "old"}, {"/m/new/c/other", "other"}}));
  const std::vector<std::string> before = failing->paths();
  failing->arm(GetParam(), 4);  // The calls before are the sync of a folder, and three for the first temporary file.
  EXPECT_FALSE(write_together_in(*failing, "/m/new/c", kFiles));
  EXPECT_EQ(failing->paths(), before);
  EXPECT_EQ(failing->contents("m/new/c/model.h"), "old");
}

/// A disk that requests a stop when the first bytes are written, and counts the appends.
class StoppingDisk final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  StopSource stop;
  int appends = 0;

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    SHOAL_TRY(auto file, disk_->create(path));
    return std::unique_ptr<WritableFile>(std::make_unique<StoppingFile>(std::move(file), *this));
  }

 private:
  class StoppingFile final : public WritableFile {
   public:
    StoppingFile(std::unique_ptr<WritableFile> file, StoppingDisk& disk) : file_(std::move(file)), disk_(disk) {}
    Result<void> append(std::span<const std::byte> bytes) override {
      ++disk_.appends;
      disk_.stop.request_stop();
      return file_->append(bytes);
    }
    Result<void> flush() override { return file_->flush(); }
    Result<void> sync() override { return file_->sync(); }
    Result<void> close() override { return file_->close(); }

   private:
    std::unique_ptr<WritableFile> file_;
    StoppingDisk& disk_;
  };
};

TEST(WriteTogetherInterrupted, AStopEndsTheCallBetweenBlocksAndLeavesNothing) {
  const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.folders = {"/m"}});
  StoppingDisk stopping(disk);
  const std::string large(size_t(5) << 20, 'x');
  const Result<void> written = write_together_in(stopping, "/m/new", {{"/m/new/a", large}}, stopping.stop.token());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), Error(ErrorKind::kCancelled, "/m/new/a: interrupted, so nothing was written"));
  EXPECT_EQ(stopping.appends, 1);
  EXPECT_THAT(disk->paths(), IsEmpty());
  EXPECT_FALSE(disk->exists("/m/new"));
  // A stop of before ends the call before it makes a file.
  EXPECT_FALSE(write_together(stopping, {{"/m/a", large}}, stopping.stop.token()));
  EXPECT_EQ(stopping.appends, 1);
}

INSTANTIATE_TEST_SUITE_P(Faults, WriteTogether,
                         ::testing::Values(Fault::kError, Fault::kErrorAfterEffect, Fault::kDiskFull),
                         [](const auto& parameter) {
                           switch (parameter.param) {
                             case Fault::kError: return "Error";
                             case Fault::kErrorAfterEffect: return "ErrorAfterEffect";
                             default: return "DiskFull";
                           }
                         });

}  // namespace
}  // namespace shoal::testing
