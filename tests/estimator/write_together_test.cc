// SPDX-License-Identifier: Apache-2.0
#include "evaluate/write_together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
