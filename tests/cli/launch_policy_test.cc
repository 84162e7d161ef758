// SPDX-License-Identifier: Apache-2.0
// The policy of a job when its tasks end, without processes and without time passing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "launch/policy.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kChief = 0, kPs = 1, kWorker = 2, kEvaluator = 3;

Ending status(int number) { return {.status = number}; }
Ending killed(int signal) { return {.signal = signal}; }

/// A job of one task of each role, at a time that the test sets.
class Job {
 public:
  explicit Job(PolicyOptions options = {})
      : policy_({{"chief 0", Role::kChief},
                 {"ps 0", Role::kServer},
                 {"worker 0", Role::kWorker},
                 {"evaluator 0", Role::kEvaluator}},
                options) {
    keep(policy_.begin(now_));
  }

  /// The actions and sentences since the last call.
  std::vector<std::string> deeds() { return std::exchange(deeds_, {}); }
  std::string said() { return std::exchange(said_, {}); }

  void end(size_t task, const Ending& ending) { keep(policy_.ended(task, ending, now_)); }
  void end_all(const Ending& ending) {
    for (const size_t task : {kChief, kPs, kWorker, kEvaluator}) end(task, ending);
  }
  void interrupt(int signal) { keep(policy_.interrupted(signal, now_)); }
  /// Goes to the next time at which something happens; false if there is none within `limit`.
  bool wait(Duration limit) {
    const auto next = policy_.next_time();
    if (!next || *next > now_ + limit) return false;
    now_ = *next;
    keep(policy_.time_passed(now_));
    return true;
  }
  void pass(Duration time) { now_ += time; }
  Duration waiting() const { return *policy_.next_time() - now_; }
  std::optional<int> status_of_job() const { return policy_.status(); }
  const JobPolicy& policy() const { return policy_; }

 private:
  void keep(const Actions& actions) {
    for (const Action& action : actions) {
      if (const auto* start = std::get_if<Start>(&action)) deeds_.push_back("start " + std::to_string(start->task));
      if (const auto* send = std::get_if<Send>(&action))
        deeds_.push_back("send " + std::to_string(send->signal) + " to " + std::to_string(send->task));
      if (std::holds_alternative<ChoosePorts>(action)) deeds_.emplace_back("choose ports");
      if (const auto* say = std::get_if<Say>(&action)) said_ += say->text + "\n";
    }
  }

  SteadyTime now_{};
  JobPolicy policy_;
  std::vector<std::string> deeds_;
  std::string said_;
};

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

TEST(LaunchPolicy, PassesASignalOnAndEndsWithZeroIfTheTasksDo) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Job job;
    job.end(kWorker, status(1));  // The worker waits to be started again, and is not started.
    job.deeds();
    job.interrupt(signal);
    const std::string send = "send " + std::to_string(signal) + " to ";
    EXPECT_THAT(job.deeds(), ElementsAre(send + "0", send + "1", send + "3"));
    for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, status(0));
    EXPECT_EQ(job.status_of_job(), 0);
    EXPECT_THAT(job.deeds(), IsEmpty());
  }
}

TEST(LaunchPolicy, AnInterruptedJobRestartsNothingAndTellsOfAFailure) {
  Job job;
  job.deeds();
  job.interrupt(SIGTERM);
  job.deeds();
  job.said();
  job.end(kWorker, status(0));
  EXPECT_EQ(job.said(), "");
  job.end(kChief, status(5));
  EXPECT_EQ(job.said(), "chief 0 ended with status 5\n");
  job.end(kEvaluator, status(0));
  EXPECT_EQ(job.waiting(), PolicyOptions().servers_alone);
  job.end(kPs, status(1));
  EXPECT_EQ(job.status_of_job(), 5);
  EXPECT_THAT(job.deeds(), IsEmpty());
}

// The signal comes while a task starts and cannot handle it yet.
TEST(LaunchPolicy, WhoDiesOfTheSignalThatAsksItToLeaveHasLeft) {
  for (const size_t task : {kPs, kWorker, kChief}) {
    Job job;
    job.deeds();
    job.interrupt(SIGINT);
    job.said();
    for (const size_t other : {kPs, kWorker, kChief, kEvaluator}) {
      job.end(other, other == task ? killed(SIGTERM) : status(0));  // Over ssh it is always SIGTERM.
    }
    EXPECT_EQ(job.status_of_job(), 0);
    EXPECT_EQ(job.policy().trained(), task != kChief);
    EXPECT_EQ(job.said(), "");
  }
}

TEST(LaunchPolicy, AChiefThatTrainsAndDiesOfTheSignalHasFailed) {
  Job job;
  job.interrupt(SIGTERM);
  job.said();
  for (const size_t task : {kPs, kWorker, kEvaluator}) job.end(task, status(0));
  job.end(kChief, {.signal = SIGTERM, .was_at_work = true});
  EXPECT_EQ(job.status_of_job(), 1);
  EXPECT_EQ(job.said(), "chief 0 was ended by signal 15 (Terminated)\n");
}

// The server handles signals already, and waits for a chief that did not yet.
TEST(LaunchPolicy, AServerWhoseChiefDiedOfTheSignalHasNothingToLose) {
  for (const Ending& ending : {status(1), killed(SIGKILL)}) {
    Job job;
    job.interrupt(SIGTERM);
    job.end(kChief, killed(SIGTERM));
    job.end(kWorker, status(0));
    job.end(kEvaluator, status(0));
    job.end(kPs, ending);
    EXPECT_EQ(job.status_of_job(), 0);
  }
}

// CONTRACT FA-12: SIGTERM means that this launcher will be started again as well.
TEST(LaunchPolicy, AJobThatGivesWayEndsWith143) {
  Job job({.terminate_means_leave = true});
  job.end(kWorker, killed(SIGKILL));  // The worker waits to be started again, and is not started.
  job.deeds();
  job.interrupt(SIGTERM);
  EXPECT_THAT(job.deeds(), ElementsAre("send 15 to 0", "send 15 to 1", "send 15 to 3"));
  job.end(kChief, status(143));
  EXPECT_EQ(job.waiting(), PolicyOptions().stop_limit);  // Servers take the time that they need.
  job.end(kPs, killed(SIGTERM));                         // The task could not handle a signal yet.
  EXPECT_EQ(job.status_of_job(), std::nullopt);
  job.end(kEvaluator, status(143));
  EXPECT_EQ(job.status_of_job(), 143);
  EXPECT_THAT(job.deeds(), IsEmpty());
}

TEST(LaunchPolicy, ACtrlCEndsAJobWhateverSigtermMeans) {
  Job job({.terminate_means_leave = true});
  job.deeds();
  job.interrupt(SIGINT);
  job.end_all(status(0));
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, AFailureIsToldThoughOthersGaveWay) {
  Job job({.terminate_means_leave = true});
  job.interrupt(SIGTERM);
  job.end(kWorker, status(143));
  job.end(kChief, status(4));
  job.end(kPs, status(143));
  job.end(kEvaluator, status(143));
  EXPECT_EQ(job.status_of_job(), 4);
}

TEST(LaunchPolicy, AJobThatIsCompleteHasNothingLeftForAnotherStart) {
  Job job({.terminate_means_leave = true});
  job.interrupt(SIGTERM);
  job.end(kWorker, status(143));
  for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, status(0));
  EXPECT_EQ(job.status_of_job(), 0);
}

TEST(LaunchPolicy, AnEvaluationThatWasDroppedIsLeftForTheNextStart) {
  Job job({.terminate_means_leave = true});
  for (const size_t task : {kChief, kPs, kWorker}) job.end(task, status(0));
  job.interrupt(SIGTERM);
  job.end(kEvaluator, status(143));
  EXPECT_EQ(job.status_of_job(), 143);
}

// The SIGTERM does not come from the launcher and is no fault of the task, so it uses up no restart.
TEST(LaunchPolicy, ATaskThatGaveWayIsStartedAgainHoweverOften) {
  Job job({.max_restarts = 0, .first_wait = seconds(1), .longest_wait = seconds(4)});
  job.deeds();
  for (const int wait : {1, 2, 4, 4, 4, 4, 4}) {
    job.end(kPs, status(143));
    EXPECT_EQ(job.waiting(), seconds(wait));
    EXPECT_THAT(job.said(), HasSubstr("ps 0 gave way to a signal (status 143); it is started again in"));
    ASSERT_TRUE(job.wait(seconds(wait)));
    EXPECT_THAT(job.deeds(), ElementsAre("start 1"));
  }
  job.end(kPs, status(1));
  EXPECT_THAT(job.said(), HasSubstr("ps 0 ended with status 1 after 0 restarts"));
}

TEST(LaunchPolicy, ASecondSignalEndsAtOnce) {
  Job job;
  job.deeds();
  job.interrupt(SIGTERM);
  job.end(kWorker, status(0));
  job.deeds();
  job.pass(milliseconds(499));
  // The request comes twice: from a process that passes a signal on, and from the sender that signals all processes of a
  // service.
  job.interrupt(SIGTERM);
  EXPECT_THAT(job.deeds(), IsEmpty());
  job.pass(milliseconds(1));
  job.interrupt(SIGINT);
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 0", "send 9 to 1", "send 9 to 3"));
  for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, killed(SIGKILL));
  EXPECT_EQ(job.status_of_job(), 128 + SIGINT);
}

// The chief is saving already, and a further SIGTERM would end it at once.
TEST(LaunchPolicy, TheFirstSignalOfAJobThatFailsKillsNobody) {
  Job job;
  job.end(kWorker, status(3));
  job.deeds();
  job.said();
  job.interrupt(SIGINT);
  EXPECT_THAT(job.deeds(), IsEmpty());
  EXPECT_THAT(job.said(), HasSubstr("asked to leave already"));
  EXPECT_EQ(job.waiting(), PolicyOptions().stop_limit);
  job.pass(seconds(1));
  job.interrupt(SIGINT);
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 0", "send 9 to 1", "send 9 to 3"));
  for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, killed(SIGKILL));
  EXPECT_EQ(job.status_of_job(), 3);
}

TEST(LaunchPolicy, KillsWhoHeedsNoSignal) {
  Job job({.stop_limit = seconds(7)});
  job.interrupt(SIGTERM);
  job.deeds();
  ASSERT_TRUE(job.wait(seconds(7)));
  EXPECT_THAT(job.deeds(), ElementsAre("send 9 to 0", "send 9 to 1", "send 9 to 2", "send 9 to 3"));
  job.said();
  job.end_all(killed(SIGKILL));
  EXPECT_EQ(job.said(), "");  // The launcher has said already whom it kills.
  EXPECT_EQ(job.status_of_job(), 1);
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

TEST(LaunchPolicy, ASignalWhilePortsAreChosenEndsTheJob) {
  Job job;
  job.end(kWorker, {.status = 1, .port_taken = true});
  job.interrupt(SIGINT);
  job.deeds();
  job.said();
  for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, killed(SIGKILL));
  EXPECT_THAT(job.deeds(), IsEmpty());
  EXPECT_EQ(job.said(), "");
  EXPECT_EQ(job.status_of_job(), 0);  // The launcher itself has killed them, to choose ports.
}

TEST(LaunchPolicy, ASignalThatMeansLeaveGivesWayWhilePortsAreChosen) {
  Job job({.terminate_means_leave = true});
  job.end(kWorker, {.status = 1, .port_taken = true});
  job.interrupt(SIGTERM);
  for (const size_t task : {kChief, kPs, kEvaluator}) job.end(task, killed(SIGKILL));
  EXPECT_EQ(job.status_of_job(), 143);
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

TEST(LaunchPolicy, ASignalBeforeTheBeginStartsNoTask) {
  const auto status_of = [](bool terminate_means_leave, int signal) {
    JobPolicy policy({{"chief 0", Role::kChief}}, {.terminate_means_leave = terminate_means_leave});
    const Actions actions = policy.interrupted_before_begin(signal);
    EXPECT_EQ(actions.size(), 1u);
    EXPECT_EQ(std::get<Say>(actions.at(0)).text, "a signal: no task was started");
    return policy.status();
  };
  EXPECT_EQ(status_of(false, SIGTERM), 0);
  EXPECT_EQ(status_of(true, SIGINT), 0);
  EXPECT_EQ(status_of(true, SIGTERM), 143);  // The same command goes on later.
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
