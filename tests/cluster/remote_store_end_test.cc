// SPDX-License-Identifier: Apache-2.0
/// The end of a job over servers: the chief ends it, gives up or is interrupted.
#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

TEST_F(RemoteStoreTest, AStopReachesTrainersWithTheirNextReply) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  EXPECT_FALSE(value_or_raise(run(*env, step(*worker))).stop);
  ASSERT_TRUE(run(*chief_env_, chief_->request_stop(chief_env_->after(kSecond))));
  const Outcome outcome = value_or_raise(run(*env, step(*worker)));
  EXPECT_TRUE(outcome.stop);
  EXPECT_EQ(outcome.global_step, 2u);  // That push still counted.
  Environment& late_env = add_task("worker 1");
  auto late = worker_store(late_env, 1);
  EXPECT_TRUE(value_or_raise(run(late_env, attach(late_env, *late))).stop);
}

TEST_F(RemoteStoreTest, APushAfterTheEndDoesNotCountAndEndsItsTrainer) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  Step computing = value_or_raise(run(*env, worker->begin({})));
  ASSERT_TRUE(worker->start(computing, 1, {}));
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  world_.run_for(kSecond);
  EXPECT_FALSE(server_done(0));  // The worker is still connected.
  const double scalars[] = {1.0};
  expect_error(run(*env, worker->commit(computing, scalars)), ErrorKind::kCancelled);
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  expect_servers_end_well();
}

TEST_F(RemoteStoreTest, ATrainerThatLeavesByItselfLearnsHowTheJobEnded) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker)));
  EXPECT_FALSE(worker->job_end());
  ASSERT_TRUE(run(*chief_env_, chief_->finish({.failed = true, .reason = "no disk"}, chief_env_->after(kSecond))));
  // An interrupt, say, makes a worker leave without another request.
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  ASSERT_TRUE(worker->job_end());
  EXPECT_TRUE(worker->job_end()->failed);
  EXPECT_EQ(worker->job_end()->reason, "no disk");
}

TEST_F(RemoteStoreTest, ATrainerInALongStepLearnsOfTheEndAfterwards) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  Step computing = value_or_raise(run(*env, worker->begin({})));
  ASSERT_TRUE(worker->start(computing, 1, {}));
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  world_.run_for(19 * kSecond);
  EXPECT_FALSE(server_done(0));
  world_.run_for(2 * kSecond);
  expect_servers_end_well();
  const double before = seconds();
  const double scalars[] = {1.0};
  expect_error(run(*env, worker->commit(computing, scalars)), ErrorKind::kCancelled);
  EXPECT_LT(seconds() - before, 1);
}

TEST_F(RemoteStoreTest, WorkersThatWaitForTheModelLearnOfTheEnd) {
  start_server(0);
  start_server(1);
  Environment& env = add_task("worker 0");
  auto worker = worker_store(env);
  auto attaching = start(env, attach(env, *worker));
  world_.run_for(2 * kSecond);
  Environment& chief_env = add_task("chief 0");
  auto chief = chief_store(chief_env);
  ASSERT_TRUE(run(chief_env, finish_job(chief_env, *chief)));  // The chief has nothing to do.
  expect_error(finish(attaching), ErrorKind::kCancelled);
  EXPECT_EQ(worker->job_end(), (JobEnd{.failed = false, .reason = "max_steps"}));
}

TEST_F(RemoteStoreTest, AllLearnThatTheChiefGaveUp) {
  start_ready_cluster();
  Environment *computing_env = nullptr, *idle_env = nullptr;
  auto computing = start_worker(computing_env, 0), idle = start_worker(idle_env, 1);
  Step begun = value_or_raise(run(*computing_env, computing->begin({})));
  ASSERT_TRUE(computing->start(begun, 1, {}));
  const JobEnd end{.failed = true, .reason = "the loss is NaN"};
  ASSERT_TRUE(run(*chief_env_, chief_->finish(end, chief_env_->after(kSecond))));
  ASSERT_TRUE(run(*chief_env_, chief_->finish({.failed = false, .reason = "max_steps"}, chief_env_->after(kSecond))));
  const double scalars[] = {1.0};
  expect_error(run(*computing_env, computing->commit(begun, scalars)), ErrorKind::kCancelled);
  EXPECT_EQ(computing->job_end(), end);  // The reply to its push says so; the first "finished" counts.
  Environment& late_env = add_task("worker 2");
  auto late = worker_store(late_env, 2);
  expect_error(run(late_env, attach(late_env, *late)), ErrorKind::kCancelled);
  EXPECT_EQ(late->job_end(), end);
  world_.run_for(25 * kSecond);  // The servers leave.
  expect_error(run(*idle_env, step(*idle)), ErrorKind::kCancelled);
  EXPECT_EQ(idle->job_end(), end);
  EXPECT_EQ(count_log("the job failed: the chief gave up: the loss is NaN; the parameter server returns"), 2u);
}

TEST_F(RemoteStoreTest, AServerThatIsGoneKeepsNoOtherFromHearingOfTheEnd) {
  start_server(1);
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  auto telling = start(env, chief->finish({}, env.after(30 * kSecond)));
  world_.run_for(21 * kSecond);  // 20 s of these are for the chief's last messages.
  ASSERT_TRUE(server_done(1));
  EXPECT_TRUE(server_result(1));
  EXPECT_FALSE(telling.done());
  expect_error(finish(telling), ErrorKind::kDeadlineExceeded, "ps-0:1");
  EXPECT_LT(seconds(), 31);
}

/// The server waits for the others, which have left, to hold a push.
TEST_F(RemoteStoreTest, AServerThatHearsNoEndKeepsNoTrainerFromIt) {
  start_ready_cluster();
  Environment* env = nullptr;
  const auto worker = start_worker(env);
  const auto cut = [this](const char* other) {
    network_->cut("ps 0", other);
    world_.run_for(std::chrono::milliseconds(1));
  };
  cut("ps 1");
  auto pushing = start(*env, step(*worker));
  world_.run_for(std::chrono::milliseconds(10));
  cut("chief 0");
  EXPECT_FALSE(run(*chief_env_, chief_->finish({.failed = false, .reason = "interrupted"}, chief_env_->after(kSecond))));
  world_.run_for(std::chrono::seconds(15));
  ASSERT_TRUE(pushing.done());
  EXPECT_EQ(pushing.take().error(), cancelled());
  EXPECT_EQ(worker->job_end()->reason, "interrupted");
}

TEST_F(RemoteStoreTest, TheEndIsToldOverANewConnectionWhereTheOldOneBroke) {
  start_ready_cluster();
  bool cut = false;
  cuts_->on_receive = [&cut](const std::string& task, const transport::Message& message) {
    const auto control = transport::read_control(message);
    return task == "chief 0" && !cut && (cut = control && control->verb == "ok");
  };
  const auto told = run(*chief_env_, finish_job(*chief_env_, *chief_));
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_TRUE(cut);
  expect_servers_end_well();
}

TEST_F(RemoteStoreTest, AChiefThatMayNotHaveHeardOfTheEndIsWaitedFor) {
  start_ready_cluster();
  bool killed = false;
  cuts_->on_receive = [&, this](const std::string& task, const transport::Message& message) {
    const auto control = transport::read_control(message);
    const bool last = task == "chief 0" && !killed && control && control->verb == "ok";
    if (last) world_.kill(*chief_env_);
    return killed |= last, last;
  };
  EXPECT_FALSE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  ASSERT_TRUE(killed);
  world_.run_for(5 * kSecond);  // The server is gone until it is started again.
  Environment& env = add_task("chief 0");
  auto again = chief_store(env);
  const auto told = run(env, finish_job(env, *again));
  EXPECT_TRUE(told) << told.error().message();
  expect_servers_end_well();
}

TEST_F(RemoteStoreTest, AWorkerThatComesAfterTheEndIsToldByTheMark) {
  Environment& env = add_task("worker 0");
  auto ended = std::make_shared<bool>(false);
  auto worker = make_store(env, "worker", 0, {.job_ended = [ended] { return *ended; }});
  auto attaching = start(env, attach(env, *worker));
  world_.run_for(5 * kSecond);
  EXPECT_FALSE(attaching.done());
  *ended = true;
  expect_error(finish(attaching), ErrorKind::kCancelled);
  EXPECT_LT(seconds(), 7);
}

TEST_F(RemoteStoreTest, AnInterruptEndsEveryWait) {
  start_server(0);
  for (int with_model : {0, 1}) {
    Environment& env = add_task("worker 0");
    auto worker = worker_store(env);
    auto attaching = start(env, attach(env, *worker));
    world_.run_for(3 * kSecond);
    world_.interrupt(env);
    expect_error(finish(attaching, 6), ErrorKind::kCancelled);
    if (with_model == 0) start_server(1);
  }
}

TEST_F(OneServerTest, AnInterruptedServerServesForTwentySeconds) {
  start_ready_cluster();
  world_.interrupt(*server_envs_[0]);
  world_.run_for(19 * kSecond);
  EXPECT_FALSE(server_done(0));
  EXPECT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 3)));
  world_.run_for(2 * kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kUnavailable, "did not end within 20 s");
}

TEST_F(OneServerTest, AnInterruptedServerReturnsWhenTheJobEnds) {
  start_ready_cluster();
  world_.interrupt(*server_envs_[0]);
  world_.run_for(3 * kSecond);
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();
}

TEST_F(OneServerTest, AnInterruptedServerThatIsAloneLeavesSoon) {
  start_ready_cluster();
  kill(*chief_env_);
  world_.run_for(5 * kSecond);
  world_.interrupt(*server_envs_[0]);
  world_.run_for(3 * kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kUnavailable, "no chief or worker is there");
}

/// A chief that is cut off or frozen may come back, and save what the server holds.
TEST_F(OneServerTest, AnInterruptedServerWaitsForAChiefThatFellSilent) {
  start_ready_cluster();
  network_->cut("chief 0", "ps 0");
  world_.run_for(17 * kSecond);  // The server has closed the connection of the silent chief by then.
  world_.interrupt(*server_envs_[0]);
  world_.run_for(18 * kSecond);
  EXPECT_FALSE(server_done(0));
  network_->heal();
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 1)));
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();
}

TEST_F(OneServerTest, AnInterruptedServerWaitsTwentySecondsForASilentChief) {
  start_ready_cluster();
  network_->cut("chief 0", "ps 0");
  world_.run_for(17 * kSecond);
  world_.interrupt(*server_envs_[0]);
  world_.run_for(21 * kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kUnavailable, "no chief or worker is there");
}

TEST_F(OneServerTest, PeersThatSayNothingDoNotHoldTheServer) {
  start_ready_cluster();
  Environment& env = add_task("scanner");
  auto* transport = value_or_raise(env.transport("sim"));
  const auto connection = value_or_raise(run(env, transport->connect({"sim", "ps-0:1"}, {}, env.after(kSecond))));
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();
}

}  // namespace
}  // namespace shoal::cluster
