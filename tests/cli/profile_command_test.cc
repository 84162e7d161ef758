// SPDX-License-Identifier: Apache-2.0
#include "small_export.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

using ProfileCommand = InFolderWithExport;

TEST_F(ProfileCommand, PrintsJsonOrATable) {
  const std::string path = exported();
  const std::string before = everything();
  const Output json =
      shoal_program({"profile", path, "--batch", "5", "--runs", "3", "--backend", "reference", "--threads", "1"});
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(json.json()["runs"], 3);
  EXPECT_EQ(json.json()["kernels"][0]["node"], "twice/dense");
  EXPECT_EQ(json.json()["kernels"][0]["flops"], 2.0 * 5 * 3 * 2);
  const Output table = shoal_program({"profile", path, "--runs", "3", "--backend", "reference", "--table"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("per run (median of 3)"));
  EXPECT_THAT(table.out, HasSubstr("twice"));
  EXPECT_EQ(everything(), before);
}

TEST_F(ProfileCommand, SaysWhatIsWrong) {
  const Output missing = shoal_program({"profile", folder + "/none"});
  EXPECT_NE(missing.status, 0);
  EXPECT_THAT(missing.err, HasSubstr(folder + "/none"));
  EXPECT_EQ(shoal_program({"profile"}).status, 2);
  EXPECT_EQ(shoal_program({"profile", folder, "--runs", "0"}).status, 2);
}

}  // namespace
}  // namespace shoal::cli
