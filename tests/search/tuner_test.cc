// SPDX-License-Identifier: Apache-2.0
/// What a search does next, in virtual time: what starts, what ends, what is started again, and that a journal goes on at any record.
#include "shoal/search/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "fixture.h"
#include "shoal/base/random.h"

namespace shoal::tuning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SteadyTime at(double seconds) { return SteadyTime(seconds_to_duration(seconds)); }

/// What was said, in words, and the journal.
class Search {
 public:
  explicit Search(TunerOptions options = {}, std::optional<Asha> asha = {})
      : tuner(options, random_sampler(space_of({"lr=0..1"}), 1), std::move(asha)) {}

  std::vector<std::string> take(const TunerActions& actions) {
    std::vector<std::string> words;
    for (const TunerAction& action : actions) {
      if (const auto* note = std::get_if<Note>(&action)) journal.push_back(note->record);
      if (const auto* start = std::get_if<StartTrial>(&action)) words.push_back("start " + std::to_string(start->trial));
      if (const auto* send = std::get_if<SendSignal>(&action)) {
        words.push_back((send->signal == SIGKILL ? "kill " : "end ") + std::to_string(send->trial));
      }
    }
    return words;
  }
  const Trial& trial(int64_t number) const { return tuner.trials()[size_t(number)]; }

  Tuner tuner;
  std::vector<Record> journal;
};

AttemptEnd good(double value, int64_t step = 100) { return {.value = value, .step = step, .seconds = 1}; }
AttemptEnd bad(int64_t status) { return {.status = status, .seconds = 1, .error = "it broke"}; }

TEST(Tuner, RunsSoManyAtTheSameTime) {
  Search search({.trials = 4, .parallel = 2});
  EXPECT_THAT(search.take(search.tuner.begin(at(0))), ElementsAre("start 0", "start 1"));
  EXPECT_THAT(search.take(search.tuner.ended(1, good(0.5), at(1))), ElementsAre("start 2"));
  EXPECT_THAT(search.take(search.tuner.ended(0, good(0.4), at(2))), ElementsAre("start 3"));
  EXPECT_THAT(search.take(search.tuner.ended(2, good(0.4), at(3))), IsEmpty());
  EXPECT_FALSE(search.tuner.is_done());
  EXPECT_THAT(search.take(search.tuner.ended(3, good(std::nan("")), at(3))), IsEmpty());
  EXPECT_TRUE(search.tuner.is_done());
  EXPECT_EQ(search.tuner.best()->number, 0);  // The earlier of two that are equal.
  EXPECT_EQ(search.journal.size(), 12u);
}

TEST(Tuner, StartsAgainWhatMayGoAway) {
  Search search({.trials = 1, .retries = 2});
  search.take(search.tuner.begin(at(0)));
  EXPECT_THAT(search.take(search.tuner.ended(0, bad(1), at(1))), IsEmpty());
  EXPECT_EQ(search.tuner.next_time(), at(2));
  EXPECT_FALSE(search.tuner.is_done());
  EXPECT_THAT(search.take(search.tuner.time_passed(at(2))), ElementsAre("start 0"));
  EXPECT_THAT(search.take(search.tuner.ended(0, bad(137), at(3))), IsEmpty());
  EXPECT_EQ(search.tuner.next_time(), at(5));
  EXPECT_THAT(search.take(search.tuner.time_passed(at(5))), ElementsAre("start 0"));
  EXPECT_THAT(search.take(search.tuner.ended(0, bad(1), at(6))), IsEmpty());
  EXPECT_TRUE(search.tuner.is_done());
  EXPECT_EQ(search.trial(0).state, Trial::State::kFailed);
  EXPECT_EQ(search.trial(0).error, "it broke");
  EXPECT_EQ(search.tuner.best(), nullptr);
}

TEST(Tuner, DoesNotStartAgainWhatStays) {
  for (const int64_t status : {2, 3, 4}) {
    Search search({.trials = 1, .retries = 2});
    search.take(search.tuner.begin(at(0)));
    search.take(search.tuner.ended(0, bad(status), at(1)));
    EXPECT_TRUE(search.tuner.is_done()) << status;
    EXPECT_EQ(std::isnan(search.trial(0).value.value_or(0)), status == 3);
  }
}

TEST(Tuner, FailsATrialWithoutAValue) {
  Search search({.trials = 1});
  search.take(search.tuner.begin(at(0)));
  search.take(search.tuner.ended(0, {.error = "there is no metric"}, at(1)));
  EXPECT_EQ(search.trial(0).state, Trial::State::kFailed);
  EXPECT_EQ(search.trial(0).error, "there is no metric");
}

TEST(Tuner, StartsAgainWhoWasEndedByASignalFromElsewhere) {
  Search search({.trials = 1});
  search.take(search.tuner.begin(at(0)));
  search.take(search.tuner.ended(0, {.interrupted = true, .value = 0.5}, at(1)));
  EXPECT_EQ(search.trial(0).state, Trial::State::kWaiting);
  EXPECT_THAT(search.take(search.tuner.time_passed(at(2))), ElementsAre("start 0"));
}

TEST(Tuner, EndsATrialAtARungAndKillsItIfItStays) {
  Search search({.trials = 3, .parallel = 2, .kill_after = std::chrono::seconds(30)},
                *Asha::create({.min_steps = 10, .max_steps = 100}));
  search.take(search.tuner.begin(at(0)));
  EXPECT_THAT(search.take(search.tuner.evaluated(0, 10, 0.5, at(1))), IsEmpty());
  EXPECT_THAT(search.take(search.tuner.evaluated(1, 10, 0.6, at(2))), ElementsAre("end 1"));
  EXPECT_THAT(search.take(search.tuner.evaluated(1, 11, 0.6, at(2))), IsEmpty());
  EXPECT_EQ(search.tuner.next_time(), at(32));
  EXPECT_THAT(search.take(search.tuner.time_passed(at(32))), ElementsAre("kill 1"));
  EXPECT_THAT(search.take(search.tuner.ended(1, bad(137), at(33))), ElementsAre("start 2"));
  EXPECT_EQ(search.trial(1).state, Trial::State::kStopped);
  EXPECT_EQ(search.trial(1).value, 0.6);
  EXPECT_EQ(search.trial(1).error, "");
}

TEST(Tuner, EndsATrialWhoseTimeIsOver) {
  Search search({.trials = 2, .time_limit = std::chrono::seconds(60)});
  search.take(search.tuner.begin(at(0)));
  EXPECT_EQ(search.tuner.next_time(), at(60));
  EXPECT_THAT(search.take(search.tuner.time_passed(at(60))), ElementsAre("end 0"));
  EXPECT_THAT(search.take(search.tuner.ended(0, {.interrupted = true, .value = 0.3}, at(61))), ElementsAre("start 1"));
  EXPECT_EQ(search.trial(0).state, Trial::State::kStopped);
  EXPECT_EQ(search.trial(0).error, "its time was over");
  EXPECT_THAT(search.take(search.tuner.time_passed(at(121))), ElementsAre("end 1"));
  search.take(search.tuner.ended(1, {.interrupted = true}, at(122)));
  EXPECT_EQ(search.trial(1).state, Trial::State::kFailed);
  EXPECT_THAT(search.trial(1).error, HasSubstr("before its first evaluation"));
}

TEST(Tuner, DoesNotCountTheTimeThatATrialIsHeldBack) {
  Search search({.trials = 1, .time_limit = std::chrono::seconds(60)});
  search.take(search.tuner.begin(at(0)));
  search.tuner.held_back(0);
  EXPECT_EQ(search.tuner.next_time(), std::nullopt);
  EXPECT_THAT(search.take(search.tuner.time_passed(at(61))), IsEmpty());
  search.tuner.begun(0, at(100));
  EXPECT_EQ(search.tuner.next_time(), at(160));
  EXPECT_THAT(search.take(search.tuner.time_passed(at(160))), ElementsAre("end 0"));
}

TEST(Tuner, CountsTheTimeOfInterruptedAttempts) {
  const TunerOptions options{.trials = 2, .parallel = 2, .time_limit = std::chrono::seconds(60)};
  std::vector<Record> journal;
  for (const double limit : {60.0, 20.0}) {  // What is left of the limit at each start.
    Search search(options);
    ASSERT_TRUE(search.tuner.replay(journal));
    search.journal = journal;
    search.take(search.tuner.begin(at(0)));
    EXPECT_EQ(search.tuner.next_time(), at(limit));
    search.take(search.tuner.interrupted(SIGTERM, at(9)));
    // Trial 1 could not be started, so nothing of its time is used up.
    search.take(search.tuner.ended(0, {.interrupted = true, .value = 0.5, .seconds = 40}, at(10)));
    search.take(search.tuner.ended(1, {.interrupted = true}, at(10)));
    EXPECT_TRUE(search.tuner.is_done());
    EXPECT_EQ(search.trial(0).seconds, 100 - limit);
    journal = search.journal;
  }
  Search last(options);
  ASSERT_TRUE(last.tuner.replay(journal));
  last.take(last.tuner.begin(at(0)));
  EXPECT_THAT(last.take(last.tuner.time_passed(at(0))), ElementsAre("end 0"));
  EXPECT_EQ(last.tuner.next_time(), at(30));  // Trial 0 is killed then; the time of trial 1 is over at 60.
  EXPECT_EQ(last.trial(0).failures, 0);
}

TEST(Tuner, PassesASignalOnAndKeepsTrialsForLater) {
  Search search({.trials = 5, .parallel = 3});
  search.take(search.tuner.begin(at(0)));
  EXPECT_THAT(search.take(search.tuner.interrupted(SIGINT, at(1))), ElementsAre("end 0", "end 1", "end 2"));
  EXPECT_THAT(search.take(search.tuner.interrupted(SIGTERM, at(1.4))), IsEmpty());  // The same request, sent twice.
  EXPECT_THAT(search.take(search.tuner.ended(0, {.interrupted = true, .value = 0.5}, at(2))), IsEmpty());
  EXPECT_THAT(search.take(search.tuner.ended(1, good(0.4), at(2))), IsEmpty());  // It had come to its end.
  EXPECT_FALSE(search.tuner.is_done());
  EXPECT_THAT(search.take(search.tuner.interrupted(SIGINT, at(3))), ElementsAre("kill 2"));
  EXPECT_THAT(search.take(search.tuner.ended(2, bad(137), at(4))), IsEmpty());
  EXPECT_TRUE(search.tuner.is_done());
  EXPECT_TRUE(search.tuner.was_interrupted());
  EXPECT_EQ(search.trial(0).state, Trial::State::kWaiting);
  EXPECT_EQ(search.trial(1).state, Trial::State::kComplete);
  EXPECT_EQ(search.trial(2).state, Trial::State::kWaiting);

  Search later({.trials = 5, .parallel = 3});
  ASSERT_TRUE(later.tuner.replay(search.journal));
  EXPECT_THAT(later.take(later.tuner.begin(at(0))), ElementsAre("start 0", "start 2", "start 3"));
  EXPECT_EQ(later.trial(0).attempts, 2);
}

TEST(Tuner, LeavesATrialOpenWhoseResultsCannotBeRead) {
  Search search({.trials = 2, .parallel = 2, .time_limit = std::chrono::seconds(60)});
  search.take(search.tuner.begin(at(0)));
  search.take(search.tuner.time_passed(at(60)));
  search.take(search.tuner.interrupted(SIGTERM, at(61)));
  search.tuner.left_open(0);  // Although its time is over: whether it has a value is not known.
  EXPECT_FALSE(search.tuner.is_done());
  search.tuner.left_open(1);
  EXPECT_TRUE(search.tuner.is_done());
  EXPECT_EQ(search.trial(0).state, Trial::State::kWaiting);
  Search later({.trials = 2, .parallel = 2});
  ASSERT_TRUE(later.tuner.replay(search.journal));
  EXPECT_THAT(later.take(later.tuner.begin(at(0))), ElementsAre("start 0", "start 1"));
  EXPECT_EQ(later.trial(0).failures, 0);
}

TEST(Tuner, EndsWhatItHadDecidedToEnd) {
  const auto rungs = *Asha::create({.min_steps = 10, .max_steps = 100});
  Search search({.trials = 2, .parallel = 2}, rungs);
  search.take(search.tuner.begin(at(0)));
  search.take(search.tuner.evaluated(0, 10, 0.5, at(1)));
  search.take(search.tuner.evaluated(1, 10, 0.6, at(2)));
  Search later({.trials = 2, .parallel = 2}, rungs);
  ASSERT_TRUE(later.tuner.replay(search.journal));
  EXPECT_THAT(later.take(later.tuner.begin(at(0))), ElementsAre("start 0"));
  EXPECT_EQ(later.trial(1).state, Trial::State::kStopped);
  EXPECT_EQ(later.trial(1).value, 0.6);
}

TEST(Tuner, TakesMoreTrialsLater) {
  Search search({.trials = 1});
  search.take(search.tuner.begin(at(0)));
  search.take(search.tuner.ended(0, good(0.5), at(1)));
  EXPECT_TRUE(search.tuner.is_done());
  Search later({.trials = 2});
  ASSERT_TRUE(later.tuner.replay(search.journal));
  EXPECT_FALSE(later.tuner.is_done());
  EXPECT_THAT(later.take(later.tuner.begin(at(0))), ElementsAre("start 1"));
}

TEST(Tuner, RefusesTheJournalOfOtherParameters) {
  Search search;
  const Result<void> replayed = search.tuner.replay({TrialCreated{0, {{"lr", 0.123}}}});
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().kind(), ErrorKind::kDataLoss);
}

TEST(Tuner, MakesRoomForMore) {
  Search search({.trials = 4, .parallel = 1});
  search.take(search.tuner.begin(at(0)));
  EXPECT_THAT(search.take(search.tuner.set_parallel(3, at(1))), ElementsAre("start 1", "start 2"));
  EXPECT_THAT(search.take(search.tuner.set_parallel(1, at(2))), IsEmpty());
  EXPECT_THAT(search.take(search.tuner.ended(0, good(1), at(3))), IsEmpty());
}

/// A world in which trials evaluate, fail and end at random, and the search is cut off at any record and resumed: the same trials have
/// ended, each once, and none is lost.
TEST(Tuner, LosesNoTrialAndEndsNoneTwiceWhereverItIsCutOff) {
  constexpr int64_t kTrials = 12;
  const auto rungs = *Asha::create({.min_steps = 10, .max_steps = 100});
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(fold_in(seed, "world"));
    std::vector<Record> journal;
    double now = 0;
    for (int lives = 0;; ++lives) {
      ASSERT_LT(lives, 500) << seed;
      Search search({.trials = kTrials, .parallel = 3, .retries = 1}, rungs);
      ASSERT_TRUE(search.tuner.replay(journal)) << seed;
      search.journal = journal;
      const uint64_t life = 1 + random.below(15);
      search.take(search.tuner.begin(at(now)));
      for (uint64_t event = 0; event < life && !search.tuner.is_done(); ++event) {
        now += 1;
        search.take(search.tuner.time_passed(at(now)));
        std::vector<int64_t> running;
        for (const Trial& trial : search.tuner.trials()) {
          if (trial.state == Trial::State::kRunning || trial.state == Trial::State::kEnding)
            running.push_back(trial.number);
        }
        ASSERT_LE(running.size(), 3u);
        if (running.empty()) continue;
        const int64_t one = running[random.below(running.size())];
        const uint64_t what = random.below(10);
        if (what < 6) {
          search.take(search.tuner.evaluated(one, int64_t(random.below(100)), random.next_float(), at(now)));
        } else {
          search.take(search.tuner.ended(one, what < 9 ? good(random.next_float()) : bad(1), at(now)));
        }
      }
      journal = search.journal;
      if (search.tuner.is_done()) break;
      journal.resize(journal.size() -
                     random.below(std::min<uint64_t>(3, journal.size())));  // Records that came to no disk.
    }
    std::vector<int> created(kTrials), ended(kTrials);
    for (const Record& record : journal) {
      if (const auto* one = std::get_if<TrialCreated>(&record)) ++created[size_t(one->trial)];
      if (const auto* one = std::get_if<TrialEnded>(&record); one && one->outcome != Outcome::kRetry)
        ++ended[size_t(one->trial)];
    }
    EXPECT_THAT(created, ::testing::Each(1)) << seed;
    EXPECT_THAT(ended, ::testing::Each(1)) << seed;
  }
}

}  // namespace
}  // namespace shoal::tuning
