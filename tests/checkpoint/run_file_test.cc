// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/run_file.h"

#include "fixture.h"
#include "shoal/base/virtual.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using testing::fails_with;

RunFile example_run() {
  return {.id = "00112233445566778899aabbccddeeff",
          .begun = WallTime(Duration(1'700'000'000'250'000'000)),
          .program = "mnist",
          .seed = 123,
          .seed_given = true,
          .meaning = "words \"a\"\n"};
}

TEST(RunFile, IsWrittenAndRead) {
  SimulatedDisk disk({.folders = {"m"}});
  EXPECT_EQ(value_or_raise(read_run(disk, "m")), std::nullopt);
  ASSERT_OK(write_run(disk, "m", example_run()));
  EXPECT_EQ(value_or_raise(read_run(disk, "m")), example_run());
}

TEST(RunFile, IsOneLineOfJson) {
  RunFile run = example_run();
  run.meaning.clear();
  EXPECT_EQ(encode_run(run),
            "{\"version\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"begun\":1700000000.25,\"program\":\"mnist\","
            "\"seed\":123,\"seed_given\":true}\n");
}

TEST(RunFile, IsRefusedWhereItIsNone) {
  const std::string good = encode_run(example_run());
  const auto with = [&good](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return decode_run(text);
  };
  EXPECT_TRUE(fails_with(with("0011", "001"), ErrorKind::kDataLoss, "32 hexadecimal digits"));
  EXPECT_TRUE(fails_with(with("0011", "001G"), ErrorKind::kDataLoss, "32 hexadecimal digits"));
  EXPECT_TRUE(fails_with(with("\"version\":1", "\"version\":2"), ErrorKind::kDataLoss, "use a newer Shoal"));
  EXPECT_TRUE(fails_with(with("123", "1.5"), ErrorKind::kDataLoss, "seed"));
  EXPECT_TRUE(fails_with(with("1700000000.25", "-1"), ErrorKind::kDataLoss, "begun"));
  for (size_t length = 0; length + 2 < good.size(); ++length) EXPECT_FALSE(decode_run(good.substr(0, length))) << length;
}

TEST(RunFile, ThatIsDamagedIsNamed) {
  SimulatedDisk disk({.folders = {"m"}});
  ASSERT_OK(disk.write_atomically("m/run.json", "{\"version\":1"));
  EXPECT_TRUE(fails_with(read_run(disk, "m"), ErrorKind::kDataLoss, "m/run.json"));
}

TEST(RunFile, IsDrawnAnewForEachRun) {
  VirtualWorld world(5);
  Environment& env = world.add_task({.process = {.program = "adult"}});
  const RunFile first = draw_run(env), second = draw_run(env);
  EXPECT_NE(first.id, second.id);
  EXPECT_NE(first.seed, second.seed);
  EXPECT_EQ(first.program, "adult");
  EXPECT_EQ(first.begun, env.wall_now());
  for (const RunFile& run : {first, second}) {
    EXPECT_GE(run.seed, 0);
    EXPECT_LT(run.seed, int64_t(1) << 53);
    ASSERT_OK(decode_run(encode_run(run)));
  }
}

}  // namespace
}  // namespace shoal::checkpoint
