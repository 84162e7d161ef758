// SPDX-License-Identifier: Apache-2.0
/// The chief's report about all trainers, from a server's counts.
#include "hooks/job_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

using cluster::PushCounts;
using cluster::ServerStatus;
using cluster::TrainerStatus;
using testing::ElementsAre;
using testing::Pair;

TrainerStatus trainer(int index, PushCounts pushes, bool connected = true, bool done = false) {
  return {.index = index, .connected = connected, .done = done, .pushes = pushes};
}
ServerStatus status_of(std::vector<TrainerStatus> trainers) {
  ServerStatus status;
  status.trainers = std::move(trainers);
  return status;
}

TEST(JobRates, AreWhatHappenedBetweenTwoLooks) {
  const ServerStatus before = status_of(
      {trainer(0, {.applied = 100, .staleness = 50, .staleness_max = 6, .losses = 100, .loss = 500, .waited_secs = 9}),
       trainer(1, {.applied = 10, .dropped = 1, .losses = 10, .loss = 70})});
  const ServerStatus now = status_of(
      {trainer(0, {.applied = 120, .staleness = 80, .staleness_max = 6, .losses = 120, .loss = 510, .waited_secs = 10}),
       trainer(1, {.applied = 15, .dropped = 3, .staleness = 15, .staleness_max = 4, .losses = 13, .loss = 71}),
       trainer(2, {.applied = 5, .losses = 2, .loss = 1.5, .waited_secs = 2})});
  const auto rates = job_rates(before, now, std::chrono::seconds(10));
  ASSERT_TRUE(rates);
  EXPECT_THAT(rates->batches_per_sec, ElementsAre(Pair(0, 2.0), Pair(1, 0.5), Pair(2, 0.5)));
  EXPECT_EQ(rates->applied_per_sec, 3.0);
  EXPECT_EQ(rates->at_work, 3);
  EXPECT_EQ(rates->slowest, 1);
  EXPECT_DOUBLE_EQ(rates->loss.value(), (10 + 1 + 1.5) / 25);
  EXPECT_DOUBLE_EQ(rates->staleness, 45.0 / 30);
  EXPECT_EQ(rates->staleness_max, 6u);
  EXPECT_EQ(rates->dropped, 3u);
  EXPECT_DOUBLE_EQ(rates->waiting, 0.1);
  EXPECT_EQ(
      to_string(*rates),
      "job: 3.00 batches/s by 3 trainers (slowest: trainer 1, 0.50/s), loss = 0.5, staleness 1.5 (at most 6), 3 dropped, "
      "waiting 10 %");
}

TEST(JobRates, NameTheSlowestOfThoseAtWorkOnly) {
  const ServerStatus before =
      status_of({trainer(0, {.applied = 1}), trainer(1, {.applied = 1}), trainer(2, {.applied = 1})});
  const auto slowest = [&](bool second_connected, bool third_done) {
    const ServerStatus now = status_of({trainer(0, {.applied = 9}), trainer(1, {.applied = 1}, second_connected),
                                        trainer(2, {.applied = 2}, true, third_done)});
    return job_rates(before, now, std::chrono::seconds(1))->slowest;
  };
  EXPECT_EQ(slowest(true, false), 1);
  const ServerStatus even =
      status_of({trainer(0, {.applied = 11}), trainer(1, {.applied = 11}), trainer(2, {.applied = 11})});
  EXPECT_EQ(job_rates(before, even, std::chrono::seconds(1))->slowest, std::nullopt) << "where all wait for each other";
  EXPECT_EQ(slowest(false, false), 2);
  EXPECT_EQ(slowest(false, true), std::nullopt) << "alone, it is neither slow nor fast";
}

TEST(JobRates, SayNothingOfAServerThatWasStartedAgain) {
  const ServerStatus before = status_of({trainer(0, {.applied = 100}), trainer(1, {.applied = 5})});
  EXPECT_FALSE(job_rates(before, status_of({trainer(0, {.applied = 120})}), std::chrono::seconds(1)));
  EXPECT_FALSE(job_rates(before, status_of({}), std::chrono::seconds(1)));
  EXPECT_FALSE(job_rates(before, before, Duration::zero()));
  ServerStatus restored = status_of({trainer(0, {.applied = 200}), trainer(1, {.applied = 50})});
  EXPECT_TRUE(job_rates(before, restored, std::chrono::seconds(1)));
  restored.epoch = 1;
  EXPECT_FALSE(job_rates(before, restored, std::chrono::seconds(1)));
}

TEST(JobRates, HaveNoLossWhereNobodyHasAFiniteOne) {
  const ServerStatus before = status_of({trainer(0, {.applied = 1, .losses = 1, .loss = 3})});
  const ServerStatus now = status_of({trainer(0, {.applied = 2, .losses = 1, .loss = 3})});
  const auto rates = job_rates(before, now, std::chrono::seconds(1));
  EXPECT_EQ(rates->loss, std::nullopt);
  EXPECT_EQ(to_string(*rates), "job: 1.00 batches/s by 1 trainer, staleness 0 (at most 0), 0 dropped, waiting 0 %");
}

}  // namespace
}  // namespace shoal
