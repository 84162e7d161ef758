// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/run_count.h"

#include "fixture.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using testing::fails_with;

struct RunCount : ::testing::Test {
  SimulatedDisk disk{{.folders = {"m"}}};
  std::vector<std::string> warnings;
  WarningSink warn = [this](const std::string& sentence) { warnings.push_back(sentence); };

  Result<void> mark(int64_t run) { return write_end_mark(disk, "m", {.run = run, .global_step = 20, .wall_time = {}}); }
};

TEST_F(RunCount, EachRunHasTheNumberAfterTheOneBefore) {
  EXPECT_EQ(*newest_run(disk, "m", warn), 0);
  for (int64_t run = 1; run <= 3; ++run) {
    const Result<int64_t> begun = begin_run(disk, "m", warn);
    ASSERT_OK(begun);
    EXPECT_EQ(*begun, run);
    EXPECT_EQ(*newest_run(disk, "m", warn), run);
  }
  EXPECT_EQ(*disk.read_all("m/training_run"), "{\"run\":3}\n");
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RunCount, BeginningARunRemovesTheMark) {
  ASSERT_OK(mark(1));
  ASSERT_OK(begin_run(disk, "m", warn));
  EXPECT_EQ(*read_end_mark(disk, "m"), std::nullopt);
}

TEST_F(RunCount, TheMarkCountsWhereTheFileIsGone) {
  ASSERT_OK(mark(7));
  EXPECT_EQ(*newest_run(disk, "m", warn), 7);
  EXPECT_EQ(*begin_run(disk, "m", warn), 8);
}

TEST_F(RunCount, AMarkOfAnOlderVersionHasNoNumber) {
  ASSERT_OK(disk.write_atomically("m/training_finished",
                                  R"({"global_step":20,"checkpoint":"","reason":"max_steps","wall_time":1})"));
  EXPECT_EQ(*begin_run(disk, "m", warn), 1);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RunCount, DamageIsToldAndTheOtherOneCounts) {
  for (const std::string& text :
       {std::string("{"), std::string("{\"run\":-1}"), std::string("{\"run\":9223372036854775807}"), std::string("{}"),
        std::string(100'000, ' ')}) {
    warnings.clear();
    ASSERT_OK(mark(4));
    ASSERT_OK(disk.write_atomically("m/training_run", text));
    const Result<int64_t> begun = begin_run(disk, "m", warn);
    ASSERT_OK(begun);
    EXPECT_EQ(*begun, 5);
    ASSERT_EQ(warnings.size(), 1u) << text.substr(0, 100);
    EXPECT_NE(warnings[0].find("m/training_run"), std::string::npos) << warnings[0];
  }
  warnings.clear();
  ASSERT_OK(disk.write_atomically("m/training_finished", "nonsense"));
  EXPECT_EQ(*begin_run(disk, "m", warn), 6);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(RunCount, ARunThatDiesAtAnyCallHasItsNumberAloneAllTheSame) {
  SimulatedDisk whole({.folders = {"m"}});
  ASSERT_OK(write_end_mark(whole, "m", {.run = 1, .wall_time = {}}));
  const int64_t before = whole.calls();
  ASSERT_OK(begin_run(whole, "m", warn));
  for (int64_t call = 0; call < whole.calls() - before; ++call) {
    SimulatedDisk crashing({.folders = {"m"}});
    ASSERT_OK(write_end_mark(crashing, "m", {.run = 1, .wall_time = {}}));
    crashing.arm(shoal::testing::Fault::kCrash, call);
    EXPECT_TRUE(fails_with(begin_run(crashing, "m", warn), ErrorKind::kUnavailable, "")) << call;
    crashing.disarm();
    const Result<int64_t> next = begin_run(crashing, "m", warn);
    ASSERT_OK(next);
    EXPECT_TRUE(*next == 2 || *next == 3) << *next;  // It is 3 where the run that died had told the disk.
    EXPECT_EQ(*read_end_mark(crashing, "m"), std::nullopt);
  }
}

}  // namespace
}  // namespace shoal::checkpoint
