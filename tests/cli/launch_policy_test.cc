// SPDX-License-Identifier: Apache-2.0
// The policy of a job when its tasks end, without processes and without time passing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy_job.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LaunchPolicy, StartsAllAndSucceedsWhenTheChiefDid) {
  Job job;
  EXPECT_THAT(job.deeds(), ElementsAre("start 0", "start 1", "start 2", "start 3"));
  job.end(kWorker, status(0));  // Its input ended.
  EXPECT_FALSE(job.policy().trained());
  job.end(kChief, status(0));
  EXPECT_TRUE(job.policy().trained());
  job.end(kPs, status(0));
  EXPECT_EQ(job.status_of_job(), std::nullopt);  // The launcher waits for the last evaluation.
  job.end(kEvaluator, status(0));
  EXPECT_EQ(job.status_of_job(), 0);
  EXPECT_THAT(job.deeds(), IsEmpty());
  EXPECT_EQ(job.said(), "");
}

TEST(LaunchPolicy, StartsATaskAgainAfterAWhileThatDoubles) {
  Job job({.max_restarts = 5, .first_wait = seconds(1), .longest_wait = seconds(10)});
  job.deeds();
  for (const int wait : {1, 2, 4, 8, 10}) {
    job.end(kWorker, killed(SIGKILL));
    EXPECT_THAT(job.deeds(), IsEmpty());
    EXPECT_EQ(job.waiting(), seconds(wait));
    EXPECT_THAT(job.said(), HasSubstr("worker 0 was ended by signal 9 (Killed); it is started again in"));
    ASSERT_TRUE(job.wait(seconds(wait)));
    EXPECT_THAT(job.deeds(), ElementsAre("start 2"));
  }
  job.end(kWorker, killed(SIGKILL));
  EXPECT_THAT(job.said(), HasSubstr("worker 0 was ended by signal 9 (Killed) after 5 restarts, the most that are allowed"));
  EXPECT_THAT(job.deeds(), ElementsAre("send 15 to 0", "send 15 to 1", "send 15 to 3"));
  for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, status(0));
  EXPECT_EQ(job.status_of_job(), 1);
}

TEST(LaunchPolicy, CountsRestartsOfEachTaskByItself) {
  Job job({.max_restarts = 1});
  job.deeds();
  for (const size_t task : {kPs, kWorker, kEvaluator, kChief}) {
    job.end(task, status(1));
    EXPECT_TRUE(job.wait(seconds(1)));
    EXPECT_THAT(job.deeds(), ElementsAre("start " + std::to_string(task)));
  }
}

TEST(LaunchPolicy, DoesNotRetryWhatNoRestartMends) {
  for (const int permanent : {2, 3, 4}) {
    for (const size_t task : {kChief, kPs, kWorker, kEvaluator}) {
      Job job;
      job.deeds();
      job.end(task, status(permanent));
      EXPECT_EQ(job.deeds().size(), 3u) << "the others are stopped";
      EXPECT_THAT(job.said(), HasSubstr("ended with status " + std::to_string(permanent)));
      for (const size_t other : {kChief, kPs, kWorker, kEvaluator}) {
        if (other != task) job.end(other, status(0));
      }
      EXPECT_EQ(job.status_of_job(), permanent);
    }
  }
  Job other;
  other.end(kWorker, status(5));  // A deadline was missed, which a restart may repair.
  EXPECT_TRUE(other.wait(seconds(1)));
}

TEST(LaunchPolicy, StopsAllWhenTheJobHasFailed) {
  Job job({.stop_limit = seconds(60), .servers_alone = seconds(2)});
  job.end(kPs, status(1));
  job.deeds();
  job.end(kChief, status(3));  // The server waited to be started again, and now no longer does.
  EXPECT_THAT(job.deeds(), ElementsAre("send 15 to 2", "send 15 to 3"));
  EXPECT_EQ(job.waiting(), seconds(60));
  job.end(kWorker, status(0));
  ASSERT_TRUE(job.wait(seconds(60)));
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 3"));
  job.end(kEvaluator, killed(SIGKILL));
  EXPECT_EQ(job.status_of_job(), 3);
}

TEST(LaunchPolicy, DoesNotLetServersWaitForAChiefThatWillNotCome) {
  Job job({.stop_limit = seconds(60), .servers_alone = seconds(2)});
  job.end(kChief, status(3));
  job.end(kWorker, status(0));
  job.end(kEvaluator, status(0));
  job.deeds();
  EXPECT_EQ(job.waiting(), seconds(2));
  job.said();
  ASSERT_TRUE(job.wait(seconds(2)));
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 1"));
  EXPECT_EQ(job.said(), "killed, since no task is left that could end the job: ps 0\n");
}

TEST(LaunchPolicy, AFailureAfterTheEndOfTheChiefChangesNothing) {
  Job job;
  job.end(kChief, status(0));
  job.deeds();
  job.end(kWorker, status(1));
  job.end(kPs, killed(SIGSEGV));
  EXPECT_THAT(job.said(), HasSubstr("which changes nothing"));
  job.end(kEvaluator, status(0));
  EXPECT_THAT(job.deeds(), IsEmpty());
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, ATaskThatWaitsForItsRestartIsNotNeededAfterTheChief) {
  Job job;
  job.end(kWorker, status(1));
  job.deeds();
  job.end(kChief, status(0));
  job.end(kPs, status(0));
  job.end(kEvaluator, status(0));
  EXPECT_EQ(job.status_of_job(), 0);
  EXPECT_THAT(job.deeds(), IsEmpty());
}

TEST(LaunchPolicy, TheEvaluatorIsStartedAgainForItsLastEvaluation) {
  Job job;
  job.end(kEvaluator, killed(SIGKILL));
  job.end(kChief, status(0));
  job.end(kPs, status(0));
  job.end(kWorker, status(0));
  job.deeds();
  EXPECT_TRUE(job.wait(seconds(1)));
  EXPECT_THAT(job.deeds(), ElementsAre("start 3"));
  job.end(kEvaluator, status(1));
  EXPECT_TRUE(job.wait(seconds(2)));
  EXPECT_THAT(job.deeds(), ElementsAre("start 3"));
  job.end(kEvaluator, status(0));
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, ALastEvaluationThatFailsIsTheJobsStatus) {
  Job job;
  job.end(kChief, status(0));
  job.end(kEvaluator, status(4));
  EXPECT_THAT(job.said(), HasSubstr("the model is trained, but its last evaluation or an export of it is missing"));
  EXPECT_EQ(job.status_of_job(), std::nullopt);  // The others leave by themselves.
  job.end(kPs, status(0));
  job.end(kWorker, status(0));
  EXPECT_EQ(job.status_of_job(), 4);
}

TEST(LaunchPolicy, SaysThatItWaitsForTheEvaluatorAndForHowLong) {
  Job job({.stop_limit = seconds(60), .last_evaluation_limit = seconds(100)});
  job.end(kChief, status(0));
  job.end(kPs, status(0));
  job.deeds();
  ASSERT_TRUE(job.wait(seconds(10)));
  EXPECT_THAT(job.said(), HasSubstr("waiting for the evaluator's last evaluation"));
  ASSERT_TRUE(job.wait(seconds(50)));
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 2"));  // A worker that does not leave; the evaluator may take its time.
  EXPECT_THAT(job.said(), HasSubstr("have not left within 60 s: worker 0\n"));
  job.end(kWorker, killed(SIGKILL));
  job.said();
  ASSERT_TRUE(job.wait(seconds(10)));
  EXPECT_THAT(job.said(), HasSubstr("waiting for the evaluator's last evaluation"));
  ASSERT_TRUE(job.wait(seconds(30)));
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 3"));
  job.end(kEvaluator, killed(SIGKILL));
  EXPECT_EQ(job.status_of_job(), 5);
}

TEST(LaunchPolicy, ATakenPortIsNoRestart) {
  Job job({.max_restarts = 0});
  job.deeds();
  for (int i = 0; i < 3; ++i) {
    job.end(kPs, {.status = 1, .port_taken = true});
    EXPECT_THAT(job.said(), HasSubstr("ps 0 has ended, since another process listens at its address"));
    EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 0", "send 9 to 2", "send 9 to 3"));
    job.end(kChief, killed(SIGKILL));
    job.end(kEvaluator, status(1));
    EXPECT_THAT(job.deeds(), IsEmpty());
    job.end(kWorker, killed(SIGKILL));
    EXPECT_THAT(job.deeds(), ElementsAre("choose ports", "start 0", "start 1", "start 2", "start 3"));
  }
  job.end_all(status(0));
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, PortsAreNotChosenForEver) {
  Job job({.port_choices = 2});
  job.end(kPs, {.status = 1, .port_taken = true});
  for (const size_t task : {kChief, kWorker, kEvaluator}) job.end(task, killed(SIGKILL));
  job.end(kPs, {.status = 1, .port_taken = true});
  EXPECT_THAT(job.said(), HasSubstr("with each of 2 choices of ports: the job has failed"));
  for (const size_t task : {kChief, kWorker, kEvaluator}) job.end(task, status(0));
  EXPECT_EQ(job.status_of_job(), 1);
}

TEST(LaunchPolicy, AChiefThatEndsWhileOthersMoveHasTrained) {
  Job job;
  job.end(kWorker, {.status = 1, .port_taken = true});
  job.end(kChief, status(0));
  job.end(kPs, killed(SIGKILL));
  job.deeds();
  job.end(kEvaluator, killed(SIGKILL));
  EXPECT_THAT(job.deeds(), ElementsAre("choose ports", "start 3"));
  job.end(kEvaluator, status(0));
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, ChaosCountsAsNoFailure) {
  Job job({.max_restarts = 0, .chaos = Chaos{.every = seconds(10), .seed = 3}});
  job.deeds();
  for (int i = 0; i < 50; ++i) {
    EXPECT_GE(job.waiting(), seconds(5));
    ASSERT_TRUE(job.wait(seconds(15)));
    const std::vector<std::string> deeds = job.deeds();
    ASSERT_EQ(deeds.size(), 1u);
    ASSERT_TRUE(deeds[0].starts_with("send 9 to "));
    const size_t victim = size_t(deeds[0].back() - '0');
    EXPECT_TRUE(job.policy().killed_by_chaos(victim));
    job.end(victim, killed(SIGKILL));
    EXPECT_THAT(job.deeds(), ElementsAre("start " + std::to_string(victim)));
  }
  job.end(kChief, status(0));
  EXPECT_FALSE(job.wait(seconds(9))) << "none once the model is trained";
}

TEST(LaunchPolicy, ChaosCountsAsNoFailureOfAnInterruptedJobEither) {
  Job job({.chaos = Chaos{.every = seconds(10), .seed = 3}});
  job.deeds();
  job.wait(seconds(15));
  const size_t victim = size_t(job.deeds()[0].back() - '0');
  job.interrupt(SIGINT);
  for (const size_t task : {kChief, kPs, kWorker, kEvaluator}) job.end(task, task == victim ? killed(SIGKILL) : status(0));
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, AFailureOfATaskThatChaosMissedCounts) {
  Job job({.max_restarts = 0, .chaos = Chaos{.every = seconds(10), .seed = 3}});
  job.deeds();
  job.wait(seconds(15));
  const size_t victim = size_t(job.deeds()[0].back() - '0');
  job.end(victim, status(3));  // The task had ended by then.
  for (const size_t task : {kChief, kPs, kWorker, kEvaluator}) {
    if (task != victim) job.end(task, status(0));
  }
  EXPECT_EQ(job.status_of_job(), 3);
}

TEST(LaunchPolicy, ChaosIsDrawnFromItsSeed) {
  const auto victims = [](uint64_t seed) {
    Job job({.chaos = Chaos{.every = seconds(10), .seed = seed}});
    job.deeds();
    std::string text;
    for (int i = 0; i < 20; ++i) {
      job.wait(seconds(15));
      const std::string deed = job.deeds()[0];
      text += deed.back();
      job.end(size_t(deed.back() - '0'), killed(SIGKILL));
      job.deeds();
    }
    return text;
  };
  EXPECT_EQ(victims(1), victims(1));
  EXPECT_NE(victims(1), victims(2));
  for (const char task : {'0', '1', '2', '3'}) EXPECT_THAT(victims(1), HasSubstr(std::string(1, task)));
}

}  // namespace
}  // namespace shoal::cli::launch
