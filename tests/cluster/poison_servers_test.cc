// SPDX-License-Identifier: Apache-2.0
/// Servers whose updates have written values that are not finite, and trainers that have failed for good (CONTRACT CK-17).
#include <limits>

#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PoisonServersTest : public ThreeServersTest {
 protected:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  void expect_poison(const Error& error, uint64_t step) {
    EXPECT_EQ(error.kind(), ErrorKind::kNanLoss) << error.message();
    EXPECT_THAT(error.message(), AllOf(HasSubstr("variable "), HasSubstr("NaN at global step " + std::to_string(step))));
  }
};

TEST_F(PoisonServersTest, EveryTrainerHearsOfItAndNoVersionFromThenOnIsHeld) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*chief_env_, step(*chief_)));
  auto before = run(*chief_env_, chief_->snapshot({}));
  ASSERT_TRUE(before) << before.error().message();
  const Result<Outcome> pushed = run(*env, step(*worker, {}, kInfinity));
  ASSERT_FALSE(pushed);
  expect_poison(pushed.error(), 2);
  const Result<Outcome> others = run(*chief_env_, step(*chief_));
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error(), pushed.error());
  // A snapshot from before the update is sound, and may be published.
  const Segment segment = (*before)->plan().shards[0].segments.front();
  const auto part = run(*chief_env_, (*before)->read(0, 0, segment.offset, segment.bytes));
  ASSERT_TRUE(part) << part.error().message();
  EXPECT_EQ(floats(part->bytes)[0], -1.0f);
  EXPECT_TRUE(run(*chief_env_, chief_->check_lease()));
  const auto refused = run(*chief_env_, chief_->snapshot({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), pushed.error());
  const Result<ServerStatus> status = run(*chief_env_, chief_->status(chief_env_->after(kSecond), {}));
  ASSERT_TRUE(status && status->failure);
  EXPECT_TRUE(status->failure->of_values());
  // A trainer that connects later is told, too.
  Environment& late_env = add_task("worker 1");
  auto late = worker_store(late_env, 1);
  const Result<Ready> attached = run(late_env, attach(late_env, *late));
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error(), pushed.error());
}

/// A new epoch begins with restored values, which are finite or exempt.
TEST_F(PoisonServersTest, ANewEpochForgetsIt) {
  start_ready_cluster();
  ASSERT_FALSE(run(*chief_env_, step(*chief_, {}, kInfinity)));
  restart_server(1);
  UniformSource source({.global_step = 0, .shards = {{}, {}, {}}, .positions = {}, .residuals = {}}, 3);
  Result<Ready> ready = run(*chief_env_, prepare(*chief_env_, *chief_, &source));
  // The first attempt meets the old connection.
  if (!ready) ready = run(*chief_env_, prepare(*chief_env_, *chief_, &source));
  ASSERT_TRUE(ready) << ready.error().message();
  EXPECT_TRUE(run(*chief_env_, step(*chief_)));
  EXPECT_TRUE(run(*chief_env_, chief_->snapshot({})));
}

TEST_F(PoisonServersTest, WhatBeginsNotFiniteIsExempt) {
  for (int i = 0; i < 3; ++i) server_envs_.push_back(&start_server(i));
  chief_env_ = &add_task("chief 0");
  chief_ = chief_store(*chief_env_);
  UniformSource source({.global_step = 0, .shards = {{}, {}, {}}, .positions = {}, .residuals = {}}, -kInfinity);
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_, &source)));
  EXPECT_TRUE(run(*chief_env_, step(*chief_)));
  EXPECT_TRUE(run(*chief_env_, chief_->snapshot({})));
}

TEST_F(PoisonServersTest, ATrainerThatFailsForGoodIsKnownUntilItsTaskIsBack) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  const auto failure = [&] {
    const Result<ServerStatus> status = run(*chief_env_, chief_->status(chief_env_->after(kSecond), {}));
    EXPECT_TRUE(status);
    return status ? status->failure : std::nullopt;
  };
  EXPECT_EQ(failure(), std::nullopt);
  ASSERT_TRUE(run(*env, worker->tell_failure(nan_loss("worker 0: the loss is NaN"), env->after(kSecond))));
  EXPECT_EQ(failure(), (JobFailure{ErrorKind::kNanLoss, "worker 0: the loss is NaN", 1}));
  EXPECT_TRUE(run(*chief_env_, step(*chief_))) << "the others go on";
  EXPECT_TRUE(run(*chief_env_, chief_->snapshot({}))) << "what counts is sound";
  EXPECT_FALSE(run(*env, worker->tell_failure(unavailable("no lasting failure"), env->after(kSecond))));
  ASSERT_TRUE(failure());
  Environment* again_env = nullptr;
  auto again = start_worker(again_env);
  EXPECT_EQ(failure(), std::nullopt);
}

}  // namespace
}  // namespace shoal::cluster
