// SPDX-License-Identifier: Apache-2.0
#include "state/server_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "at_once.h"
#include "plans.h"
#include "server/reads.h"
#include "state/codec.h"

namespace shoal::cluster {
namespace {

using testing::Each;
using transport::Encoding;

constexpr uint64_t kIncarnation = 41;

class ServerStateTest : public testing::Test {
 protected:
  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  Logger log_{[](const LogRecord&) {}, "ps 0", [] { return WallTime(); }};
  ServerState state_{true, *pool_, log_};
  ShardSpec spec_ = plan_of({variable("a", {5}, momentum(0.5), constant(10))}, 1).shards[0];
  std::vector<transport::Message> messages_;

  void SetUp() override { ASSERT_TRUE(state_.admit(1, kIncarnation, 1)); }

  /// The state of epoch 1, step 0, is ready.
  void make_ready(uint64_t epoch = 1, uint64_t step = 0) {
    ASSERT_TRUE(prepare_at_once(state_, {epoch, 77, spec_}));
    ASSERT_TRUE(state_.activate({.epoch = epoch, .global_step = step, .counters = {}, .positions = {}}));
  }

  struct Push {
    int trainer = 1;
    uint64_t incarnation = kIncarnation;
    uint64_t number = 1;
    uint64_t epoch = 1;
    float gradient = 1;
    std::vector<double> scalars = {1.0};
    std::string position = {};
    uint64_t bytes = 0;  ///< The number of bytes; 0 for all of the arena.
    Encoding encoding = Encoding::kDense;
    bool closing = true;
    uint32_t chunk_count = 1;
    uint64_t base_version = 0;
    transport::StepMetrics metrics = {};
  };
  /// Keeps a push until it is committed.
  transport::PushId keep(const Push& push) {
    messages_.push_back(message_of(push));
    const transport::Chunk chunks[] = {value_or_raise(transport::read_chunk(messages_.back()))};
    return value_or_raise(keep_at_once(state_, push.trainer, head_of(push), chunks));
  }
  Result<bool> push(const Push& push) {
    const transport::Message message = message_of(push);
    const transport::Chunk chunks[] = {value_or_raise(transport::read_chunk(message))};
    return push_at_once(state_, push.trainer, head_of(push), chunks);
  }
  transport::Message message_of(const Push& push) {
    const uint64_t bytes = push.bytes ? push.bytes : spec_.arena_bytes;
    transport::Chunk fields{.base_version = push.base_version,
                            .range_begin = 0,
                            .range_end = bytes,
                            .chunk_count = push.chunk_count,
                            .closing = push.closing,
                            .push = push.number,
                            .position = push.position};
    fields.encoding = push.encoding;
    transport::OutgoingChunk out = transport::make_chunk(*pool_, fields, bytes, push.scalars.size());
    for (float& element : floats(out.payload)) element = push.gradient;
    std::copy(push.scalars.begin(), push.scalars.end(), out.scalars.begin());
    if (push.closing) transport::set_metrics(out.message, push.metrics);
    return out.message;
  }
  static transport::MessageHead head_of(const Push& push) {
    transport::MessageHead head{.kind = transport::MessageKind::kChunk};
    head.epoch = push.epoch;
    head.incarnation = push.incarnation;
    return head;
  }
  /// Pushes a whole gradient as trainer 1.
  void push_top_k() {
    TopK top_k(spec_, 1, *pool_);
    transport::Chunk fields{.range_end = spec_.arena_bytes, .closing = true, .push = 1};
    fields.encoding = Encoding::kTopK;
    transport::OutgoingChunk out = transport::make_chunk(*pool_, fields, encoded_bytes(spec_, Encoding::kTopK, 1), 1);
    top_k.encode(filled(spec_, 1, *pool_)->bytes(), out.payload);
    out.scalars[0] = 1;
    transport::MessageHead head{.kind = transport::MessageKind::kChunk};
    head.epoch = 1;
    head.incarnation = kIncarnation;
    const transport::Chunk chunks[] = {value_or_raise(transport::read_chunk(out.message))};
    ASSERT_EQ(value_or_raise(push_at_once(state_, 1, head, chunks)), true);
  }
  /// The newest version of a shard in one part.
  transport::Message newest(Encoding encoding = Encoding::kDense) { return weights_at_once(state_, encoding).at(0); }
  std::vector<float> weights() {
    const transport::Message message = newest();
    const std::span<const float> values = floats(spec_.segments[0], message.payload());
    return {values.begin(), values.end()};
  }
};

TEST_F(ServerStateTest, APushIsAppliedOnce) {
  make_ready();
  EXPECT_EQ(value_or_raise(push({.number = 3, .position = "p3"})), true);
  // The reply to this push was lost.
  EXPECT_EQ(value_or_raise(push({.number = 3, .gradient = 100, .position = "other"})), true);
  EXPECT_EQ(value_or_raise(push({.number = 2, .gradient = 100})), true);
  EXPECT_EQ(state_.global_step(), 1u);
  EXPECT_THAT(weights(), Each(9.0f));
  EXPECT_EQ(state_.position_of(1), "p3");
  EXPECT_EQ(state_.status().trainers[0].pushes.applied, 1u);
  EXPECT_EQ(value_or_raise(push({.number = 7})), true);
  EXPECT_EQ(state_.global_step(), 2u);
  EXPECT_THAT(weights(), Each(7.5f));
  EXPECT_EQ(state_.position_of(1), "p3");  // A push without a position leaves the last one.
}

TEST_F(ServerStateTest, TrainersAreCountedEachByItself) {
  make_ready();
  ASSERT_TRUE(state_.admit(2, 5, 2));
  EXPECT_EQ(value_or_raise(push({.number = 9})), true);
  EXPECT_EQ(value_or_raise(push({.trainer = 2, .incarnation = 5, .number = 1})), true);
  EXPECT_EQ(state_.global_step(), 2u);
}

TEST_F(ServerStateTest, PushesOfAnotherEpochAreFenced) {
  EXPECT_EQ(value_or_raise(push({})), false);  // The server holds no model yet.
  make_ready(4);
  EXPECT_EQ(value_or_raise(push({.epoch = 3})), false);
  EXPECT_EQ(value_or_raise(push({.epoch = 5})), false);
  ASSERT_TRUE(prepare_at_once(state_, {5, 77, spec_}));
  EXPECT_EQ(value_or_raise(push({.epoch = 5})), false);  // The epoch is being loaded.
  ASSERT_TRUE(state_.activate({.epoch = 5, .global_step = 0, .counters = {}, .positions = {}}));
  EXPECT_EQ(value_or_raise(push({.epoch = 4})), false);
  EXPECT_EQ(state_.global_step(), 0u);
  EXPECT_THAT(weights(), Each(10.0f));
  EXPECT_EQ(value_or_raise(push({.epoch = 5})), true);
}

/// The hello of a killed process may be on its way for longer than its successor takes to start.
TEST_F(ServerStateTest, AHelloThatWasOvertakenReplacesNobody) {
  make_ready();
  ASSERT_TRUE(state_.admit(1, 42, 7));  // The process was started again.
  expect_error(state_.admit(1, 41, 6), ErrorKind::kFailedPrecondition, "newer process");
  EXPECT_EQ(value_or_raise(push({.incarnation = 42, .number = 1})), true);
  EXPECT_TRUE(state_.admit(1, 42, 8));
  EXPECT_TRUE(state_.admit(1, 43, 9));
}

TEST_F(ServerStateTest, AProcessThatWasReplacedStaysOut) {
  make_ready();
  EXPECT_EQ(value_or_raise(push({.number = 5})), true);
  ASSERT_TRUE(state_.admit(1, 42, 3));  // The process was started again.
  EXPECT_EQ(value_or_raise(push({.number = 6})), false);
  EXPECT_EQ(value_or_raise(push({.incarnation = 42, .number = 1})), true);
  // The former process comes back: if it were admitted, its push 5 would count a second time.
  expect_error(state_.admit(1, kIncarnation, 4), ErrorKind::kFailedPrecondition, "newer process");
  EXPECT_EQ(value_or_raise(push({.number = 5})), false);
  EXPECT_EQ(state_.global_step(), 2u);
  EXPECT_TRUE(state_.admit(1, 42, 5));  // A new connection is no replacement.
  EXPECT_EQ(value_or_raise(push({.incarnation = 42, .number = 1})), true);
  EXPECT_EQ(state_.global_step(), 2u);
}

TEST_F(ServerStateTest, HandsOutOneVersionInEachEncoding) {
  make_ready();
  const transport::Message whole = newest();
  const std::vector<std::byte> dense(whole.payload().begin(), whole.payload().end());
  for (Encoding encoding : {Encoding::kBfloat16, Encoding::kFloat16, Encoding::kInt8}) {
    const transport::Message encoded = newest(encoding);
    EXPECT_EQ(newest(encoding).body.get(), encoded.body.get());  // The message is made once.
    const transport::Weights weights = value_or_raise(transport::read_weights(encoded));
    EXPECT_EQ(weights.encoding, encoding);
    EXPECT_EQ(weights.version, 1u);
    std::vector<std::byte> back(spec_.arena_bytes);
    ASSERT_TRUE(decode(spec_, encoding, weights.payload, back));
    EXPECT_EQ(back, dense);
  }
  ASSERT_EQ(value_or_raise(push({})), true);
  EXPECT_EQ(value_or_raise(transport::read_weights(newest(Encoding::kInt8))).version, 2u);
}

TEST_F(ServerStateTest, RefusesPushesThatDoNotFitAndKeepsItsState) {
  make_ready();
  const transport::Message held = newest();  // A reader holds this version, so the next one goes into new memory.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  const auto refuses = [&](const Push& bad, const std::string& part) {
    expect_error(push(bad), ErrorKind::kInvalidArgument, part);
  };
  refuses({.scalars = {}}, "0 scalars");
  refuses({.scalars = {1, 2}}, "2 scalars");
  refuses({.scalars = {kNan}}, "finite");
  refuses({.scalars = {kInfinity}}, "finite");
  refuses({.bytes = 128}, "the 64 bytes of the arena from 0 on");
  refuses({.bytes = 128, .encoding = Encoding::kSparseRows}, "the 64 bytes of the arena from 0 on");
  for (Encoding encoding : {Encoding::kBfloat16, Encoding::kFloat16, Encoding::kInt8, Encoding::kTopK}) {
    refuses({.encoding = encoding}, "payload of 64 bytes");
  }
  refuses({.closing = false}, "the whole arena of 64 bytes, in 1 chunk");
  refuses({.chunk_count = 2}, "the whole arena of 64 bytes, in 1 chunk");
  EXPECT_EQ(state_.global_step(), 0u);
  EXPECT_THAT(weights(), Each(10.0f));
  EXPECT_EQ(state_.status().counters.version, 1u);
  EXPECT_EQ(value_or_raise(push({})), true);  // The number of a refused push is not used up.
  EXPECT_THAT(weights(), Each(9.0f));
  EXPECT_THAT(floats(spec_.segments[0], held.payload()), Each(10.0f));
}

TEST_F(ServerStateTest, ATrainerSendsItsOwnResidualOnly) {
  make_ready();
  push_top_k();
  const std::vector<std::byte> payload(spec_.arena_bytes, std::byte(1));
  transport::MessageHead head{.kind = transport::MessageKind::kSnapshot};
  head.epoch = 1;
  head.incarnation = kIncarnation;
  const auto send = [&](const transport::MessageHead& how, const std::string& name) {
    const transport::SnapshotPart part{.version = 1, .name = name, .total_bytes = payload.size(), .payload = payload};
    return state_.take_residual(1, how, part);
  };
  expect_error(send(head, "residual/0"), ErrorKind::kFailedPrecondition, "its own");
  expect_error(send(head, "weights"), ErrorKind::kFailedPrecondition, "its own");
  transport::MessageHead other = head;
  other.epoch = 2;
  expect_error(send(other, "residual/1"), ErrorKind::kFailedPrecondition, "over");
  other = head;
  other.incarnation += 1;
  expect_error(send(other, "residual/1"), ErrorKind::kFailedPrecondition, "over");
  EXPECT_FALSE(state_.residuals().newest_of(1));
  ASSERT_TRUE(send(head, "residual/1"));
  ASSERT_TRUE(state_.residuals().newest_of(1));

  const auto read = [&](int trainer, ArenaIndex arena, uint64_t bytes) {
    return read_residual(state_, trainer, to_json(ReadRange{arena, 0, bytes}));
  };
  EXPECT_TRUE(read(1, residual_arena(1), 64));
  expect_error(read(1, residual_arena(1), 65), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(read(1, residual_arena(2), 64), ErrorKind::kNotFound);
  expect_error(read(1, 0, 64), ErrorKind::kNotFound);
  expect_error(read(2, residual_arena(1), 64), ErrorKind::kNotFound);
  HeldState held = value_or_raise(state_.hold(true));
  const auto read_of_held = [&](ArenaIndex arena) { return read_held(state_, &held, to_json(ReadRange{arena, 0, 64})); };
  EXPECT_TRUE(read_of_held(0));
  EXPECT_TRUE(read_of_held(1));
  EXPECT_TRUE(read_of_held(residual_arena(1)));
  for (const ArenaIndex arena : {-1, 2, 8}) expect_error(read_of_held(arena), ErrorKind::kInvalidArgument, "no such arena");
  for (const ArenaIndex arena : {residual_arena(0), residual_arena(2), std::numeric_limits<ArenaIndex>::max()})
    expect_error(read_of_held(arena), ErrorKind::kUnavailable, "was let go");
  const HeldState newer = value_or_raise(state_.hold(true));
  expect_error(read_of_held(residual_arena(1)), ErrorKind::kUnavailable, "was let go");
  held = value_or_raise(state_.hold());
  expect_error(read_of_held(residual_arena(1)), ErrorKind::kInvalidArgument, "no such arena");
  expect_error(read_held(state_, nullptr, to_json(ReadRange{0, 0, 64})), ErrorKind::kUnavailable);
}

TEST_F(ServerStateTest, ReadersKeepTheirVersion) {
  make_ready();
  const auto* first = newest().payload().data();
  EXPECT_TRUE(push({.number = 1}));
  EXPECT_EQ(newest().payload().data(), first);  // Nobody reads the version, so the update is in place.
  transport::Message reader = newest();
  EXPECT_TRUE(push({.number = 2}));
  EXPECT_NE(newest().payload().data(), first);
  EXPECT_THAT(floats(spec_.segments[0], reader.payload()), Each(9.0f));
  EXPECT_EQ(value_or_raise(transport::read_weights(reader)).version, 2u);
  EXPECT_EQ(value_or_raise(transport::read_weights(newest())).version, 3u);
}

TEST_F(ServerStateTest, HeldStateStaysWhilePushesGoOn) {
  expect_error(state_.hold(), ErrorKind::kFailedPrecondition, "no model");
  make_ready();
  EXPECT_TRUE(push({.number = 1, .position = "p1"}));
  const HeldState held = value_or_raise(state_.hold());
  for (uint64_t number = 2; number < 5; ++number) EXPECT_TRUE(push({.number = number, .position = "later"}));
  EXPECT_EQ(held.text.global_step, 1u);
  EXPECT_EQ(held.text.counters.update_count, 1u);
  EXPECT_EQ(held.text.positions.at(1), "p1");
  EXPECT_THAT(floats(spec_.segments[0], held.arenas.at(0).read(0, 64, *pool_).bytes), Each(9.0f));
  EXPECT_THAT(floats(spec_.segments[0], held.arenas.at(1).read(0, 64, *pool_).bytes), Each(1.0f));
}

transport::SnapshotPart part(std::string_view name, uint64_t offset, std::span<const std::byte> payload) {
  return {.name = name, .offset = offset, .total_bytes = 1 << 20, .payload = payload};
}

TEST_F(ServerStateTest, RestoresWithinItsArenas) {
  const Ref<Buffer> arena = filled(spec_, 3, *pool_);
  const std::span<const std::byte> bytes = arena->bytes();
  expect_error(restore_at_once(state_, part("weights", 0, bytes)), ErrorKind::kFailedPrecondition, "outside of loading");
  ASSERT_TRUE(prepare_at_once(state_, {1, 77, spec_}));
  EXPECT_TRUE(restore_at_once(state_, part("weights", 0, bytes)));
  EXPECT_TRUE(restore_at_once(state_, part("slot/0", 16, bytes.first(4))));
  EXPECT_TRUE(restore_at_once(state_, part("weights", 64, {})));
  expect_error(restore_at_once(state_, part("weights", 4, bytes)), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(restore_at_once(state_, part("weights", 65, {})), ErrorKind::kInvalidArgument, "beyond the end");
  expect_error(restore_at_once(state_, part("weights", ~uint64_t(0) - 3, bytes.first(8))), ErrorKind::kInvalidArgument,
               "beyond the end");
  expect_error(restore_at_once(state_, part("slot/1", 0, bytes)), ErrorKind::kInvalidArgument, "no such slot");
  for (const char* name : {"slot/", "slot/-1", "slot/01", "slot/9", "slot/0x", "meta", ""}) {
    expect_error(restore_at_once(state_, part(name, 0, bytes)), ErrorKind::kInvalidArgument, "unknown arena");
  }
  ASSERT_TRUE(state_.activate({.epoch = 1, .global_step = 30, .counters = {5, 29}, .positions = {{2, "p"}}}));
  expect_error(restore_at_once(state_, part("weights", 0, bytes)), ErrorKind::kFailedPrecondition, "outside of loading");
  EXPECT_THAT(weights(), Each(3.0f));
  EXPECT_EQ(state_.global_step(), 30u);
  EXPECT_EQ(state_.position_of(2), "p");
  EXPECT_EQ(state_.status().counters.update_count, 29u);  // Adam's t goes on.
  const HeldState held = value_or_raise(state_.hold());
  EXPECT_EQ(floats(held.arenas.at(1).read(0, 64, *pool_).bytes)[4], 3.0f);
  EXPECT_EQ(floats(held.arenas.at(1).read(0, 64, *pool_).bytes)[3], 0.0f);
}

TEST_F(ServerStateTest, EpochsOnlyGrow) {
  make_ready(3);
  for (uint64_t epoch : {0, 2, 3}) {
    expect_error(prepare_at_once(state_, {epoch, 77, spec_}), ErrorKind::kFailedPrecondition, "not newer than 3");
  }
  expect_error(state_.activate({.epoch = 3, .global_step = 9, .counters = {}, .positions = {}}),
               ErrorKind::kFailedPrecondition, "not being loaded");
  ASSERT_TRUE(prepare_at_once(state_, {8, 77, spec_}));
  expect_error(state_.activate({.epoch = 7, .global_step = 0, .counters = {}, .positions = {}}),
               ErrorKind::kFailedPrecondition, "not being loaded");
  EXPECT_EQ(state_.phase(), Phase::kLoading);
}

TEST_F(ServerStateTest, ANewEpochForgetsPositionsAndStopButNotPushNumbers) {
  make_ready(1);
  EXPECT_TRUE(push({.number = 9, .position = "p"}));
  state_.request_stop();
  make_ready(2, 4);
  EXPECT_EQ(state_.position_of(1), "");
  EXPECT_FALSE(state_.stop_requested());
  EXPECT_EQ(state_.global_step(), 4u);
  // A trainer that mixes epochs is still not counted twice.
  EXPECT_EQ(value_or_raise(push({.number = 9, .epoch = 2})), true);
  EXPECT_EQ(state_.global_step(), 4u);
}

TEST_F(ServerStateTest, AModelThatCannotBeginIsForgotten) {
  ShardSpec bad = spec_;
  bad.segments[0].variable.initializer = constant(1e300);
  expect_error(prepare_at_once(state_, {1, 77, bad}), ErrorKind::kInvalidArgument, "must be finite in float32");
  EXPECT_EQ(state_.phase(), Phase::kEmpty);
  expect_error(state_.activate({.epoch = 1, .global_step = 0, .counters = {}, .positions = {}}),
               ErrorKind::kFailedPrecondition, "not being loaded");
  expect_error(state_.hold(), ErrorKind::kFailedPrecondition, "no model");
  EXPECT_EQ(value_or_raise(push({})), false);
  make_ready(2);
  EXPECT_EQ(value_or_raise(push({.epoch = 2})), true);
}

TEST_F(ServerStateTest, AFinishedServerTakesNoNewModel) {
  make_ready();
  state_.finish({.failed = false, .reason = "max_steps"});
  expect_error(prepare_at_once(state_, {2, 77, spec_}), ErrorKind::kUnavailable, "has ended");
  EXPECT_EQ(value_or_raise(push({})), false);
}

TEST_F(ServerStateTest, OnlyShardZeroKeepsPositions) {
  ServerState other(false, *pool_, log_);
  ASSERT_TRUE(prepare_at_once(other, {1, 77, spec_}));
  ASSERT_TRUE(other.activate({.epoch = 1, .global_step = 0, .counters = {}, .positions = {}}));
  transport::OutgoingChunk out = transport::make_chunk(
      *pool_, {.range_end = spec_.arena_bytes, .closing = true, .push = 1, .position = "p"}, spec_.arena_bytes, 1);
  out.scalars[0] = 1;
  transport::MessageHead head;
  head.epoch = 1;
  const transport::Chunk chunks[] = {value_or_raise(transport::read_chunk(out.message))};
  EXPECT_EQ(value_or_raise(push_at_once(other, 0, head, chunks)), true);
  EXPECT_EQ(other.global_step(), 1u);  // The order has the global step.
  EXPECT_EQ(other.position_of(0), "");
  EXPECT_EQ(other.status().counters.update_count, 1u);
}

TEST_F(ServerStateTest, WhatIsKeptCountsWhenItIsCommitted) {
  make_ready();
  ASSERT_TRUE(state_.admit(2, 5, 2));
  const transport::PushId first = keep({.number = 3, .gradient = 2, .position = "p3"});
  const transport::PushId second = keep({.trainer = 2, .incarnation = 5, .number = 8, .gradient = 4, .position = "q8"});
  EXPECT_TRUE(state_.kept().contains(first));
  EXPECT_THAT(weights(), Each(10.0f));
  EXPECT_EQ(state_.global_step(), 0u);
  EXPECT_EQ(state_.position_of(1), "");
  ASSERT_TRUE(commit_at_once(state_, {first, second}));
  EXPECT_FALSE(state_.kept().contains(first));
  EXPECT_THAT(weights(), Each(7.0f));  // There was one update of their mean.
  EXPECT_EQ(state_.global_step(), 1u);
  EXPECT_EQ(state_.version(), 2u);
  EXPECT_EQ(state_.position_of(1), "p3");
  EXPECT_EQ(state_.position_of(2), "q8");
  EXPECT_TRUE(state_.counted(1));
}

/// Where others are lost, one trainer may make all pushes of an update.
TEST_F(ServerStateTest, APushThatWasAnsweredTakesNoCredit) {
  make_ready();
  state_.credits().set_limit({.dense = 2, .encoded = 3});
  HeldPush push;
  push.id = {1, kIncarnation, 1};
  ASSERT_TRUE(state_.credits().grow(push.credit, 1, 2, false));
  state_.keep(std::move(push));
  PushCredit next;
  EXPECT_FALSE(state_.credits().grow(next, 1, 1, false));
  state_.note_answered({1, kIncarnation, 1});
  EXPECT_TRUE(state_.credits().grow(next, 1, 1, false));
}

TEST_F(ServerStateTest, WhatAProcessPushedIsNotThatOfTheOneAfterIt) {
  make_ready();
  keep({.number = 5});
  ASSERT_TRUE(state_.admit(1, kIncarnation + 1, 3));
  EXPECT_EQ(value_or_raise(push({.incarnation = kIncarnation + 1, .number = 1})), true);
}

TEST_F(ServerStateTest, KnowsHowLongATrainerWaitsForItsInput) {
  make_ready();
  const auto said = [&](uint64_t number, double share) {
    EXPECT_TRUE(
        value_or_raise(push({.number = number, .base_version = state_.version(), .metrics = {.input_wait = share}})));
    return state_.trainers().at(1).input_wait;
  };
  EXPECT_EQ(said(1, std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(said(2, 0.25), 0.25);
  EXPECT_EQ(said(3, std::numeric_limits<double>::quiet_NaN()), 0.25);  // Shares that nobody knows change nothing.
  EXPECT_EQ(said(4, 1.5), 0.25);                                       // Neither does nonsense.
  EXPECT_EQ(said(5, 0), 0.0);
}

/// CONTRACT SY-2: of a trainer that no newer process replaces, sent = applied + dropped + kept. Staleness is in updates
/// of this shard.
TEST_F(ServerStateTest, CountsWhatBecomesOfPushes) {
  make_ready();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto first_version = state_.version();
  ASSERT_TRUE(value_or_raise(push({.number = 1, .base_version = first_version, .metrics = {0.5, 2}})));
  ASSERT_TRUE(value_or_raise(push({.number = 2, .base_version = first_version + 1, .metrics = {1.5, 0.25}})));
  ASSERT_TRUE(state_.admit(2, 52, 2));
  ASSERT_TRUE(value_or_raise(
      push({.trainer = 2, .incarnation = 52, .number = 1, .base_version = first_version, .metrics = {nan, nan}})));
  ASSERT_TRUE(value_or_raise(
      push({.trainer = 2, .incarnation = 52, .number = 2, .base_version = first_version + 7, .metrics = {3, -1}})));
  state_.drop(keep({.number = 3, .metrics = {100, 4}}));
  keep({.number = 4, .metrics = {100, 100}});
  ASSERT_TRUE(state_.admit(3, 53, 3));
  for (const uint64_t number : {1, 2}) {  // Such losses are nonsense, and their sum would be infinite.
    ASSERT_TRUE(value_or_raise(push({.trainer = 3,
                                     .incarnation = 53,
                                     .number = number,
                                     .base_version = state_.version(),
                                     .metrics = {-1.7e308, 1.7e308}})));
  }
  const auto trainers = state_.status().trainers;
  ASSERT_EQ(trainers.size(), 3u);
  EXPECT_EQ(trainers[2].pushes, (PushCounts{.applied = 2}));
  EXPECT_EQ(trainers[0].pushes, (PushCounts{.applied = 2, .dropped = 1, .losses = 2, .loss = 2, .waited_secs = 6.25}));
  // The second push claims to be computed on weights that do not exist yet: a defect of its trainer, and no staleness.
  EXPECT_EQ(trainers[1].pushes, (PushCounts{.applied = 2, .staleness = 2, .staleness_max = 2, .losses = 1, .loss = 3}));
}

TEST_F(ServerStateTest, WhatCameBeforeAPushOfTheSameProcessIsKnown) {
  make_ready();
  ASSERT_TRUE(state_.admit(2, 52, 2));
  keep({.trainer = 2, .incarnation = 52, .number = 1});
  const transport::PushId first = keep({.number = 1}), second = keep({.number = 2});
  EXPECT_THAT(state_.kept_before(first), testing::IsEmpty());
  EXPECT_THAT(state_.kept_before(second), testing::ElementsAre(first));
  ASSERT_TRUE(commit_at_once(state_, {second}));
  EXPECT_THAT(state_.kept_before(second), testing::ElementsAre(first));
}

TEST_F(ServerStateTest, WhatIsDroppedIsAnsweredAndNeverCounts) {
  make_ready();
  const transport::PushId dropped = keep({.number = 3, .position = "p3"});
  state_.drop(dropped);
  EXPECT_FALSE(state_.kept().contains(dropped));
  EXPECT_FALSE(state_.counted(1));
  EXPECT_EQ(value_or_raise(push({.number = 3})), true);  // This push was decided already.
  EXPECT_THAT(weights(), Each(10.0f));
  EXPECT_EQ(state_.position_of(1), "");
  expect_error(commit_at_once(state_, {dropped}), ErrorKind::kFailedPrecondition, "not here");
}

TEST_F(ServerStateTest, AFencedProcessTakesItsPushesAlong) {
  make_ready();
  ASSERT_TRUE(state_.admit(2, 5, 2));
  const transport::PushId gone = keep({.number = 3});
  const transport::PushId stays = keep({.trainer = 2, .incarnation = 5});
  EXPECT_EQ(state_.fence({1, kIncarnation, 0}), std::vector<transport::PushId>{gone});
  EXPECT_FALSE(state_.kept().contains(gone));
  EXPECT_TRUE(state_.kept().contains(stays));
  EXPECT_EQ(value_or_raise(push({.number = 4})), false);
  expect_error(state_.admit(1, kIncarnation, 9), ErrorKind::kFailedPrecondition, "newer process");
  EXPECT_TRUE(state_.admit(1, 42, 10));
  EXPECT_EQ(value_or_raise(push({.incarnation = 42})), true);
}

TEST_F(ServerStateTest, ACommitFollowsTheOneBefore) {
  make_ready();
  const transport::PushId id = keep({});
  for (const uint64_t number : {0, 1, 3}) {
    expect_error(state_.begin_commit({.number = number, .global_step = 1, .pushes = {id}}), ErrorKind::kFailedPrecondition,
                 "does not follow version 1");
  }
  expect_error(state_.begin_commit({.number = 2, .global_step = 1, .pushes = {}}), ErrorKind::kFailedPrecondition);
  ASSERT_TRUE(commit_at_once(state_, {id}));
}

}  // namespace
}  // namespace shoal::cluster
