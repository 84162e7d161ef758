// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/local_store.h"

#include <algorithm>
#include <numeric>

#include "plans.h"
#include "shoal/base/virtual.h"
#include "trainer/bindings.h"

namespace shoal::cluster {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

/// Gives the values of a state of 3 shards: every element of arena a is 10 * a + its row's number.
class CountingSource final : public RestoreSource {
 public:
  explicit CountingSource(StateInfo info) : info_(std::move(info)) {}
  const StateInfo& info() const override { return info_; }
  Result<void> read(const Segment& segment, ArenaIndex arena, std::span<std::byte> out) override {
    auto values = floats(out);
    std::iota(values.begin(), values.end(), float(100 * arena + segment.row_begin));
    return {};
  }

 private:
  StateInfo info_;
};

class LocalStoreTest : public testing::Test {
 protected:
  VirtualWorld world_;
  Environment& env_ = world_.add_task({.task = "local"});

  std::unique_ptr<Store> store(const std::vector<VariableSpec>& variables) {
    auto made = make_local_store(env_, plan_of(variables, 1));
    std::vector<std::string> names;
    for (const VariableSpec& spec : variables) names.push_back(spec.name);
    EXPECT_TRUE(made->bind(names, names));
    return made;
  }
  /// One step that pushes `gradient` for every element with learning rate 1.
  static Task<Result<uint64_t>> step(Store& store, float gradient) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    for (const backends::MutablePieces& pieces : step.updates) {
      for (const backends::MutablePiece& piece : pieces) {
        std::fill_n(reinterpret_cast<float*>(piece.data), piece.row_end - piece.row_begin, gradient);
      }
    }
    const double scalars[] = {1.0};
    SHOAL_CO_TRY(const Outcome outcome, co_await store.commit(step, scalars));
    co_return outcome.global_step;
  }
  /// A step for variables with rows of three elements.
  static Task<Result<uint64_t>> step_of_twelve(Store& store, float gradient) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    std::fill_n(reinterpret_cast<float*>(step.updates[0][0].data), 12, gradient);
    std::fill_n(reinterpret_cast<float*>(step.updates[1][0].data), 3, gradient);
    const double scalars[] = {1.0};
    SHOAL_CO_TRY(const Outcome outcome, co_await store.commit(step, scalars));
    co_return outcome.global_step;
  }
  static Task<Result<std::vector<float>>> read(Snapshot& snapshot, ArenaIndex arena) {
    const Segment segment = snapshot.plan().shards[0].segments[0];
    SHOAL_CO_TRY(const Snapshot::Part part, co_await snapshot.read(0, arena, segment.offset, segment.bytes));
    const auto values = floats(part.bytes);
    co_return std::vector<float>(values.begin(), values.end());
  }
};

TEST_F(LocalStoreTest, CountsStepsAndAppliesUpdates) {
  auto made = store({variable("a", {4}, sgd(), constant(10))});
  const Ready ready = value_or_raise(env_.run(made->prepare(nullptr, kNoDeadline)));
  EXPECT_EQ(ready.global_step, 0u);
  EXPECT_FALSE(ready.attached);
  EXPECT_EQ(value_or_raise(env_.run(step(*made, 1))), 1u);
  EXPECT_EQ(value_or_raise(env_.run(step(*made, 2))), 2u);
  auto snapshot = value_or_raise(env_.run(made->snapshot({{0, "here"}})));
  EXPECT_EQ(snapshot->info().global_step, 2u);
  EXPECT_EQ(snapshot->info().positions.at(0), "here");
  EXPECT_THAT(value_or_raise(env_.run(read(*snapshot, 0))), Each(7.0f));
}

/// CONTRACT CK-17.
TEST_F(LocalStoreTest, AnUpdateThatIsNotFiniteFailsTheStepAndIsNeverHeld) {
  auto made = store({variable("a", {4}, sgd(), constant(10))});
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  ASSERT_TRUE(env_.run(step(*made, 1)));
  auto before = value_or_raise(env_.run(made->snapshot({})));
  const Result<uint64_t> failed = env_.run(step(*made, std::numeric_limits<float>::infinity()));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::kNanLoss);
  EXPECT_THAT(failed.error().message(), AllOf(HasSubstr("variable a"), HasSubstr("NaN at global step 2")));
  const auto refused = env_.run(made->snapshot({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), failed.error());
  EXPECT_THAT(value_or_raise(env_.run(read(*before, 0))), Each(9.0f)) << "what is held may be published";
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  EXPECT_TRUE(env_.run(step(*made, 1)));
  EXPECT_TRUE(env_.run(made->snapshot({})));
}

TEST_F(LocalStoreTest, WhatBeginsNotFiniteOrIsAllowedPasses) {
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  for (const bool allowed : {false, true}) {
    const std::vector<VariableSpec> variables{variable("mask", {4}, sgd(), constant(10))};
    auto made = make_local_store(env_, plan_of(variables, 1), {.allow_non_finite = allowed});
    ASSERT_TRUE(made->bind({"mask"}, {"mask"}));
    struct Masks final : RestoreSource {
      StateInfo start;
      const StateInfo& info() const override { return start; }
      Result<void> read(const Segment&, ArenaIndex, std::span<std::byte> out) override {
        floats(out)[0] = -std::numeric_limits<float>::infinity();
        return {};
      }
    } masks;
    ASSERT_TRUE(env_.run(made->prepare(allowed ? nullptr : &masks, kNoDeadline)));
    ASSERT_TRUE(env_.run(step(*made, allowed ? -minus_infinity : 1)));
    EXPECT_TRUE(env_.run(made->snapshot({})));
  }
}

TEST_F(LocalStoreTest, AStepThatIsWithdrawnIsNone) {
  auto made = store({variable("a", {4}, sgd(), constant(10))});
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  for (const bool held : {false, true}) {
    auto holder = held ? value_or_raise(env_.run(made->snapshot({}))) : nullptr;
    Step begun = value_or_raise(env_.run(made->begin({})));
    ASSERT_TRUE(made->start(begun, 1, {}));
    const double scalars[] = {1.0};
    ASSERT_NE(made->apply_during_run(scalars), nullptr);
    made->withdraw();
    auto snapshot = value_or_raise(env_.run(made->snapshot({})));
    EXPECT_EQ(snapshot->info().shards[0], ShardCounters{});
    EXPECT_THAT(value_or_raise(env_.run(read(*snapshot, 0))), Each(10.0f));
  }
  EXPECT_EQ(value_or_raise(env_.run(step(*made, 1))), 1u);
}

TEST_F(LocalStoreTest, WhatARestoreDoesNotHoldStartsFromItsInitializer) {
  /// A restore source with the weights of one variable.
  struct Partial final : RestoreSource {
    StateInfo start;
    const StateInfo& info() const override { return start; }
    bool holds(const Segment& segment, ArenaIndex arena) const override {
      return segment.variable.name == "a" && arena == 0;
    }
    Result<void> read(const Segment& segment, ArenaIndex arena, std::span<std::byte> out) override {
      EXPECT_TRUE(holds(segment, arena)) << segment.variable.name << ", arena " << arena;
      std::ranges::fill(floats(out), 3.0f);
      return {};
    }
  };
  const nn::UpdateRule adagrad{.kind = nn::UpdateRule::Kind::kAdagrad, .constants = {0.25}};
  auto made = store({variable("a", {4}, adagrad, constant(10)), variable("b", {4}, adagrad, constant(20))});
  Partial source;
  for (int i = 0; i < 2; ++i) {  // The second time the store starts from other values.
    ASSERT_TRUE(env_.run(made->prepare(&source, kNoDeadline)));
    auto snapshot = value_or_raise(env_.run(made->snapshot({})));
    EXPECT_EQ(snapshot->info().global_step, 0u);
    for (const Segment& segment : snapshot->plan().shards[0].segments) {
      const auto weights = value_or_raise(env_.run(snapshot->read(0, 0, segment.offset, segment.bytes)));
      EXPECT_THAT(floats(weights.bytes), Each(segment.variable.name == "a" ? 3.0f : 20.0f));
      const auto slot = value_or_raise(env_.run(snapshot->read(0, 1, segment.offset, segment.bytes)));
      EXPECT_THAT(floats(slot.bytes), Each(float(nn::slot_start(adagrad, 0))));
    }
    ASSERT_TRUE(env_.run(snapshot->release()));
    ASSERT_TRUE(env_.run(step(*made, 1)));
  }
}

TEST_F(LocalStoreTest, ASnapshotStaysWhileTrainingGoesOn) {
  auto made = store({variable("a", {4}, momentum(0.5), constant(10))});
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  ASSERT_TRUE(env_.run(step(*made, 1)));
  auto snapshot = value_or_raise(env_.run(made->snapshot({})));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(env_.run(step(*made, 1)));
  EXPECT_EQ(snapshot->info().global_step, 1u);
  EXPECT_EQ(snapshot->info().shards[0].update_count, 1u);
  EXPECT_TRUE(snapshot->info().positions.empty());
  EXPECT_THAT(value_or_raise(env_.run(read(*snapshot, 0))), Each(9.0f));
  EXPECT_THAT(value_or_raise(env_.run(read(*snapshot, 1))), Each(1.0f));
  ASSERT_TRUE(env_.run(snapshot->release()));
  auto now = value_or_raise(env_.run(made->snapshot({})));
  // Momentum 1, 1.5, 1.75, 1.875.
  EXPECT_THAT(value_or_raise(env_.run(read(*now, 0))), Each(10.0f - 6.125f));
  EXPECT_THAT(value_or_raise(env_.run(read(*now, 1))), Each(1.875f));
}

/// The same step, with updates applied row by row as a program makes them.
Task<Result<uint64_t>> step_by_rows(Store& store, float gradient, bool fails = false) {
  SHOAL_CO_TRY(Step step, co_await store.begin({}));
  SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
  const double scalars[] = {1.0};
  backends::UpdateApplier* applier = store.apply_during_run(scalars);
  if (!applier) co_return internal_error("the store applies nothing during a run");
  for (size_t i = 0; i < step.updates.size(); ++i) {
    const int64_t rows = step.updates[i][0].row_end;
    const std::vector<float> whole(size_t(rows) * 3, gradient);
    const auto* bytes = reinterpret_cast<const std::byte*>(whole.data());
    if (!applier->by_rows(i)) {
      applier->apply(i, 0, rows, bytes);
      continue;
    }
    for (int64_t row = rows - 1; row >= (fails ? 1 : 0); --row) applier->apply(i, row, row + 1, bytes);
  }
  if (fails) co_return internal_error("the program failed");
  SHOAL_CO_TRY(const Outcome outcome, co_await store.commit(step, scalars));
  co_return outcome.global_step;
}

TEST_F(LocalStoreTest, UpdatesDuringTheRunGiveTheSameState) {
  const nn::UpdateRule lamb{.kind = nn::UpdateRule::Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0.1}};
  for (const nn::UpdateRule& rule : {momentum(0.5), adam(), lamb}) {
    auto during = store({variable("a", {4, 3}, rule, constant(10)), variable("b", {3}, rule, constant(1))});
    ASSERT_TRUE(env_.run(during->prepare(nullptr, kNoDeadline)));
    std::vector<std::unique_ptr<Snapshot>> held;  // Some steps find the weights held.
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(value_or_raise(env_.run(step_by_rows(*during, float(i)))), uint64_t(i + 1));
      if (i == 1) held.push_back(value_or_raise(env_.run(during->snapshot({}))));
    }
    auto after = store({variable("a", {4, 3}, rule, constant(10)), variable("b", {3}, rule, constant(1))});
    ASSERT_TRUE(env_.run(after->prepare(nullptr, kNoDeadline)));
    std::vector<float> held_then;
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(env_.run(step_of_twelve(*after, float(i))));
      auto now = value_or_raise(env_.run(after->snapshot({})));
      if (i == 1) held_then = value_or_raise(env_.run(read(*now, 0)));
    }
    EXPECT_EQ(value_or_raise(env_.run(read(*held[0], 0))), held_then);
    auto a = value_or_raise(env_.run(during->snapshot({}))), b = value_or_raise(env_.run(after->snapshot({})));
    EXPECT_EQ(a->info().shards, b->info().shards);
    for (ArenaIndex arena = 0; arena <= nn::slot_count(rule); ++arena) {
      EXPECT_EQ(value_or_raise(env_.run(read(*a, arena))), value_or_raise(env_.run(read(*b, arena)))) << arena;
    }
  }
}

TEST_F(LocalStoreTest, WhatNoUpdateChangesMovesAlong) {
  const VariableSpec fixed = variable("fixed", {2, 3}, {}, constant(4));
  auto made = make_local_store(env_, plan_of({fixed, variable("w", {2, 3})}, 1));
  ASSERT_TRUE(made->bind({"fixed", "w"}, {"w"}));
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  auto held = value_or_raise(env_.run(made->snapshot({})));
  ASSERT_TRUE(env_.run(step_by_rows(*made, 1)));
  auto now = value_or_raise(env_.run(made->snapshot({})));
  EXPECT_THAT(value_or_raise(env_.run(read(*now, 0))), Each(4.0f));
}

TEST_F(LocalStoreTest, AStepThatFailedHalfWayLeavesNothingUsableUntilARestore) {
  auto made = store({variable("a", {4, 3})});
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  ASSERT_FALSE(env_.run(step_by_rows(*made, 1, true)));
  expect_error(env_.run(made->begin({})), ErrorKind::kFailedPrecondition, "failed while it changed the weights");
  expect_error(env_.run(made->snapshot({})), ErrorKind::kFailedPrecondition, "failed while it changed the weights");
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  EXPECT_TRUE(env_.run(step_by_rows(*made, 1)));
}

TEST_F(LocalStoreTest, UpdatesInPlaceAfterTheSnapshotIsGone) {
  auto made = store({variable("a", {4})});
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  const auto address = [&] { return value_or_raise(env_.run(made->begin({}))).variables[0][0].data; };
  const auto* first = address();
  ASSERT_TRUE(env_.run(step(*made, 1)));
  EXPECT_EQ(address(), first);
  auto snapshot = value_or_raise(env_.run(made->snapshot({})));
  ASSERT_TRUE(env_.run(step(*made, 1)));
  EXPECT_NE(address(), first);
  snapshot.reset();
  const auto* second = address();
  ASSERT_TRUE(env_.run(step(*made, 1)));
  EXPECT_EQ(address(), second);
}

TEST_F(LocalStoreTest, RestoresWeightsSlotsCountersAndPosition) {
  auto made = store({variable("a", {4}, momentum(0.5))});
  // Three servers had applied 7, 9 and 8 updates: the highest count is used.
  CountingSource source({.global_step = 8, .shards = {{1, 7}, {1, 9}, {1, 8}}, .positions = {{0, "p0"}, {1, "p1"}}});
  const Ready ready = value_or_raise(env_.run(made->prepare(&source, kNoDeadline)));
  EXPECT_EQ(ready.global_step, 8u);
  EXPECT_EQ(ready.position, "p0");
  auto snapshot = value_or_raise(env_.run(made->snapshot({})));
  EXPECT_EQ(snapshot->info().shards[0].update_count, 9u);
  EXPECT_THAT(value_or_raise(env_.run(read(*snapshot, 0))), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(value_or_raise(env_.run(read(*snapshot, 1))), testing::ElementsAre(100, 101, 102, 103));
}

TEST_F(LocalStoreTest, RefusesAnUnknownVariable) {
  auto made = make_local_store(env_, plan_of({variable("a", {4})}, 1));
  expect_error(made->bind({"a", "b"}, {}), ErrorKind::kNotFound, "variable b is on no server");
}

TEST_F(LocalStoreTest, RefusesWrongScalars) {
  auto made = store({variable("a", {4})});
  ASSERT_TRUE(env_.run(made->prepare(nullptr, kNoDeadline)));
  Step step = value_or_raise(env_.run(made->begin({})));
  expect_error(env_.run(made->commit(step, {})), ErrorKind::kInvalidArgument, "0 scalars");
  EXPECT_EQ(value_or_raise(env_.run(made->global_step())), 0u);
}

TEST(Bindings, PiecesComeInOrderOfRows) {
  const ShardPlan plan = plan_of({variable("w", {30, 16}), variable("b", {16})}, 3);
  Bindings bindings;
  ASSERT_TRUE(bindings.bind(plan, {"b", "w"}, {"w"}));
  ASSERT_EQ(bindings.variables().size(), 2u);
  std::vector<std::vector<std::byte>> arenas;
  for (const ShardSpec& shard : plan.shards) arenas.emplace_back(shard.arena_bytes);
  for (size_t i = 0; i < arenas.size(); ++i) {
    bindings.set_weights(i, arenas[i].data());
    bindings.set_updates(i, arenas[i].data());
  }
  int64_t next = 0;
  for (const backends::Piece& piece : bindings.variables()[1]) {
    EXPECT_EQ(piece.row_begin, next);
    next = piece.row_end;
    bool inside = false;
    for (const auto& arena : arenas) {
      const auto* data = reinterpret_cast<const std::byte*>(piece.data);
      inside |= data >= arena.data() && data + 64 * (piece.row_end - piece.row_begin) <= arena.data() + arena.size();
    }
    EXPECT_TRUE(inside);
  }
  EXPECT_EQ(next, 30);
  EXPECT_EQ(bindings.variables()[1].size(), 3u);
  EXPECT_EQ(bindings.updates().size(), 1u);
}

}  // namespace
}  // namespace shoal::cluster
