// SPDX-License-Identifier: Apache-2.0
/// A server answers while it computes something that takes long.
#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

constexpr auto kLong = 5 * kSecond;

/// One server, ready with a model, that takes kLong for everything that touches an arena.
class BesideStrandTest : public OneServerTest {
 protected:
  void SetUp() override {
    server_envs_.push_back(&start_server(0, {.beside_strand = kLong}));
    chief_env_ = &add_task("chief 0");
    chief_ = chief_store(*chief_env_);
    ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  }
  struct Trainer {
    Environment* env;
    std::unique_ptr<RemoteStore> store;
  };
  Trainer make_trainer(int index, const std::string& compression = "none") {
    Environment& env = add_task("worker " + std::to_string(index));
    TaskOptions options;
    options.compression = value_or_raise(parse_compression(compression));
    return {&env, make_store(env, "worker", index, options)};
  }
  /// A trainer that has attached, however long that takes.
  Trainer start_trainer(int index, const std::string& compression = "none") {
    Trainer trainer = make_trainer(index, compression);
    EXPECT_TRUE(run(*trainer.env, attach(*trainer.env, *trainer.store)));
    return trainer;
  }
  bool is_connected(const std::string& task) const { return count_log(task + " is connected") > 0; }
  /// Attaches. Returns the first weight of what was pulled.
  static Task<Result<float>> pulled(Environment& env, RemoteStore& store) {
    SHOAL_CO_TRY_VOID(co_await store.attach(env.after(60 * kSecond)));
    SHOAL_CO_TRY(const Step step, co_await store.begin({}));
    co_return *reinterpret_cast<const float*>(step.variables[0][0].data);
  }
};

TEST_F(BesideStrandTest, HellosAreAnsweredAndPullsGetTheVersionBeforeWhileANewOneIsMade) {
  // This trainer holds the version that it pushes for, so the next version is a copy.
  const Trainer pushing = start_trainer(0);
  auto stepping = start(*pushing.env, step(*pushing.store));
  world_.run_for(kSecond);
  ASSERT_FALSE(stepping.done());
  const Trainer other = make_trainer(1);
  auto pulling = start(*other.env, pulled(*other.env, *other.store));
  world_.run_for(kSecond / 10);
  EXPECT_TRUE(is_connected("worker 1"));
  ASSERT_TRUE(pulling.done());
  EXPECT_EQ(value_or_raise(pulling.take()), 0.0f);
  EXPECT_FALSE(stepping.done());
  ASSERT_TRUE(finish(stepping));
  EXPECT_EQ(value(), -1.0f);
}

TEST_F(BesideStrandTest, APullWaitsForAVersionThatIsMadeInPlaceAndAHelloDoesNot) {
  const Trainer pushing = start_trainer(0, "weights=bfloat16");  // This trainer holds an encoded message, not the arena.
  ASSERT_TRUE(run(*pushing.env, step(*pushing.store)));          // The chief does not hold this version.
  auto stepping = start(*pushing.env, step(*pushing.store));
  world_.run_for(kSecond);
  ASSERT_FALSE(stepping.done());
  const Trainer other = make_trainer(1);
  auto pulling = start(*other.env, pulled(*other.env, *other.store));
  world_.run_for(kSecond / 10);
  EXPECT_TRUE(is_connected("worker 1"));
  world_.run_for(kLong / 2);
  EXPECT_FALSE(pulling.done());
  EXPECT_EQ(value_or_raise(finish(pulling)), -2.0f);
  ASSERT_TRUE(finish(stepping));
}

TEST_F(BesideStrandTest, PushesAreAppliedOneAfterAnotherInTheOrderTheyCame) {
  std::vector<Trainer> trainers;
  for (int i = 0; i < 3; ++i) trainers.push_back(start_trainer(i));
  std::vector<Running<Outcome>> stepping;
  for (const Trainer& trainer : trainers) {
    stepping.push_back(start(*trainer.env, step(*trainer.store)));
    world_.run_for(kSecond / 10);
  }
  const double before = seconds();
  for (size_t i = 0; i < stepping.size(); ++i) {
    EXPECT_EQ(value_or_raise(finish(stepping[i])).global_step, i + 1);
    EXPECT_NEAR(seconds() - before, double(i + 1) * to_seconds(kLong), 1.0);
  }
  EXPECT_EQ(value(), -3.0f);
}

/// A push counts from the moment at which the server begins to apply it, so the trainer's next process continues after
/// that batch.
TEST_F(BesideStrandTest, AProcessThatComesWhileThePushOfTheOneBeforeIsAppliedGoesOnBehindIt) {
  const Trainer killed = start_trainer(0);
  auto stepping = start(*killed.env, step(*killed.store, "behind the batch"));
  world_.run_for(kSecond);
  kill(*killed.env);
  const Trainer next = make_trainer(0);
  const Ready ready = value_or_raise(run(*next.env, attach(*next.env, *next.store)));
  EXPECT_EQ(ready.position, "behind the batch");
  world_.run_for(2 * kLong);
  EXPECT_EQ(value(), -1.0f);
  EXPECT_EQ(global_step(), 1u);
}

/// A push that has to be decoded first does not count before that is done.
TEST_F(BesideStrandTest, AProcessThatComesWhileThePushOfTheOneBeforeIsDecodedDoesThatBatchItself) {
  const Trainer killed = start_trainer(0, "gradients=bfloat16,weights=none");
  auto stepping = start(*killed.env, step(*killed.store, "behind the batch"));
  world_.run_for(kSecond);
  kill(*killed.env);
  const Trainer next = make_trainer(0, "gradients=bfloat16,weights=none");
  const Ready ready = value_or_raise(run(*next.env, attach(*next.env, *next.store)));
  EXPECT_FALSE(ready.position);
  world_.run_for(3 * kLong);
  EXPECT_EQ(global_step(), 0u);
  ASSERT_TRUE(run(*next.env, step(*next.store)));
  EXPECT_EQ(value(), -1.0f);
}

TEST_F(BesideStrandTest, WhatTheLastCheckpointLacksDoesNotCountAlsoIfItWaitedForItsTurn) {
  const Trainer first = start_trainer(0), second = start_trainer(1);
  auto one = start(*first.env, step(*first.store));
  world_.run_for(kSecond);
  auto ending = start(*chief_env_, finish_job(*chief_env_, *chief_));
  world_.run_for(kSecond);
  auto late = start(*second.env, step(*second.store));
  EXPECT_TRUE(finish(one));
  EXPECT_TRUE(finish(ending));
  expect_error(finish(late), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace shoal::cluster
