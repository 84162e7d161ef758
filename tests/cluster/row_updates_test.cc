// SPDX-License-Identifier: Apache-2.0
/// Variables that are updated by rows: their gradients are summed by row, and no other row changes.
#include "plans.h"

#include <algorithm>
#include <cmath>
#include "shoal/base/random.h"
#include "shoal/base/virtual.h"
#include "shoal/cluster/local_store.h"
#include "shoal/cluster/shard.h"
#include "state/row_codec.h"
#include "state/row_sums.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;

VariableSpec lazy(std::string name, Shape shape, nn::UpdateRule rule) {
  VariableSpec spec = variable(std::move(name), shape, rule, uniform(-1, 1));
  spec.lazy_rows = true;
  return spec;
}

struct Rows {
  std::vector<int64_t> ids;
  std::vector<float> values;
  TensorView ids_view() const {
    return {DType::kInt64, Shape{int64_t(ids.size())}, reinterpret_cast<const std::byte*>(ids.data())};
  }
  TensorView values_view() const {
    return {DType::kFloat32, Shape{int64_t(values.size())}, reinterpret_cast<const std::byte*>(values.data())};
  }
};

Rows random_rows(RandomStream& stream, int64_t rows, int64_t width, int64_t count) {
  Rows result;
  for (int64_t i = 0; i < count; ++i) {
    result.ids.push_back(int64_t(stream.below(uint64_t(rows))));
    const bool zero = stream.below(4) == 0;
    for (int64_t k = 0; k < width; ++k) result.values.push_back(zero ? 0.0f : float(stream.below(200)) / 64 - 1);
  }
  return result;
}

TEST(RowSums, AddUpWhatBelongsToOneRow) {
  RowSums sums(5, 2);
  const Rows first{{3, 1, 3}, {1, 2, 10, 20, 4, 8}};
  ASSERT_TRUE(sums.add(first.ids_view(), first.values_view()));
  const Rows second{{1}, {0.5f, 0.25f}};
  ASSERT_TRUE(sums.add(second.ids_view(), second.values_view()));
  EXPECT_THAT(sums.touched(), ElementsAre(3, 1));
  EXPECT_THAT(std::vector<float>(sums.sum(0), sums.sum(0) + 2), ElementsAre(5, 10));
  EXPECT_THAT(std::vector<float>(sums.sum(1), sums.sum(1) + 2), ElementsAre(10.5f, 20.25f));
  sums.clear();
  EXPECT_TRUE(sums.touched().empty());
  ASSERT_TRUE(sums.add(second.ids_view(), second.values_view()));
  EXPECT_THAT(std::vector<float>(sums.sum(0), sums.sum(0) + 2), ElementsAre(0.5f, 0.25f));
}

TEST(RowSums, RefuseWhatDoesNotFit) {
  RowSums sums(5, 2);
  for (int64_t wrong : {int64_t{5}, int64_t{-1}}) {
    const Rows rows{{0, wrong}, {1, 2, 3, 4}};
    expect_error(sums.add(rows.ids_view(), rows.values_view()), ErrorKind::kInvalidArgument,
                 "row id " + std::to_string(wrong) + " in row 1 is outside [0, 5)");
  }
  const Rows narrow{{0, 1}, {1, 2, 3}};
  expect_error(sums.add(narrow.ids_view(), narrow.values_view()), ErrorKind::kInvalidArgument, "do not fit");
  expect_error(sums.add(narrow.values_view(), narrow.values_view()), ErrorKind::kInvalidArgument);
}

TEST(RowSums, ZeroOfEitherSignIsZeroAndNaNIsNot) {
  const float values[] = {0.0f, -0.0f, std::nanf("")};
  EXPECT_TRUE(all_zero(values, 2));
  EXPECT_FALSE(all_zero(values, 3));
  EXPECT_TRUE(all_zero(values, 0));
}

/// A shard that is given row sums, a shard that finds the same sums in a dense push, and one of each kind that writes
/// into new memory get the same bits. Untouched rows keep weights and slots.
TEST(LazyRows, SumsAndDensePushesGiveTheSameBits) {
  constexpr int64_t kRows = 37, kWidth = 5;
  const auto pool = BufferPool::create();
  nn::UpdateRule scaled = momentum(0.9);
  scaled.gradient_scale_scalar = 0;
  for (const nn::UpdateRule& rule : {sgd(), momentum(0.9), adam(), scaled}) {
    const ShardSpec spec = plan_of({variable("before", {7}, rule), lazy("table", {kRows, kWidth}, rule)}, 1).shards[0];
    const auto table = std::find_if(spec.segments.begin(), spec.segments.end(),
                                    [](const Segment& segment) { return segment.variable.name == "table"; });
    const auto segment = size_t(table - spec.segments.begin());
    struct Side {
      Shard shard;
      Ref<Buffer> weights;
    };
    std::vector<Side> sides;
    for (int i = 0; i < 4; ++i) {
      sides.push_back({Shard(spec, *pool), pool->get(spec.arena_bytes)});
      ASSERT_TRUE(sides.back().shard.initialize(sides.back().weights->bytes()));
    }
    RandomStream stream(5);
    RowSums sums(kRows, kWidth);
    for (int step = 0; step < 6; ++step) {
      const Rows rows = random_rows(stream, kRows, kWidth, 12);
      sums.clear();
      ASSERT_TRUE(sums.add(rows.ids_view(), rows.values_view()));
      const Ref<Buffer> dense = filled(spec, 0, *pool), poison = filled(spec, std::nanf(""), *pool);
      for (size_t i = 0; i < sums.touched().size(); ++i) {
        std::memcpy(dense->data() + table->offset + size_t(sums.touched()[i] * kWidth) * sizeof(float), sums.sum(i),
                    kWidth * sizeof(float));
      }
      for (const Segment& other : spec.segments) {  // The other variables are pushed whole.
        if (other.variable.name != "table") std::memset(poison->data() + other.offset, 0, other.bytes);
      }
      SegmentRows touched;
      take_rows(*table, sums, touched);
      std::vector<const SegmentRows*> by_segment(spec.segments.size());
      by_segment[segment] = &touched;
      const std::vector<float> before(floats(*table, sides[0].weights->bytes()).begin(),
                                      floats(*table, sides[0].weights->bytes()).end());
      for (size_t i = 0; i < sides.size(); ++i) {
        const bool by_rows = i % 2 == 0, in_place = i < 2;
        const double scalars[] = {0.1};
        const Contribution own{
            by_rows ? poison->bytes() : dense->bytes(), scalars,
            by_rows ? std::span<const SegmentRows* const>(by_segment) : std::span<const SegmentRows* const>()};
        Ref<Buffer> next = in_place ? sides[i].weights : pool->get(spec.arena_bytes);
        if (!in_place) std::memset(next->data(), 0xee, next->size());
        ASSERT_TRUE(sides[i].shard.apply(sides[i].weights->bytes(), next->bytes(), {&own, 1}));
        sides[i].weights = next;
        EXPECT_EQ(std::memcmp(next->data(), sides[0].weights->data(), spec.arena_bytes), 0) << "side " << i;
        for (int slot = 0; slot < spec.slot_count; ++slot) {
          EXPECT_EQ(std::memcmp(sides[i].shard.slots()[size_t(slot)]->data(), sides[0].shard.slots()[size_t(slot)]->data(),
                                spec.arena_bytes),
                    0);
        }
      }
      const auto after = floats(*table, sides[0].weights->bytes());
      for (int64_t row = 0; row < kRows; ++row) {
        bool is_touched = false;
        for (size_t i = 0; i < sums.touched().size(); ++i) {
          is_touched = is_touched || (sums.touched()[i] == row && !all_zero(sums.sum(i), kWidth));
        }
        const auto first = size_t(row * kWidth);
        EXPECT_EQ(std::memcmp(before.data() + first, after.data() + first, kWidth * sizeof(float)) != 0, is_touched)
            << "row " << row;
      }
    }
  }
}

/// Several contributors, each of which gives the rows, or pushes the table whole, or does both: the bits are the same,
/// in place and into new memory.
class RowsOfSeveral : public testing::Test {
 protected:
  static constexpr int64_t kRows = 23, kWidth = 3;
  static constexpr size_t kContributors = 3;
  enum class Given : uint8_t { kDense, kRows, kBoth };

  void plan(nn::UpdateRule rule) {
    rule.gradient_scale_scalar = 1;
    spec_ =
        value_or_raise(plan_shards({lazy("table", {kRows, kWidth}, rule), variable("whole", {7}, rule)}, 1, 2)).shards[0];
    const auto is_table = [](const Segment& segment) { return segment.variable.name == "table"; };
    table_ = size_t(std::ranges::find_if(spec_.segments, is_table) - spec_.segments.begin());
  }
  const Segment& table() const { return spec_.segments[table_]; }
  /// Rows in ascending order and their gradients, a row of zeros among them.
  void draw(RandomStream& stream) {
    for (size_t i = 0; i < kContributors; ++i) {
      values_[i].assign(size_t(kRows * kWidth), 0.0f);
      given_[i].clear();
      for (int64_t row = 0; row < kRows; ++row) {
        if (stream.below(3) == 0) continue;
        given_[i].rows.push_back(uint32_t(row));
        given_[i].values.push_back(values_[i].data() + row * kWidth);
        if (stream.below(5) == 0) continue;
        for (int64_t k = 0; k < kWidth; ++k) values_[i][size_t(row * kWidth + k)] = float(stream.below(200)) / 64 - 1;
      }
    }
  }
  bool touches(size_t contributor, int64_t row) const {
    return !all_zero(values_[contributor].data() + row * kWidth, kWidth);
  }
  /// Where only rows are given, their place in the dense gradient has NaN.
  Result<void> apply(Shard& shard, std::span<const Given> how, std::span<const double> gradient_scales,
                     std::span<const std::byte> current, std::span<std::byte> next) {
    std::vector<Ref<Buffer>> arenas;
    std::vector<std::vector<double>> scalars;
    std::vector<std::vector<const SegmentRows*>> rows(kContributors);
    for (size_t i = 0; i < kContributors; ++i) {
      arenas.push_back(filled(spec_, float(i + 1), *pool_));
      const auto place = floats(arenas[i]->bytes().subspan(table().offset, table().bytes));
      std::ranges::copy(values_[i], place.begin());
      if (how[i] == Given::kRows) std::ranges::fill(place, std::nanf(""));
      scalars.push_back({0.125, gradient_scales[i]});
      if (how[i] == Given::kDense) continue;
      rows[i].resize(spec_.segments.size());
      rows[i][table_] = &given_[i];
    }
    std::vector<Contribution> contributions;
    for (size_t i = 0; i < kContributors; ++i) contributions.push_back({arenas[i]->bytes(), scalars[i], rows[i]});
    return shard.apply(current, next, contributions);
  }

  const std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  ShardSpec spec_;
  size_t table_ = 0;
  std::vector<float> values_[kContributors];  // Values of the whole table.
  SegmentRows given_[kContributors];
};

TEST_F(RowsOfSeveral, HaveTheSameBitsInEveryMixture) {
  std::vector<std::vector<Given>> mixtures;
  for (int i = 0; i < 27; ++i) mixtures.push_back({Given(i % 3), Given(i / 3 % 3), Given(i / 9)});
  const double scales[] = {1, 0.5, 0.25};
  for (const nn::UpdateRule& rule : {sgd(), momentum(0.9), adam()}) {
    plan(rule);
    std::vector<Shard> shards;
    std::vector<Ref<Buffer>> weights;
    for (size_t i = 0; i < mixtures.size(); ++i) {
      shards.emplace_back(spec_, *pool_);
      weights.push_back(pool_->get(spec_.arena_bytes));
      ASSERT_TRUE(shards[i].initialize(weights[i]->bytes()));
    }
    RandomStream stream(11);
    for (int step = 0; step < 5; ++step) {
      draw(stream);
      for (size_t i = 0; i < mixtures.size(); ++i) {
        const bool in_place = (i + size_t(step)) % 2 == 0;
        const Ref<Buffer> next = in_place ? weights[i] : pool_->get(spec_.arena_bytes);
        if (!in_place) std::memset(next->data(), 0xee, next->size());
        ASSERT_TRUE(apply(shards[i], mixtures[i], scales, weights[i]->bytes(), next->bytes()));
        weights[i] = next;
        ASSERT_EQ(std::memcmp(next->data(), weights[0]->data(), spec_.arena_bytes), 0) << "mixture " << i;
        for (int slot = 0; slot < spec_.slot_count; ++slot) {
          const auto of = [slot](const Shard& shard) { return shard.slots()[size_t(slot)]->data(); };
          ASSERT_EQ(std::memcmp(of(shards[i]), of(shards[0]), spec_.arena_bytes), 0) << "mixture " << i;
        }
      }
    }
  }
}

/// Plain descent by the mean of the contributors that touch a row. The others are left out of the sum, and still count
/// in the divisor.
TEST_F(RowsOfSeveral, LeaveOutWhoDoesNotTouchARow) {
  plan(sgd());
  Shard shard(spec_, *pool_);
  const Ref<Buffer> weights = pool_->get(spec_.arena_bytes);
  ASSERT_TRUE(shard.initialize(weights->bytes()));
  RandomStream stream(12);
  draw(stream);
  const auto before =
      std::vector<float>(floats(table(), weights->bytes()).begin(), floats(table(), weights->bytes()).end());
  const double scales[] = {1, 0.5, std::nan("")};  // NaN times nothing must stay nothing.
  const Given how[] = {Given::kDense, Given::kRows, Given::kDense};
  ASSERT_TRUE(apply(shard, how, scales, weights->bytes(), weights->bytes()));
  const auto after = floats(table(), weights->bytes());
  int rows_of_the_third = 0, untouched = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const bool anybody = touches(0, row) || touches(1, row) || touches(2, row);
    rows_of_the_third += touches(2, row);
    untouched += !anybody;
    for (auto i = size_t(row * kWidth); i < size_t((row + 1) * kWidth); ++i) {
      if (touches(2, row)) {
        EXPECT_TRUE(std::isnan(after[i])) << "row " << row;
      } else if (anybody) {
        EXPECT_NEAR(after[i], before[i] - 0.125f * (values_[0][i] + 0.5f * values_[1][i]) / 3, 1e-6) << "row " << row;
      } else {
        EXPECT_EQ(after[i], before[i]) << "row " << row;
      }
    }
  }
  EXPECT_GT(rows_of_the_third, 3);
  EXPECT_LT(rows_of_the_third, kRows - 3);
  EXPECT_GT(untouched, 0);
}

TEST(LazyRows, TravelWithTheShardSpec) {
  const ShardSpec spec = plan_of({lazy("table", {4, 2}, adam()), variable("other", {3})}, 1).shards[0];
  const ShardSpec back = value_or_raise(parse_shard_spec(to_json(spec)));
  EXPECT_EQ(back, spec);
}

class RowsInLocalStore : public testing::Test {
 protected:
  VirtualWorld world_;
  Environment& env_ = world_.add_task({.task = "local"});
  std::unique_ptr<Store> store_ =
      make_local_store(env_, plan_of({lazy("table", {4, 2}, sgd()), variable("whole", {2})}, 1));

  static Task<Result<Outcome>> step(Store& store, std::vector<RowGradients> rows) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    std::memset(step.updates[0][0].data, 0, 2 * sizeof(float));
    SHOAL_CO_TRY_VOID(store.add_rows(step, rows));
    const double scalars[] = {1.0};
    co_return co_await store.commit(step, scalars);
  }
  static Task<Result<Outcome>> step_during_run(Store& store, std::vector<RowGradients> rows) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, 1, {}));
    const double scalars[] = {1.0};
    backends::UpdateApplier* applier = store.apply_during_run(scalars);
    const float whole[] = {1, 2};
    applier->apply(0, 0, 2, reinterpret_cast<const std::byte*>(whole));
    SHOAL_CO_TRY_VOID(store.add_rows(step, rows));
    co_return co_await store.commit(step, scalars);
  }
  std::vector<float> values(size_t variable, size_t count) {
    const Step step = value_or_raise(env_.run(store_->begin({})));
    const auto* values = reinterpret_cast<const float*>(step.variables[variable][0].data);
    return {values, values + count};
  }
  std::vector<float> table() { return values(0, 8); }
  std::vector<float> whole() { return values(1, 2); }
};

TEST_F(RowsInLocalStore, ChangeWhatTheyNameAlsoUnderASnapshot) {
  ASSERT_TRUE(store_->bind({"table", "whole"}, {"whole"}, {"table"}));
  ASSERT_TRUE(env_.run(store_->prepare(nullptr, kNoDeadline)));
  std::vector<float> expected = table();
  const Rows one{{2, 0, 2}, {1, 2, 3, 4, 5, 6}}, other{{0}, {10, 20}};
  const std::vector<RowGradients> parts{{0, one.ids_view(), one.values_view()}, {0, other.ids_view(), other.values_view()}};
  for (bool held : {false, true}) {
    const auto snapshot = held ? value_or_raise(env_.run(store_->snapshot({}))) : nullptr;
    ASSERT_TRUE(env_.run(step(*store_, parts)));
    expected[0] -= 13, expected[1] -= 24, expected[4] -= 6, expected[5] -= 8;
    EXPECT_EQ(table(), expected);
  }
}

TEST_F(RowsInLocalStore, WaitForCommitWhereOthersAreAppliedDuringTheRun) {
  ASSERT_TRUE(store_->bind({"table", "whole"}, {"whole"}, {"table"}));
  ASSERT_TRUE(env_.run(store_->prepare(nullptr, kNoDeadline)));
  std::vector<float> expected = table(), expected_whole = whole();
  const Rows rows{{2, 0, 2}, {1, 2, 3, 4, 5, 6}};
  const std::vector<RowGradients> parts{{0, rows.ids_view(), rows.values_view()}};
  for (bool held : {false, true, false}) {
    const auto snapshot = held ? value_or_raise(env_.run(store_->snapshot({}))) : nullptr;
    ASSERT_TRUE(env_.run(step_during_run(*store_, parts)));
    expected[0] -= 3, expected[1] -= 4, expected[4] -= 6, expected[5] -= 8;
    expected_whole[0] -= 1, expected_whole[1] -= 2;
    EXPECT_EQ(table(), expected);
    EXPECT_EQ(whole(), expected_whole);
  }
}

TEST_F(RowsInLocalStore, RefuseVariablesThatAreNotPlannedSo) {
  expect_error(store_->bind({"table"}, {}, {"whole"}), ErrorKind::kFailedPrecondition, "not planned for updates by rows");
  expect_error(store_->bind({"table"}, {}, {"none"}), ErrorKind::kNotFound, "variable none is on no server");
}

}  // namespace
}  // namespace shoal::cluster
