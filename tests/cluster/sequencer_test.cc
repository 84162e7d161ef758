// SPDX-License-Identifier: Apache-2.0
/// The sequencer's decisions: which pushes count, in what order, and what shards are told after they were away.
#include "server/sequencer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "held_report.h"
#include "shoal/base/random.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using transport::Order;
using transport::OrderKind;
using transport::PushId;

class SequencerTest : public testing::Test {
 protected:
  static constexpr PushId kFirst{1, 100, 1}, kSecond{2, 200, 1};

  explicit SequencerTest(size_t shards = 3) : shards_(shards), sequencer_(shards, 4, async_strategy()) {
    sequencer_.begin(1, 40);
  }
  void hold_everywhere(const PushId& push) {
    for (size_t shard = 0; shard < shards_; ++shard) sequencer_.held(shard, held(push));
  }
  std::vector<Order> orders() {
    std::vector<Order> all;
    while (std::optional<Order> order = sequencer_.next()) all.push_back(std::move(*order));
    return all;
  }
  /// The pushes that commits name, in order; any other order is a failure.
  std::vector<PushId> committed() {
    std::vector<PushId> pushes;
    for (const Order& order : orders()) {
      EXPECT_EQ(order.kind, OrderKind::kCommit);
      pushes.insert(pushes.end(), order.pushes.begin(), order.pushes.end());
    }
    return pushes;
  }
  static std::vector<uint64_t> indexes(const std::vector<Order>& orders) {
    std::vector<uint64_t> all;
    for (const Order& order : orders) all.push_back(order.index);
    return all;
  }

  const size_t shards_;
  Sequencer sequencer_;
};

class OneShardSequencerTest : public SequencerTest {
 protected:
  OneShardSequencerTest() : SequencerTest(1) {}
};

TEST_F(SequencerTest, APushCountsOnceAllShardsHoldIt) {
  sequencer_.held(2, held(kFirst));
  EXPECT_THAT(committed(), IsEmpty());
  sequencer_.held(0, held(kFirst));
  EXPECT_THAT(committed(), IsEmpty());
  sequencer_.held(1, held(kFirst));
  EXPECT_THAT(orders(), ElementsAre(Order{
                            .kind = OrderKind::kCommit, .index = 1, .number = 2, .global_step = 41, .pushes = {kFirst}}));
  EXPECT_THAT(committed(), IsEmpty());
}

TEST_F(OneShardSequencerTest, CommitsAtOnceAndKeepsNoOrders) {
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), ElementsAre(kFirst));
  EXPECT_THAT(sequencer_.after(0), IsEmpty());
}

TEST_F(SequencerTest, CommitsComeInTheOrderInWhichPushesBecameWhole) {
  sequencer_.held(0, held(kFirst));
  sequencer_.held(1, held(kFirst));
  hold_everywhere(kSecond);
  sequencer_.held(2, held(kFirst));
  EXPECT_THAT(committed(), ElementsAre(kSecond, kFirst));
}

TEST_F(SequencerTest, OneShardThatSaysItAgainIsNotTwo) {
  for (int i = 0; i < 5; ++i) sequencer_.held(0, held(kFirst));
  sequencer_.held(1, held(kFirst));
  sequencer_.held(1, held(kFirst));
  EXPECT_THAT(committed(), IsEmpty());
  sequencer_.held(2, held(kFirst));
  EXPECT_THAT(committed(), ElementsAre(kFirst));
}

TEST_F(SequencerTest, ReportsAfterTheCommitMeanNothing) {
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), ElementsAre(kFirst));
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), IsEmpty());
  hold_everywhere({1, 100, 3});
  EXPECT_THAT(committed(), ElementsAre(PushId{1, 100, 3}));
  hold_everywhere({1, 100, 2});  // Push numbers of a process grow: this one is over, too.
  EXPECT_THAT(committed(), IsEmpty());
}

TEST_F(SequencerTest, ShardsThatAreNoneMeanNothing) {
  sequencer_.held(0, held(kFirst));
  sequencer_.held(1, held(kFirst));
  sequencer_.held(3, held(kFirst));
  sequencer_.received(7, 1);
  EXPECT_THAT(committed(), IsEmpty());
}

TEST_F(SequencerTest, AFenceForgetsWhatNotAllHold) {
  sequencer_.held(0, held(kFirst));
  sequencer_.held(1, held(kFirst));
  sequencer_.fence(1, 100);
  sequencer_.held(2, held(kFirst));  // This report was on its way.
  hold_everywhere({1, 100, 2});
  hold_everywhere(kSecond);
  hold_everywhere({1, 101, 1});  // A push of the newer process.
  const std::vector<Order> given = orders();
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given[0],
            (Order{.kind = OrderKind::kFence, .index = 1, .number = 1, .global_step = 40, .pushes = {{1, 100, 0}}}));
  EXPECT_THAT(given[1].pushes, ElementsAre(kSecond));
  EXPECT_THAT(given[2].pushes, ElementsAre(PushId{1, 101, 1}));
}

TEST_F(SequencerTest, AFenceForgetsWhatIsWholeAndNotCommitted) {
  sequencer_.seal();
  hold_everywhere(kFirst);
  sequencer_.fence(1, 100);
  sequencer_.unseal();
  for (const Order& order : orders()) EXPECT_NE(order.kind, OrderKind::kCommit);
}

TEST_F(SequencerTest, WhatWasCommittedBeforeAFenceStays) {
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), ElementsAre(kFirst));
  sequencer_.fence(1, 100);
  EXPECT_THAT(indexes(orders()), ElementsAre(2));
  EXPECT_THAT(indexes(sequencer_.after(0)), ElementsAre(1, 2));  // Every shard learns of the fence first.
}

TEST_F(SequencerTest, SealedNothingIsCommittedUntilAChiefGoesOn) {
  sequencer_.seal();
  hold_everywhere(kFirst);
  const std::vector<Order> sealed = orders();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(sealed[0].kind, OrderKind::kSeal);
  EXPECT_EQ(sealed[0].number, 1u);
  EXPECT_THAT(sealed[0].pushes, IsEmpty());
  sequencer_.unseal();
  EXPECT_THAT(committed(), ElementsAre(kFirst));
}

/// A trainer that has heard nothing of the seal may send the push again when the job goes on: no order would name it
/// any more.
TEST_F(SequencerTest, ASealDropsWhatNotAllHoldYet) {
  sequencer_.held(0, held(kFirst));
  sequencer_.seal();
  const std::vector<Order> given = orders();
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].kind, OrderKind::kSeal);
  EXPECT_EQ(given[1].kind, OrderKind::kDrop);
  EXPECT_THAT(given[1].pushes, ElementsAre(kFirst));
  sequencer_.unseal();
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), IsEmpty());
}

TEST_F(SequencerTest, AHoldIsAfterTheCommitsBeforeIt) {
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), ElementsAre(kFirst));
  const PushId asker{0, 7, 1};
  hold_everywhere(kSecond);
  sequencer_.hold(asker);
  const std::vector<Order> given = orders();
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0], (Order{.kind = OrderKind::kHold, .index = 2, .number = 2, .global_step = 41, .pushes = {asker}}));
  EXPECT_EQ(given[1].number, 3u);
}

TEST_F(SequencerTest, OrdersAreSentAgainUntilAllShardsHaveThem) {
  for (uint64_t i = 1; i <= 4; ++i) hold_everywhere({1, 100, i});
  EXPECT_THAT(indexes(orders()), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(indexes(sequencer_.after(0)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(indexes(sequencer_.after(3)), ElementsAre(4));
  EXPECT_THAT(sequencer_.after(4), IsEmpty());
  sequencer_.received(1, 3);
  EXPECT_THAT(indexes(sequencer_.after(0)), ElementsAre(1, 2, 3, 4)) << "shard 2 has said nothing";
  sequencer_.received(2, 2);
  EXPECT_THAT(indexes(sequencer_.after(0)), ElementsAre(3, 4));
  sequencer_.received(2, 1);  // An older report comes late.
  EXPECT_THAT(indexes(sequencer_.after(0)), ElementsAre(3, 4));
  sequencer_.received(1, 4);
  sequencer_.received(2, 4);
  EXPECT_THAT(sequencer_.after(0), IsEmpty());
}

TEST_F(SequencerTest, AShardCannotHaveOrdersThatAreNotGiven) {
  sequencer_.received(1, ~uint64_t(0));
  sequencer_.received(2, ~uint64_t(0));
  hold_everywhere(kFirst);
  EXPECT_THAT(committed(), ElementsAre(kFirst));
  EXPECT_THAT(indexes(sequencer_.after(0)), ElementsAre(1));
}

TEST_F(SequencerTest, ANewEpochBeginsWithoutOrdersAndRemembersWhoIsOver) {
  hold_everywhere({1, 100, 5});
  EXPECT_THAT(committed(), ElementsAre(PushId{1, 100, 5}));
  sequencer_.held(0, held({1, 100, 6}));
  sequencer_.fence(2, 200);
  sequencer_.hold({0, 7, 0});
  sequencer_.seal();
  sequencer_.restart();
  EXPECT_THAT(orders(), IsEmpty());
  EXPECT_THAT(sequencer_.after(0), IsEmpty());
  sequencer_.begin(1, 10);
  sequencer_.held(1, held({1, 100, 6}));
  sequencer_.held(2, held({1, 100, 6}));
  EXPECT_THAT(orders(), IsEmpty()) << "what shard 0 held before the epoch is gone";
  hold_everywhere(kSecond);
  hold_everywhere({1, 100, 5});
  EXPECT_THAT(orders(), IsEmpty());
  hold_everywhere({1, 100, 7});
  EXPECT_THAT(
      orders(),
      ElementsAre(Order{.kind = OrderKind::kCommit, .index = 1, .number = 2, .global_step = 11, .pushes = {{1, 100, 7}}}));
}

/// A trainer that found its connection broken continues from what counts, and computes this batch again.
TEST_F(SequencerTest, WhatAProcessGivesUpIsDroppedEverywhere) {
  sequencer_.held(0, held({1, 100, 1}));
  sequencer_.held(1, held(kSecond));
  sequencer_.abandon({1, 100, 1});
  sequencer_.abandon({1, 100, 1});
  sequencer_.abandon({1, 100, 0});
  const std::vector<Order> given = orders();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].kind, OrderKind::kDrop);
  EXPECT_THAT(given[0].pushes, ElementsAre(PushId{1, 100, 1}));
  hold_everywhere({1, 100, 1});
  EXPECT_THAT(orders(), IsEmpty());
  hold_everywhere({1, 100, 2});
  EXPECT_THAT(committed(), ElementsAre(PushId{1, 100, 2}));
}

/// Shards may hold more pushes of the process than they could report.
TEST_F(SequencerTest, WhatAProcessGivesUpIsDroppedBeforeItIsKnown) {
  sequencer_.held(1, held({1, 100, 3}));
  sequencer_.abandon({1, 100, 5});
  const std::vector<Order> given = orders();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].kind, OrderKind::kDrop);
  EXPECT_THAT(given[0].pushes, ElementsAre(PushId{1, 100, 5}));
  for (uint64_t number = 3; number <= 5; ++number) hold_everywhere({1, 100, number});
  EXPECT_THAT(orders(), IsEmpty());
  hold_everywhere({1, 100, 6});
  EXPECT_THAT(committed(), ElementsAre(PushId{1, 100, 6}));
}

/// Drops whole pushes that are too old. Two pushes make an update, in the order of their trainers; the least base
/// version counts.
class PairsStrategy final : public UpdateStrategy {
 public:
  bool takes(const WholePush& push, const Progress& progress) const override {
    return push.base_version >= progress.version;
  }
  std::vector<size_t> next(std::span<const WholePush> held, const Progress&) const override {
    if (held.size() < 2) return {};
    return held[0].id < held[1].id ? std::vector<size_t>{0, 1} : std::vector<size_t>{1, 0};
  }
  bool grants(size_t, const Progress&) const override { return false; }
  bool paces() const override { return true; }
};

TEST(SequencerWithPairs, CommitsInTheStrategysOrderAndDropsWhatIsTooOld) {
  Sequencer sequencer(2, 4, std::make_unique<PairsStrategy>());
  sequencer.begin(1, 0);
  const auto hold = [&](const PushId& push, uint64_t first, uint64_t second) {
    sequencer.held(0, held(push, first));
    sequencer.held(1, held(push, second));
  };
  hold({3, 30, 1}, 1, 1);
  EXPECT_FALSE(sequencer.next());
  hold({1, 10, 1}, 1, 1);
  hold({2, 20, 1}, 1, 1);
  const std::optional<Order> commit = sequencer.next();
  ASSERT_TRUE(commit);
  EXPECT_EQ(*commit, (Order{.index = 1, .number = 2, .global_step = 1, .pushes = {{1, 10, 1}, {3, 30, 1}}}));
  const std::optional<Order> late = sequencer.next();
  ASSERT_TRUE(late);
  EXPECT_EQ(*late, (Order{.kind = OrderKind::kDrop, .index = 2, .number = 2, .global_step = 1, .pushes = {{2, 20, 1}}}));
  hold({1, 10, 2}, 2, 1);  // One shard had given its trainer the former version.
  const std::optional<Order> older = sequencer.next();
  ASSERT_TRUE(older);
  EXPECT_EQ(older->kind, OrderKind::kDrop);
  EXPECT_FALSE(sequencer.next());
}

// --- Any order of events ------------------------------------------------------------------------------------------------

/// A plain model of what each shard holds and has carried out, and of what may be committed.
class SequencerModel {
 public:
  SequencerModel(size_t shards, uint64_t seed)
      : shards_(shards), random_(seed), sequencer_(shards, 3, async_strategy()), sides_(shards) {
    sequencer_.begin(1, 0);
    incarnations_ = {1, 1, 1};
    numbers_ = {0, 0, 0};
  }
  void run(int events) {
    for (int i = 0; i < events; ++i) event();
    for (size_t shard = 1; shard < shards_; ++shard) reconnect(shard);
    for (size_t shard = 1; shard < shards_; ++shard) reconnect(shard);  // Each shard says what it has received.
    EXPECT_THAT(sequencer_.after(0), IsEmpty());
    for (const Side& side : sides_) EXPECT_EQ(side.done, sides_[0].done);
    EXPECT_EQ(sides_[0].done.size(), commits_);
  }
  size_t commits() const { return commits_; }

 private:
  struct Side {
    std::set<PushId> kept;
    std::vector<PushId> done;  // Commits in the order in which they were carried out.
    uint64_t received = 0;
    bool connected = true;
  };

  void event() {
    const int trainer = int(random_.below(3));
    const size_t shard = size_t(random_.below(shards_));
    switch (random_.below(12)) {
      case 0:  // A trainer is started again.
        sequencer_.fence(trainer, incarnations_[size_t(trainer)]);
        fenced_.insert({trainer, incarnations_[size_t(trainer)], 0});
        ++incarnations_[size_t(trainer)];
        numbers_[size_t(trainer)] = 0;
        give();
        break;
      case 1:
        if (shard > 0) sides_[shard].connected = false;
        break;
      case 2:
        if (shard > 0) reconnect(shard);
        break;
      case 3: report(shard, {trainer, 1, 1}); break;  // A report from long ago.
      case 4: ++numbers_[size_t(trainer)]; break;
      default: report(shard, {trainer, incarnations_[size_t(trainer)], std::max<uint64_t>(1, numbers_[size_t(trainer)])});
    }
  }
  bool over(const PushId& push) const { return fenced_.contains({push.trainer, push.incarnation, 0}); }

  void report(size_t shard, const PushId& push) {
    Side& side = sides_[shard];
    const bool is_done = std::ranges::find(side.done, push) != side.done.end();
    if (is_done || (over(push) && shard == 0)) return;  // A server refuses these itself.
    side.kept.insert(push);
    if (!side.connected) return;
    if (shard > 0) sequencer_.received(shard, side.received);
    sequencer_.held(shard, held(push));
    give();
  }
  void reconnect(size_t shard) {
    Side& side = sides_[shard];
    side.connected = true;
    sequencer_.received(shard, side.received);
    for (const Order& order : sequencer_.after(side.received)) obey(side, order);
    for (const PushId& push : std::set<PushId>(side.kept)) sequencer_.held(shard, held(push));
    give();
  }
  void give() {
    while (const std::optional<Order> order = sequencer_.next()) {
      EXPECT_EQ(order->index, ++index_);
      if (order->kind == OrderKind::kCommit) check(*order);
      EXPECT_EQ(order->number, 1 + commits_);
      EXPECT_EQ(order->global_step, commits_);
      for (Side& side : sides_) {
        if (side.connected) obey(side, *order);
      }
    }
  }
  /// Checks that all shards hold the push, and that it was not fenced or committed before.
  void check(const Order& order) {
    ++commits_;
    ASSERT_EQ(order.pushes.size(), 1u);
    const PushId& push = order.pushes.front();
    EXPECT_FALSE(over(push));
    EXPECT_TRUE(committed_.insert(push).second);
    for (const Side& side : sides_) EXPECT_TRUE(side.kept.contains(push));
  }
  void obey(Side& side, const Order& order) {
    EXPECT_EQ(order.index, side.received + 1) << "a gap";
    side.received = order.index;
    const PushId& push = order.pushes.front();
    if (order.kind == OrderKind::kCommit) {
      EXPECT_EQ(side.kept.erase(push), 1u);
      side.done.push_back(push);
    } else {
      std::erase_if(side.kept, [&push](const PushId& kept) {
        return kept.trainer == push.trainer && kept.incarnation == push.incarnation;
      });
    }
  }

  const size_t shards_;
  RandomStream random_;
  Sequencer sequencer_;
  std::vector<Side> sides_;
  std::vector<uint64_t> incarnations_, numbers_;  // One entry for each trainer.
  std::set<PushId> committed_, fenced_;
  uint64_t index_ = 0;
  size_t commits_ = 0;
};

TEST(SequencerProperty, AllShardsCarryOutTheSameCommitsWhateverComesBetween) {
  for (size_t shards = 1; shards <= 4; ++shards) {
    size_t commits = 0;
    for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(std::to_string(shards) + " shards, seed " + std::to_string(seed));
      SequencerModel model(shards, seed);
      model.run(400);
      commits += model.commits();
    }
    EXPECT_GT(commits, 500u) << shards << " shards";
  }
}

}  // namespace
}  // namespace shoal::cluster
