// SPDX-License-Identifier: Apache-2.0
/// Weights that arrive while the next step is computed.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::MessageKind;

constexpr auto kSlice = std::chrono::milliseconds(10);

/// Two servers with three parts each, the second of which takes a second on its way to worker 0.
class LateWeights : public RemoteStoreTest {
 protected:
  explicit LateWeights(uint64_t part_bytes_max = kPartBytesMax) {
    const auto variables = [](const std::string& name) {
      return std::array{variable(name + "/first", {2, 16}), variable(name + "/large", {3000, 16}),
                        variable(name + "/last", {16})};
    };
    std::vector<VariableSpec> all;
    for (const char* name : {"a", "b"}) {
      for (const VariableSpec& one : variables(name)) {
        all.push_back(one);
        names_.push_back(one.name);
      }
    }
    plan_ = value_or_raise(plan_shards(all, 2, 1, nullptr, part_bytes_max, 1, 1000000));
    for (int server = 0; server < 2; ++server) {
      network_->set_link_one_way("ps " + std::to_string(server), "worker 0", {.latency = {}, .bytes_per_second = 192000});
    }
  }
  void SetUp() override {
    for (const ShardSpec& shard : plan_.shards) {
      ASSERT_GE(parts_of(shard).size(), 3u);
      EXPECT_NE(parts_of(shard)[1].spec.segments.at(0).variable.name.find("/large"), std::string::npos);
    }
    start_ready_cluster();
    worker_ = start_worker(env_, 0);
    value_or_raise(run(*env_, push(*worker_)));
  }
  std::unique_ptr<RemoteStore> make(Environment& env, const std::string& role, int index, TaskOptions options = {}) {
    options.updates = names_;
    return make_store(env, role, index, options);
  }
  std::unique_ptr<RemoteStore> start_worker(Environment*& env, int index, TaskOptions options = {}) {
    env = &add_task("worker " + std::to_string(index));
    auto store = make(*env, "worker", index, std::move(options));
    value_or_raise(run(*env, attach(*env, *store)));
    return store;
  }
  void start_ready_cluster() {
    for (int i = 0; i < 2; ++i) server_envs_.push_back(&start_server(i, server_options_));
    chief_env_ = &add_task("chief 0");
    chief_ = make(*chief_env_, "chief", 0);
    value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_)));
  }

  static void fill(const Step& step) {
    for (const backends::MutablePieces& pieces : step.updates) {
      const int64_t columns = pieces.back().row_end == 16 ? 1 : 16;
      for (const backends::MutablePiece& piece : pieces) {
        std::fill_n(reinterpret_cast<float*>(piece.data), (piece.row_end - piece.row_begin) * columns, 1.0f);
      }
    }
  }
  static Task<Result<Outcome>> finish_step(Store& store, Step step) {
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    fill(step);
    const double scalars[] = {1.0};
    co_return co_await store.commit(step, scalars);
  }
  /// A push whose weights may arrive at any time.
  static Task<Result<Outcome>> push(Store& store) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    co_return co_await finish_step(store, std::move(step));
  }
  /// A step that reads all variables, whose elements are all equal. Returns their value.
  static Task<Result<float>> read_and_push(Environment& env, Store& store) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(co_await receive_all(env, store, step.variables.size()));
    SHOAL_CO_TRY(const float value, read_all(step));
    SHOAL_CO_TRY(const Outcome outcome, co_await finish_step(store, std::move(step)));
    static_cast<void>(outcome);
    co_return value;
  }
  static Task<Result<void>> receive_all(Environment& env, Store& store, size_t variables) {
    TaskGroup exchange(env);
    exchange.spawn(store.exchange(exchange.token()));
    Result<void> arrived;
    for (size_t i = 0; i < variables && arrived; ++i) arrived = co_await store.arrival(i);
    exchange.request_stop();
    Result<void> ended = co_await exchange.join();
    static_cast<void>(ended);
    co_return arrived;
  }
  static Result<float> read_all(const Step& step) {
    float value = 0;
    for (size_t i = 0; i < step.variables.size(); ++i) {
      for (const backends::Piece& piece : step.variables[i]) {
        const auto* values = reinterpret_cast<const float*>(piece.data);
        if (i == 0) value = values[0];
        for (int64_t k = 0; k < piece.row_end - piece.row_begin; ++k) {
          if (values[k] != value) return internal_error("variable " + std::to_string(i) + " is of another version");
        }
      }
    }
    return value;
  }
  float held() { return value_or_raise(run(*chief_env_, common_value(*chief_, 2 * (2 * 16 + 3000 * 16 + 16)))); }

  ServerOptions server_options_;
  std::vector<std::string> names_;
  Environment* env_ = nullptr;
  std::unique_ptr<RemoteStore> worker_;
};

TEST_F(LateWeights, AStepBeginsWithTheFirstPart) {
  const SteadyTime before = world_.now();
  auto pushing = start(*env_, push(*worker_));
  while (!pushing.done()) world_.run_for(kSlice);
  EXPECT_TRUE(value_or_raise(pushing.take()).applied);
  EXPECT_LT(to_seconds(world_.now() - before), 1.5) << "it waited for the large part of the push before, not of this one";
  Step step = value_or_raise(run(*env_, worker_->begin({})));
  ASSERT_NE(step.arrivals, nullptr);
  for (size_t i = 0; i < names_.size(); ++i) {
    EXPECT_EQ(step.arrivals->has_come(i), names_[i].ends_with("/first")) << names_[i];
  }
  const SteadyTime began = world_.now();
  value_or_raise(run(*env_, receive_all(*env_, *worker_, names_.size())));
  EXPECT_GT(to_seconds(world_.now() - began), 0.8);
  for (size_t i = 0; i < names_.size(); ++i) EXPECT_TRUE(step.arrivals->has_come(i)) << names_[i];
}

TEST_F(LateWeights, AStepSeesOneVersionWhoeverPushesMeanwhile) {
  for (int round = 0; round < 3; ++round) {
    auto reading = start(*env_, read_and_push(*env_, *worker_));
    world_.run_for(std::chrono::milliseconds(100));
    ASSERT_FALSE(reading.done());
    value_or_raise(run(*chief_env_, push(*chief_)));
    EXPECT_EQ(value_or_raise(finish(reading)), -float(2 * round + 1));
  }
  EXPECT_EQ(held(), -7.0f);
}

TEST_F(LateWeights, WhoAsksForSomethingElseGetsThemToo) {
  for (const char* server : {"ps 0", "ps 1"}) {
    network_->set_link_one_way(server, "chief 0", {.latency = {}, .bytes_per_second = 192000});
  }
  value_or_raise(run(*chief_env_, push(*chief_)));
  EXPECT_EQ(value_or_raise(run(*chief_env_, chief_->global_step())), 2u);  // Shard 0 says so, after its weights.
  EXPECT_EQ(value_or_raise(run(*chief_env_, chief_->begin({}))).arrivals, nullptr) << "those of shard 1 came meanwhile";
  value_or_raise(run(*chief_env_, push(*chief_)));
  EXPECT_EQ(held(), -3.0f) << "a snapshot of all servers, as a checkpoint takes it";
  EXPECT_EQ(value_or_raise(run(*chief_env_, read_and_push(*chief_env_, *chief_))), -3.0f);
}

TEST_F(LateWeights, WhoReadsNoneOfThemPushesAllTheSame) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(value_or_raise(run(*env_, push(*worker_))).applied);
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), -4.0f);
  EXPECT_EQ(held(), -5.0f);
}

/// Only the weights are asked for again: the push that they answer has counted.
TEST_F(LateWeights, ComeOverANewConnectionWhereTheOldOneBreaks) {
  for (const char* server : {"ps 0", "ps 1"}) {
    const float before = held();
    auto reading = start(*env_, read_and_push(*env_, *worker_));
    world_.run_for(std::chrono::milliseconds(100));
    network_->reset(server, "worker 0");
    EXPECT_EQ(value_or_raise(finish(reading)), before) << server;
    EXPECT_EQ(held(), before - 1) << server;
    EXPECT_FALSE(worker_->lost());
  }
}

TEST_F(LateWeights, ComeToTheNextStepWhereTheConnectionBreaksBetweenTwo) {
  for (const char* server : {"ps 0", "ps 1"}) {
    const float before = held();
    network_->reset(server, "worker 0");
    world_.run_for(kSlice);
    EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), before) << server;
    EXPECT_FALSE(worker_->lost());
  }
  EXPECT_EQ(held(), -3.0f);
}

/// Parts of that version which kernels have read already cannot be had again, so the step is given up and made anew.
TEST_F(LateWeights, AServerThatWentOnMeanwhileEndsTheStep) {
  auto reading = start(*env_, read_and_push(*env_, *worker_));
  world_.run_for(std::chrono::milliseconds(100));
  value_or_raise(run(*chief_env_, push(*chief_)));
  network_->reset("ps 1", "worker 0");
  expect_error(finish(reading), ErrorKind::kUnavailable, "to a step that began with version");
  EXPECT_TRUE(worker_->lost());
  value_or_raise(run(*env_, attach(*env_, *worker_)));
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), -2.0f);
  EXPECT_EQ(held(), -3.0f);
}

TEST_F(LateWeights, AServerThatIsLostEndsTheStep) {
  auto reading = start(*env_, read_and_push(*env_, *worker_));
  world_.run_for(std::chrono::milliseconds(100));
  restart_server(1);
  expect_error(finish(reading), ErrorKind::kUnavailable, "lost its state");
  EXPECT_TRUE(worker_->lost());
  expect_error(run(*chief_env_, push(*chief_)), ErrorKind::kUnavailable, "lost its state");
  value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_)));
  value_or_raise(run(*env_, attach(*env_, *worker_)));
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), 0.0f);
  EXPECT_EQ(held(), -1.0f);
}

/// One server has a part of the push when another turns out to be lost: the first gets the next push over a new
/// connection.
TEST_F(LateWeights, APushThatIsLeftHalfwayIsForgotten) {
  network_->set_link_one_way("ps 0", "worker 0", {.latency = {}});
  value_or_raise(run(*env_, push(*worker_)));
  const auto early = [](Environment& env, Store& store) -> Task<Result<void>> {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    fill(step);
    for (size_t i = 0; i < step.updates.size(); ++i) store.listener()->update_made(i);
    co_return co_await receive_all(env, store, step.variables.size());
  };
  size_t sent = 0;
  cuts_->on_send = [&sent](const std::string& task, const Message& message) {
    sent += task == "worker 0" && message.head.kind == MessageKind::kChunk;
    return false;
  };
  auto step = start(*env_, early(*env_, *worker_));
  world_.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(sent, 2u) << "to ps 0, whose weights are there";
  value_or_raise(run(*chief_env_, push(*chief_)));
  network_->reset("ps 1", "worker 0");
  expect_error(finish(step), ErrorKind::kUnavailable, "to a step that began with version");
  value_or_raise(run(*env_, attach(*env_, *worker_)));
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), -3.0f);
  EXPECT_EQ(held(), -4.0f);
}

/// The answer comes after the late parts, so its time limit begins when they are here.
TEST_F(LateWeights, DoNotCountWithTheDeadlineOfWhatIsAskedNext) {
  for (const char* server : {"ps 0", "ps 1"}) {
    network_->set_link_one_way(server, "chief 0", {.latency = {}, .bytes_per_second = 12800});
  }
  value_or_raise(run(*chief_env_, push(*chief_)));
  const SteadyTime before = world_.now();
  const Result<void> asked = run(*chief_env_, chief_->request_stop(chief_env_->after(10 * kSecond)));
  EXPECT_TRUE(asked) << asked.error().message();
  EXPECT_GT(to_seconds(world_.now() - before), 14);
  EXPECT_FALSE(chief_->lost());
}

TEST_F(LateWeights, AreWaitedForInTheTimeThatTheJobReports) {
  value_or_raise(run(*env_, read_and_push(*env_, *worker_)));
  const ServerStatus status = value_or_raise(run(*chief_env_, chief_->status(chief_env_->after(kSecond))));
  ASSERT_EQ(status.trainers.size(), 2u);
  EXPECT_GT(status.trainers[1].pushes.waited_secs, 0.9);
}

/// An error of the user's program, say, does not wait for a server that is away.
TEST_F(LateWeights, AreNotWaitedForOnceNobodyReadsThem) {
  const auto stopped = [](Environment& env, Store& store) -> Task<Result<void>> {
    SHOAL_CO_TRY(const Step step, co_await store.begin({}));
    static_cast<void>(step);
    TaskGroup exchange(env);
    exchange.spawn(store.exchange(exchange.token()));
    Result<void> slept = co_await env.sleep_for(kSlice);
    exchange.request_stop();
    Result<void> ended = co_await exchange.join();
    static_cast<void>(ended);
    co_return slept;
  };
  network_->cut("ps 1", "worker 0");
  SteadyTime before = world_.now();
  EXPECT_TRUE(run(*env_, stopped(*env_, *worker_)));
  EXPECT_LT(to_seconds(world_.now() - before), 10.1) << "silence of a connection";
  network_->heal();
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), -1.0f);
  kill(*server_envs_[1]);
  before = world_.now();
  EXPECT_TRUE(run(*env_, stopped(*env_, *worker_)));
  EXPECT_LT(to_seconds(world_.now() - before), 2) << "no connection";
}

/// A trainer that was refused for good does not ask again.
TEST_F(LateWeights, AChiefThatIsReplacedMeanwhileLearnsIt) {
  for (const char* server : {"ps 0", "ps 1"}) {
    network_->set_link_one_way(server, "chief 0", {.latency = {}, .bytes_per_second = 192000});
  }
  value_or_raise(run(*chief_env_, push(*chief_)));
  auto reading = start(*chief_env_, read_and_push(*chief_env_, *chief_));
  world_.run_for(std::chrono::milliseconds(100));
  for (const char* server : {"ps 0", "ps 1"}) network_->cut("chief 0", server);
  Environment& env = add_task("second chief");
  const auto second = make(env, "chief", 0);
  EXPECT_TRUE(value_or_raise(run(env, prepare(env, *second))).attached);
  network_->heal();
  expect_error(finish(reading, 30), ErrorKind::kUnavailable, "another chief is connected");
  EXPECT_EQ(value_or_raise(run(env, read_and_push(env, *second))), -2.0f);
}

TEST_F(LateWeights, ATrainerThatDiesWaitingHoldsNobodyUp) {
  auto reading = start(*env_, read_and_push(*env_, *worker_));
  world_.run_for(std::chrono::milliseconds(100));
  ASSERT_FALSE(reading.done());
  kill(*env_);
  value_or_raise(run(*chief_env_, push(*chief_)));
  const auto again = start_worker(env_, 0);
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *again))), -2.0f);
}

/// Encoded weights are decoded by the compute thread before the step.
TEST_F(LateWeights, AreNotLateWhereTheyAreCompressed) {
  Environment* env = nullptr;
  const auto worker = start_worker(env, 1, {.compression = value_or_raise(parse_compression("weights=bfloat16"))});
  value_or_raise(run(*env, push(*worker)));
  EXPECT_EQ(value_or_raise(run(*env, worker->begin({}))).arrivals, nullptr);
}

/// A large variable in three parts, which are three pieces for kernels.
class LatePieces : public LateWeights {
 protected:
  LatePieces() : LateWeights(64 << 10) {}
};

/// The connection carries one message at a time: the next part waits for it, and any request waits between two parts.
class LateFromAFullQueue : public LatePieces {
 protected:
  LateFromAFullQueue() { server_options_.send_queue_bytes_max = 1; }
};

TEST_F(LateFromAFullQueue, AnAnswerMayComeBetweenThem) {
  network_->set_link_one_way("ps 0", "chief 0", {.latency = {}, .bytes_per_second = 192000});
  value_or_raise(run(*chief_env_, push(*chief_)));
  const double before = seconds();
  EXPECT_EQ(value_or_raise(run(*chief_env_, chief_->global_step())), 2u);
  EXPECT_LT(seconds() - before, 5);
  EXPECT_FALSE(chief_->lost());
  EXPECT_EQ(value_or_raise(run(*chief_env_, read_and_push(*chief_env_, *chief_))), -2.0f);
}

TEST_F(LatePieces, AVariableHasComeWithTheLastOfThem) {
  const auto large = size_t(std::ranges::find(names_, "a/large") - names_.begin());
  const Step step = value_or_raise(run(*env_, worker_->begin({})));
  ASSERT_EQ(step.variables[large].size(), 3u);
  EXPECT_FALSE(step.arrivals->has_come(large));
  auto receiving = start(*env_, receive_all(*env_, *worker_, names_.size()));
  world_.run_for(std::chrono::milliseconds(900));
  EXPECT_FALSE(step.arrivals->has_come(large)) << "two of three";
  EXPECT_FALSE(receiving.done());
  value_or_raise(finish(receiving));
  EXPECT_TRUE(step.arrivals->has_come(large));
  EXPECT_EQ(value_or_raise(run(*env_, read_and_push(*env_, *worker_))), -1.0f);
}

}  // namespace
}  // namespace shoal::cluster
