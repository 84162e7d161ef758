#include "shoal/cluster/remote_store.h"

#include <algorithm>
#include <array>
#include <random>

#include "shoal/cluster/identity.h"
#include "virtual_cluster.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;

constexpr auto kSecond = std::chrono::seconds(1);

class RemoteStoreTest : public VirtualCluster {
 protected:
  using VirtualCluster::VirtualCluster;

  /// Servers up, the model made ready by a chief.
  void start_ready_cluster() {
    for (size_t i = 0; i < plan_.shards.size(); ++i) server_envs_.push_back(&start_server(int(i)));
    chief_env_ = &add_task("chief 0");
    chief_ = chief_store(*chief_env_);
    const Ready ready = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_)));
    ASSERT_FALSE(ready.attached);
    ASSERT_EQ(ready.epoch, 1u);
  }
  /// A worker that has attached.
  std::unique_ptr<RemoteStore> start_worker(Environment*& env, int index = 0) {
    env = &add_task("worker " + std::to_string(index));
    auto store = worker_store(*env, index);
    const auto attached = run(*env, attach(*env, *store));
    EXPECT_TRUE(attached) << attached.error().message();
    return store;
  }
  void restart_server(int index) {
    kill(*server_envs_[size_t(index)]);
    server_envs_[size_t(index)] = &start_server(index);
    world_.run_for(std::chrono::milliseconds(50));
  }
  uint64_t global_step() { return value_or_raise(run(*chief_env_, chief_->global_step())); }
  float value() { return value_or_raise(run(*chief_env_, common_value(*chief_))); }
  void expect_servers_end_well() {
    world_.run_for(kSecond);
    for (size_t i = 0; i < plan_.shards.size(); ++i) {
      ASSERT_TRUE(server_done(int(i))) << "ps " << i << " still runs";
      const auto result = server_result(int(i));
      EXPECT_TRUE(result) << result.error().message();
    }
  }

  std::vector<Environment*> server_envs_;
  Environment* chief_env_ = nullptr;
  std::unique_ptr<RemoteStore> chief_;
};

class OneServerTest : public RemoteStoreTest {
 protected:
  OneServerTest() : RemoteStoreTest(1) {}
};
class ThreeServersTest : public RemoteStoreTest {
 protected:
  ThreeServersTest() : RemoteStoreTest(3) {}
};

// --- Meeting ----------------------------------------------------------------------------------------------------------------

class StartOrderTest : public RemoteStoreTest, public testing::WithParamInterface<std::array<int, 4>> {};

TEST_P(StartOrderTest, AllMeet) {
  std::array<double, 4> delay{};  // of ps 0, ps 1, chief, worker: a second apart
  for (int i = 0; i < 4; ++i) delay[size_t(GetParam()[size_t(i)])] = i;
  start_server(0, {.delay = delay[0]});
  start_server(1, {.delay = delay[1]});
  chief_env_ = &add_task("chief 0");
  Environment& worker_env = add_task("worker 0");
  chief_ = chief_store(*chief_env_);
  auto worker = worker_store(worker_env);
  const auto lead = [&]() -> Task<Result<int>> {
    SHOAL_CO_TRY_VOID(co_await chief_env_->sleep_for(seconds_to_duration(delay[2])));
    SHOAL_CO_TRY_VOID((co_await prepare(*chief_env_, *chief_)));
    co_return co_await steps(*chief_env_, *chief_, 5);
  };
  const auto follow = [&]() -> Task<Result<int>> {
    SHOAL_CO_TRY_VOID(co_await worker_env.sleep_for(seconds_to_duration(delay[3])));
    SHOAL_CO_TRY_VOID((co_await attach(worker_env, *worker)));
    co_return co_await steps(worker_env, *worker, 5);
  };
  auto leading = start(*chief_env_, lead());
  auto following = start(worker_env, follow());
  EXPECT_EQ(value_or_raise(finish(leading)), 5);
  EXPECT_EQ(value_or_raise(finish(following)), 5);
  EXPECT_LT(seconds(), 5);  // the last comes after 3 s; back-off adds at most one
  EXPECT_EQ(global_step(), 10u);
  EXPECT_EQ(value(), -10.0f);
  EXPECT_TRUE(run(worker_env, worker->leave(worker_env.after(kSecond))));
  EXPECT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();
}

std::vector<std::array<int, 4>> all_orders() {
  std::array<int, 4> order{0, 1, 2, 3};
  std::vector<std::array<int, 4>> orders;
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return orders;
}
std::string order_name(const testing::TestParamInfo<std::array<int, 4>>& param) {
  const char* const names[] = {"Ps0", "Ps1", "Chief", "Worker"};
  std::string name;
  for (int who : param.param) name += names[who];
  return name;
}
INSTANTIATE_TEST_SUITE_P(Orders, StartOrderTest, testing::ValuesIn(all_orders()), order_name);

TEST_F(RemoteStoreTest, WaitsForALateServer) {
  start_server(0);
  start_server(1, {.delay = 3});
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  EXPECT_TRUE(run(env, prepare(env, *chief)));
  EXPECT_GE(seconds(), 3);
  EXPECT_LE(seconds(), 4.1);  // back-off is at most a second
}

TEST_F(RemoteStoreTest, NamesAServerThatNeverComes) {
  start_server(0);
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  expect_error(run(env, prepare(env, *chief, nullptr, 7)), ErrorKind::kDeadlineExceeded, "inproc://ps-1:1");
  EXPECT_GT(seconds(), 5);
  EXPECT_LE(seconds(), 7.1);
}

TEST_F(RemoteStoreTest, AWorkerNamesTheChiefThatNeverComes) {
  start_server(0);
  start_server(1);
  Environment& env = add_task("worker 0");
  auto worker = worker_store(env);
  expect_error(run(env, attach(env, *worker, 12)), ErrorKind::kDeadlineExceeded, "waiting for the chief");
  EXPECT_GE(seconds(), 12);
  EXPECT_LE(seconds(), 17.1);  // a pull waits at most 5 s on the server
  EXPECT_THAT(logs(), HasSubstr("worker 0: waiting for the chief to make the model ready"));
}

TEST_F(OneServerTest, AServerGivesUpWhereNobodyComes) {
  start_server(0, {.ready_timeout = 30});
  world_.run_for(29 * kSecond);
  EXPECT_FALSE(server_done(0));
  world_.run_for(2 * kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kDeadlineExceeded, "none was connected for 30 s");
}

TEST_F(OneServerTest, AServerCountsFromTheLastToLeave) {
  start_server(0, {.ready_timeout = 30});
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  ASSERT_TRUE(run(env, prepare(env, *chief)));
  world_.run_for(20 * kSecond);
  kill(env);
  world_.run_for(29 * kSecond);
  EXPECT_FALSE(server_done(0));
  world_.run_for(2 * kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kDeadlineExceeded);
}

TEST_F(OneServerTest, ASilentTrainerDoesNotHoldAServerForEver) {
  start_server(0, {.ready_timeout = 30});
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  ASSERT_TRUE(run(env, prepare(env, *chief)));
  world_.run_for(65 * kSecond);  // closed after 30 s without a word, then 30 s alone
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kDeadlineExceeded);
}

TEST_F(OneServerTest, AnAddressInUseIsUnavailable) {
  start_server(0);
  world_.run_for(kSecond);
  start_server(0);
  world_.run_for(kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kUnavailable, "ps-0:1");
}

// --- Who may join -------------------------------------------------------------------------------------------------------------

TEST_F(RemoteStoreTest, StrangersAreRefusedAndTheJobGoesOn) {
  start_ready_cluster();
  Environment* worker_env = nullptr;
  auto worker = start_worker(worker_env);
  const auto refused = [&](const TaskOptions& options, const std::string& sentence) {
    Environment& env = add_task("stranger");
    auto stranger = make_store(env, "worker", 1, options);
    expect_error(run(env, attach(env, *stranger)), ErrorKind::kFailedPrecondition, sentence);
  };
  refused({.job = "chief 0: a:1\nps 0: b:2\n"}, "different job: ps 0 is b:2 for worker 1 and b:1 for ps 0; give all tasks");
  refused({.strategy = "sync"}, "different update strategy: worker 1 has sync, ps 0 has async");
  const std::string same = variables_text({variable("kernel", {30, 16}), variable("bias", {16}), variable("scale", {})});
  refused({.fingerprint = 78, .variables = same}, "different model: worker 1 has the chief's variables, as far as ps 0");
  const std::string wider = variables_text({variable("kernel", {30, 17}), variable("bias", {16}), variable("scale", {})});
  refused({.fingerprint = 78, .variables = wider},
          "different model: variable kernel is float32 [30, 17] in the model of worker 1 and float32 [30, 16] on ps 0");
  EXPECT_LT(seconds(), 5);  // a refusal is final: nobody waits
  EXPECT_EQ(value_or_raise(run(*worker_env, steps(*worker_env, *worker, 3))), 3);
  EXPECT_EQ(value(), -3.0f);
  EXPECT_THAT(logs(), HasSubstr("ps 0: refused worker 1: different job"));
}

TEST_F(RemoteStoreTest, OtherRolesAreRefused) {
  start_ready_cluster();
  Environment& env = add_task("evaluator 0");
  auto store = make_store(env, "evaluator", 0, {});
  expect_error(run(env, attach(env, *store)), ErrorKind::kFailedPrecondition, "a evaluator has no business");
}

TEST_F(RemoteStoreTest, AWorkerOfAnotherModelThatCameFirstIsRefusedToo) {
  start_server(0);
  start_server(1);
  Environment& env = add_task("worker 0");
  auto worker = make_store(env, "worker", 0, {.fingerprint = 78});
  auto attaching = start(env, attach(env, *worker));
  world_.run_for(kSecond);
  chief_env_ = &add_task("chief 0");
  chief_ = chief_store(*chief_env_);
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  expect_error(finish(attaching), ErrorKind::kFailedPrecondition, "different model");
}

TEST_F(RemoteStoreTest, ASecondChiefIsRefusedWhileTheFirstLives) {
  start_ready_cluster();
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));
  Environment& env = add_task("second chief");
  auto second = chief_store(env);
  expect_error(run(env, prepare(env, *second, nullptr, 10)), ErrorKind::kDeadlineExceeded, "another chief is connected");
  ASSERT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));  // the first is not disturbed
  EXPECT_EQ(value(), -4.0f);

  auto waiting = start(env, prepare(env, *second, nullptr, 60));
  world_.run_for(5 * kSecond);
  EXPECT_FALSE(waiting.done());
  kill(*chief_env_);  // on its way out
  const Ready ready = value_or_raise(finish(waiting));
  EXPECT_TRUE(ready.attached);
  EXPECT_EQ(ready.global_step, 4u);
}

TEST_F(RemoteStoreTest, OnlyTheChiefCommands) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  const std::string sentence = "only the chief";
  expect_error(run(*env, worker->finish({}, env->after(kSecond))), ErrorKind::kFailedPrecondition, sentence);
  expect_error(run(*env, worker->request_stop(env->after(kSecond))), ErrorKind::kFailedPrecondition, sentence);
  expect_error(run(*env, worker->snapshot({})), ErrorKind::kFailedPrecondition, sentence);
  expect_error(run(*env, prepare(*env, *worker)), ErrorKind::kFailedPrecondition, sentence);
  EXPECT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 1)));
}

TEST_F(RemoteStoreTest, DifferentNumericsAreLoggedOnce) {
  start_ready_cluster();
  EXPECT_EQ(count_log("compute differently"), 0u);
  for (int i = 0; i < 3; ++i) {
    Environment& env = add_task("worker");
    auto worker = make_store(env, "worker", i, {.numerics = "other"});
    EXPECT_TRUE(run(env, attach(env, *worker)));  // no refusal
  }
  EXPECT_EQ(count_log("ps 0: trainers compute differently (same and other)"), 1u);
}

TEST_F(RemoteStoreTest, AChiefThatOnlySaysGoodbyeComputesNothingDifferently) {
  start_ready_cluster();
  chief_.reset();
  kill(*chief_env_);
  Environment& env = add_task("chief 0");
  auto chief = make_store(env, "chief", 0, {.numerics = ""});
  ASSERT_TRUE(run(env, finish_job(env, *chief)));
  EXPECT_EQ(count_log("compute differently"), 0u);
}

// --- Pushing --------------------------------------------------------------------------------------------------------------------

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
  EXPECT_EQ(status.trainers.at(1).pushes, 20u);
  EXPECT_EQ(status.trainers.at(2).pushes, 15u);
}

/// Cuts connections at random, before a push arrives or before its reply does. Whatever is resent: each step counts once.
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
  for (size_t i = 0; i < 2; ++i) running.push_back(start(*envs[i], steps(*envs[i], *stores[i], 100, std::chrono::milliseconds(2))));
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
  // The n-th message from or to the worker is lost, whatever it is: hello, welcome, pull, weights, push, reply.
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
  EXPECT_EQ(value_or_raise(run(again_env, steps(again_env, *again, 4))), 4);  // its numbers begin with 1 again
  EXPECT_EQ(value(), -6.0f);
}

TEST_F(RemoteStoreTest, AProcessThatWasReplacedLeaves) {
  start_ready_cluster();
  Environment *old_env = nullptr, *new_env = nullptr;
  auto old_worker = start_worker(old_env);
  ASSERT_TRUE(run(*old_env, steps(*old_env, *old_worker, 3)));
  auto new_worker = start_worker(new_env);  // the same task, while the old process still lives
  ASSERT_TRUE(run(*new_env, steps(*new_env, *new_worker, 2)));
  expect_error(run(*old_env, steps(*old_env, *old_worker, 1)), ErrorKind::kFailedPrecondition, "newer process");
  EXPECT_EQ(value(), -5.0f);
}

// --- Losing servers -----------------------------------------------------------------------------------------------------------

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
  auto working = start(*env, steps(*env, *worker, 4));  // meanwhile the worker finds out by itself
  world_.run_for(2 * kSecond);
  EXPECT_FALSE(working.done());
  UniformSource source({.global_step = 5, .shards = {{1, 5}, {1, 5}}, .positions = {{0, "chief at 5"}, {1, "worker at 5"}}}, -5);
  const Ready ready = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, &source)));
  EXPECT_FALSE(ready.attached);
  EXPECT_EQ(ready.epoch, 2u);
  EXPECT_EQ(ready.global_step, 5u);
  EXPECT_EQ(ready.position, "chief at 5");
  EXPECT_FALSE(chief_->lost());
  EXPECT_EQ(value_or_raise(finish(working)), 4);
  EXPECT_EQ(global_step(), 9u);
  EXPECT_EQ(value(), -9.0f);
}

/// With all servers new the epochs would begin with 1 again, and a push from before the loss would be of the right epoch.
TEST_F(OneServerTest, APushFromBeforeTheLossDoesNotCountAfterIt) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  ASSERT_TRUE(run(*env, steps(*env, *worker, 2)));
  Step computing = value_or_raise(run(*env, worker->begin({})));
  ASSERT_TRUE(worker->start(computing, 3, {}));
  restart_server(0);
  kill(*chief_env_);  // the chief as well: nobody remembers the epoch
  Environment& new_env = add_task("chief 0");
  auto new_chief = chief_store(new_env);
  const Ready ready = value_or_raise(run(new_env, prepare(new_env, *new_chief)));
  EXPECT_EQ(ready.epoch, 1u);
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
  EXPECT_EQ(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_))).epoch, 2u);
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
  EXPECT_EQ(ready.epoch, 1u);
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
  for (int n = 1; n < 12; ++n) {  // killed at its n-th message to the servers
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

/// While the chief restores servers one by one, those that it has not come to yet are ready in the old epoch.
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
  world_.run_for(30 * kSecond);  // the chief takes its time
  EXPECT_FALSE(attaching.done());
  EXPECT_LT(*pulls, 100) << "spins, since " << before;
  expect_error(run(*chief_env_, step(*chief_)), ErrorKind::kUnavailable);
  UniformSource source({.global_step = 1, .shards = {}, .positions = {}}, -1);
  EXPECT_EQ(value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, &source))).epoch, 2u);
  const Ready ready = value_or_raise(finish(attaching));
  EXPECT_EQ(ready.epoch, 2u);
  EXPECT_EQ(ready.global_step, 1u);
}

TEST_F(RemoteStoreTest, AServerThatStaysAwayIsNamed) {
  start_ready_cluster();
  Environment& env = add_task("worker 0");
  auto worker = make_store(env, "worker", 0, {.ready_timeout = 20});
  ASSERT_TRUE(run(env, attach(env, *worker)));
  kill(*server_envs_[1]);
  const double before = seconds();
  expect_error(run(env, step(*worker)), ErrorKind::kDeadlineExceeded, "inproc://ps-1:1");
  EXPECT_LE(seconds() - before, 20.1);
}

// --- Snapshots ------------------------------------------------------------------------------------------------------------------

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
  expect_error(run(*chief_env_, snapshot->read(0, 0, 0, 64)), ErrorKind::kFailedPrecondition, "nothing is held");
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
  expect_error(run(env, chief->snapshot({})), ErrorKind::kFailedPrecondition, "holds no model");
}

// --- The end --------------------------------------------------------------------------------------------------------------------

TEST_F(RemoteStoreTest, AStopReachesTrainersWithTheirNextReply) {
  start_ready_cluster();
  Environment* env = nullptr;
  auto worker = start_worker(env);
  EXPECT_FALSE(value_or_raise(run(*env, step(*worker))).stop);
  ASSERT_TRUE(run(*chief_env_, chief_->request_stop(chief_env_->after(kSecond))));
  const Outcome outcome = value_or_raise(run(*env, step(*worker)));
  EXPECT_TRUE(outcome.stop);
  EXPECT_EQ(outcome.global_step, 2u);  // that push still counted
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
  EXPECT_FALSE(server_done(0));  // the worker is still connected
  const double scalars[] = {1.0};
  expect_error(run(*env, worker->commit(computing, scalars)), ErrorKind::kCancelled);
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  expect_servers_end_well();
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
  ASSERT_TRUE(run(chief_env, finish_job(chief_env, *chief)));  // nothing to do
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
  EXPECT_EQ(computing->job_end(), end);  // in the reply to its push; what was said first counts
  Environment& late_env = add_task("worker 2");
  auto late = worker_store(late_env, 2);
  expect_error(run(late_env, attach(late_env, *late)), ErrorKind::kCancelled);
  EXPECT_EQ(late->job_end(), end);
  world_.run_for(25 * kSecond);  // the servers leave
  expect_error(run(*idle_env, step(*idle)), ErrorKind::kCancelled);
  EXPECT_EQ(idle->job_end(), end);
  EXPECT_EQ(count_log("the job failed: the chief gave up: the loss is NaN; the parameter server returns"), 2u);
}

TEST_F(RemoteStoreTest, AServerThatIsGoneKeepsNoOtherFromHearingOfTheEnd) {
  start_server(1);
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  auto telling = start(env, chief->finish({}, env.after(30 * kSecond)));
  world_.run_for(21 * kSecond);  // 20 of them are for the chief's last messages
  ASSERT_TRUE(server_done(1));
  EXPECT_TRUE(server_result(1));
  EXPECT_FALSE(telling.done());
  expect_error(finish(telling), ErrorKind::kDeadlineExceeded, "ps-0:1");
  EXPECT_LT(seconds(), 31);
}

TEST_F(RemoteStoreTest, TheEndIsToldOverANewConnectionWhereTheOldOneBroke) {
  start_ready_cluster();
  bool cut = false;
  cuts_->on_receive = [&cut](const std::string& task, const transport::Message& message) {
    const auto control = transport::read_control(message);
    return task == "chief 0" && !cut && (cut = control && control->verb == "ok");
  };
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  EXPECT_TRUE(cut);
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

TEST_F(OneServerTest, PeersThatSayNothingDoNotHoldTheServer) {
  start_ready_cluster();
  Environment& env = add_task("scanner");
  auto* transport = value_or_raise(env.transport("inproc"));
  const auto connection = value_or_raise(run(env, transport->connect({"inproc", "ps-0:1"}, {}, env.after(kSecond))));
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();
}

TEST_F(OneServerTest, NonsenseEndsItsConnectionOnly) {
  start_ready_cluster();
  for (int kind = 0; kind < 3; ++kind) {
    Environment& env = add_task("nonsense");
    auto* transport = value_or_raise(env.transport("inproc"));
    const auto connection = value_or_raise(run(env, transport->connect({"inproc", "ps-0:1"}, {}, env.after(kSecond))));
    transport::Message message;  // instead of a hello
    if (kind == 0) message.head.kind = transport::MessageKind::kPull;
    if (kind == 1) message = transport::make_control(env.buffers(), "finish");
    if (kind == 2) {
      message = transport::make_hello(env.buffers(), {.job = TaskOptions().job, .role = "worker", .index = 3, .incarnation = 9,
                                                      .strategy = "async", .fingerprint = 77, .numerics = "same"});
      ASSERT_TRUE(run(env, connection->send(std::move(message), env.after(kSecond))));
      ASSERT_TRUE(run(env, connection->receive(env.after(kSecond))));
      message = transport::make_weights(env.buffers(), 64);
    }
    ASSERT_TRUE(run(env, connection->send(std::move(message), env.after(kSecond))));
    EXPECT_FALSE(run(env, connection->receive(env.after(5 * kSecond))));
  }
  EXPECT_TRUE(run(*chief_env_, steps(*chief_env_, *chief_, 2)));
}

}  // namespace
}  // namespace shoal::cluster
