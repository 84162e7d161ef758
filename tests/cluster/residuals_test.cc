// SPDX-License-Identifier: Apache-2.0
#include "state/residuals.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans.h"
#include "shoal/base/environment.h"

namespace shoal::cluster {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kBytes = 192;

class ResidualsTest : public testing::Test {
 protected:
  void SetUp() override { residuals_.restart(kBytes); }

  /// A part of a residual that is `value` throughout.
  Result<void> send(int trainer, uint64_t after, float value, uint64_t offset = 0, uint64_t bytes = kBytes) {
    const std::vector<float> payload(bytes / sizeof(float), value);
    transport::SnapshotPart part{.version = after, .name = "residual", .offset = offset, .total_bytes = kBytes};
    part.payload = std::as_bytes(std::span(payload));
    return residuals_.take(trainer, trainers_[trainer], part);
  }
  Result<void> restore(int trainer, float value, uint64_t offset, uint64_t bytes) {
    const std::vector<float> payload(bytes / sizeof(float), value);
    transport::SnapshotPart part{.name = "residual", .offset = offset, .total_bytes = kBytes};
    part.payload = std::as_bytes(std::span(payload));
    SHOAL_TRY(const std::span<std::byte> place, residuals_.place_to_restore(trainer, part));
    std::ranges::copy(part.payload, place.begin());
    return {};
  }
  void push(int trainer) {
    TrainerRecord& record = trainers_[trainer];
    record.connections = 1;
    record.keeps_back = true;
    residuals_.pushed(trainer, ++record.last_counted);
  }
  void start_again(int trainer) {
    trainers_[trainer].incarnation += 1;
    trainers_[trainer].last_counted = 0;
    trainers_[trainer].keeps_back = false;
    residuals_.forget_parts(trainer);
  }
  void expect_unwanted(int trainer, uint64_t after) {
    expect_error(send(trainer, after, 1, 0, 64), ErrorKind::kInvalidArgument, "nobody has asked for");
  }
  bool asks(int trainer) { return residuals_.asks(trainer, trainers_[trainer]); }
  bool waits() const { return !residuals_.awaited(trainers_).empty(); }
  void hold() { hold_ = residuals_.hold(trainers_); }
  std::span<const float> held_of(int trainer) { return floats(residuals_.held_of(trainer, hold_)->bytes()); }

  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  Residuals residuals_{*pool_};
  TrainerRecords trainers_;
  uint64_t hold_ = 0;
};

TEST_F(ResidualsTest, AskForWhatWasKeptBeforeTheNextPush) {
  push(1);
  push(2);
  hold();
  EXPECT_FALSE(asks(1));  // The trainer's last reply has left already.
  EXPECT_TRUE(waits());
  push(1);
  EXPECT_TRUE(asks(1));
  EXPECT_TRUE(asks(1));  // A lost reply asks again.
  ASSERT_TRUE(send(1, 1, 0.5f));
  EXPECT_FALSE(asks(1));
  EXPECT_TRUE(waits());  // The snapshot still waits for trainer 2.
  push(2);
  ASSERT_TRUE(send(2, 1, 0.25f));
  EXPECT_FALSE(waits());
  EXPECT_THAT(residuals_.held(), ElementsAre(1, 2));
  EXPECT_THAT(held_of(1), Each(0.5f));
  EXPECT_THAT(held_of(2), Each(0.25f));
  residuals_.release(hold_);
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, AnOlderHoldLetsGoOfNothing) {
  push(1);
  hold();
  const uint64_t older = hold_;
  hold();
  push(1);
  ASSERT_TRUE(send(1, 1, 0.5f));
  residuals_.release(older);
  EXPECT_FALSE(residuals_.held_of(1, older));
  EXPECT_THAT(held_of(1), Each(0.5f));
}

TEST_F(ResidualsTest, OfWhomHasPushedOnAreNotWaitedFor) {
  push(1);
  hold();
  push(1);
  push(1);
  EXPECT_FALSE(asks(1));
  EXPECT_FALSE(waits());
  expect_unwanted(1, 2);  // The residual is from after a push that the snapshot does not have.
  ASSERT_TRUE(send(1, 3, 0.5f));
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, OfWhomIsGoneOrDoneAreNotWaitedFor) {
  push(1);
  push(2);
  hold();
  trainers_[1].connections = 0;
  EXPECT_TRUE(waits());
  trainers_[2].done = true;
  EXPECT_FALSE(waits());
}

TEST_F(ResidualsTest, ANewProcessHasNoneOfTheOld) {
  push(1);
  hold();
  start_again(1);
  push(1);
  EXPECT_FALSE(asks(1));
  EXPECT_FALSE(waits());
  // A push of the same number from another process is another push, which the snapshot does not have.
  ASSERT_TRUE(send(1, 1, 0.5f));
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, TheChiefAndTrainersWithoutAreNotAsked) {
  push(0);
  push(1);
  trainers_[1].keeps_back = false;
  hold();
  push(0);
  EXPECT_FALSE(asks(0));
  EXPECT_FALSE(waits());
}

TEST_F(ResidualsTest, ALastWordCountsUntilTheNextPush) {
  push(1);
  ASSERT_TRUE(send(1, 1, 0.5f));
  EXPECT_THAT(floats(residuals_.newest_of(1)->bytes()), Each(0.5f));
  hold();
  EXPECT_FALSE(waits());
  EXPECT_THAT(residuals_.held(), ElementsAre(1));
  push(1);
  EXPECT_FALSE(residuals_.newest_of(1));
  EXPECT_THAT(held_of(1), Each(0.5f));  // The snapshot keeps its residual.
}

TEST_F(ResidualsTest, RestoredOnesAreThereUntilTheTrainerPushes) {
  ASSERT_TRUE(restore(3, 2, 0, 64));
  ASSERT_TRUE(restore(3, 4, 128, 64));
  const auto arena = floats(residuals_.newest_of(3)->bytes());
  EXPECT_THAT(arena.first(16), Each(2.0f));
  EXPECT_THAT(arena.subspan(16, 16), Each(0.0f));
  EXPECT_THAT(arena.subspan(32), Each(4.0f));
  hold();  // Nobody has come yet.
  EXPECT_THAT(residuals_.held(), ElementsAre(3));
  EXPECT_FALSE(waits());
  push(3);
  EXPECT_FALSE(residuals_.newest_of(3));
  residuals_.restart(kBytes);
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, ComeInPartsInOrder) {
  push(1);
  hold();
  push(1);
  ASSERT_TRUE(send(1, 1, 1, 0, 64));
  ASSERT_TRUE(send(1, 1, 2, 64, 64));
  residuals_.forget_parts(1);
  ASSERT_TRUE(send(1, 1, 3, 0, 64));
  ASSERT_TRUE(send(1, 1, 4, 64, 64));
  EXPECT_TRUE(waits());
  ASSERT_TRUE(send(1, 1, 5, 128, 64));
  EXPECT_FALSE(waits());
  EXPECT_EQ(held_of(1)[0], 3.0f);
  EXPECT_EQ(held_of(1)[16], 4.0f);
  EXPECT_EQ(held_of(1)[32], 5.0f);
  EXPECT_EQ(residuals_.bytes_taken(), 5u * 64);
  expect_unwanted(1, 1);  // A residual is taken once.
}

TEST_F(ResidualsTest, WhatNobodyWantsTakesNoMemory) {
  expect_unwanted(1, 0);  // The trainer has never pushed.
  push(1);
  expect_unwanted(1, 2);
  trainers_[1].keeps_back = false;
  expect_unwanted(1, 1);
  EXPECT_EQ(residuals_.bytes_taken(), 0u);
}

TEST_F(ResidualsTest, RefusePartsThatDoNotFit) {
  push(1);
  const auto refuses = [&](uint64_t offset, uint64_t bytes) {
    expect_error(send(1, 1, 1, offset, bytes), ErrorKind::kInvalidArgument, "in order");
  };
  refuses(64, 64);
  refuses(0, kBytes + 64);
  refuses(0, 0);
  ASSERT_TRUE(send(1, 1, 1, 0, 64));
  refuses(0, 64);  // The same part is refused the second time.
  refuses(128, 64);
  refuses(64, kBytes);
  refuses(64, 0);
  refuses(~uint64_t(0), 64);
  EXPECT_EQ(residuals_.bytes_taken(), 64u);
  expect_error(restore(1, 1, 128, 128), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(restore(1, 1, ~uint64_t(0), 64), ErrorKind::kInvalidArgument, "beyond the end");
}

/// No machine has as much memory.
constexpr uint64_t kNowhere = uint64_t(1) << (sizeof(size_t) == 8 ? 60 : 31);

TEST_F(ResidualsTest, OneForWhichThereIsNoMemoryLeavesNothing) {
  residuals_.restart(kNowhere);
  trainers_[1].connections = 1;
  trainers_[1].keeps_back = true;
  const std::vector<float> payload(16, 1);
  const transport::SnapshotPart part{
      .name = "residual", .total_bytes = kNowhere, .payload = std::as_bytes(std::span(payload))};
  for (int i = 0; i < 2; ++i) {
    expect_error(call_user("a test", [&] { static_cast<void>(residuals_.take(1, trainers_[1], part)); }),
                 ErrorKind::kFailedPrecondition, "of memory could not be allocated");
    expect_error(call_user("a test", [&] { static_cast<void>(residuals_.place_to_restore(2, part)); }),
                 ErrorKind::kFailedPrecondition, "of memory could not be allocated");
  }
  EXPECT_FALSE(residuals_.newest_of(2));
  trainers_[1].keeps_back = false;
  hold();
  EXPECT_FALSE(residuals_.wanted());
}

}  // namespace
}  // namespace shoal::cluster
