// SPDX-License-Identifier: Apache-2.0
// Which checkpoints stay for good when they leave the list (CONTRACT CK-12).
#include "shoal/checkpoint/hours_rule.h"

#include "fixture.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using namespace std::chrono_literals;
using shoal::testing::SimulatedDisk;
using ::testing::ElementsAre;
using testing::save;

constexpr SteadyTime kStart{1000h};

TEST(HoursRule, KeepsWhatWasSavedAfterTheLimitAndMovesTheLimitOn) {
  HoursRule rule(kStart, 2);
  rule.saved("a", kStart);
  rule.saved("b", kStart + 2h);  // It was saved at the limit, not after it.
  rule.saved("c", kStart + 2h + 1ns);
  rule.saved("d", kStart + 4h);  // The limit has come to the same time by now.
  rule.saved("e", kStart + 9h);
  rule.saved("f", kStart + 9h + 1min);  // The limit moves by n hours, however late it is: here from 6 h to 8 h.
  rule.saved("g", kStart + 9h + 2min);
  std::string kept;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    if (rule.keeps(name)) kept += name;
  }
  EXPECT_EQ(kept, "cefg");
  EXPECT_FALSE(rule.keeps("e"));  // It has left the list before.
}

TEST(HoursRule, TheSaveThatCountsIsTheLastOfAStep) {
  HoursRule rule(kStart, 1);
  rule.saved("a", kStart);
  rule.saved("a", kStart + 90min);
  EXPECT_TRUE(rule.keeps("a"));
}

TEST(HoursRule, ACheckpointOfAnEarlierRunWasSavedBeforeThisOneStarted) {
  HoursRule rule(kStart, 0.001);
  EXPECT_FALSE(rule.keeps("model.ckpt-5"));
}

TEST(HoursRule, KeepsNoneWithoutHoursOrWithEndlessOnes) {
  for (const std::optional<double> hours : {std::optional<double>(), std::optional(1e300)}) {
    HoursRule rule(kStart, hours);
    rule.saved("a", kStart + 50 * 365 * 24h);
    EXPECT_FALSE(rule.keeps("a"));
  }
}

TEST(HoursRule, TheWriterLeavesTheFilesOfWhatIsKept) {
  SimulatedDisk disk;
  std::vector<std::string> asked, kept;
  for (int64_t step : {0, 5, 10, 15}) {
    CommitOptions options{.keep_max = 2};
    options.keeps_for_good = [&](const std::string& name) {
      asked.push_back(name);
      return name == "model.ckpt-0";
    };
    const auto saved = save(disk, "m", step, float(step), std::move(options));
    ASSERT_OK(saved);
    kept.insert(kept.end(), saved->kept.begin(), saved->kept.end());
    EXPECT_LE(saved->retained.size(), 2u);
  }
  EXPECT_THAT(asked, ElementsAre("model.ckpt-0", "model.ckpt-5"));
  EXPECT_THAT(kept, ElementsAre("model.ckpt-0"));
  EXPECT_OK(verify(disk, "m/model.ckpt-0"));
  EXPECT_FALSE(disk.exists("m/model.ckpt-5.index"));
  EXPECT_THAT((*read_pointer(disk, "m"))->retained, ElementsAre("model.ckpt-10", "model.ckpt-15"));
}

}  // namespace
}  // namespace shoal::checkpoint
