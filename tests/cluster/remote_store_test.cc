// SPDX-License-Identifier: Apache-2.0
/// Steps over servers: pushes that connections lose, servers that lose their state, snapshots.
#include "shoal/cluster/remote_store.h"

#include <random>

#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

// --- Pushing ---------------------------------------------------------------------------------------------------------

TEST_F(ThreeServersTest, EveryPushCountsOnEveryServer) {
  start_ready_cluster();
  Environment *first_env = nullptr, *second_env = nullptr;
  auto first = start_worker(first_env, 0), second = start_worker(second_env, 1);
  auto one = start(*first_env, steps(*first_env, *first, 20, std::chrono::milliseconds(3)));
  auto two = start(*second_env, steps(*second_env, *second, 15, std::chrono::milliseconds(5)));
  EXPECT_EQ(value_or_raise(finish(one)), 20);
  EXPECT_EQ(value_or_raise(finish(two)), 15);
  EXPECT_EQ(global_step(), 35u);
  EXPECT_EQ(value(), -35.0f);
  const ServerStatus status = value_or_raise(run(*chief_env_, chief_->status(chief_env_->after(kSecond))));
  EXPECT_EQ(status.trainers.at(1).pushes.applied, 20u);
  EXPECT_EQ(status.trainers.at(2).pushes.applied, 15u);
}

/// A leader that does something else for longer than servers wait for a message of a trainer.
TEST_F(ThreeServersTest, ALeaderThatStaysIsNotTakenForLost) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*chief_env_, step(*chief_)));
  StopSource back;
  auto staying = start(*chief_env_, chief_->stay(back.token()));
  EXPECT_EQ(value_or_raise(run(*env, steps(*env, *worker, 20))), 20);
  world_.run_for(std::chrono::seconds(200));
  EXPECT_EQ(count_log("connection of worker 0 ended"), 3u) << logs();
  EXPECT_EQ(count_log("connection of chief 0 ended"), 0u) << logs();
  back.request_stop();
  ASSERT_TRUE(finish(staying));
  EXPECT_EQ(value_or_raise(run(*chief_env_, chief_->begin({}))).global_step, 21u) << "the newest weights, not its own last";
}

TEST_F(ThreeServersTest, ALeaderThatStaysLeavesServersAloneThatLostTheirState) {
  start_ready_cluster();
  StopSource back;
  auto staying = start(*chief_env_, chief_->stay(back.token()));
  world_.run_for(std::chrono::seconds(10));
  restart_server(1);
  world_.run_for(std::chrono::seconds(30));
  back.request_stop();
  ASSERT_TRUE(finish(staying));
  EXPECT_FALSE(chief_->lost());
  const auto stepped = run(*chief_env_, step(*chief_));
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().kind(), ErrorKind::kUnavailable);
  EXPECT_TRUE(chief_->lost());
}

TEST_F(ThreeServersTest, StatusIsToldWhenATrainerComesOrGoes) {
  start_ready_cluster();
  const auto asked = [this](uint64_t seen) { return chief_->status(chief_env_->after(kSecond), seen); };
  uint64_t seen = value_or_raise(run(*chief_env_, chief_->status(chief_env_->after(kSecond)))).changes;
  const auto after = [&](std::chrono::milliseconds least, std::chrono::milliseconds most, const auto& act) {
    const SteadyTime began = world_.now();
    auto status = start(*chief_env_, asked(seen));
    act();
    const ServerStatus told = value_or_raise(finish(status));
    EXPECT_GE(world_.now() - began, least);
    EXPECT_LE(world_.now() - began, most);
    const uint64_t changed = told.changes - std::exchange(seen, told.changes);
    return changed;
  };
  using std::chrono::milliseconds;
  EXPECT_EQ(after(milliseconds(240), milliseconds(300), [] {}), 0u);
  Environment* env = nullptr;
  std::unique_ptr<RemoteStore> worker;
  EXPECT_EQ(after(milliseconds(0), milliseconds(100), [&] { worker = start_worker(env); }), 1u);
  EXPECT_EQ(after(milliseconds(100), milliseconds(150),
                  [&] {
                    world_.run_for(milliseconds(100));
                    kill(*env);
                  }),
            1u);
  // The server has another number of changes: it answers at once.
  EXPECT_EQ(run(*chief_env_, chief_->status(chief_env_->after(kSecond), seen + 1))->changes, seen);
}

// A chief whose input has ended asks nothing else, and the workers wait until it has restored all servers.
TEST_F(ThreeServersTest, WhoAsksForTheStatusLearnsThatAnyServerBeginsAnew) {
  for (const int lost : {0, 1, 2}) {
    start_ready_cluster();
    ASSERT_TRUE(run(*chief_env_, chief_->status(chief_env_->after(kSecond))));
    restart_server(lost);
    const auto status = run(*chief_env_, chief_->status(chief_env_->after(10 * kSecond)));
    expect_error(status, ErrorKind::kUnavailable, "ps-" + std::to_string(lost));
    EXPECT_TRUE(chief_->lost());
    TearDown();
  }
}

// A trainer whose input hangs is alive as far as servers see, and the others would only say that they wait for servers.
TEST_F(ThreeServersTest, ATrainerThatAStepWaitsForIsNamed) {
  for (int i = 0; i < 3; ++i) start_server(i, {.strategy = "sync"});
  chief_env_ = &add_task("chief 0");
  chief_ = make_store(*chief_env_, "chief", 0, {.strategy = "sync"});
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  Environment& env = add_task("worker 0");
  const auto worker = make_store(env, "worker", 0, {.strategy = "sync"});
  ASSERT_TRUE(run(env, attach(env, *worker)));
  auto waiting = start(*chief_env_, steps(*chief_env_, *chief_, 1));
  world_.run_for(15 * kSecond);
  EXPECT_EQ(count_log("has been waiting"), 0u);
  world_.run_for(15 * kSecond);
  EXPECT_EQ(count_log("step 1 has been waiting for 20 s or more for trainer 1 (connected)"), 1u);
  ASSERT_TRUE(run(env, steps(env, *worker, 1)));
  EXPECT_EQ(value_or_raise(finish(waiting)), 1);
}

/// Backup workers (CONTRACT SY-2, SY-5): one that is ten times slower costs the others nothing, and its late pushes are
/// counted. sent = applied + dropped + on their way.
TEST_F(ThreeServersTest, WhatIsTooLateIsCounted) {
  const std::string strategy = "sync(2)";
  for (int i = 0; i < 3; ++i) start_server(i, {.trainers = 3, .strategy = strategy});
  std::map<std::string, int> chunks_sent;
  cuts_->on_send = [&](const std::string& task, const transport::Message& message) {
    chunks_sent[task] += message.head.kind == transport::MessageKind::kChunk;
    return false;
  };
  chief_env_ = &add_task("chief 0");
  chief_ = make_store(*chief_env_, "chief", 0, {.strategy = strategy});
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  std::vector<std::unique_ptr<RemoteStore>> workers;
  std::vector<Running<int>> running;
  std::vector<Environment*> envs;
  const auto began = world_.now();
  for (int i = 0; i < 2; ++i) {
    Environment& env = add_task("worker " + std::to_string(i));
    envs.push_back(&env);
    workers.push_back(make_store(env, "worker", i, {.strategy = strategy}));
    ASSERT_TRUE(run(env, attach(env, *workers.back())));
    running.push_back(start(env, steps(env, *workers.back(), 1000, std::chrono::milliseconds(i == 0 ? 10 : 100))));
  }
  EXPECT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 40, std::chrono::milliseconds(10)))), 40);
  EXPECT_LT(to_seconds(world_.now() - began), 0.6);
  const ServerStatus status = value_or_raise(run(*chief_env_, chief_->status(chief_env_->after(kSecond))));
  ASSERT_EQ(status.trainers.size(), 3u);
  uint64_t applied = 0;
  for (const TrainerStatus& trainer : status.trainers) {
    const PushCounts& pushes = trainer.pushes;
    applied += pushes.applied;
    EXPECT_EQ(pushes.staleness, 0u);
    size_t chunks = 0;
    for (const ShardSpec& shard : plan_.shards) chunks += parts_of(shard).size();
    const std::string task = trainer.index == 0 ? "chief 0" : "worker " + std::to_string(trainer.index - 1);
    const uint64_t sent = uint64_t(chunks_sent[task]) / chunks;
    EXPECT_THAT(sent - pushes.applied - pushes.dropped, testing::AnyOf(0u, 1u)) << task;
  }
  EXPECT_EQ(applied, 2 * status.global_step);
  EXPECT_GE(status.trainers[2].pushes.dropped, 2u);
  for (Environment* const env : envs) kill(*env);
  world_.run_for(kSecond);  // Lets killed tasks unwind.
}

/// Cuts connections at random, before a push or its reply arrives. Whatever is sent again, each step counts once.
class CutsTest : public ThreeServersTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(CutsTest, NoPushIsLostOrCountedTwice) {
  start_ready_cluster();
  std::vector<Environment*> envs(2);
  std::vector<std::unique_ptr<RemoteStore>> stores;
  for (int i = 0; i < 2; ++i) stores.push_back(start_worker(envs[size_t(i)], i));
  auto random = std::make_shared<std::mt19937>(GetParam());
  auto lost_pushes = std::make_shared<int>(0), lost_replies = std::make_shared<int>(0);
  cuts_->on_send = [=](const std::string&, const transport::Message& message) {
    const bool lose = message.head.kind == transport::MessageKind::kChunk && (*random)() % 15 == 0;
    *lost_pushes += lose;
    return lose;
  };
  cuts_->on_receive = [=](const std::string&, const transport::Message& message) {
    const bool lose = message.head.kind == transport::MessageKind::kWeights && (*random)() % 15 == 0;
    *lost_replies += lose;
    return lose;
  };
  std::vector<Running<int>> running;
  for (size_t i = 0; i < 2; ++i)
    running.push_back(start(*envs[i], steps(*envs[i], *stores[i], 100, std::chrono::milliseconds(2))));
  for (Running<int>& trainer : running) EXPECT_EQ(value_or_raise(finish(trainer, 600)), 100);
  cuts_->on_send = cuts_->on_receive = nullptr;
  EXPECT_EQ(global_step(), 200u) << *lost_pushes << " pushes and " << *lost_replies << " replies were lost";
  EXPECT_EQ(value(), -200.0f);
  EXPECT_GT(*lost_pushes, 10);
  EXPECT_GT(*lost_replies, 10);
  EXPECT_EQ(count_log("restored"), 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, CutsTest, testing::Range(0u, 20u));

TEST_F(RemoteStoreTest, ACutInAnyOtherStateIsRecoveredFrom) {
  // The n-th message from or to the worker is lost, of any kind: hello, welcome, pull, weights, push, reply.
  start_ready_cluster();
  for (int n = 0; n < 22; ++n) {
    SCOPED_TRACE("message " + std::to_string(n));
    auto count = std::make_shared<int>(0);
    const auto nth = [count, n](const std::string& task, const transport::Message&) {
      return task.starts_with("worker") && (*count)++ == n;
    };
    cuts_->on_send = cuts_->on_receive = nth;
    Environment& env = add_task("worker 0");
    auto worker = worker_store(env);
    const uint64_t before = global_step();
    const auto attached = run(env, attach(env, *worker));
    ASSERT_TRUE(attached) << attached.error().message();
    EXPECT_EQ(value_or_raise(run(env, steps(env, *worker, 3))), 3);
    EXPECT_EQ(global_step(), before + 3);
    EXPECT_EQ(value(), -float(before + 3));
    EXPECT_GT(*count, n);
    cuts_->on_send = cuts_->on_receive = nullptr;
    EXPECT_TRUE(run(env, worker->leave(env.after(kSecond))));
  }
}

TEST_F(RemoteStoreTest, AWorkerStartedAgainGoesOnAtItsPosition) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker, "after 1")));
  ASSERT_TRUE(run(*env, step(*worker, "after 2")));
  kill(*env);
  Environment& again_env = add_task("worker 0");
  auto again = worker_store(again_env);
  const Ready ready = value_or_raise(run(again_env, attach(again_env, *again)));
  EXPECT_EQ(ready.position, "after 2");
  EXPECT_EQ(ready.global_step, 2u);
  // The numbers of its pushes begin with 1 again.
  EXPECT_EQ(value_or_raise(run(again_env, steps(again_env, *again, 4))), 4);
  EXPECT_EQ(value(), -6.0f);
}

TEST_F(RemoteStoreTest, AProcessThatWasReplacedLeaves) {
  start_ready_cluster();
  Environment *old_env = nullptr, *new_env = nullptr;
  auto old_worker = start_worker(old_env);
  ASSERT_TRUE(run(*old_env, steps(*old_env, *old_worker, 3)));
  auto new_worker = start_worker(new_env);  // A second process of the same task, while the first one still lives.
  ASSERT_TRUE(run(*new_env, steps(*new_env, *new_worker, 2)));
  expect_error(run(*old_env, steps(*old_env, *old_worker, 1)), ErrorKind::kFailedPrecondition, "newer process");
  EXPECT_EQ(value(), -5.0f);
}

// --- Losing servers --------------------------------------------------------------------------------------------------

TEST_F(RemoteStoreTest, ALostServerRollsAllBackToOneState) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, steps(*env, *worker, 8)));
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 1)));
  restart_server(1);
  const auto lost = run(*chief_env_, step(*chief_));
  expect_error(lost, ErrorKind::kUnavailable, "lost its state");
  EXPECT_TRUE(chief_->lost());
  auto working = start(*env, steps(*env, *worker, 4));  // Meanwhile the worker notices by itself.
  world_.run_for(2 * kSecond);
  EXPECT_FALSE(working.done());
  UniformSource source({.global_step = 5, .shards = {{1, 5}, {1, 5}}, .positions = {{0, "chief at 5"}, {1, "worker at 5"}}},
                       -5);
  const Ready ready = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, &source)));
  EXPECT_FALSE(ready.attached);
  EXPECT_EQ(count_of(ready.epoch), 2u);
  EXPECT_EQ(ready.global_step, 5u);
  EXPECT_EQ(ready.position, "chief at 5");
  EXPECT_FALSE(chief_->lost());
  EXPECT_EQ(value_or_raise(finish(working)), 4);
  EXPECT_EQ(global_step(), 9u);
  EXPECT_EQ(value(), -9.0f);
}

/// Nobody remembers how many epochs there were; still, the push from before the loss belongs to no epoch that comes.
TEST_F(OneServerTest, APushFromBeforeTheLossDoesNotCountAfterIt) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, steps(*env, *worker, 2)));
  Step computing = value_or_raise(run(*env, worker->begin({})));
  ASSERT_TRUE(worker->start(computing, 3, {}));
  restart_server(0);
  kill(*chief_env_);
  Environment& new_env = add_task("chief 0");
  auto new_chief = chief_store(new_env);
  const Ready ready = value_or_raise(run(new_env, prepare(new_env, *new_chief)));
  EXPECT_NE(ready.epoch, first_epoch_);
  EXPECT_EQ(ready.global_step, 0u);
  const double scalars[] = {1.0};
  expect_error(run(*env, worker->commit(computing, scalars)), ErrorKind::kUnavailable, "lost its state");
  EXPECT_EQ(value_or_raise(run(new_env, new_chief->global_step())), 0u);
  EXPECT_TRUE(run(*env, attach(*env, *worker)));
  EXPECT_EQ(value_or_raise(run(*env, steps(*env, *worker, 2))), 2);
  EXPECT_EQ(value_or_raise(run(new_env, common_value(*new_chief))), -2.0f);
}

TEST_F(OneServerTest, AChiefThatStayedNeverRepeatsAnEpoch) {
  start_ready_cluster();
  restart_server(0);
  expect_error(run(*chief_env_, step(*chief_)), ErrorKind::kUnavailable);
  EXPECT_EQ(count_of(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_))).epoch), 2u);
}

TEST_F(RemoteStoreTest, AChiefStartedAgainFindsTheModelAsItIs) {
  start_ready_cluster();
  ASSERT_TRUE(run(*chief_env_, step(*chief_, "after 1")));
  ASSERT_TRUE(run(*chief_env_, step(*chief_, "after 2")));
  kill(*chief_env_);
  Environment& env = add_task("chief 0");
  auto again = chief_store(env);
  UniformSource older({.global_step = 1, .shards = {}, .positions = {{0, "after 1"}}}, -1);
  const Ready ready = value_or_raise(run(env, prepare(env, *again, &older)));
  EXPECT_TRUE(ready.attached);
  EXPECT_EQ(ready.global_step, 2u);
  EXPECT_EQ(count_of(ready.epoch), 1u);
  EXPECT_EQ(ready.position, "after 2");
  EXPECT_EQ(value_or_raise(run(env, common_value(*again))), -2.0f);
}

TEST_F(RemoteStoreTest, ServersBehindTheCheckpointAreRestored) {
  start_ready_cluster();
  ASSERT_TRUE(run(*chief_env_, step(*chief_)));
  kill(*chief_env_);
  Environment& env = add_task("chief 0");
  auto again = chief_store(env);
  UniformSource newer({.global_step = 7, .shards = {}, .positions = {}}, -7);
  const Ready ready = value_or_raise(run(env, prepare(env, *again, &newer)));
  EXPECT_FALSE(ready.attached);
  EXPECT_EQ(ready.global_step, 7u);
  EXPECT_EQ(value_or_raise(run(env, common_value(*again))), -7.0f);
}

TEST_F(RemoteStoreTest, AChiefKilledWhileRestoringIsFollowedByAnother) {
  start_server(0);
  start_server(1);
  for (int n = 1; n < 12; ++n) {  // The chief is killed at its n-th message to the servers.
    SCOPED_TRACE("message " + std::to_string(n));
    Environment& first_env = add_task("chief " + std::to_string(n));
    auto first = chief_store(first_env);
    auto count = std::make_shared<int>(0);
    cuts_->on_send = [=, this, &first_env](const std::string& task, const transport::Message&) {
      if (task == "chief " + std::to_string(n) && ++*count == n) kill(first_env);
      return false;
    };
    UniformSource source({.global_step = uint64_t(10 * n), .shards = {}, .positions = {}}, -10.0f * float(n));
    auto killed = start(first_env, prepare(first_env, *first, &source));
    world_.run_for(5 * kSecond);
    EXPECT_TRUE(killed.done());
    Environment& env = add_task("next chief");
    auto next = chief_store(env);
    const Ready ready = value_or_raise(run(env, prepare(env, *next, &source)));
    EXPECT_EQ(ready.global_step, uint64_t(10 * n));
    EXPECT_EQ(value_or_raise(run(env, common_value(*next))), -10.0f * float(n));
    kill(env);
    world_.run_for(kSecond);
  }
}

/// While the chief restores servers one by one, those that are still to come are ready in the old epoch.
TEST_F(RemoteStoreTest, AWorkerThatAttachesDuringARestoreWaits) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, steps(*env, *worker, 2)));
  restart_server(1);
  expect_error(run(*env, step(*worker)), ErrorKind::kUnavailable);
  const size_t before = world_.now().time_since_epoch().count();
  auto pulls = std::make_shared<int>(0);
  cuts_->on_send = [pulls](const std::string& task, const transport::Message& message) {
    *pulls += task == "worker 0" && message.head.kind == transport::MessageKind::kPull;
    return false;
  };
  auto attaching = start(*env, attach(*env, *worker));
  world_.run_for(30 * kSecond);  // The chief takes its time.
  EXPECT_FALSE(attaching.done());
  EXPECT_LT(*pulls, 100) << "spins, since " << before;
  expect_error(run(*chief_env_, step(*chief_)), ErrorKind::kUnavailable);
  UniformSource source({.global_step = 1, .shards = {}, .positions = {}}, -1);
  EXPECT_EQ(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, &source))).global_step, 1u);
  const Ready ready = value_or_raise(finish(attaching));
  EXPECT_EQ(count_of(ready.epoch), 2u);
  EXPECT_EQ(ready.global_step, 1u);
}

TEST_F(RemoteStoreTest, AServerThatStaysAwayIsNamed) {
  start_ready_cluster();
  Environment& env = add_task("worker 0");
  auto worker = make_store(env, "worker", 0, {.ready_timeout = 20});
  ASSERT_TRUE(run(env, attach(env, *worker)));
  kill(*server_envs_[1]);
  const double before = seconds();
  expect_error(run(env, step(*worker)), ErrorKind::kDeadlineExceeded, "sim://ps-1:1");
  EXPECT_LE(seconds() - before, 20.1);
}

// --- Snapshots -------------------------------------------------------------------------------------------------------

TEST_F(ThreeServersTest, ASnapshotStaysWhileTrainingGoesOn) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker, "p1")));
  auto snapshot = value_or_raise(run(*chief_env_, chief_->snapshot({})));
  EXPECT_EQ(snapshot->info().global_step, 1u);
  EXPECT_EQ(snapshot->info().positions.at(1), "p1");
  ASSERT_EQ(snapshot->info().shards.size(), 3u);
  ASSERT_TRUE(run(*env, steps(*env, *worker, 5)));
  for (int shard = 0; shard < 3; ++shard) {
    const Segment& segment = plan_.shards[size_t(shard)].segments.at(0);
    const auto part = value_or_raise(run(*chief_env_, snapshot->read(shard, 0, segment.offset, segment.bytes)));
    EXPECT_THAT(floats(part.bytes), testing::Each(-1.0f));
  }
  EXPECT_TRUE(run(*chief_env_, snapshot->release()));
  expect_error(run(*chief_env_, snapshot->read(0, 0, 0, 64)), ErrorKind::kUnavailable, "there is no snapshot");
  EXPECT_EQ(value(), -6.0f);
}

TEST_F(RemoteStoreTest, ReadsBeyondAnArenaAreRefused) {
  start_ready_cluster();
  auto snapshot = value_or_raise(run(*chief_env_, chief_->snapshot({})));
  const uint64_t bytes = plan_.shards[0].arena_bytes;
  expect_error(run(*chief_env_, snapshot->read(0, 0, bytes, 4)), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(run(*chief_env_, snapshot->read(0, 0, 4, bytes)), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(run(*chief_env_, snapshot->read(0, 0, ~uint64_t(0) - 2, 4)), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(run(*chief_env_, snapshot->read(0, 1, 0, 4)), ErrorKind::kInvalidArgument, "no such arena");
  expect_error(run(*chief_env_, snapshot->read(0, -1, 0, 4)), ErrorKind::kInvalidArgument, "no such arena");
}

TEST_F(RemoteStoreTest, WithoutAModelThereIsNoSnapshot) {
  start_server(0);
  start_server(1);
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  ASSERT_TRUE(run(env, chief->connect(env.after(kSecond))));
  expect_error(run(env, chief->snapshot({})), ErrorKind::kUnavailable, "holds no model");
}

}  // namespace
}  // namespace shoal::cluster
