// SPDX-License-Identifier: Apache-2.0
#include "state/row_codec.h"

#include <algorithm>

#include "plans.h"
#include "state/row_history.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;

VariableSpec table(std::string name, Shape shape) {
  VariableSpec spec = variable(std::move(name), shape);
  spec.lazy_rows = true;
  return spec;
}

class RowCodec : public testing::Test {
 protected:
  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  const ShardSpec spec_ = plan_of({variable("bias", {5}), table("a", {10, 3}), table("b", {4})}, 1).shards[0];
  std::vector<SegmentRows> rows_{spec_.segments.size()};
  Ref<Buffer> arena_ = numbered();

  /// An arena in which each float of a segment is its index there, plus 100 for each segment before.
  Ref<Buffer> numbered() {
    Ref<Buffer> arena = filled(spec_, 0, *pool_);
    for (size_t i = 0; i < spec_.segments.size(); ++i) {
      float next = 100.0f * float(i);
      for (float& element : floats(arena->bytes().subspan(spec_.segments[i].offset, spec_.segments[i].bytes)))
        element = next++;
    }
    return arena;
  }
  size_t index(const std::string& name) const {
    size_t i = 0;
    while (spec_.segments[i].variable.name != name) ++i;
    return i;
  }
  std::span<const float> of(const std::string& name, const Buffer& arena) const {
    return floats(spec_.segments[index(name)], arena.bytes());
  }
  Ref<Buffer> payload_with(std::vector<uint32_t> a, std::vector<uint32_t> b) {
    take_rows(spec_.segments[index("a")], std::move(a), arena_->bytes(), rows_[index("a")]);
    take_rows(spec_.segments[index("b")], std::move(b), arena_->bytes(), rows_[index("b")]);
    Ref<Buffer> payload = pool_->get(row_payload_bytes(spec_, rows_));
    encode_rows(spec_, arena_->bytes(), rows_, payload->bytes());
    return payload;
  }
  Result<void> read(std::span<const std::byte> payload) {
    Ref<Buffer> to = filled(spec_, -1, *pool_);
    return decode_rows(spec_, payload, to->bytes(), rows_);
  }
};

TEST_F(RowCodec, CarriesRowsAndAllElseWhole) {
  const Ref<Buffer> payload = payload_with({2, 9}, {});
  // The parts: the bias; the number of rows, their numbers, two rows of three floats; no rows.
  EXPECT_EQ(payload->size(), 64u + (64 + 64 + 64) + 64);
  Ref<Buffer> to = filled(spec_, -1, *pool_);
  ASSERT_TRUE(decode_rows(spec_, payload->bytes(), to->bytes(), rows_));
  EXPECT_THAT(rows_[index("a")].rows, ElementsAre(2, 9));
  EXPECT_TRUE(rows_[index("b")].rows.empty());
  EXPECT_TRUE(std::ranges::equal(of("bias", *to), of("bias", *arena_)));
  EXPECT_EQ(of("a", *to)[6], -1.0f);  // The values are not in the arena before they are stored.
  store_rows(spec_, rows_, to->bytes());
  for (size_t i = 0; i < 30; ++i) {
    const bool sent = i / 3 == 2 || i / 3 == 9;
    EXPECT_EQ(of("a", *to)[i], sent ? of("a", *arena_)[i] : -1.0f) << i;
  }
}

TEST_F(RowCodec, TakesTheRowsOfItsSegmentInOrder) {
  const ShardPlan plan = plan_of({table("a", {100000, 8}), variable("x", {8})}, 3);
  const auto second =
      std::ranges::find_if(plan.shards[1].segments, [](const Segment& s) { return s.variable.name == "a"; });
  ASSERT_NE(second, plan.shards[1].segments.end());
  ASSERT_GT(second->row_begin, 0);
  RowSums sums(100000, 8);
  const int64_t ids[] = {second->row_end - 1, second->row_begin - 1, second->row_begin};
  const std::vector<float> values(24, 2.0f);
  ASSERT_TRUE(sums.add({DType::kInt64, Shape{3}, reinterpret_cast<const std::byte*>(ids)},
                       {DType::kFloat32, Shape{24}, reinterpret_cast<const std::byte*>(values.data())}));
  SegmentRows rows;
  take_rows(*second, sums, rows);
  EXPECT_THAT(rows.rows, ElementsAre(uint32_t(second->row_begin), uint32_t(second->row_end - 1)));
  EXPECT_EQ(*rows.values[1], 2.0f);
}

TEST_F(RowCodec, RefusesWhatDoesNotFit) {
  const Ref<Buffer> good = payload_with({2, 9}, {1});
  ASSERT_TRUE(read(good->bytes()));
  for (size_t bytes = 0; bytes < good->size(); bytes += 64) {
    expect_error(read(good->bytes().first(bytes)), ErrorKind::kInvalidArgument);
  }
  const Ref<Buffer> longer = pool_->get(good->size() + 64);
  std::ranges::copy(good->bytes(), longer->data());
  expect_error(read(longer->bytes()), ErrorKind::kInvalidArgument, "64 bytes too many");

  uint64_t at = 0;  // The place in table a.
  for (size_t i = 0; i < index("a"); ++i) at += spec_.segments[i].variable.lazy_rows ? 192 : 64;
  const auto with = [&](uint64_t count, uint32_t first, uint32_t second) {
    const Ref<Buffer> bad = pool_->get(good->size());
    std::ranges::copy(good->bytes(), bad->data());
    std::memcpy(bad->data() + at, &count, sizeof count);
    std::memcpy(bad->data() + at + 64, &first, sizeof first);
    std::memcpy(bad->data() + at + 68, &second, sizeof second);
    return read(bad->bytes());
  };
  EXPECT_TRUE(with(2, 0, 9));
  expect_error(with(2, 9, 2), ErrorKind::kInvalidArgument, "ascending");
  expect_error(with(2, 2, 2), ErrorKind::kInvalidArgument, "ascending");
  expect_error(with(2, 2, 10), ErrorKind::kInvalidArgument, "variable a");
  expect_error(with(2, 2, 0xffffffff), ErrorKind::kInvalidArgument, "variable a");
  expect_error(with(11, 0, 1), ErrorKind::kInvalidArgument, "there are no 11");
  expect_error(with(~uint64_t(0), 0, 1), ErrorKind::kInvalidArgument, "there are no");
}

// --- RowHistory ------------------------------------------------------------------------------------------------------

class History : public RowCodec {
 protected:
  RowHistory history_{spec_};
  void change(uint64_t version, std::vector<uint32_t> a, std::vector<uint32_t> b = {}) {
    rows_[index("a")].rows = std::move(a);
    rows_[index("b")].rows = std::move(b);
    history_.add(version, rows_);
  }
};

TEST_F(History, KnowsWhatChangedSince) {
  EXPECT_FALSE(history_.covers(0));
  history_.restart(1);
  change(2, {3, 5});
  change(3, {5, 7}, {0});
  EXPECT_THAT(history_.changed_since(1, index("a")), ElementsAre(3, 5, 7));
  EXPECT_THAT(history_.changed_since(2, index("a")), ElementsAre(5, 7));
  EXPECT_THAT(history_.changed_since(2, index("b")), ElementsAre(0));
  EXPECT_THAT(history_.changed_since(3, index("a")), ElementsAre());
  for (uint64_t version : {1, 2, 3}) EXPECT_TRUE(history_.covers(version));
  EXPECT_FALSE(history_.covers(0));
  EXPECT_FALSE(history_.covers(4));
  history_.restart(4);
  EXPECT_FALSE(history_.covers(3));
  EXPECT_TRUE(history_.covers(4));
}

TEST_F(History, ForgetsTheOldestWhenItHoldsAsManyAsThereAreRows) {
  history_.restart(1);  // There are 14 rows.
  change(2, {0, 1, 2, 3, 4});
  change(3, {5, 6, 7, 8, 9});
  EXPECT_TRUE(history_.covers(1));
  change(4, {0, 1, 2, 3}, {1});
  EXPECT_FALSE(history_.covers(1));
  EXPECT_TRUE(history_.covers(2));
  EXPECT_EQ(history_.changed_since(2, index("a")).size(), 9u);
}

TEST_F(History, KeepsNothingWhereNoRowsAreCounted) {
  RowHistory none(plan_of({variable("bias", {8})}, 1).shards[0]);
  const std::vector<SegmentRows> rows(1);
  none.restart(1);
  for (uint64_t version = 2; version < 10; ++version) none.add(version, rows);
  EXPECT_TRUE(none.covers(9));
  EXPECT_FALSE(none.covers(8));
  history_.restart(1);
  for (uint64_t version = 2; version < 100; ++version) change(version, {});
  EXPECT_TRUE(history_.covers(99 - 14));
  EXPECT_FALSE(history_.covers(99 - 15));
}

}  // namespace
}  // namespace shoal::cluster
