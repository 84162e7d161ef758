// SPDX-License-Identifier: Apache-2.0
// The policy of a job that a signal asks to end (CONTRACT FA-12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy_job.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// The user's signal arrives before a task, whose process has just been started, has set its handler: the signal kills it.
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

// The signal comes while the tasks start: no trainer has reached the server yet, which gives up before they end with 0.
TEST(LaunchPolicy, AServerThatGivesUpDoesNotDecideTheStatusOfAnInterruptedJob) {
  for (const bool server_first : {true, false}) {
    for (const bool leaves : {true, false}) {
      Job job({.terminate_means_leave = leaves});
      job.interrupt(SIGTERM);
      job.said();
      if (server_first) job.end(kPs, status(1));
      for (const size_t task : {kWorker, kChief, kEvaluator}) job.end(task, status(0));
      if (!server_first) job.end(kPs, status(1));
      EXPECT_EQ(job.status_of_job(), 0);
      EXPECT_EQ(job.said(), "");
    }
  }
  Job lost;  // The server took the model with it, so the chief could not save.
  lost.interrupt(SIGTERM);
  lost.end(kPs, status(1));
  for (const size_t task : {kWorker, kEvaluator}) lost.end(task, status(0));
  lost.end(kChief, status(1));
  EXPECT_EQ(lost.status_of_job(), 1);
  Job broken;  // Damaged data is no wait in vain.
  broken.interrupt(SIGTERM);
  broken.end(kPs, status(4));
  for (const size_t task : {kWorker, kChief, kEvaluator}) broken.end(task, status(0));
  EXPECT_EQ(broken.status_of_job(), 4);
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

}  // namespace
}  // namespace shoal::cli::launch
