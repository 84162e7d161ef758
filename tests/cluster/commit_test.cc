// SPDX-License-Identifier: Apache-2.0
/// A push is applied by all servers or by none, and in one order by all: with trainers that die or freeze in the middle
/// of a push, with servers whose connection to shard 0 is cut, and with snapshots meanwhile.
#include <functional>
#include <random>
#include <set>

#include "remote_store_fixture.h"
#include "shoal/cluster/server_memory.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::MessageKind;

class CommitServersTest : public ThreeServersTest {
 protected:
  /// Calls `then` as the n-th chunk of "worker 0" leaves; true loses the chunk. Returns the number of chunks that have
  /// left.
  std::shared_ptr<int> at_chunk(int n, std::function<bool()> then) {
    auto count = std::make_shared<int>(0);
    cuts_->on_send = [count, n, then = std::move(then)](const std::string& task, const Message& message) {
      if (task != "worker 0" || message.head.kind != MessageKind::kChunk || ++*count != n) return false;
      return then();
    };
    return count;
  }
  int chunks_of_a_push() const {
    size_t chunks = 0;
    for (const ShardSpec& shard : plan_.shards) chunks += parts_of(shard).size();
    return int(chunks);
  }
  void freeze(Environment& env, bool frozen) {
    frozen ? world_.freeze(env) : world_.thaw(env);
    network_->set_frozen(env.log().task(), frozen);
  }
};

TEST_F(CommitServersTest, AWorkerKilledInMidPushLeavesNothing) {
  start_ready_cluster();
  const int chunks = chunks_of_a_push();
  ASSERT_GE(chunks, 3);
  uint64_t counted = 0;
  for (int n = 1; n <= chunks; ++n) {
    SCOPED_TRACE("killed as chunk " + std::to_string(n) + " leaves");
    Environment* env = nullptr;
    auto worker = start_worker(env);
    const auto count = at_chunk(n, [this, env] {
      kill(*env);
      return true;
    });
    auto pushing = start(*env, step(*worker));
    EXPECT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 2, std::chrono::milliseconds(10)))), 2);
    counted += 2;
    EXPECT_GE(*count, n);
    EXPECT_EQ(global_step(), counted);
    EXPECT_EQ(value(), -float(counted));
    cuts_->on_send = nullptr;
    auto again = start_worker(env);
    EXPECT_EQ(value_or_raise(run(*env, steps(*env, *again, 1))), 1);
    ++counted;
    EXPECT_EQ(value(), -float(counted));
    EXPECT_TRUE(run(*env, again->leave(env->after(kSecond))));
  }
}

/// A worker that has pushed everything, and is killed before it hears so: its update counts, and its next process
/// continues after it.
TEST_F(CommitServersTest, AWorkerKilledAfterItsPushHasPushed) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  cuts_->on_receive = [this, env](const std::string& task, const Message& message) {
    if (task == "worker 0" && message.head.kind == MessageKind::kWeights) kill(*env);
    return false;
  };
  auto pushing = start(*env, step(*worker, "after 1"));
  world_.run_for(kSecond);
  cuts_->on_receive = nullptr;
  EXPECT_EQ(value(), -1.0f);
  Environment& again_env = add_task("worker 0");
  auto again = worker_store(again_env);
  const Ready ready = value_or_raise(run(again_env, attach(again_env, *again)));
  EXPECT_EQ(ready.position, "after 1");
  EXPECT_EQ(ready.global_step, 1u);
}

TEST_F(CommitServersTest, AWorkerFrozenInMidPushHoldsUpNobody) {
  start_ready_cluster();
  Environment *env = nullptr, *other_env = nullptr;
  auto worker = start_worker(env, 0), other = start_worker(other_env, 1);
  at_chunk(chunks_of_a_push(), [this, env] {
    freeze(*env, true);
    return true;
  });
  auto pushing = start(*env, step(*worker));
  auto chief = start(*chief_env_, steps(*chief_env_, *chief_, 10, std::chrono::milliseconds(10)));
  EXPECT_EQ(value_or_raise(run(*other_env, steps(*other_env, *other, 10, std::chrono::milliseconds(10)), 1)), 10);
  EXPECT_EQ(value_or_raise(finish(chief, 1)), 10);
  EXPECT_EQ(value(), -20.0f);
  EXPECT_FALSE(pushing.done());
  freeze(*env, false);
  EXPECT_EQ(value_or_raise(finish(pushing)).global_step, 21u);
  EXPECT_EQ(value(), -21.0f);
}

/// A push that a former process had begun is not completed by it when it comes back.
TEST_F(CommitServersTest, AProcessThatComesBackAfterItsSuccessorHasPushedCountsNoMore) {
  start_ready_cluster();
  Environment& old_env = add_task("worker 0");
  auto old_worker = worker_store(old_env);
  ASSERT_TRUE(run(old_env, attach(old_env, *old_worker)));
  ASSERT_TRUE(run(old_env, step(*old_worker)));
  at_chunk(chunks_of_a_push(), [this, &old_env] {
    freeze(old_env, true);
    return true;  // The worker sends the chunk again when it thaws.
  });
  auto pushing = start(old_env, step(*old_worker));
  world_.run_for(std::chrono::milliseconds(100));
  cuts_->on_send = nullptr;
  Environment& new_env = add_task("its successor");
  auto new_worker = worker_store(new_env);
  const Result<Ready> ready = run(new_env, attach(new_env, *new_worker));
  ASSERT_TRUE(ready) << ready.error().message();
  EXPECT_EQ(value_or_raise(run(new_env, steps(new_env, *new_worker, 3))), 3);
  EXPECT_EQ(value(), -4.0f);
  freeze(old_env, false);
  EXPECT_FALSE(finish(pushing));
  EXPECT_EQ(global_step(), 4u);
  EXPECT_EQ(value_or_raise(run(new_env, steps(new_env, *new_worker, 2))), 2);
  EXPECT_EQ(value(), -6.0f);
}

// --- The line between servers -------------------------------------------------------------------------------------------

TEST_F(CommitServersTest, ACutBetweenServersIsWaitedFor) {
  start_ready_cluster();
  for (const auto cut :
       {std::chrono::seconds(1), std::chrono::seconds(40)}) {  // One is within a connection's patience, one beyond.
    SCOPED_TRACE(std::to_string(cut.count()) + " s");
    const uint64_t before = global_step();
    network_->cut("ps 0", "ps 2");
    world_.run_for(std::chrono::milliseconds(1));  // Messages of the same moment still get through.
    auto stepping = start(*chief_env_, steps(*chief_env_, *chief_, 2));
    world_.run_for(cut);
    EXPECT_FALSE(stepping.done());
    network_->heal("ps 0", "ps 2");
    EXPECT_EQ(value_or_raise(finish(stepping)), 2);
    EXPECT_EQ(global_step(), before + 2);
    EXPECT_EQ(value(), -float(before + 2));
  }
  EXPECT_EQ(count_log("out of step"), 0u) << logs();
}

/// Connections between servers break as an order or a report leaves, or before it is received.
class CommitServersCutsTest : public CommitServersTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(CommitServersCutsTest, NothingIsLostOrAppliedTwice) {
  start_ready_cluster();
  std::vector<Environment*> envs(3);
  std::vector<std::unique_ptr<RemoteStore>> stores;
  for (int i = 0; i < 3; ++i) stores.push_back(start_worker(envs[size_t(i)], i));
  auto random = std::make_shared<std::mt19937>(GetParam());
  auto orders = std::make_shared<int>(0), reports = std::make_shared<int>(0);
  const auto lose = [=](std::string_view, std::string_view, const Message& message) {
    const bool is_order = message.head.kind == MessageKind::kOrder, is_report = message.head.kind == MessageKind::kReport;
    if ((!is_order && !is_report) || (*random)() % 12 != 0) return false;
    ++*(is_order ? orders : reports);
    return true;
  };
  network_->lose_when_sent(lose);
  network_->lose_when_received(lose);
  std::vector<Running<int>> running;
  for (size_t i = 0; i < 3; ++i) {
    running.push_back(start(*envs[i], steps(*envs[i], *stores[i], 40, std::chrono::milliseconds(2))));
  }
  for (Running<int>& trainer : running) EXPECT_EQ(value_or_raise(finish(trainer, 600)), 40);
  EXPECT_EQ(value(), -120.0f);  // Snapshots are orders, too.
  EXPECT_EQ(global_step(), 120u);
  EXPECT_GT(*orders, 5);
  EXPECT_GT(*reports, 5);
  EXPECT_EQ(count_log("out of step"), 0u) << logs();
  network_->lose_when_sent(nullptr);
  network_->lose_when_received(nullptr);
}
INSTANTIATE_TEST_SUITE_P(Seeds, CommitServersCutsTest, testing::Range(0u, 20u));

TEST_F(CommitServersTest, AServerThatIsStartedLateIsInStep) {
  for (const int late : {0, 2}) {
    SCOPED_TRACE("ps " + std::to_string(late));
    lines_->clear();
    std::vector<Environment*> servers;
    for (int i = 0; i < 3; ++i) servers.push_back(&start_server(i, {.delay = i == late ? 25.0 : 0.0}));
    Environment& env = add_task("chief 0");
    auto chief = chief_store(env);
    const Result<Ready> ready = run(env, prepare(env, *chief));
    ASSERT_TRUE(ready) << ready.error().message();
    EXPECT_EQ(value_or_raise(run(env, steps(env, *chief, 3))), 3);
    EXPECT_EQ(value_or_raise(run(env, common_value(*chief))), -3.0f);
    EXPECT_EQ(count_log("ps 1: waiting for sim://ps-0:1, which has the sequencer") > 0, late == 0) << logs();
    kill(env);
    for (Environment* const server : servers) kill(*server);
    world_.run_for(kSecond);
  }
}

/// A server that tries to reach shard 0 ends within 5 s of the chief, whenever the job ends (CONTRACT JE-1).
TEST_F(CommitServersTest, AServerEndsWhileItLooksForTheFirst) {
  for (int moment = 0; moment < 12; ++moment) {
    SCOPED_TRACE(moment);
    std::vector<Environment*> servers;
    for (int i = 0; i < 3; ++i) servers.push_back(&start_server(i));
    Environment& env = add_task("chief 0");
    auto chief = chief_store(env);
    ASSERT_TRUE(run(env, prepare(env, *chief)));
    network_->cut("ps 0", "ps 2");
    world_.run_for(20 * kSecond + moment * std::chrono::milliseconds(500));
    EXPECT_TRUE(run(env, finish_job(env, *chief)));
    world_.run_for(std::chrono::milliseconds(4500));
    EXPECT_TRUE(server_done(2));
    network_->heal();
    for (Environment* const server : servers) kill(*server);
    world_.run_for(kSecond);
  }
}

/// A push is not lost if one end of the connection between servers stands still. A push of a replaced process is lost
/// although all servers hold it, if the sequencer did not know that when the next process came, which computes the
/// batch again.
TEST_F(CommitServersTest, WhatADeadProcessHasPushedIsFencedWhereNotAllAreKnownToHoldIt) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, step(*worker, "after 1")));
  network_->cut("ps 0", "ps 2");
  world_.run_for(std::chrono::milliseconds(1));
  auto pushing = start(*env, step(*worker, "after 2"));
  world_.run_for(kSecond);
  kill(*env);
  Environment& next_env = add_task("worker 0");
  auto next = worker_store(next_env);
  const Ready ready = value_or_raise(run(next_env, attach(next_env, *next)));
  EXPECT_EQ(ready.position, "after 1");
  network_->heal("ps 0", "ps 2");
  world_.run_for(kSecond);
  EXPECT_EQ(global_step(), 1u);
  ASSERT_TRUE(run(next_env, step(*next, "after 2")));
  EXPECT_EQ(global_step(), 2u);
  EXPECT_EQ(value(), -2.0f);
}

/// Shard 0 had not heard of that push when it was given up. The servers that keep it learn so from the next push.
TEST_F(CommitServersTest, WhatAWorkerGaveUpGoesWithItsNextPush) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(run(*env, step(*worker)));
  world_.run_for(kSecond);
  const auto bytes = [&] { return env->buffers().stats().in_use_bytes; };  // Servers keep what the worker allocated.
  const uint64_t before = bytes();
  for (const char* const other : {"ps 1", "ps 2", "worker 0"}) network_->cut("ps 0", other);
  world_.run_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(run(*env, step(*worker)));
  network_->heal("ps 0", "worker 0");
  ASSERT_TRUE(run(*env, attach(*env, *worker)));
  network_->heal();
  ASSERT_TRUE(run(*env, step(*worker)));
  kill(*chief_env_);
  chief_env_ = &add_task("chief 0");
  chief_ = chief_store(*chief_env_);
  EXPECT_TRUE(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_))).attached);
  EXPECT_EQ(global_step(), 3u);
  EXPECT_EQ(value(), -3.0f);
  world_.run_for(kSecond);
  EXPECT_EQ(bytes(), before);
}

/// A server that is cut off from the sequencer keeps two pushes of a trainer. The third waits until orders come, or the
/// trainer connects again, however often the trainer gives one up.
class PushCreditTest : public CommitServersTest {
 protected:
  PushCreditTest() {
    const std::vector<VariableSpec> large{variable("kernel", {4000, 16}), variable("bias", {16}), variable("scale", {})};
    plan_ = value_or_raise(plan_shards(large, 3, 1));
  }
  /// Gives up `count` pushes, of which shard 0 hears nothing, and about which no shard gets an order.
  void give_up_pushes(int count) {
    start_ready_cluster();
    worker_ = start_worker(env_);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(run(*env_, step(*worker_)));
    world_.run_for(kSecond);
    before_ = env_->buffers().stats().in_use_bytes;  // From here on servers keep what the worker allocated.
    for (const char* const other : {"ps 1", "ps 2"}) network_->cut("ps 0", other);
    for (int i = 0; i < count; ++i) {
      network_->cut("ps 0", "worker 0");
      world_.run_for(std::chrono::milliseconds(1));
      EXPECT_FALSE(run(*env_, step(*worker_)));
      network_->heal("ps 0", "worker 0");
      ASSERT_TRUE(run(*env_, attach(*env_, *worker_)));
    }
  }
  Environment* env_ = nullptr;
  std::unique_ptr<RemoteStore> worker_;
  uint64_t before_ = 0;
};

TEST_F(PushCreditTest, IsTheMostThatAServerKeeps) {
  give_up_pushes(4);
  uint64_t limit = 0;
  for (const int shard : {1, 2}) limit += push_limit(plan_.shards[size_t(shard)]).dense;
  EXPECT_GT(limit, 100'000u);
  EXPECT_GT(env_->buffers().stats().in_use_bytes, before_ + limit / 2);
  EXPECT_LT(env_->buffers().stats().in_use_bytes, before_ + limit + limit / 4);
  network_->heal();
  ASSERT_TRUE(run(*env_, step(*worker_)));
  kill(*chief_env_);  // The chief was silent for too long.
  chief_env_ = &add_task("chief 0");
  chief_ = chief_store(*chief_env_);
  EXPECT_TRUE(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_))).attached);
  EXPECT_EQ(global_step(), 3u);
}

/// A session that waits for credit reads nothing, and so does not see its connection end.
TEST_F(PushCreditTest, IsNotWaitedForWhenTheTrainerIsGone) {
  give_up_pushes(2);
  auto third = start(*env_, step(*worker_));
  world_.run_for(kSecond);
  kill(*env_);
  world_.run_for(25 * kSecond);
  EXPECT_EQ(count_log("ps 1: connection of worker 0 ended: worker 0 has been silent while its push waited"), 1u);
}

TEST_F(CommitServersTest, NonsenseOfWhoSaysThatItIsAServerEndsItsConnectionOnly) {
  start_ready_cluster();
  Environment& env = add_task("nonsense");
  auto* const transport = value_or_raise(env.transport("sim"));
  std::vector<std::unique_ptr<transport::Connection>> connections;
  const auto say = [&](Message message) {  // An earlier message may have ended the connection, which does not matter here.
    static_cast<void>(run(env, connections.back()->send(std::move(message), env.after(kSecond))));
  };
  const auto answer_as_server = [&](int index) {
    connections.push_back(value_or_raise(run(env, transport->connect({"sim", "ps-0:1"}, {}, env.after(kSecond)))));
    const std::string job = TaskOptions().job;
    say(transport::make_hello(env.buffers(),
                              {.job = job, .role = "ps", .index = index, .incarnation = 9, .strategy = "async"}));
    return value_or_raise(run(env, connections.back()->receive(env.after(kSecond)))).head.kind;
  };
  const auto report = [&](uint64_t epoch, const transport::Report& what) {
    Message message = transport::make_report(env.buffers(), what);
    message.head.epoch = epoch;
    return message;
  };
  for (const int index : {0, 3}) EXPECT_EQ(answer_as_server(index), MessageKind::kError) << index;
  using transport::ReportKind;
  const std::vector<std::function<Message()>> nonsense{
      [&] { return transport::make_weights(env.buffers(), 64); },
      [&] { return transport::make_control(env.buffers(), "seal"); },
      [&] {
        return transport::make_order(env.buffers(), {.kind = transport::OrderKind::kSeal, .index = 1, .pushes = {}});
      }};
  for (const auto& make : nonsense) {
    EXPECT_EQ(answer_as_server(1), MessageKind::kControl);
    say(make());
    EXPECT_FALSE(run(env, connections.back()->receive(env.after(5 * kSecond))));
  }
  const uint64_t more = uint64_t(1) << 40;
  const std::vector<std::pair<uint64_t, transport::Report>> without_effect{
      {0, {.kind = ReportKind::kInStep, .received = more}},
      {first_epoch_ + 1, {.kind = ReportKind::kInStep, .received = more}},
      {first_epoch_, {.kind = ReportKind::kHeld, .received = more, .push = {0, 1, 1}}}};  // That server is not in step.
  EXPECT_EQ(answer_as_server(1), MessageKind::kControl);
  for (const auto& [epoch, what] : without_effect) say(report(epoch, what));
  world_.run_for(std::chrono::milliseconds(5));
  connections.clear();
  EXPECT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 5))), 5);
  EXPECT_EQ(value(), -5.0f);
  EXPECT_EQ(count_log("out of step"), 0u) << logs();
}

TEST_F(CommitServersTest, TheFirstServerAloneStartedAgainRollsAllBack) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, steps(*env, *worker, 4)));
  at_chunk(chunks_of_a_push(), [this] {  // The others hold the push that ps 0 had, or is about to get.
    kill(*server_envs_[0]);
    server_envs_[0] = &start_server(0);
    return false;
  });
  auto working = start(*env, steps(*env, *worker, 3));
  world_.run_for(2 * kSecond);
  cuts_->on_send = nullptr;
  EXPECT_FALSE(working.done());
  expect_error(run(*chief_env_, step(*chief_)), ErrorKind::kUnavailable, "lost its state");
  UniformSource source({.global_step = 2, .shards = {{1, 2}, {1, 2}, {1, 2}}, .positions = {}}, -2);
  const Ready ready = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, &source)));
  EXPECT_FALSE(ready.attached);
  EXPECT_EQ(value_or_raise(finish(working)), 3);
  EXPECT_EQ(global_step(), 5u);
  EXPECT_EQ(value(), -5.0f);
}

/// A server that is told of the job's end before it gets an older order does not need its state any more.
TEST_F(CommitServersTest, AnOrderThatComesAfterTheEndDoesNoHarm) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  network_->cut("ps 0", "ps 2");
  world_.run_for(std::chrono::milliseconds(1));
  auto asking = start(*chief_env_, chief_->snapshot({}));
  world_.run_for(kSecond);
  EXPECT_FALSE(asking.done());
  kill(*chief_env_);
  Environment& again_env = add_task("chief 0");
  auto again = chief_store(again_env);
  const double before = seconds();
  ASSERT_TRUE(run(again_env, prepare(again_env, *again)));
  EXPECT_LT(seconds() - before, 12);  // By then ps 2 has noticed that the former chief is gone.
  EXPECT_TRUE(run(again_env, finish_job(again_env, *again)));
  network_->heal();
  world_.run_for(kSecond);
  EXPECT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  expect_servers_end_well();
  EXPECT_EQ(count_log("out of step"), 0u) << logs();
}

// --- Snapshots ----------------------------------------------------------------------------------------------------------

TEST_F(CommitServersTest, ASnapshotIsOfOneCommitOnAllServersWhileThreePush) {
  start_ready_cluster();
  network_->set_link("ps 0", "ps 1", {.latency = std::chrono::milliseconds(3)});
  network_->set_link("ps 0", "ps 2", {.latency = std::chrono::milliseconds(11)});
  std::vector<Environment*> envs(3);
  std::vector<std::unique_ptr<RemoteStore>> stores;
  for (int i = 0; i < 3; ++i) stores.push_back(start_worker(envs[size_t(i)], i));
  std::vector<Running<int>> running;
  for (size_t i = 0; i < 3; ++i) {
    running.push_back(start(*envs[i], steps(*envs[i], *stores[i], 60, std::chrono::milliseconds(1 + int64_t(i)))));
  }
  std::set<uint64_t> steps_seen;
  for (int i = 0; i < 20; ++i) {
    auto snapshot = value_or_raise(run(*chief_env_, chief_->snapshot({})));
    const StateInfo& info = snapshot->info();
    steps_seen.insert(info.global_step);
    ASSERT_EQ(info.shards.size(), 3u);
    for (int shard = 0; shard < 3; ++shard) {
      EXPECT_EQ(info.shards[size_t(shard)].version, info.global_step + 1);
      EXPECT_EQ(info.shards[size_t(shard)].update_count, info.global_step);
      const Segment& segment = plan_.shards[size_t(shard)].segments.at(0);
      const auto part = value_or_raise(run(*chief_env_, snapshot->read(shard, 0, segment.offset, segment.bytes)));
      EXPECT_THAT(floats(part.bytes), testing::Each(-float(info.global_step)));
    }
    EXPECT_TRUE(run(*chief_env_, snapshot->release()));
  }
  EXPECT_GT(steps_seen.size(), 5u);
  for (Running<int>& trainer : running) EXPECT_EQ(value_or_raise(finish(trainer)), 60);
  EXPECT_EQ(value(), -180.0f);
}

/// A server that is cut off from shard 0 is not told at which commit to take its snapshot. The chief says for whom it
/// waits, and waits no longer than ready_timeout.
TEST_F(CommitServersTest, TheWaitForAHoldIsToldAndBounded) {
  for (size_t i = 0; i < plan_.shards.size(); ++i) server_envs_.push_back(&start_server(int(i)));
  chief_env_ = &add_task("chief 0");
  chief_ = make_store(*chief_env_, "chief", 0, {.ready_timeout = 25});
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  network_->cut("ps 0", "ps 2");
  world_.run_for(std::chrono::milliseconds(1));
  const double began = seconds();
  const auto snapshot = run(*chief_env_, chief_->snapshot({}));
  expect_error(snapshot, ErrorKind::kUnavailable, "has not been told to take a snapshot for a checkpoint within");
  EXPECT_THAT(snapshot.error().message(), testing::HasSubstr("is its connection to"));
  EXPECT_NEAR(seconds() - began, 25, 6);  // The server answers every five seconds.
  EXPECT_EQ(count_log("to take a snapshot for a checkpoint: nothing has told it yet"), 2u) << logs();
  network_->heal();
}

/// A snapshot goes on all servers when nobody will ask for it: the chief could not ask all of them, or died.
TEST_F(CommitServersTest, WhatASnapshotHoldsGoesWithIt) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  const auto bytes_after_a_step = [&] {
    EXPECT_TRUE(run(*env, step(*worker)));
    world_.run_for(kSecond);
    return server_envs_[2]->buffers().stats().in_use_bytes;
  };
  bytes_after_a_step();
  const uint64_t before = bytes_after_a_step();
  const auto at_second_hold = [this](std::function<void()> then) {
    auto count = std::make_shared<int>(0);
    cuts_->on_send = [count, then = std::move(then)](const std::string& task, const Message& message) {
      if (task != "chief 0" || message.head.kind != MessageKind::kControl) return false;
      const Result<transport::Control> control = transport::read_control(message);
      if (!control || control->verb != "hold" || ++*count != 2) return false;
      then();
      return true;
    };
    return count;
  };
  const auto unreachable = at_second_hold([] {});
  EXPECT_FALSE(run(*chief_env_, chief_->snapshot({})));
  EXPECT_EQ(*unreachable, 2);
  EXPECT_EQ(bytes_after_a_step(), before);
  EXPECT_TRUE(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_))).attached);
  // The order comes after the chief's end.
  network_->set_link("ps 0", "ps 2", {.latency = std::chrono::milliseconds(50)});
  const auto dead = at_second_hold([this] { kill(*chief_env_); });
  auto asking = start(*chief_env_, chief_->snapshot({}));
  world_.run_for(kSecond);
  EXPECT_EQ(*dead, 2);
  cuts_->on_send = nullptr;
  Environment& again_env = add_task("chief 0");
  auto again = chief_store(again_env);
  EXPECT_TRUE(value_or_raise(run(again_env, prepare(again_env, *again))).attached);
  EXPECT_EQ(bytes_after_a_step(), before);
}

}  // namespace
}  // namespace shoal::cluster
