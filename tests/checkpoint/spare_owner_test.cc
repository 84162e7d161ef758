// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/spare_owner.h"

#include "fixture.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using testing::fails_with;

SpareOwner example_owner() {
  return {.model_dir = "/home/pi/m", .follows = {{20, "91aa91aa91aa91aa"}, {100, "5d0e5d0e5d0e5d0e"}}};
}

TEST(SpareOwner, IsWrittenReadAndRemoved) {
  SimulatedDisk disk({.folders = {"spare/run-1"}});
  EXPECT_EQ(value_or_raise(read_spare_owner(disk, "spare/run-1")), std::nullopt);
  ASSERT_OK(write_spare_owner(disk, "spare/run-1", example_owner()));
  EXPECT_EQ(value_or_raise(read_spare_owner(disk, "spare/run-1")), example_owner());
  ASSERT_OK(remove_spare_owner(disk, "spare/run-1"));
  ASSERT_OK(remove_spare_owner(disk, "spare/run-1"));
  EXPECT_EQ(value_or_raise(read_spare_owner(disk, "spare/run-1")), std::nullopt);
}

TEST(SpareOwner, IsOneLineOfJson) {
  EXPECT_EQ(encode_spare_owner(example_owner()),
            "{\"version\":1,\"model_dir\":\"/home/pi/m\",\"follows\":{\"model.ckpt-20\":\"91aa91aa91aa91aa\","
            "\"model.ckpt-100\":\"5d0e5d0e5d0e5d0e\"}}\n");
}

TEST(SpareOwner, KeepsAPathThatIsNoUtf8) {
  const SpareOwner owner{.model_dir = "/m\xff/\"a\""};
  EXPECT_EQ(value_or_raise(decode_spare_owner(encode_spare_owner(owner))), owner);
}

TEST(SpareOwner, IsRefusedWhereItIsNone) {
  const std::string good = encode_spare_owner(example_owner());
  const auto with = [&good](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return decode_spare_owner(text);
  };
  EXPECT_TRUE(fails_with(with("\"version\":1", "\"version\":2"), ErrorKind::kDataLoss, "use a newer Shoal"));
  EXPECT_TRUE(fails_with(with("/home/pi/m", ""), ErrorKind::kDataLoss, "model_dir"));
  EXPECT_TRUE(fails_with(with("\"model_dir\"", "\"model_dis\""), ErrorKind::kDataLoss, "model_dir"));
  EXPECT_TRUE(fails_with(with("model.ckpt-20", "model.ckpt-020"), ErrorKind::kDataLoss, "model.ckpt-<step>"));
  EXPECT_TRUE(fails_with(with("91aa", "91AA"), ErrorKind::kDataLoss, "16 hexadecimal digits"));
  EXPECT_TRUE(fails_with(with("\"follows\"", "\"follow\""), ErrorKind::kDataLoss, "follows"));
  for (size_t length = 0; length + 2 < good.size(); ++length)
    EXPECT_FALSE(decode_spare_owner(good.substr(0, length))) << length;
}

TEST(SpareOwner, ThatIsDamagedIsNamed) {
  SimulatedDisk disk({.folders = {"spare/run-1"}});
  ASSERT_OK(disk.write_atomically("spare/run-1/owner.json", "{\"version\":1"));
  EXPECT_TRUE(fails_with(read_spare_owner(disk, "spare/run-1"), ErrorKind::kDataLoss, "spare/run-1/owner.json"));
}

TEST(SpareOwner, KnowsACheckpointByItsContents) {
  SimulatedDisk disk({.folders = {"m"}});
  const Manifest first = value_or_raise(testing::save(disk, "m", 5, 1)).manifest;
  const Manifest again = value_or_raise(testing::save(disk, "m", 5, 1)).manifest;
  const Manifest other = value_or_raise(testing::save(disk, "m", 5, 2)).manifest;
  const Manifest later = value_or_raise(testing::save(disk, "m", 6, 1)).manifest;
  SpareOwner owner;
  owner.add(first);
  EXPECT_NE(encode_manifest(first), encode_manifest(again)) << "its data file has another name";
  EXPECT_TRUE(owner.follows_on(first));
  EXPECT_TRUE(owner.follows_on(again));
  EXPECT_FALSE(owner.follows_on(other));
  EXPECT_FALSE(owner.follows_on(later));
}

TEST(SpareOwner, ForgetsWhatTrainingWentBackFromAndWhatIsOld) {
  SpareOwner owner;
  for (int64_t step = 0; step < 10; ++step) owner.add({.global_step = step});
  EXPECT_EQ(owner.follows.size(), SpareOwner::kFollowsMax);
  EXPECT_FALSE(owner.follows_on({.global_step = 1}));
  EXPECT_TRUE(owner.follows_on({.global_step = 2}));
  owner.add({.global_step = 4});
  EXPECT_TRUE(owner.follows_on({.global_step = 4}));
  EXPECT_FALSE(owner.follows_on({.global_step = 5}));
}

}  // namespace
}  // namespace shoal::checkpoint
