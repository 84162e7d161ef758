// SPDX-License-Identifier: Apache-2.0
/// Trainers that make no more pushes and wait for the end of the job (CONTRACT JE-1).
#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

constexpr Rest kWhoEnded{.newest_push = 0, .input_ended = true, .stopped_by_job = false, .waits = true};
constexpr Rest kWhoWasStopped{.newest_push = 0, .input_ended = false, .stopped_by_job = true, .waits = true};

class RestingTest : public RemoteStoreTest {
 protected:
  Running<RestNews> rest(Environment& env, RemoteStore& store, Rest rest) {
    return start(env, store.rest(rest, env.after(20 * kSecond)));
  }
  TrainerStatus status_of(int trainer) {
    const ServerStatus status = value_or_raise(run(*chief_env_, chief_->status(chief_env_->after(kSecond))));
    for (const TrainerStatus& known : status.trainers) {
      if (known.index == trainer) return known;
    }
    return {};
  }
};

TEST_F(RestingTest, HearsOfTheEndAtOnce) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker)));
  EXPECT_FALSE(status_of(1).done);
  auto resting = rest(*env, *worker, kWhoEnded);
  world_.run_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(resting.done());
  EXPECT_TRUE(status_of(1).done);
  EXPECT_TRUE(status_of(1).ended);
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  world_.run_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(resting.done());
  expect_error(resting.take(), ErrorKind::kCancelled);
  EXPECT_EQ(worker->job_end()->reason, "max_steps");
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  expect_servers_end_well();
}

TEST_F(RestingTest, IsToldWhoIsStillAtWork) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  const double before = seconds();
  RestNews news = value_or_raise(run(*env, worker->rest(kWhoEnded, env->after(kSecond))));
  EXPECT_GE(seconds() - before, 0.9) << "the question costs one message a second";
  EXPECT_TRUE(news.chief_connected);
  EXPECT_EQ(news.at_work, "chief 0");
  kill(*chief_env_);
  world_.run_for(kSecond);
  news = value_or_raise(run(*env, worker->rest(kWhoEnded, env->after(kSecond))));
  EXPECT_FALSE(news.chief_connected);
  EXPECT_EQ(news.at_work, "chief 0 (away)");
}

TEST_F(RestingTest, GoesOnWhereTheServersWentBack) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker)));
  auto resting = rest(*env, *worker, kWhoEnded);
  world_.run_for(std::chrono::milliseconds(300));
  restart_server(1);  // The worker asks the other server, and hears there that all are restored.
  expect_error(run(*chief_env_, prepare(*chief_env_, *chief_)),
               ErrorKind::kUnavailable);  // The old connection was lost.
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  expect_error(finish(resting), ErrorKind::kUnavailable, "went back to an older state");
  EXPECT_TRUE(worker->lost());
  ASSERT_TRUE(run(*env, attach(*env, *worker)));
  EXPECT_FALSE(status_of(1).done);
  ASSERT_TRUE(run(*env, step(*worker)));
}

TEST_F(RestingTest, GoesOnWhereItsOwnServerLostItsState) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  auto resting = rest(*env, *worker, kWhoEnded);
  world_.run_for(std::chrono::milliseconds(300));
  restart_server(0);
  expect_error(finish(resting), ErrorKind::kUnavailable, "lost its state");
  EXPECT_TRUE(worker->lost());
}

TEST_F(RestingTest, APushBehindTheSealIsNotTheEndOfTheJob) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  Step computing = value_or_raise(run(*env, worker->begin({})));
  ASSERT_TRUE(worker->start(computing, 1, {}));
  ASSERT_TRUE(run(*chief_env_, chief_->seal(chief_env_->after(kSecond))));
  const double scalars[] = {1.0};
  expect_error(run(*env, worker->commit(computing, scalars)), ErrorKind::kCancelled);
  EXPECT_FALSE(worker->job_end()) << "a server may still be lost before the last checkpoint is written";
  EXPECT_TRUE(run(*env, worker->rest(kWhoWasStopped, env->after(kSecond)))) << "it waits";
  kill(*chief_env_);
  Environment& again_env = add_task("chief 0");
  auto again = chief_store(again_env);
  EXPECT_TRUE(value_or_raise(run(again_env, prepare(again_env, *again))).attached);
  auto resting = rest(*env, *worker, kWhoWasStopped);
  expect_error(finish(resting), ErrorKind::kUnavailable, "another chief");
  ASSERT_TRUE(run(*env, attach(*env, *worker)));
  ASSERT_TRUE(run(*env, step(*worker)));
}

TEST_F(RestingTest, MeetsABrokenConnectionWithANewOne) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  auto resting = rest(*env, *worker, kWhoEnded);
  world_.run_for(std::chrono::milliseconds(300));
  network_->reset("worker 0", "ps 0");
  const auto news = finish(resting);
  EXPECT_TRUE(news) << news.error().message();
  EXPECT_TRUE(status_of(1).done);
}

TEST_F(RestingTest, AnotherProcessOfWhoEndedHasEndedToo) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker)));
  ASSERT_TRUE(run(*env, worker->rest(kWhoEnded, env->after(kSecond))));
  kill(*env);
  auto again = start_worker(env);
  EXPECT_TRUE(status_of(1).done);
  ASSERT_TRUE(run(*env, step(*again)));
  EXPECT_FALSE(status_of(1).done) << "what it pushes counts for more than what was said of it";
  EXPECT_FALSE(status_of(1).ended);
}

}  // namespace
}  // namespace shoal::cluster
