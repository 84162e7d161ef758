// SPDX-License-Identifier: Apache-2.0
// A restarted server knows no run until its chief comes, and two jobs use its address (CONTRACT RU-6).
#include "at_once.h"
#include "plans.h"
#include "state/server_state.h"

namespace shoal::cluster {
namespace {

const std::string kOurs(32, 'a'), kTheirs(32, 'b');

class UndecidedRun : public testing::Test {
 protected:
  void bring(const std::string& run, uint64_t epoch = 1) {
    Prepare prepare{epoch, 77, spec_};
    prepare.run.id = run;
    ASSERT_TRUE(prepare_at_once(state_, std::move(prepare)));
  }

  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  Logger log_{[](const LogRecord&) {}, "ps 0", [] { return WallTime(); }};
  ServerState state_{true, *pool_, log_};
  ShardSpec spec_ = plan_of({variable("a", {5}, momentum(0.5), constant(10))}, 1).shards[0];
};

TEST_F(UndecidedRun, TakesNoPlaceFromATaskOfAnotherOne) {
  ASSERT_TRUE(state_.admit(1, 41, 1, kOurs));
  expect_error(state_.admit(1, 52, 2, kTheirs), ErrorKind::kUnavailable, "two jobs at one address");
  EXPECT_TRUE(state_.admit(1, 41, 3, kOurs));
  bring(kOurs);
  EXPECT_TRUE(state_.admit(1, 41, 4, kOurs));
}

TEST_F(UndecidedRun, GivesThePlaceToTheRunThatItsChiefBrings) {
  ASSERT_TRUE(state_.admit(1, 52, 1, kTheirs));
  expect_error(state_.admit(1, 41, 2, kOurs), ErrorKind::kUnavailable, "two jobs at one address");
  bring(kOurs);
  EXPECT_EQ(value_or_raise(state_.admit(1, 41, 3, kOurs)), 0U);
}

TEST_F(UndecidedRun, LetsAProcessThatWasStartedAgainTakeItsPlace) {
  ASSERT_TRUE(state_.admit(1, 41, 1, kOurs));
  EXPECT_EQ(value_or_raise(state_.admit(1, 42, 2, kOurs)), 41U);
  EXPECT_EQ(value_or_raise(state_.admit(1, 43, 3, "")), 42U);  // The process came first, and knows no run.
}

}  // namespace
}  // namespace shoal::cluster
