// SPDX-License-Identifier: Apache-2.0
/// Arenas that travel as several chunks.
#include <algorithm>
#include <array>
#include <map>

#include "remote_store_fixture.h"
#include "server/incoming_push.h"
#include "shoal/cluster/server_memory.h"
#include "state/parted_arena.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::MessageKind;

TEST(PartedArena, ReadsWithinAPartWithoutACopyAndAcrossPartsWithOne) {
  const auto pool = BufferPool::create();
  PartedArena arena;
  std::vector<Ref<Buffer>> parts;
  for (const int first : {0, 64, 192}) {
    parts.push_back(pool->get(first == 64 ? 128 : 64));
    for (size_t i = 0; i < parts.back()->size(); ++i) parts.back()->data()[i] = std::byte(first + int(i));
    arena.add(parts.back()->bytes(), parts.back());
  }
  ASSERT_EQ(arena.size(), 256u);
  for (uint64_t offset = 0; offset <= 256; offset += 8) {
    for (uint64_t bytes = 0; offset + bytes <= 256; bytes += 8) {
      const Snapshot::Part part = arena.read(offset, bytes, *pool);
      ASSERT_EQ(part.bytes.size(), bytes);
      for (uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(part.bytes[i], std::byte(offset + i));
    }
  }
  EXPECT_EQ(arena.read(70, 100, *pool).bytes.data(), parts[1]->data() + 6);
  EXPECT_EQ(arena.read(192, 64, *pool).bytes.data(), parts[2]->data());
  EXPECT_NE(arena.read(60, 8, *pool).bytes.data(), parts[0]->data() + 60);
}

class IncomingPushTest : public testing::Test {
 protected:
  Message chunk(uint32_t index, uint32_t count, uint64_t sequence = 7) {
    Message message = transport::make_chunk(*pool_,
                                            {.range_begin = 64 * index,
                                             .range_end = 64 * index + 64,
                                             .chunk_index = index,
                                             .chunk_count = count,
                                             .closing = index == 0},
                                            64, 0)
                          .message;
    message.head.sequence = sequence;
    return message;
  }
  static Result<bool> add(IncomingPush& push, Message message, size_t parts) {
    const transport::Chunk chunk = value_or_raise(transport::read_chunk(message));
    return push.add(std::move(message), chunk, parts);
  }
  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  IncomingPush push_;
};

TEST_F(IncomingPushTest, IsCompleteWithItsClosingChunk) {
  EXPECT_FALSE(value_or_raise(add(push_, chunk(1, 3), 3)));
  EXPECT_FALSE(value_or_raise(add(push_, chunk(2, 3), 3)));
  EXPECT_TRUE(value_or_raise(add(push_, chunk(0, 3), 3)));
  {
    const HeldPush push = push_.take();
    ASSERT_EQ(push.chunks.size(), 3u);
    EXPECT_EQ(push.chunks[2].range_begin, 128u);
  }
  EXPECT_EQ(pool_->stats().in_use_bytes, 0u);
  EXPECT_TRUE(value_or_raise(add(push_, chunk(0, 1, 8), 3)));
}

TEST_F(IncomingPushTest, KeepsNoMoreThanAPushHas) {
  EXPECT_FALSE(value_or_raise(add(push_, chunk(1, 9), 3)));
  EXPECT_FALSE(value_or_raise(add(push_, chunk(2, 9), 3)));
  expect_error(add(push_, chunk(3, 9), 3), ErrorKind::kInvalidArgument, "chunk 3 of a push was not expected");
  EXPECT_EQ(push_.take().chunks.size(), 2u);
  for (const size_t parts : {0, 1}) {
    IncomingPush other;
    expect_error(add(other, chunk(1, 2), parts), ErrorKind::kInvalidArgument, "of a push was not expected");
  }
}

TEST_F(IncomingPushTest, TakesChunksInAnyOrderAndGivesThemInTheirs) {
  EXPECT_FALSE(value_or_raise(add(push_, chunk(3, 4), 4)));
  EXPECT_FALSE(value_or_raise(add(push_, chunk(1, 4), 4)));
  EXPECT_FALSE(value_or_raise(add(push_, chunk(2, 4), 4)));
  EXPECT_TRUE(value_or_raise(add(push_, chunk(0, 4), 4)));
  const HeldPush push = push_.take();
  ASSERT_EQ(push.chunks.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(push.chunks[i].chunk_index, i);
    EXPECT_EQ(value_or_raise(transport::read_chunk(push.messages[i])).chunk_index, i);
  }
}

TEST_F(IncomingPushTest, RefusesWhatIsHereAndWhatIsOfAnotherPush) {
  EXPECT_FALSE(value_or_raise(add(push_, chunk(1, 3), 3)));
  expect_error(add(push_, chunk(1, 3), 3), ErrorKind::kInvalidArgument, "chunk 1");
  expect_error(add(push_, chunk(2, 3, 8), 3), ErrorKind::kInvalidArgument, "chunk 2");
}

TEST(ServerMemory, AModelThatTheMachineCannotHoldIsRefused) {
  // There are four arenas of this size: weights, push, slots.
  const ShardSpec spec{.segments = {}, .arena_bytes = 3 << 20, .slot_count = 2};
  EXPECT_TRUE(fits_into_memory(spec, 12 << 20));
  expect_error(fits_into_memory(spec, (12 << 20) - 1), ErrorKind::kFailedPrecondition,
               "takes at least 12 MiB of memory, and this process may have 11 MiB (the least of the machine's memory, the "
               "limit of its cgroup");
}

TEST(ServerMemory, MemoryThatIsNotKnownHoldsAnything) {
  EXPECT_TRUE(fits_into_memory({.segments = {}, .arena_bytes = uint64_t(1) << 40, .slot_count = 2}, 0));
}

TEST(ServerMemory, AModelBeyondTheLimitThatAUserSetIsRefused) {
  constexpr uint64_t kMiB = 1 << 20;
  const ShardSpec spec{.segments = {}, .arena_bytes = 3 * kMiB, .slot_count = 2};
  const ServerMemory memory = server_memory(spec, 2);  // Versions 12, slots 6, updates 6, snapshot 9.
  EXPECT_TRUE(fits_into_limit(memory, 10 * kMiB, 43 * kMiB));
  expect_error(fits_into_limit(memory, 10 * kMiB, 43 * kMiB - 1), ErrorKind::kFailedPrecondition,
               "this server's part of the model takes at most 33.0 MiB: versions 12.0, slots 6.0, updates 6.0, snapshot "
               "9.0; the process "
               "has 10.0 MiB without it, and runtime.memory_limit is 43.0 MiB; what helps: more parameter servers");
}

TEST_F(OneServerTest, RefusesAModelBeyondItsLimit) {
  start_server(0, {.memory_limit = 100});
  Environment& env = add_task("chief 0");
  const auto chief = chief_store(env);
  expect_error(run(env, prepare(env, *chief)), ErrorKind::kFailedPrecondition, "runtime.memory_limit is 0.0 MiB");
}

/// The server compares its model with the memory that its environment says the process may have.
TEST_F(OneServerTest, RefusesAModelThatItsProcessCannotHold) {
  start_server(0, {.memory_bytes = 100});
  Environment& env = add_task("chief 0");
  const auto chief = chief_store(env);
  expect_error(run(env, prepare(env, *chief)), ErrorKind::kFailedPrecondition, "use more parameter servers");
}

/// Every variable of the fixture's model, under three rules, with weights that differ from element to element.
class Parts : public RemoteStoreTest {
 protected:
  static std::vector<VariableSpec> variables() {
    return {variable("kernel", {30, 16}, adam(), uniform(-1, 1), 3),
            variable("bias", {16}, momentum(0.9), uniform(-1, 1), 4), variable("scale", {}, sgd(), constant(1))};
  }
  void use_parts_of(uint64_t bytes) { plan_ = value_or_raise(plan_shards(variables(), 2, 1, nullptr, bytes)); }
  /// The weights and slots on the servers, by variable and row.
  static Task<Result<std::vector<float>>> state(Store& store) {
    std::map<std::tuple<std::string, ArenaIndex, int64_t>, std::vector<float>> found;
    SHOAL_CO_TRY(std::unique_ptr<Snapshot> snapshot, co_await store.snapshot({}));
    for (size_t shard = 0; shard < snapshot->plan().shards.size(); ++shard) {
      for (const Segment& segment : snapshot->plan().shards[shard].segments) {
        for (ArenaIndex arena = 0; arena <= nn::slot_count(segment.variable.rule); ++arena) {
          SHOAL_CO_TRY(const Snapshot::Part part,
                       co_await snapshot->read(int(shard), arena, segment.offset, segment.bytes));
          found[{segment.variable.name, arena, segment.row_begin}].assign(floats(part.bytes).begin(),
                                                                          floats(part.bytes).end());
        }
      }
    }
    SHOAL_CO_TRY_VOID(co_await snapshot->release());
    std::vector<float> all;
    for (const auto& [key, values] : found) all.insert(all.end(), values.begin(), values.end());
    co_return all;
  }
  /// The state after some steps of the chief and of a worker, in turn.
  std::vector<float> after_steps() {
    start_ready_cluster();
    Environment* env = nullptr;
    const auto worker = start_worker(env);
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(run(*chief_env_, step(*chief_, {}, 0.25f * float(i))));
      EXPECT_TRUE(run(*env, step(*worker, {}, 1.0f)));
    }
    return value_or_raise(run(*chief_env_, state(*chief_)));
  }
};

std::vector<float>& in_one_part() {
  static std::vector<float> state;
  return state;
}

TEST_F(Parts, AnyNumberOfThemGivesTheSameBits) {
  use_parts_of(kPartBytesMax);
  ASSERT_EQ(parts_of(plan_.shards[0]).size(), 1u);
  in_one_part() = after_steps();
  class Again : public Parts {
   public:
    std::vector<float> result(uint64_t bytes) {
      use_parts_of(bytes);
      EXPECT_GT(parts_of(plan_.shards[0]).size(), 1u);
      auto all = after_steps();
      TearDown();
      return all;
    }
    void TestBody() override {}
  };
  for (const uint64_t bytes : {64, 192, 1024}) {
    Again again;
    EXPECT_EQ(again.result(bytes), in_one_part()) << bytes;
  }
}

TEST_F(Parts, APushWhoseConnectionBreaksBetweenItsChunksOrRepliesCountsOnce) {
  plan_ = value_or_raise(
      plan_shards({variable("kernel", {30, 16}), variable("bias", {16}), variable("scale", {})}, 2, 1, nullptr, 512));
  const size_t parts = parts_of(plan_.shards[0]).size();
  ASSERT_GE(parts, 3u);
  start_ready_cluster();
  Environment* env = nullptr;
  const auto worker = start_worker(env);
  int steps_made = 0;
  for (const bool sending : {true, false}) {
    const MessageKind kind = sending ? MessageKind::kChunk : MessageKind::kWeights;
    for (size_t nth = 1; nth <= parts; ++nth) {
      auto seen = std::make_shared<size_t>(0);
      auto cut = [seen, nth, kind](const std::string& task, const Message& message) {
        return task == "worker 0" && message.head.kind == kind && ++*seen == nth;
      };
      (sending ? cuts_->on_send : cuts_->on_receive) = cut;
      EXPECT_TRUE(value_or_raise(run(*env, step(*worker))).applied);
      EXPECT_GE(*seen, nth);
      cuts_->on_send = cuts_->on_receive = nullptr;
      EXPECT_EQ(value(), -float(++steps_made)) << sending << " " << nth;
    }
  }
}

/// Each variable is a part by itself.
class EarlyParts : public OneServerTest {
 protected:
  EarlyParts() {
    plan_ = value_or_raise(plan_shards({variable("kernel", {30, 16}), variable("bias", {16}), variable("scale", {})}, 1, 1,
                                       nullptr, kPartBytesMax, 1, 1000));
  }
  /// The program of a trainer: makes the updates of `made` (kernel, bias, scale: 0, 1, 2), one each 100 ms, and then
  /// the others.
  static Task<Result<Outcome>> step_of(Environment& env, Store& store, std::vector<size_t> made) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    TaskGroup sending(env);
    sending.spawn(store.exchange(sending.token()));
    for (const size_t index : made) {
      fill(step, index);
      store.listener()->update_made(index);
      Result<void> slept = co_await env.sleep_for(std::chrono::milliseconds(100));
      if (!slept) break;
    }
    sending.request_stop();
    SHOAL_CO_TRY_VOID(co_await sending.join());
    for (size_t index = 0; index < step.updates.size(); ++index) {
      if (std::ranges::find(made, index) == made.end()) fill(step, index);
    }
    const double scalars[] = {1.0};
    co_return co_await store.commit(step, scalars);
  }
  static void fill(const Step& step, size_t index) {
    const size_t elements[] = {30 * 16, 16, 1};
    std::fill_n(reinterpret_cast<float*>(step.updates[index][0].data), elements[index], 1.0f);
  }
  /// The index of the chunk that carries a variable's gradient.
  uint32_t chunk_of(std::string_view name) const {
    const std::vector<ShardPart> parts = parts_of(plan_.shards[0]);
    for (uint32_t i = 0; i < parts.size(); ++i) {
      if (parts[i].spec.segments.at(0).variable.name == name) return i;
    }
    return ~uint32_t(0);
  }
};

TEST_F(EarlyParts, LeaveWhileTheProgramRunsAndTheClosingOneAtItsEnd) {
  start_ready_cluster();
  Environment* env = nullptr;
  const auto worker = start_worker(env);
  ASSERT_NE(worker->listener(), nullptr);
  const std::vector<ShardPart> parts = parts_of(plan_.shards[0]);
  ASSERT_EQ(parts.size(), 3u);
  const std::string closing = parts.front().spec.segments[0].variable.name;
  std::map<uint32_t, Duration> sent;  // The time of each chunk, since the step began.
  const SteadyTime began = world_.now();
  cuts_->on_send = [&](const std::string& task, const Message& message) {
    if (task == "worker 0" && message.head.kind == MessageKind::kChunk) {
      sent[value_or_raise(transport::read_chunk(message)).chunk_index] = world_.now() - began;
    }
    return false;
  };
  EXPECT_TRUE(value_or_raise(run(*env, step_of(*env, *worker, {2, 1, 0}))).applied);
  EXPECT_EQ(value(), -1.0f);
  ASSERT_EQ(sent.size(), 3u);
  const std::string names[] = {"scale", "bias", "kernel"};
  for (int i = 0; i < 3; ++i) {
    const auto when = std::chrono::duration_cast<std::chrono::milliseconds>(sent.at(chunk_of(names[i])));
    EXPECT_EQ(when.count(), names[i] == closing ? 300 : 100 * i) << names[i];
  }
}

TEST_F(EarlyParts, WhatNobodyTellsOfGoesWithTheCommit) {
  start_ready_cluster();
  Environment* env = nullptr;
  const auto worker = start_worker(env);
  float steps_made = 0;
  for (const std::vector<size_t>& made : {std::vector<size_t>{}, {0}, {1}, {2}, {0, 1, 2}}) {
    EXPECT_TRUE(value_or_raise(run(*env, step_of(*env, *worker, made))).applied);
    EXPECT_EQ(value(), -++steps_made);
  }
}

TEST_F(EarlyParts, AConnectionThatBreaksWhileTheyLeaveCostsNothing) {
  start_ready_cluster();
  Environment* env = nullptr;
  const auto worker = start_worker(env);
  float steps_made = 0;
  for (size_t nth = 1; nth <= 3; ++nth) {
    size_t seen = 0;
    cuts_->on_send = [&seen, nth](const std::string& task, const Message& message) {
      return task == "worker 0" && message.head.kind == MessageKind::kChunk && ++seen == nth;
    };
    EXPECT_TRUE(value_or_raise(run(*env, step_of(*env, *worker, {2, 1, 0}))).applied);
    EXPECT_EQ(seen, 3 + nth) << "all go again over the new connection";
    cuts_->on_send = nullptr;
    EXPECT_EQ(value(), -++steps_made);
  }
}

/// The parts that a trainer sent of a step that it never finished do not count, and make nobody wait.
TEST_F(EarlyParts, ATrainerThatDiesMeanwhileLeavesNothing) {
  start_ready_cluster();
  Environment* env = nullptr;
  const auto worker = start_worker(env);
  auto dying = start(*env, step_of(*env, *worker, {2, 1, 0}));
  world_.run_for(std::chrono::milliseconds(250));
  ASSERT_FALSE(dying.done());
  kill(*env);
  EXPECT_TRUE(value_or_raise(run(*chief_env_, step(*chief_))).applied);
  const auto again = start_worker(env);
  EXPECT_TRUE(value_or_raise(run(*env, step_of(*env, *again, {2, 1, 0}))).applied);
  EXPECT_EQ(value(), -2.0f);
}

/// Encoded gradients are made after the program, so there is no listener.
TEST_F(EarlyParts, DoNotLeaveWhereGradientsAreCompressed) {
  start_ready_cluster();
  Environment& env = add_task("worker 0");
  const auto worker = make_store(env, "worker", 0, {.compression = value_or_raise(parse_compression("bfloat16"))});
  EXPECT_EQ(worker->listener(), nullptr);
}

}  // namespace
}  // namespace shoal::cluster
