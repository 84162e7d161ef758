// SPDX-License-Identifier: Apache-2.0
/// Chief, workers and servers meet, in any order; strangers are refused.
#include <algorithm>
#include <array>

#include "remote_store_fixture.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/model_identity.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;

class StartOrderTest : public RemoteStoreTest, public testing::WithParamInterface<std::array<int, 4>> {};

TEST_P(StartOrderTest, AllMeet) {
  std::array<double, 4> delay{};  // The delays of ps 0, ps 1, chief and worker are a second apart.
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
  EXPECT_LT(seconds(), 5);  // The last comes after 3 s; back-off adds at most one.
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
  EXPECT_LE(seconds(), 4.1);  // Back-off is at most a second.
}

TEST_F(RemoteStoreTest, NamesAServerThatNeverComes) {
  start_server(0);
  Environment& env = add_task("chief 0");
  auto chief = chief_store(env);
  expect_error(run(env, prepare(env, *chief, nullptr, 7)), ErrorKind::kDeadlineExceeded, "sim://ps-1:1");
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
  EXPECT_LE(seconds(), 17.1);  // A pull waits at most 5 s on the server.
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
  world_.run_for(65 * kSecond);  // The connection is closed after 30 s of silence; then the server is alone for 30 s.
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

// --- Who may join ----------------------------------------------------------------------------------------------------

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
  refused(
      {.fingerprint = 78, .variables = same, .meaning = "feature \"wood\": hash (buckets 3)\n"},
      "different model: feature \"wood\" is hash (buckets 3) for worker 1 and hash (buckets 2) for the chief; give all");
  EXPECT_LT(seconds(), 5);  // A refusal is final: the trainer does not try again.
  EXPECT_EQ(value_or_raise(run(*worker_env, steps(*worker_env, *worker, 3))), 3);
  EXPECT_EQ(value(), -3.0f);
  EXPECT_THAT(logs(), HasSubstr("ps 0: refused worker 1: different job"));
}

TEST_F(RemoteStoreTest, StrangersDoNotFillTheLog) {
  start_ready_cluster();
  const int servers = int(count_log("waiting for the chief"));
  const auto knock = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Environment& env = add_task("stranger");
      auto stranger = make_store(env, "worker", 1, {.job = "a\nb"});
      EXPECT_FALSE(run(env, attach(env, *stranger)));
    }
  };
  knock(100);
  EXPECT_LT(count_log(": refused worker 1"), size_t(30 * servers));
  EXPECT_EQ(count_log("more before)"), 0u);
  world_.run_for(60 * kSecond);
  knock(1);
  EXPECT_GE(count_log("more before)"), 1u);
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
    EXPECT_TRUE(run(env, attach(env, *worker)));  // There is no refusal.
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

TEST_F(OneServerTest, NonsenseEndsItsConnectionOnly) {
  start_ready_cluster();
  for (int kind = 0; kind < 3; ++kind) {
    Environment& env = add_task("nonsense");
    auto* transport = value_or_raise(env.transport("sim"));
    const auto connection = value_or_raise(run(env, transport->connect({"sim", "ps-0:1"}, {}, env.after(kSecond))));
    transport::Message message;  // The message is sent instead of a hello.
    if (kind == 0) message.head.kind = transport::MessageKind::kPull;
    if (kind == 1) message = transport::make_control(env.buffers(), "finish");
    if (kind == 2) {
      message = transport::make_hello(env.buffers(), {.job = TaskOptions().job,
                                                      .role = "worker",
                                                      .index = 3,
                                                      .incarnation = 9,
                                                      .strategy = "async",
                                                      .fingerprint = 77,
                                                      .numerics = "same"});
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
