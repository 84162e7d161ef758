// SPDX-License-Identifier: Apache-2.0
/// The update strategies alone.
#include "server/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plans.h"
#include "shoal/base/random.h"
#include "shoal/cluster/strategy_text.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kVersion = 5;

WholePush push_of(int32_t trainer, uint64_t number = 1, uint64_t base_version = kVersion) {
  return {.id = {trainer, uint64_t(trainer) + 100, number}, .base_version = base_version};
}

Progress progress_of(size_t trainers, const std::vector<WholePush>& held) {
  Progress progress{.version = kVersion, .trainers = std::vector<Participant>(trainers)};
  for (const WholePush& push : held) ++progress.trainers[size_t(push.id.trainer)].whole;
  return progress;
}

std::vector<int32_t> trainers_of(const std::vector<WholePush>& held, const std::vector<size_t>& chosen) {
  std::vector<int32_t> trainers;
  for (const size_t i : chosen) trainers.push_back(held[i].id.trainer);
  return trainers;
}

TEST(AsyncStrategy, TakesEachPushByItself) {
  const auto strategy = async_strategy();
  const std::vector<WholePush> held{push_of(2, 1, 1), push_of(0)};
  EXPECT_TRUE(strategy->takes(held[0], progress_of(3, held)));
  EXPECT_THAT(strategy->next(held, progress_of(3, held)), ElementsAre(0u));
  EXPECT_THAT(strategy->next({}, progress_of(3, {})), IsEmpty());
  EXPECT_FALSE(strategy->paces());
}

TEST(SyncStrategy, WaitsForAllAndAddsUpInTheirOrder) {
  const auto strategy = sync_strategy(3, 3);
  std::vector<WholePush> held{push_of(2), push_of(0)};
  EXPECT_THAT(strategy->next(held, progress_of(3, held)), IsEmpty());
  held.push_back(push_of(1));
  EXPECT_THAT(trainers_of(held, strategy->next(held, progress_of(3, held))), ElementsAre(0, 1, 2));
  EXPECT_TRUE(strategy->paces());
}

TEST(SyncStrategy, DropsWhatWasComputedOnOtherWeights) {
  const auto strategy = sync_strategy(2, 2);
  EXPECT_TRUE(strategy->takes(push_of(0), progress_of(2, {})));
  EXPECT_FALSE(strategy->takes(push_of(0, 1, kVersion - 1), progress_of(2, {})));
  Progress stopping = progress_of(2, {});
  stopping.stopping = true;
  EXPECT_FALSE(strategy->takes(push_of(0), stopping));
}

TEST(SyncStrategy, WithBackupsTheFirstCount) {
  const auto strategy = sync_strategy(2, 4);
  const std::vector<WholePush> held{push_of(3), push_of(1)};
  EXPECT_THAT(trainers_of(held, strategy->next(held, progress_of(4, held))), ElementsAre(1, 3));
  EXPECT_FALSE(strategy->grants(3, progress_of(4, {push_of(3)})));
}

TEST(SyncStrategy, EachGivesItsShareWhereThereAreFewer) {
  const auto strategy = sync_strategy(4, 2);
  std::vector<WholePush> held{push_of(1, 1), push_of(0, 1)};
  Progress progress = progress_of(2, held);
  EXPECT_THAT(strategy->next(held, progress), IsEmpty());
  EXPECT_TRUE(strategy->grants(0, progress));
  progress.trainers[0].granted = 1;
  EXPECT_FALSE(strategy->grants(0, progress)) << "two each";
  held.push_back(push_of(1, 2)), held.push_back(push_of(0, 2));
  progress = progress_of(2, held);
  EXPECT_THAT(trainers_of(held, strategy->next(held, progress)), ElementsAre(0, 0, 1, 1));
}

TEST(SyncStrategy, OthersMakeTheShareOfALostTrainer) {
  const auto strategy = sync_strategy(3, 3);
  const std::vector<WholePush> held{push_of(0), push_of(2)};
  Progress progress = progress_of(3, held);
  EXPECT_FALSE(strategy->grants(0, progress)) << "trainer 1 may still come";
  progress.trainers[1].lost = true;
  EXPECT_TRUE(strategy->grants(0, progress));
  progress.trainers[0].granted = 1;
  EXPECT_FALSE(strategy->grants(2, progress)) << "one is enough";
  progress.trainers[1].lost = false;  // The trainer is back: the first pushes count.
  EXPECT_FALSE(strategy->grants(2, progress));
}

TEST(SyncStrategy, WhoLeavesIsNotWaitedFor) {
  const auto strategy = sync_strategy(3, 3);
  const std::vector<WholePush> held{push_of(0), push_of(2)};
  Progress progress = progress_of(3, held);
  progress.trainers[1].active = false;
  EXPECT_THAT(trainers_of(held, strategy->next(held, progress)), ElementsAre(0, 2));
  EXPECT_FALSE(strategy->grants(1, progress));
  progress.trainers[0].active = false;  // The trainer's push for this step still counts.
  EXPECT_THAT(trainers_of(held, strategy->next(held, progress)), ElementsAre(0, 2));
  EXPECT_THAT(strategy->next({}, progress_of(3, {})), IsEmpty());
}

/// For any R and N, and any order of arrival: while pushes come from all trainers that may push, each update comes, has
/// R pushes, and has no more than its share from any trainer.
TEST(SyncStrategy, NeverStandsStillAndTakesNobodyTwice) {
  for (int trainers = 1; trainers <= 4; ++trainers) {
    for (int aggregated = 1; aggregated <= 2 * trainers; ++aggregated) {
      if (!check_aggregation(aggregated, trainers)) continue;
      SCOPED_TRACE(std::to_string(aggregated) + " of " + std::to_string(trainers));
      const auto strategy = sync_strategy(aggregated, trainers);
      RandomStream random{uint64_t(trainers * 10 + aggregated)};
      for (int round = 0; round < 50; ++round) {
        std::vector<WholePush> held;
        Progress progress = progress_of(size_t(trainers), held);
        std::vector<size_t> chosen;
        for (int pushes = 0; chosen.empty(); ++pushes) {
          ASSERT_LT(pushes, 2 * aggregated + trainers);
          std::vector<int> may;
          for (int i = 0; i < trainers; ++i) {
            Participant& own = progress.trainers[size_t(i)];
            if (own.whole > 0 && own.whole == 1 + own.granted && strategy->grants(size_t(i), progress)) ++own.granted;
            if (own.whole < 1 + own.granted) may.push_back(i);
          }
          ASSERT_FALSE(may.empty()) << "nobody may push, and nothing is complete";
          const int next = may[size_t(random.next_float() * float(may.size()))];
          held.push_back(push_of(next, uint64_t(++progress.trainers[size_t(next)].whole)));
          chosen = strategy->next(held, progress);
        }
        EXPECT_EQ(chosen.size(), size_t(aggregated));
        const int share = std::max(1, aggregated / trainers);
        for (int i = 0; i < trainers; ++i) {
          EXPECT_LE(std::ranges::count(trainers_of(held, chosen), i), share);
        }
        EXPECT_TRUE(std::ranges::is_sorted(trainers_of(held, chosen)));
      }
    }
  }
}

TEST(StrategyText, ReadsBack) {
  for (const char* text : {"async", "sync", "sync(1)", "sync(12)"}) EXPECT_EQ(to_string(*parse_strategy(text)), text);
  for (const char* text : {"", "Sync", "sync()", "sync(0)", "sync(-1)", "sync(3", "sync(3) ", "sync(x)", "local_sgd"}) {
    expect_error(parse_strategy(text), ErrorKind::kInvalidArgument, "no update strategy");
  }
  EXPECT_TRUE(make_strategy("sync(2)", 3));
  expect_error(make_strategy("sync(4)", 3), ErrorKind::kInvalidArgument, "a multiple of it");
}

}  // namespace
}  // namespace shoal::cluster
