// SPDX-License-Identifier: Apache-2.0
/// A server that runs out of memory or threads ends with that error. Its trainers wait for the next process of the server,
/// and none of them believes that the job has ended.
#include "remote_store_fixture.h"
#include "server/core.h"
#include "shoal/base/exhaustion.h"

namespace shoal::cluster {
namespace {

constexpr const char* kNoMemory = "memory ran out (ulimit -v)";
constexpr const char* kNoThread = "a thread could not be started";

/// Raises what an allocation raises that fails on the strand.
class FailingObserver final : public UpdateObserver {
 public:
  void activated(int, uint64_t, uint64_t, uint64_t) override { fail_if(*at_start); }
  void applied(const ObservedUpdate&) override { fail_if(*at_update); }

  const std::shared_ptr<bool> at_start = std::make_shared<bool>(false), at_update = std::make_shared<bool>(false);

 private:
  static void fail_if(bool fails) {
    if (fails) raise_exhausted(unavailable(kNoMemory));
  }
};

// --- The lock and the work of the core ------------------------------------------------------------------------------------

class ServerCoreTest : public VirtualCluster {
 protected:
  ServerCoreTest() : VirtualCluster(1) { options_.identity.strategy = "async"; }

  Task<Result<void>> compute(uint64_t bytes, bool fails) {
    ServerCore::Work work = [fails](const ParallelFor&) {
      if (fails) raise_exhausted(unavailable(kNoMemory));
    };
    co_return co_await core_.compute(bytes, std::move(work));
  }
  Task<Result<void>> lock() {
    SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
    co_return co_await env_.sleep_for(kSecond);
  }
  Task<Result<void>> fail_under_the_lock(uint64_t bytes) {
    SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kSecond));
    co_return co_await compute(bytes, true);
  }

  Environment& env_ = add_task("ps 0");
  ParameterServerOptions options_;
  ServerCore core_{env_, options_};
};

TEST_F(ServerCoreTest, WorkThatFailsOnAnyThreadEndsTheServerByItsError) {
  for (const uint64_t bytes : {uint64_t(0), options_.bytes_on_strand + 1}) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    ServerCore core(env_, options_);
    ServerCore::Work work = [](const ParallelFor&) { raise_exhausted(unavailable(kNoMemory)); };
    EXPECT_FALSE(core.failure());
    expect_error(run(env_, core.compute(bytes, std::move(work))), ErrorKind::kUnavailable, kNoMemory);
    ASSERT_TRUE(core.failure());
    EXPECT_EQ(core.failure()->message(), kNoMemory);
    expect_error(run(env_, core.lock_state()), ErrorKind::kUnavailable, kNoMemory);
  }
}

TEST_F(ServerCoreTest, WhoWaitsForTheLockGetsTheErrorOfItsHolder) {
  auto failing = start(env_, fail_under_the_lock(0));
  auto waiting = start(env_, lock());
  expect_error(finish(waiting), ErrorKind::kUnavailable, kNoMemory);
  expect_error(finish(failing), ErrorKind::kUnavailable, kNoMemory);
}

TEST_F(ServerCoreTest, TheFirstFailureStays) {
  EXPECT_TRUE(core_.whole(Result<void>()));
  EXPECT_FALSE(core_.failure());
  EXPECT_TRUE(run(env_, compute(0, false)));
  EXPECT_TRUE(run(env_, lock()));
  EXPECT_FALSE(core_.whole(unavailable(kNoThread)));
  core_.fail(unavailable("later"));
  EXPECT_EQ(core_.failure()->message(), kNoThread);
}

// --- Servers and trainers -------------------------------------------------------------------------------------------------

class FailingServerTest : public RemoteStoreTest {
 protected:
  FailingServerTest() : RemoteStoreTest(2) {
    options_.observer = observer_;
    options_.lacks_threads = lacks_threads_;
  }
  /// Two servers, of which `failing` fails when it is told to.
  void start_servers(int failing) {
    for (int i = 0; i < 2; ++i) server_envs_.push_back(&start_server(i, i == failing ? options_ : ServerOptions()));
    chief_env_ = &add_task("chief 0");
    chief_ = chief_store(*chief_env_);
  }
  void expect_lost(const RemoteStore& store) {
    EXPECT_TRUE(store.lost());
    EXPECT_FALSE(store.job_end());
    EXPECT_FALSE(store.job_is_over());
  }
  void expect_ended(int server, const std::string& sentence) {
    world_.run_for(kSecond);
    ASSERT_TRUE(server_done(server)) << "ps " << server << " still runs\n" << logs();
    expect_error(server_result(server), ErrorKind::kUnavailable, sentence);
  }
  void expect_training_goes_on() {
    // Where the chief has not noticed the loss yet, its next request meets the error by which the server ended.
    Result<Ready> ready = run(*chief_env_, prepare(*chief_env_, *chief_));
    if (!ready) ready = run(*chief_env_, prepare(*chief_env_, *chief_));
    ASSERT_TRUE(ready) << ready.error().message();
    EXPECT_FALSE(ready->attached);
    EXPECT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 3))), 3);
    EXPECT_EQ(value(), -3.0f);
  }

  const std::shared_ptr<FailingObserver> observer_ = std::make_shared<FailingObserver>();
  const std::shared_ptr<bool> lacks_threads_ = std::make_shared<bool>(false);
  ServerOptions options_;
};

TEST_F(FailingServerTest, WithoutAThreadToBuildTheModelItEndsAndTheChiefWaitsForAnother) {
  options_.beside_strand = std::chrono::milliseconds(10);
  start_servers(0);
  *lacks_threads_ = true;
  expect_error(run(*chief_env_, prepare(*chief_env_, *chief_)), ErrorKind::kUnavailable, kNoThread);
  expect_lost(*chief_);
  expect_ended(0, kNoThread);
  server_envs_[0] = &start_server(0);
  expect_training_goes_on();
}

TEST_F(FailingServerTest, WithoutAThreadForAnUpdateItEndsAndNoTrainerBelievesTheJobOver) {
  options_.beside_strand = std::chrono::milliseconds(10);
  start_servers(0);
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  Environment* env = nullptr;
  auto worker = start_worker(env);
  *lacks_threads_ = true;
  auto pushing = start(*env, step(*worker));
  expect_ended(0, kNoThread);
  server_envs_[0] = &start_server(0);
  expect_error(finish(pushing), ErrorKind::kUnavailable);
  expect_lost(*worker);
  expect_error(run(*chief_env_, chief_->snapshot({})), ErrorKind::kUnavailable);
  expect_lost(*chief_);
  expect_training_goes_on();
}

TEST_F(FailingServerTest, AnUpdateOnTheStrandThatFailsHalfWayEndsIt) {
  for (const int failing : {0, 1}) {
    SCOPED_TRACE("ps " + std::to_string(failing));
    start_servers(failing);
    ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
    *observer_->at_update = true;
    auto pushing = start(*chief_env_, step(*chief_));
    expect_ended(failing, kNoMemory);
    *observer_->at_update = false;
    server_envs_[size_t(failing)] = &start_server(failing);
    expect_error(finish(pushing), ErrorKind::kUnavailable);
    expect_lost(*chief_);
    expect_training_goes_on();
    for (Environment* server : server_envs_) kill(*server);
    kill(*chief_env_);
    server_envs_.clear();
  }
}

TEST_F(FailingServerTest, AModelThatIsReadyByHalfEndsIt) {
  start_servers(0);
  *observer_->at_start = true;
  expect_error(run(*chief_env_, prepare(*chief_env_, *chief_)), ErrorKind::kUnavailable, kNoMemory);
  expect_lost(*chief_);
  expect_ended(0, kNoMemory);
  server_envs_[0] = &start_server(0);
  expect_training_goes_on();
}

/// Nobody needs the state of a server any more once the job has ended.
TEST_F(FailingServerTest, AFailureAfterTheEndOfTheJobIsNone) {
  start_servers(0);
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  Environment* env = nullptr;
  auto worker = start_worker(env);
  JobEnd end{.failed = false, .reason = "max_steps"};
  ASSERT_TRUE(run(*chief_env_, chief_->finish(std::move(end), chief_env_->after(kSecond))));
  *observer_->at_update = true;
  expect_error(run(*env, step(*worker)), ErrorKind::kCancelled);
  EXPECT_TRUE(worker->job_is_over());
  EXPECT_TRUE(worker->job_end());
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  ASSERT_TRUE(run(*chief_env_, chief_->leave(chief_env_->after(kSecond))));
  expect_servers_end_well();
}

// --- An update for which there is no memory -------------------------------------------------------------------------------

/// Gives ordinary memory, until it is told that there is none.
class FailingSource final : public BlockSource {
 public:
  std::byte* allocate(size_t) override {
    if (fails) raise_exhausted(unavailable(kNoMemory));
    return nullptr;  // The pool then takes ordinary memory.
  }
  void free(std::byte*, size_t) override {}
  bool fails = false;
};

TEST(ServerStateWithoutMemory, AnUpdateThatGetsNoneChangesNothing) {
  const auto pool = BufferPool::create();
  const auto source = std::make_shared<FailingSource>();
  pool->adopt_source(source);
  Logger log{[](const LogRecord&) {}, "ps 0", [] { return WallTime(); }};
  ServerState state(true, *pool, log);
  ASSERT_TRUE(state.admit(1, 41, 1));
  // Two parts, of which the pool can give memory to none.
  const std::vector<VariableSpec> variables{variable("a", {64}, sgd(), constant(10)),
                                            variable("b", {64}, sgd(), constant(10))};
  const ShardSpec spec = value_or_raise(plan_shards(variables, 1, 1, nullptr, 256)).shards[0];
  ASSERT_TRUE(state.prepare({1, 77, spec}));
  state.build();
  ASSERT_TRUE(state.built());
  ASSERT_TRUE(state.activate({.epoch = 1, .global_step = 0, .counters = {}, .positions = {}}));
  const size_t parts = state.part_count();
  ASSERT_EQ(parts, 2u);
  HeldPush push;
  push.id = {1, 41, 1};
  for (uint32_t i = 0; i < parts; ++i) {
    const transport::Chunk fields{.range_begin = 256 * i,
                                  .range_end = 256 * i + 256,
                                  .chunk_index = i,
                                  .chunk_count = 2,
                                  .closing = i == 0,
                                  .push = 1};
    transport::OutgoingChunk out = transport::make_chunk(*pool, fields, 256, i == 0 ? 1 : 0);
    std::ranges::fill(floats(out.payload), 1.0f);
    if (i == 0) out.scalars[0] = 1;
    push.messages.push_back(out.message);
    push.chunks.push_back(value_or_raise(transport::read_chunk(push.messages.back())));
  }
  ASSERT_TRUE(state.decode(push));
  state.keep(std::move(push));
  const transport::Order order{.number = state.version() + 1, .global_step = 1, .pushes = {{1, 41, 1}}};
  // A trainer still holds the second part of the newest version, so that its next version needs memory.
  const std::vector<transport::Message> held{state.weights_at_hand(transport::Encoding::kDense, 0).back()};
  const uint64_t in_use = pool->stats().in_use_bytes;
  source->fails = true;
  expect_error(call_user("a test", [&] { static_cast<void>(state.begin_commit(order)); }), ErrorKind::kUnavailable,
               kNoMemory);
  EXPECT_EQ(pool->stats().in_use_bytes, in_use);
  const auto weights = state.weights_at_hand(transport::Encoding::kDense, 0);
  ASSERT_EQ(weights.size(), parts);
  for (const transport::Message& part : weights) EXPECT_THAT(floats(part.payload()), testing::Each(10.0f));
  EXPECT_EQ(state.status().trainers.front().pushes.applied, 0u);
  source->fails = false;
  ASSERT_TRUE(state.begin_commit(order));
  state.apply();
  state.end_commit(order);
  EXPECT_EQ(state.global_step(), 1u);
  for (const transport::Message& part : state.weights_at_hand(transport::Encoding::kDense, 0)) {
    EXPECT_THAT(floats(part.payload()), testing::Each(9.0f));
  }
}

}  // namespace
}  // namespace shoal::cluster
