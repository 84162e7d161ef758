// SPDX-License-Identifier: Apache-2.0
// How long trainers are away, or late, and when that is too long (CONTRACT SY-9).
#include "server/absences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/stragglers.h"

namespace shoal::cluster {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AbsencesTest : public ::testing::Test {
 protected:
  AbsencesTest() {
    records_[0].connections = 1;
    absences_.begin(start_);
  }

  const SteadyTime start_ = SteadyTime(seconds(1000));
  TrainerRecords records_;
  Absences absences_{3, seconds(60), records_};
};

TEST_F(AbsencesTest, WhoNeverCameIsLostAfterTheGraceAndToldOnce) {
  const Absences::Lost early = absences_.look(start_ + seconds(59));
  EXPECT_THAT(early.trainers, IsEmpty());
  EXPECT_EQ(early.look_again, start_ + seconds(60));
  const Absences::Lost late = absences_.look(start_ + seconds(60));
  EXPECT_THAT(late.trainers, ElementsAre(1, 2));
  EXPECT_EQ(late.look_again, std::nullopt);
  EXPECT_THAT(absences_.look(start_ + seconds(61)).trainers, IsEmpty());
}

TEST_F(AbsencesTest, TheGraceBeginsWhenTheLastConnectionEnds) {
  records_[1].connections = records_[2].connections = 1;
  EXPECT_EQ(absences_.look(start_ + seconds(500)).look_again, std::nullopt);
  records_[2].connections = 0;
  absences_.left(2, start_ + seconds(500));
  EXPECT_EQ(absences_.look(start_ + seconds(510)).look_again, start_ + seconds(560));
  records_[2].connections = 1;
  EXPECT_THAT(absences_.look(start_ + seconds(600)).trainers, IsEmpty());
}

TEST_F(AbsencesTest, WhoCameBackAndLeftIsLostAgain) {
  EXPECT_THAT(absences_.look(start_ + seconds(60)).trainers, ElementsAre(1, 2));
  records_[1].connections = 1;
  absences_.look(start_ + seconds(61));
  records_[1].connections = 0;
  absences_.left(1, start_ + seconds(70));
  EXPECT_THAT(absences_.look(start_ + seconds(129)).trainers, IsEmpty());
  EXPECT_THAT(absences_.look(start_ + seconds(130)).trainers, ElementsAre(1));
}

TEST_F(AbsencesTest, WhoIsDoneIsNotMissed) {
  records_[1].done = true;
  EXPECT_THAT(absences_.look(start_ + seconds(60)).trainers, ElementsAre(2));
}

TEST_F(AbsencesTest, ANewEpochGivesTheWholeGraceAgain) {
  EXPECT_THAT(absences_.look(start_ + seconds(60)).trainers, ElementsAre(1, 2));
  absences_.begin(start_ + seconds(100));
  EXPECT_EQ(absences_.look(start_ + seconds(100)).look_again, start_ + seconds(160));
  EXPECT_THAT(absences_.look(start_ + seconds(160)).trainers, ElementsAre(1, 2));
}

// --- Stragglers ---------------------------------------------------------------------------------------------------------

TEST(Stragglers, AreToldOfWhenTheSameAreWaitedForAllTheTime) {
  Stragglers stragglers;
  const SteadyTime start{};
  EXPECT_THAT(stragglers.look(7, {2}, start), IsEmpty());
  EXPECT_THAT(stragglers.look(7, {2}, start + seconds(19)), IsEmpty());
  EXPECT_THAT(stragglers.look(7, {2}, start + seconds(20)), ElementsAre(2));
  EXPECT_THAT(stragglers.look(7, {2}, start + seconds(60)), IsEmpty());
  EXPECT_THAT(stragglers.look(7, {2}, start + seconds(620)), ElementsAre(2));
}

TEST(Stragglers, AreNotThoseOfAStepThatIsOver) {
  Stragglers stragglers;
  const SteadyTime start{};
  EXPECT_THAT(stragglers.look(7, {1, 2}, start), IsEmpty());
  EXPECT_THAT(stragglers.look(7, {2}, start + seconds(15)), IsEmpty());
  EXPECT_THAT(stragglers.look(8, {2}, start + seconds(34)), IsEmpty());
  EXPECT_THAT(stragglers.look(8, {}, start + seconds(54)), IsEmpty());
  EXPECT_THAT(stragglers.look(8, {2}, start + seconds(100)), IsEmpty());
  EXPECT_THAT(stragglers.look(8, {2}, start + seconds(120)), ElementsAre(2));
}

}  // namespace
}  // namespace shoal::cluster
