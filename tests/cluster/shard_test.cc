// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/shard.h"

#include <bit>
#include <map>

#include "plans.h"
#include "shoal/base/cpu.h"
#include "shoal/base/production.h"

namespace shoal::cluster {
namespace {

using testing::Each;

class ShardTest : public testing::Test {
 protected:
  std::shared_ptr<BufferPool> pool_ = BufferPool::create();

  /// One push of `gradient` everywhere, in place.
  void push(Shard& shard, std::span<std::byte> weights, float gradient, double learning_rate) {
    const Ref<Buffer> arena = filled(shard.spec(), gradient, *pool_);
    const double scalars[] = {learning_rate};
    const Contribution own{arena->bytes(), scalars};
    const auto applied = shard.apply(weights, weights, {&own, 1});
    ASSERT_TRUE(applied) << applied.error().message();
  }
};

TEST_F(ShardTest, AppliesEachRuleToItsSegment) {
  VariableSpec fixed = variable("fixed", {5}, {}, constant(3));
  const ShardSpec spec =
      plan_of({variable("sgd", {3}, sgd(), constant(1)), variable("momentum", {2}, momentum(0.5)), fixed}, 1).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  push(shard, weights->bytes(), 2.0f, 0.25);
  push(shard, weights->bytes(), 2.0f, 0.25);
  for (const Segment& segment : spec.segments) {
    const auto values = floats(segment, weights->bytes());
    // Momentum: m1 = 2, m2 = 0.5 * 2 + 2 = 3, so -0.25 * (2 + 3).
    const std::map<std::string, float> expected{{"sgd", 1.0f - 2 * 0.25f * 2.0f}, {"momentum", -1.25f}, {"fixed", 3.0f}};
    EXPECT_THAT(values, Each(expected.at(segment.variable.name))) << segment.variable.name;
  }
  EXPECT_EQ(shard.counters(), (ShardCounters{2, 2}));
}

/// Shards treat denormals as the spec says and the kernels of the job do, whatever the mode of the thread is.
TEST_F(ShardTest, TakesDenormalsForWhatTheSpecSays) {
#if !defined(__SSE2__) && !defined(__aarch64__)
  GTEST_SKIP() << "this processor has no such mode that we set";
#endif
  ShardSpec spec = plan_of({variable("w", {3}, sgd(), constant(1))}, 1).shards[0];
  for (const Denormals of_thread : {Denormals::kZero, Denormals::kKept}) {
    for (const Denormals denormals : {Denormals::kZero, Denormals::kKept}) {
      spec.denormals = denormals;
      Shard shard(spec, *pool_);
      const Ref<Buffer> weights = filled(spec, 0.0f, *pool_);
      const ComputeMode mode(of_thread);
      push(shard, weights->bytes(), 1e-30f, 1e-9);
      const auto values = floats(spec.segments[0], weights->bytes());
      const bool kept = std::bit_cast<uint32_t>(values[0]) << 1 != 0;  // Without its sign; a comparison may flush, too.
      EXPECT_EQ(kept, denormals == Denormals::kKept);
    }
  }
}

/// CONTRACT CK-17. The first variable in the order of the spec is named, whichever came first in time.
TEST_F(ShardTest, NamesTheVariableThatAnUpdateMadeInfinite) {
  const ShardSpec spec =
      plan_of({variable("a", {3}, sgd()), variable("b", {70000}, sgd()), variable("c", {5}, adam())}, 1).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  shard.begin(weights->bytes());
  push(shard, weights->bytes(), 2.0f, 0.25);
  EXPECT_EQ(shard.poisoned(), nullptr);
  push(shard, weights->bytes(), 1e30f, 1e-3);  // The square, which Adam keeps, is infinite.
  ASSERT_NE(shard.poisoned(), nullptr);
  EXPECT_EQ(shard.poisoned()->variable.name, "c");
  push(shard, weights->bytes(), 1e30f, 1e30);
  ASSERT_NE(shard.poisoned(), nullptr);
  EXPECT_EQ(shard.poisoned()->variable.name, spec.segments.front().variable.name);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  shard.begin(weights->bytes());
  EXPECT_EQ(shard.poisoned(), nullptr);
}

TEST_F(ShardTest, WhatBeginsNotFiniteIsExempt) {
  const ShardSpec spec = plan_of({variable("mask", {3}, sgd()), variable("w", {3}, momentum(0.5))}, 1).shards[0];
  for (const bool in_a_slot : {false, true}) {
    Shard shard(spec, *pool_);
    Ref<Buffer> weights = pool_->get(spec.arena_bytes);
    ASSERT_TRUE(shard.initialize(weights->bytes()));
    const std::string exempt = in_a_slot ? "w" : "mask";
    for (const Segment& segment : spec.segments) {
      const std::span<std::byte> arena = in_a_slot ? shard.mutable_slot(0) : weights->bytes();
      const float minus_infinity = -std::numeric_limits<float>::infinity();
      if (segment.variable.name == exempt) std::memcpy(arena.data() + segment.offset, &minus_infinity, sizeof(float));
    }
    shard.begin(weights->bytes());
    push(shard, weights->bytes(), 1.0f, 0.25);
    EXPECT_EQ(shard.poisoned(), nullptr) << exempt;
    push(shard, weights->bytes(), std::numeric_limits<float>::quiet_NaN(), 0.25);
    ASSERT_NE(shard.poisoned(), nullptr) << exempt;
    EXPECT_NE(shard.poisoned()->variable.name, exempt);
  }
}

TEST_F(ShardTest, IntoNewMemoryGivesTheSameBits) {
  const ShardSpec spec =
      plan_of({variable("a", {37}, adam(), uniform(-1, 1)), variable("b", {3}, {}, uniform(-1, 1))}, 1).shards[0];
  Shard in_place(spec, *pool_), to_new(spec, *pool_);
  Ref<Buffer> one = pool_->get(spec.arena_bytes), other = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(in_place.initialize(one->bytes()));
  ASSERT_TRUE(to_new.initialize(other->bytes()));
  for (int step = 0; step < 5; ++step) {
    push(in_place, one->bytes(), float(step) - 1.5f, 0.01);
    const Ref<Buffer> arena = filled(spec, float(step) - 1.5f, *pool_);
    const double scalars[] = {0.01};
    const Contribution own{arena->bytes(), scalars};
    Ref<Buffer> next = pool_->get(spec.arena_bytes);
    std::memset(next->data(), 0xee, next->size());  // Old memory must not show.
    ASSERT_TRUE(to_new.apply(other->bytes(), next->bytes(), {&own, 1}));
    other = next;
  }
  EXPECT_EQ(std::memcmp(one->data(), other->data(), spec.arena_bytes), 0);
}

/// Large enough for many pieces, of every kind: single elements, whole rows, a whole variable, and none.
TEST_F(ShardTest, ThreadsThatShareAnUpdateGiveTheSameBits) {
  const auto rule = [](nn::UpdateRule::Kind kind, std::array<double, 6> constants) {
    return nn::UpdateRule{.kind = kind, .constants = constants, .learning_rate_scalar = 0};
  };
  VariableSpec table = variable("table", {3000, 70}, adam(), uniform(-1, 1), 3);
  table.lazy_rows = true;
  const ShardSpec spec =
      plan_of({variable("adam", {200'003}, adam(), uniform(-1, 1), 1),
               variable("lamb", {500, 300}, rule(nn::UpdateRule::Kind::kLamb, {0.9, 0.999, 1e-6, 0.01}), uniform(-1, 1), 2),
               table, variable("still", {100'000}, {}, uniform(-1, 1), 4), variable("one", {}, momentum(), constant(1), 5)},
              1)
          .shards[0];
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 4});
  const ParallelFor on_threads = [&](int64_t count, const UniqueFunction<void(int64_t, int64_t)>& body) {
    EXPECT_GT(count, 3);
    env->parallel_for(count, 1, body);
  };
  for (const size_t contributors : {1, 3}) {
    Shard alone(spec, *pool_), shared(spec, *pool_);
    const Ref<Buffer> one = pool_->get(spec.arena_bytes), other = pool_->get(spec.arena_bytes);
    ASSERT_TRUE(alone.initialize(one->bytes()));
    ASSERT_TRUE(shared.initialize(other->bytes(), on_threads));
    ASSERT_EQ(std::memcmp(one->data(), other->data(), spec.arena_bytes), 0);
    for (int step = 0; step < 3; ++step) {
      std::vector<Ref<Buffer>> arenas;
      std::vector<Contribution> pushes;
      const double scalars[] = {0.01};
      for (size_t i = 0; i < contributors; ++i) {
        arenas.push_back(filled(spec, 0, *pool_));
        const auto values = floats(arenas.back()->bytes());
        for (size_t k = 0; k < values.size(); ++k) {
          const bool row_without = k % (70 * 3) < 70;
          values[k] = row_without ? 0.0f : float((k * 37 + i + size_t(step)) % 101) / 101 - 0.5f;
        }
        pushes.push_back({arenas.back()->bytes(), scalars});
      }
      ASSERT_TRUE(alone.apply(one->bytes(), one->bytes(), pushes));
      ASSERT_TRUE(shared.apply(other->bytes(), other->bytes(), pushes, on_threads));
      ASSERT_EQ(std::memcmp(one->data(), other->data(), spec.arena_bytes), 0);
      for (size_t slot = 0; slot < alone.slots().size(); ++slot) {
        ASSERT_EQ(std::memcmp(alone.slots()[slot]->data(), shared.slots()[slot]->data(), spec.arena_bytes), 0);
      }
    }
  }
}

TEST_F(ShardTest, AveragesSeveralContributors) {
  const ShardSpec spec = plan_of({variable("a", {4})}, 1).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  const Ref<Buffer> first = filled(spec, 1, *pool_), second = filled(spec, 5, *pool_);
  const double scalars[] = {1.0};
  const Contribution pushes[] = {{first->bytes(), scalars}, {second->bytes(), scalars}};
  ASSERT_TRUE(shard.apply(weights->bytes(), weights->bytes(), pushes));
  EXPECT_THAT(floats(spec.segments[0], weights->bytes()), Each(-3.0f));
}

TEST_F(ShardTest, EachContributorHasItsOwnGradientScale) {
  nn::UpdateRule scaled = sgd();
  scaled.gradient_scale_scalar = 1;
  const ShardSpec spec = value_or_raise(plan_shards({variable("a", {4}, scaled)}, 1, 2)).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  const Ref<Buffer> first = filled(spec, 8, *pool_), second = filled(spec, 2, *pool_);
  const double clipped[] = {1.0, 0.25}, whole[] = {1.0, 1.0};
  const Contribution pushes[] = {{first->bytes(), clipped}, {second->bytes(), whole}};
  ASSERT_TRUE(shard.apply(weights->bytes(), weights->bytes(), pushes));
  EXPECT_THAT(floats(spec.segments[0], weights->bytes()), Each(-2.0f));  // The mean gives (0.25 * 8 + 2) / 2.
}

TEST_F(ShardTest, SlotsThatASnapshotHoldsStayAsTheyWere) {
  const ShardSpec spec = plan_of({variable("a", {8}, momentum(0.5))}, 1).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  push(shard, weights->bytes(), 2, 0.1);
  const std::byte* before = shard.slots()[0]->data();
  {
    const Ref<const Buffer> held = shard.slots()[0];
    push(shard, weights->bytes(), 4, 0.1);
    EXPECT_THAT(floats(spec.segments[0], held->bytes()), Each(2.0f));
    EXPECT_THAT(floats(spec.segments[0], shard.slots()[0]->bytes()), Each(5.0f));
    EXPECT_NE(shard.slots()[0]->data(), before);
  }
  const std::byte* own = shard.slots()[0]->data();
  push(shard, weights->bytes(), 4, 0.1);
  EXPECT_EQ(shard.slots()[0]->data(), own);  // Nobody holds the slot, so it is updated in place.
}

class StartOfRowRanges : public ShardTest, public ::testing::WithParamInterface<Initializer> {};
INSTANTIATE_TEST_SUITE_P(Initializers, StartOfRowRanges,
                         ::testing::Values(Initializer{Initializer::Kind::kTruncatedNormal, 0.5, 2.0},
                                           Initializer{Initializer::Kind::kOrthogonal, 1.0, 13.0}));

TEST_P(StartOfRowRanges, LikeTheWhole) {
  const VariableSpec spec = variable("w", {13, 7}, adam(), GetParam(), 99);
  const ShardSpec whole = plan_of({spec}, 1).shards[0];
  Ref<Buffer> expected = pool_->get(whole.arena_bytes);
  ASSERT_TRUE(Shard(whole, *pool_).initialize(expected->bytes()));
  const auto all = floats(whole.segments[0], expected->bytes());

  const ShardPlan split = plan_of({spec}, 4);
  int pieces = 0;
  for (const ShardSpec& shard : split.shards) {
    Ref<Buffer> part = pool_->get(shard.arena_bytes);
    ASSERT_TRUE(Shard(shard, *pool_).initialize(part->bytes()));
    for (const Segment& segment : shard.segments) {
      ++pieces;
      const auto own = floats(segment, part->bytes());
      EXPECT_EQ(std::memcmp(own.data(), all.data() + segment.first_element(), segment.bytes), 0)
          << "rows from " << segment.row_begin;
    }
  }
  EXPECT_EQ(pieces, 4);
}

TEST_F(ShardTest, PaddingIsZero) {
  const ShardSpec spec =
      plan_of({variable("a", {3}, sgd(), constant(1)), variable("b", {17}, sgd(), constant(1))}, 1).shards[0];
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  std::memset(weights->data(), 0xee, weights->size());
  zero_padding(spec, weights->bytes());
  size_t zeros = 0;
  for (std::byte byte : weights->bytes()) zeros += byte == std::byte{0};
  EXPECT_EQ(zeros, spec.arena_bytes - (3 + 17) * sizeof(float));
  const ShardSpec empty = plan_of({variable("a", {3})}, 2).shards[1];
  ASSERT_TRUE(empty.segments.empty());
  Ref<Buffer> nothing = pool_->get(empty.arena_bytes);
  std::memset(nothing->data(), 0xee, nothing->size());
  zero_padding(empty, nothing->bytes());
  EXPECT_THAT(nothing->bytes(), Each(std::byte{0}));
}

TEST_F(ShardTest, RefusesPushesThatDoNotFit) {
  const ShardSpec spec = plan_of({variable("a", {3}, sgd(), constant(1))}, 1).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  const Ref<Buffer> arena = filled(spec, 1, *pool_);
  const double one[] = {1.0}, two[] = {1.0, 2.0};
  const auto refuses = [&](const Contribution& bad, const std::string& part) {
    const Contribution pushes[] = {{arena->bytes(), one}, bad};
    expect_error(shard.apply(weights->bytes(), weights->bytes(), pushes), ErrorKind::kInvalidArgument, part);
  };
  refuses({arena->bytes(), two}, "2 scalars");
  refuses({arena->bytes(), {}}, "0 scalars");
  refuses({arena->bytes().first(32), one}, "32 bytes");
  EXPECT_EQ(shard.counters(), ShardCounters{});
  EXPECT_THAT(floats(spec.segments[0], weights->bytes()), Each(1.0f));
}

TEST_F(ShardTest, GradientsAreScaledByTheScalarThatTheRuleNames) {
  nn::UpdateRule scaled = momentum(0.5);
  scaled.gradient_scale_scalar = 1;
  const ShardSpec spec =
      value_or_raise(plan_shards({variable("a", {3}, scaled), variable("b", {3}, momentum(0.5))}, 1, 2)).shards[0];
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  const Ref<Buffer> arena = filled(spec, 8, *pool_);
  const double scalars[] = {1.0, 0.25};
  const Contribution own{arena->bytes(), scalars};
  ASSERT_TRUE(shard.apply(weights->bytes(), weights->bytes(), {&own, 1}));
  EXPECT_THAT(floats(spec.segments[0], weights->bytes()), Each(-2.0f));
  EXPECT_THAT(floats(spec.segments[0], shard.slots()[0]->bytes()), Each(2.0f));
  EXPECT_THAT(floats(spec.segments[1], weights->bytes()), Each(-8.0f));
}

TEST_F(ShardTest, RulesWithoutALearningRateMayNameNone) {
  nn::UpdateRule average{.kind = nn::UpdateRule::Kind::kMovingAverage, .constants = {0.5}, .learning_rate_scalar = 900};
  const ShardSpec spec = plan_of({variable("mean", {3}, average)}, 1).shards[0];
  ASSERT_TRUE(parse_shard_spec(to_json(spec)));
  Shard shard(spec, *pool_);
  Ref<Buffer> weights = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  push(shard, weights->bytes(), 4, 1.0);
  EXPECT_THAT(floats(spec.segments[0], weights->bytes()), Each(2.0f));
}

}  // namespace
}  // namespace shoal::cluster
