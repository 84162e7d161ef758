#include "residuals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans.h"

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
    return residuals_.restore(trainer, part);
  }
  void push(int trainer) {
    TrainerRecord& record = trainers_[trainer];
    record.connections = 1;
    record.keeps_back = true;
    residuals_.pushed(trainer, ++record.last_push);
  }
  void start_again(int trainer) {
    trainers_[trainer].incarnation += 1;
    trainers_[trainer].last_push = 0;
    trainers_[trainer].keeps_back = false;
    residuals_.forget_parts(trainer);
  }
  bool asks(int trainer) { return residuals_.asks(trainer, trainers_[trainer]); }
  bool waits() const { return residuals_.waits(trainers_); }
  std::span<const float> held_of(int trainer) { return floats(residuals_.held_of(trainer)->bytes()); }

  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  Residuals residuals_{*pool_};
  TrainerRecords trainers_;
};

TEST_F(ResidualsTest, AskForWhatWasKeptBeforeTheNextPush) {
  push(1);
  push(2);
  residuals_.hold(trainers_);
  EXPECT_FALSE(asks(1));  // its last reply has left already
  EXPECT_TRUE(waits());
  push(1);
  EXPECT_TRUE(asks(1));
  EXPECT_TRUE(asks(1));  // a reply that was lost is made again
  ASSERT_TRUE(send(1, 1, 0.5f));
  EXPECT_FALSE(asks(1));
  EXPECT_TRUE(waits());  // for trainer 2
  push(2);
  ASSERT_TRUE(send(2, 1, 0.25f));
  EXPECT_FALSE(waits());
  EXPECT_THAT(residuals_.held(), ElementsAre(1, 2));
  EXPECT_THAT(held_of(1), Each(0.5f));
  EXPECT_THAT(held_of(2), Each(0.25f));
  residuals_.release();
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, OfWhomHasPushedOnAreNotWaitedFor) {
  push(1);
  residuals_.hold(trainers_);
  push(1);
  push(1);
  EXPECT_FALSE(asks(1));
  EXPECT_FALSE(waits());
  ASSERT_TRUE(send(1, 2, 0.5f));  // behind a push that the held state does not have
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, OfWhomIsGoneOrDoneAreNotWaitedFor) {
  push(1);
  push(2);
  residuals_.hold(trainers_);
  trainers_[1].connections = 0;
  EXPECT_TRUE(waits());
  trainers_[2].done = true;
  EXPECT_FALSE(waits());
}

TEST_F(ResidualsTest, ANewProcessHasNoneOfTheOld) {
  push(1);
  residuals_.hold(trainers_);
  start_again(1);
  push(1);
  EXPECT_FALSE(asks(1));
  EXPECT_FALSE(waits());
  ASSERT_TRUE(send(1, 1, 0.5f));  // the same number, of another process
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, TheChiefAndTrainersWithoutAreNotAsked) {
  push(0);
  push(1);
  trainers_[1].keeps_back = false;
  residuals_.hold(trainers_);
  push(0);
  EXPECT_FALSE(asks(0));
  EXPECT_FALSE(waits());
}

TEST_F(ResidualsTest, ALastWordCountsUntilTheNextPush) {
  push(1);
  ASSERT_TRUE(send(1, 1, 0.5f));
  EXPECT_THAT(floats(residuals_.newest_of(1)->bytes()), Each(0.5f));
  residuals_.hold(trainers_);
  EXPECT_FALSE(waits());
  EXPECT_THAT(residuals_.held(), ElementsAre(1));
  push(1);
  EXPECT_FALSE(residuals_.newest_of(1));
  EXPECT_THAT(held_of(1), Each(0.5f));  // what is held stays
}

TEST_F(ResidualsTest, RestoredOnesAreThereUntilTheTrainerPushes) {
  ASSERT_TRUE(restore(3, 2, 0, 64));
  ASSERT_TRUE(restore(3, 4, 128, 64));
  const auto arena = floats(residuals_.newest_of(3)->bytes());
  EXPECT_THAT(arena.first(16), Each(2.0f));
  EXPECT_THAT(arena.subspan(16, 16), Each(0.0f));
  EXPECT_THAT(arena.subspan(32), Each(4.0f));
  residuals_.hold(trainers_);  // nobody has come yet
  EXPECT_THAT(residuals_.held(), ElementsAre(3));
  EXPECT_FALSE(waits());
  push(3);
  EXPECT_FALSE(residuals_.newest_of(3));
  residuals_.restart(kBytes);
  EXPECT_THAT(residuals_.held(), IsEmpty());
}

TEST_F(ResidualsTest, ComeInPartsInOrder) {
  push(1);
  residuals_.hold(trainers_);
  push(1);
  ASSERT_TRUE(send(1, 1, 1, 0, 64));
  ASSERT_TRUE(send(1, 1, 2, 64, 64));
  ASSERT_TRUE(send(1, 1, 1, 0, 64));  // from the start again
  ASSERT_TRUE(send(1, 1, 3, 64, 64));
  EXPECT_TRUE(waits());
  ASSERT_TRUE(send(1, 1, 4, 128, 64));
  EXPECT_FALSE(waits());
  EXPECT_EQ(held_of(1)[0], 1.0f);
  EXPECT_EQ(held_of(1)[16], 3.0f);
  EXPECT_EQ(held_of(1)[32], 4.0f);
}

TEST_F(ResidualsTest, RefusePartsThatDoNotFit) {
  push(1);
  const auto refuses = [&](uint64_t after, uint64_t offset, uint64_t bytes) {
    expect_error(send(1, after, 1, offset, bytes), ErrorKind::kInvalidArgument, "in order");
  };
  refuses(1, 64, 64);
  refuses(1, 0, kBytes + 64);
  ASSERT_TRUE(send(1, 1, 1, 0, 64));
  refuses(1, 128, 64);
  ASSERT_TRUE(send(1, 1, 1, 0, 64));
  refuses(2, 64, 64);
  ASSERT_TRUE(send(1, 1, 1, 0, 64));
  refuses(1, 64, kBytes);
  refuses(1, ~uint64_t(0), 64);
  expect_error(restore(1, 1, 128, 128), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(restore(1, 1, ~uint64_t(0), 64), ErrorKind::kInvalidArgument, "beyond the end");
}

}  // namespace
}  // namespace shoal::cluster
