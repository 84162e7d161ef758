// SPDX-License-Identifier: Apache-2.0
/// Two chiefs for the same servers: one of them leads, and the other learns which (CONTRACT FA-11).
#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using transport::Endpoint;

TEST_F(RemoteStoreTest, ASecondChiefIsRefusedForGoodWhileTheFirstLives) {
  start_ready_cluster();
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));
  Environment& env = add_task("second chief");
  auto second = chief_store(env);
  const double before = seconds();
  const Result<Ready> refused = run(env, prepare(env, *second));
  expect_error(refused, ErrorKind::kUnavailable, "sim://ps-0:1: another chief is connected, from sim://ps-0:1#");
  EXPECT_THAT(refused.error().message(),
              testing::ContainsRegex("since [0-9-]{10} [0-9:]{8} UTC, and alive; .* end that one first"));
  EXPECT_LT(seconds() - before, 0.5);
  EXPECT_FALSE(second->lost());  // The second chief does not try again.
  EXPECT_THAT(logs(), HasSubstr("ps 0: refused chief 0: another chief is connected"));
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));  // The first is not disturbed.
  EXPECT_EQ(value(), -4.0f);
}

TEST_F(RemoteStoreTest, AChiefThatIsStartedAgainIsLetInAtOnce) {
  start_ready_cluster();
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));
  kill(*chief_env_);
  Environment& env = add_task("chief 0 again");
  auto again = chief_store(env);
  const double before = seconds();
  const Ready ready = value_or_raise(run(env, prepare(env, *again)));
  EXPECT_TRUE(ready.attached);
  EXPECT_LT(seconds() - before, 0.1);
}

TEST_F(RemoteStoreTest, AChiefWhoseNewsOfDeathComesAfterTheNextOneIsReplaced) {
  start_ready_cluster();
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));
  Environment& env = add_task("second chief");
  auto second = chief_store(env);
  auto waiting = start(env, prepare(env, *second));
  world_.run_for(milliseconds(50));
  EXPECT_FALSE(waiting.done());
  kill(*chief_env_);
  const Ready ready = value_or_raise(finish(waiting));
  EXPECT_TRUE(ready.attached);
  EXPECT_EQ(ready.global_step, 2u);
}

/// One server, and a chief that is cut off from it: silent, but alive.
class SilentChief : public VirtualCluster {
 protected:
  SilentChief() : VirtualCluster(1) {}
  void start_ps(Duration heartbeat) {
    Environment& env = add_task("ps 0");
    ParameterServerOptions options;
    options.identity.job = TaskOptions().job;
    options.identity.role = "ps";
    options.identity.index = 0;
    options.identity.incarnation = env.entropy() | 1;
    options.link.heartbeat_interval = heartbeat;
    options.listen_at = kServer;
    options.trainers = 2;
    server_.emplace(env, run_parameter_server(env, std::move(options)));
  }
  std::unique_ptr<RemoteStore> store(Environment& env) {
    RemoteStoreOptions options;
    options.identity.job = TaskOptions().job;
    options.identity.role = "chief";
    options.identity.trainer_index = 0;
    options.identity.incarnation = env.entropy() | 1;
    options.identity.fingerprint = 77;
    options.servers = {kServer};
    auto made = make_remote_store(env, plan_, std::move(options));
    EXPECT_TRUE(made->bind(TaskOptions().updates, TaskOptions().updates, {}));
    return made;
  }
  void start_first() {
    first_env_ = &add_task("chief 0");
    first_ = store(*first_env_);
    ASSERT_TRUE(run(*first_env_, prepare(*first_env_, *first_)));
  }
  /// Silences the first chief, and starts a second one a second later.
  void silence_first() {
    network_->cut("chief 0", "ps 0");
    world_.run_for(kSecond);
    second_env_ = &add_task("second chief");
    second_ = store(*second_env_);
  }

  const Endpoint kServer{"sim", "ps-0:1"};
  std::optional<Running<void>> server_;
  Environment* first_env_ = nullptr;
  Environment* second_env_ = nullptr;
  std::unique_ptr<RemoteStore> first_, second_;
};

TEST_F(SilentChief, IsReplacedAfterThreeHeartbeats) {
  start_ps(5 * kSecond);
  start_first();
  silence_first();
  auto waiting = start(*second_env_, prepare(*second_env_, *second_));
  world_.run_for(13 * kSecond);
  EXPECT_FALSE(waiting.done());
  const Ready ready = value_or_raise(finish(waiting, 2));
  EXPECT_TRUE(ready.attached);
  EXPECT_LE(seconds(), 15.5);
  EXPECT_TRUE(run(*second_env_, second_->check_lease()));
  network_->heal("chief 0", "ps 0");
  expect_error(run(*first_env_, first_->check_lease()), ErrorKind::kUnavailable, "ps-0:1");
  EXPECT_TRUE(first_->lost());
  expect_error(run(*first_env_, prepare(*first_env_, *first_)), ErrorKind::kUnavailable, "another chief is connected");
}

TEST_F(SilentChief, ThatIsHeardAgainStays) {
  start_ps(5 * kSecond);
  start_first();
  silence_first();
  auto waiting = start(*second_env_, prepare(*second_env_, *second_));
  world_.run_for(5 * kSecond);
  EXPECT_FALSE(waiting.done());
  network_->heal("chief 0", "ps 0");
  expect_error(finish(waiting, 6), ErrorKind::kUnavailable, "and alive");
}

TEST_F(SilentChief, WhoseSilenceNobodyJudgesKeepsItsPlace) {
  start_ps(Duration::zero());
  start_first();
  silence_first();
  expect_error(run(*second_env_, prepare(*second_env_, *second_, nullptr, 8)), ErrorKind::kDeadlineExceeded,
               "it is not known yet whether that one is alive");
}

}  // namespace
}  // namespace shoal::cluster
