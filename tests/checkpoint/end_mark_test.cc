// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/end_mark.h"

#include "fixture.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using testing::fails_with;

EndMark example_mark() {
  return {.run = 3,
          .global_step = 2000,
          .checkpoint = "model.ckpt-2000",
          .reason = EndReason::kEndOfInput,
          .wall_time = WallTime(Duration(1'700'000'000'250'000'000))};
}

TEST(EndMark, IsWrittenReadAndRemoved) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  ASSERT_OK(read_end_mark(*storage, folder.path()));
  EXPECT_EQ(*read_end_mark(*storage, folder.path()), std::nullopt);
  ASSERT_OK(write_end_mark(*storage, folder.path(), example_mark()));
  EXPECT_TRUE(storage->exists(folder.path() + "/training_finished"));
  ASSERT_OK(read_end_mark(*storage, folder.path()));
  EXPECT_EQ(*read_end_mark(*storage, folder.path()), example_mark());
  ASSERT_OK(remove_end_mark(*storage, folder.path()));
  ASSERT_OK(remove_end_mark(*storage, folder.path()));
  EXPECT_EQ(*read_end_mark(*storage, folder.path()), std::nullopt);
}

TEST(EndMark, IsOneLineOfJson) {
  EXPECT_EQ(encode_end_mark(example_mark()),
            "{\"run\":3,\"global_step\":2000,\"checkpoint\":\"model.ckpt-2000\",\"reason\":\"end_of_input\","
            "\"wall_time\":1700000000.25}\n");
}

TEST(EndMark, SaysWhatALauncherCallsTheRun) {
  EndMark mark = example_mark();
  mark.shoal_run = "night 7 \"b\"";
  const std::string text = encode_end_mark(mark);
  EXPECT_NE(text.find(R"("wall_time":1700000000.25,"shoal_run":"night 7 \"b\""})"), std::string::npos) << text;
  ASSERT_OK(decode_end_mark(text));
  EXPECT_EQ(*decode_end_mark(text), mark);
}

TEST(EndMark, OfAnOlderVersionIsRead) {
  const Result<EndMark> mark = decode_end_mark(
      R"({"global_step":2000,"checkpoint":"model.ckpt-2000","reason":"end_of_input","wall_time":1700000000.25})");
  ASSERT_OK(mark);
  EndMark expected = example_mark();
  expected.run = 0;
  EXPECT_EQ(*mark, expected);
}

TEST(EndMark, KnowsAllReasons) {
  for (const EndReason reason :
       {EndReason::kMaxSteps, EndReason::kEndOfInput, EndReason::kStopRequested, EndReason::kInterrupted}) {
    EndMark mark = example_mark();
    mark.reason = reason;
    const Result<EndMark> back = decode_end_mark(encode_end_mark(mark));
    ASSERT_OK(back);
    EXPECT_EQ(*back, mark);
  }
}

TEST(EndMark, RefusesOtherText) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"global_step\":-1,\"checkpoint\":\"\",\"reason\":\"max_steps\",\"wall_time\":1}",
        "{\"global_step\":1,\"checkpoint\":\"\",\"reason\":\"bored\",\"wall_time\":1}",
        "{\"global_step\":1,\"checkpoint\":\"\",\"reason\":\"max_steps\",\"wall_time\":1e300}",
        "{\"global_step\":1,\"checkpoint\":\"\",\"reason\":\"max_steps\",\"wall_time\":1,\"run\":-1}",
        "{\"global_step\":1,\"checkpoint\":\"\",\"reason\":\"max_steps\",\"wall_time\":1,\"run\":null}",
        "{\"global_step\":1,\"checkpoint\":\"\",\"reason\":\"max_steps\",\"wall_time\":1,\"shoal_run\":7}",
        "{\"global_step\":1,\"checkpoint\":7,\"reason\":\"max_steps\",\"wall_time\":1}"}) {
    EXPECT_TRUE(fails_with(decode_end_mark(text), ErrorKind::kDataLoss, "")) << text;
  }
}

TEST(EndMark, AWriteThatFailsLeavesNoMark) {
  SimulatedDisk whole({.folders = {"m"}});
  ASSERT_OK(write_end_mark(whole, "m", example_mark()));
  for (int64_t call = 0; call < whole.calls(); ++call) {
    SimulatedDisk disk({.folders = {"m"}});
    disk.arm(shoal::testing::Fault::kCrash, call);
    EXPECT_TRUE(fails_with(write_end_mark(disk, "m", example_mark()), ErrorKind::kUnavailable, "was not written: cannot "));
    disk.disarm();
    const auto mark = read_end_mark(disk, "m");
    ASSERT_OK(mark);  // All of it is there or nothing, never a part.
    if (*mark) {
      EXPECT_EQ(**mark, example_mark());
    }
  }
}

}  // namespace
}  // namespace shoal::checkpoint
