// SPDX-License-Identifier: Apache-2.0
// The parts of the launcher, except its policy and its processes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "fixture.h"
#include "launch/child_group.h"
#include "launch/job_tasks.h"
#include "launch/line_splitter.h"
#include "launch/lost_steps.h"
#include "launch/ports.h"
#include "launch/recoveries.h"
#include "launch/results.h"
#include "launch/task_output.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LaunchTasks, GetTheirPlacesByTfConfig) {
  const std::vector<JobTask> tasks = tasks_of({.ps = 1, .workers = 2, .evaluator = true});
  std::vector<std::string> names;
  for (const JobTask& task : tasks) names.push_back(task.name);
  EXPECT_THAT(names, ElementsAre("chief 0", "ps 0", "worker 0", "worker 1", "evaluator 0"));
  const std::vector<std::string> addresses{"127.0.0.1:100", "127.0.0.1:101", "127.0.0.1:102", "127.0.0.1:103", ""};
  const auto configs = tf_configs(tasks, addresses);
  ASSERT_TRUE(configs);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto config = cluster::parse_tf_config((*configs)[i]);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->name(), tasks[i].name);
    EXPECT_EQ(config->tasks_on_host, i == 4 ? 5 : 4);  // Tasks divide the cores by this number.
    if (tasks[i].has_address()) {
      EXPECT_EQ(config->rpc_address, addresses[i]);
    }
  }
  EXPECT_EQ(tasks_of({.master = true})[0].name, "master 0");
  EXPECT_EQ(tasks_of({.master = true})[0].role, Role::kChief);
}

TEST(LaunchTasks, RefuseAClusterThatCannotBeRun) {
  const std::vector<JobTask> tasks = tasks_of({.workers = 1});
  const std::vector<std::string> addresses{"127.0.0.1:100", "127.0.0.1:101"};
  const auto refused = tf_configs(tasks, addresses);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("no ps"));
}

TEST(LaunchTasks, RefuseADescriptionThatNoProcessCanBeGiven) {
  const std::vector<JobTask> tasks = tasks_of({.ps = 1, .workers = 8000});
  std::vector<std::string> addresses(tasks.size());
  for (size_t i = 0; i < addresses.size(); ++i) addresses[i] = "127.0.0.1:" + std::to_string(40'000 + i);
  const auto refused = tf_configs(tasks, addresses);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("8002 tasks are too many"));
}

// The environment that the launcher passes on may have a source that takes precedence over TF_CONFIG.
TEST(LaunchTasks, AreToldWhereTheirPlaceIsWritten) {
  EXPECT_THAT(variables_of("{}", {}, ""), ::testing::Contains(Variable("SHOAL_SOURCE", "TF_CONFIG")));
}

TEST(LaunchTasks, AreToldOfWhichTrialTheyArePart) {
  EXPECT_THAT(variables_of("{}", {.run = "r", .trial = "7"}, ""), ::testing::Contains(Variable("SHOAL_TRIAL", "7")));
  EXPECT_THAT(variables_of("{}", {}, ""), ::testing::Not(::testing::Contains(::testing::Key("SHOAL_TRIAL"))));
}

TEST(LaunchTasks, WordsOfAShell) {
  EXPECT_EQ(shell_word("--steps=10"), "--steps=10");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("don't"), "'don'\\''t'");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
}

TEST(LaunchLines, ComeWholeHoweverTheyArrive) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.take("a"), IsEmpty());
  EXPECT_THAT(splitter.take("b\nc\n\nd"), ElementsAre("ab", "c", ""));
  EXPECT_THAT(splitter.take("\r"), ElementsAre("d"));
  EXPECT_THAT(splitter.take("\ne\rf\r\ng"), ElementsAre("e", "f"));
  EXPECT_THAT(splitter.finish(), ElementsAre("g"));
  EXPECT_THAT(splitter.finish(), IsEmpty());
}

TEST(LaunchLines, LongOnesComeInPieces) {
  LineSplitter splitter;
  const std::string whole(2 * kLineBytesMax + 3, 'x');
  std::vector<std::string> lines;
  for (size_t at = 0; at < whole.size(); at += 1000) {
    for (std::string& line : splitter.take(whole.substr(at, 1000))) lines.push_back(std::move(line));
  }
  EXPECT_THAT(splitter.take("\n"), ElementsAre("xxx"));
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), kLineBytesMax);
  EXPECT_EQ(splitter.take(std::string(kLineBytesMax, 'y') + "\nz\n").size(), 2u);  // No empty line after the piece.
}

TEST(LaunchLines, CarryTheTasksNameAndGoToItsLogAsTheyAre) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  auto log = TaskLog::open(*storage, folder / "worker-1.log");
  ASSERT_TRUE(log);
  std::string shown;
  TextOutput to(shown);
  TaskStream stream("worker 1", to, &*log);
  stream.take("one\ntw");
  stream.take("o\nthree");
  stream.finish();
  log->flush();
  EXPECT_EQ(shown, "[worker 1] one\n[worker 1] two\n[worker 1] three\n");
  EXPECT_EQ(*storage->read_all(folder / "worker-1.log"), "one\ntwo\nthree");
}

TEST(LaunchRecoveries, SayHowOftenAndHowLong) {
  SteadyTime now{};
  Recoveries recoveries({"chief 0", "ps 0", "evaluator 0"});
  for (size_t task = 0; task < 3; ++task) recoveries.started(task, task != 2, now);
  EXPECT_THAT(recoveries.lines(), IsEmpty());
  EXPECT_FALSE(recoveries.any_awaited(now));
  recoveries.ended(1, true, now);
  recoveries.started(1, true, now += milliseconds(100));
  EXPECT_TRUE(recoveries.any_awaited(now));
  // The task was not back yet, so it has been away since the first end.
  recoveries.ended(1, false, now += milliseconds(100));
  recoveries.started(1, true, now += seconds(1));
  recoveries.listens(1, now += milliseconds(300));
  recoveries.listens(1, now += seconds(5));  // It listens on.
  recoveries.listens(0, now);
  recoveries.ended(2, false, now);
  recoveries.started(2, false, now += seconds(2));
  EXPECT_THAT(recoveries.lines(),
              ElementsAre("ps 0 was started again 2 times (1 of them after chaos); it was back after 1.5 s",
                          "evaluator 0 was started again 1 time; it was back after 2.0 s"));
}

TEST(LaunchRecoveries, DoNotWaitForEverForWhoDoesNotListen) {
  SteadyTime now{};
  Recoveries recoveries({"chief 0"});
  recoveries.started(0, true, now);
  recoveries.ended(0, false, now);
  recoveries.started(0, true, now);
  EXPECT_FALSE(recoveries.any_awaited(now += Recoveries::kAwaitedMax));
  recoveries.listens(0, now);
  EXPECT_THAT(recoveries.lines(), ElementsAre("chief 0 was started again 1 time"));
}

// Servers were lost three times: the worker was away at the second, and the chief was killed before it could report the
// third.
TEST(LaunchLostSteps, AreCountedOncePerFallOfTheGlobalStep) {
  const auto fall = [](int from, int to) {
    return "2026-11-26 W global step goes back from " + std::to_string(from) + " to " + std::to_string(to) +
           ": a server lost";
  };
  LostSteps lost(2);
  EXPECT_EQ(lost.line(), "");
  lost.heed(0, "global step goes back from here to there");
  lost.heed(0, "step 12");
  EXPECT_EQ(lost.line(), "");
  lost.heed(1, fall(11, 10));
  EXPECT_EQ(lost.line(),
            "servers lost what they held 1 time, and the job went on from a checkpoint: 1 step was made again");
  lost.heed(0, fall(12, 10));
  lost.heed(0, fall(15, 10));
  lost.heed(1, fall(36, 30));
  EXPECT_EQ(lost.line(),
            "servers lost what they held 3 times, and the job went on from a checkpoint: 13 steps were made again");
}

TEST(LaunchPorts, AreReadFromTheKernelsTables) {
  const std::string ipv4 =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
      "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
      "   2: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0\n"
      "   3: 0200000A:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
      "nonsense\n   4: 0100007F 00000000:0000 0A\n";
  const std::string ipv6 =
      "   0: 00000000000000000000000000000000:1F93 00000000000000000000000000000000:0000 0A 00000000:00000000\n"
      "   1: 00000000000000000000000001000000:1F94 00000000000000000000000000000000:0000 0A 00000000:00000000\n";
  EXPECT_THAT(listening_ports(ipv4, ipv6), ElementsAre(22, 8080, 0x1F93));
}

/// Exit statuses of the child below.
enum class Loopback { kReached = 10, kRefused = 11, kNoNamespace = 12 };

TEST(LaunchPorts, ALoopbackThatIsDownIsRefused) {
  ASSERT_TRUE(check_loopback());
  // A network namespace of its own, whose loopback interface is down.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Loopback seen = Loopback::kNoNamespace;
    if (::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
      const auto checked = check_loopback();
      const bool says = !checked && checked.error().kind() == ErrorKind::kFailedPrecondition &&
                        checked.error().message().find(
                            "Network is unreachable; is its loopback interface down? As root, "
                            "`ip link set lo up` starts it") != std::string::npos;
      seen = says ? Loopback::kRefused : Loopback::kReached;
    }
    ::_exit(int(seen));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == int(Loopback::kNoNamespace))
    GTEST_SKIP() << "this system lets nobody make a network namespace";
  EXPECT_EQ(WEXITSTATUS(status), int(Loopback::kRefused));
}

/// Binds a socket with SO_REUSEADDR, as tasks do, and listens. Returns whether that succeeded.
bool listen_at(int socket, uint16_t port) {
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(socket, 1) == 0;
}

TEST(LaunchPorts, AreKeptForTasksThatListen) {
  auto port = ReservedPort::on_loopback();
  ASSERT_TRUE(port);
  EXPECT_FALSE(listening_ports().contains(port->number()));
  const int task = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
            other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_TRUE(listen_at(task, port->number()));
  EXPECT_TRUE(listening_ports().contains(port->number()));
  EXPECT_FALSE(listen_at(other, port->number()));
  ::close(task);
  ::close(other);
}

TEST(LaunchPorts, AreAllDifferent) {
  std::vector<ReservedPort> ports;
  std::set<uint16_t> numbers;
  for (int i = 0; i < 300; ++i) {
    auto port = ReservedPort::on_loopback();
    ASSERT_TRUE(port);
    numbers.insert(port->number());
    ports.push_back(std::move(*port));
  }
  EXPECT_EQ(numbers.size(), 300u);
}

TEST(LaunchGroup, AProgramThatIsBeingWrittenMayRunLater) {
  const TemporaryFolder folder;
  const std::string file = folder.write("program", "#!/bin/sh\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  const Program program{.file = file, .command = {file}, .environment = {}};
  {
    const std::ofstream writer(file, std::ios::app);
    const auto refused = ChildGroup::start(program);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable) << refused.error().message();
  }
  EXPECT_TRUE(ChildGroup::start(program));
  std::filesystem::remove(file);
  const auto missing = ChildGroup::start(program);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kFailedPrecondition);
}

TEST(LaunchResults, AreThoseOfAllTasks) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::vector<std::string> files{
      folder.write("chief-0", R"({"global_step": 200, "examples_per_second": 10.5, "seconds": 3.0})"),
      folder.write("worker-0", R"({"global_step": 199, "examples_per_second": 4.5, "seconds": 4.0})"),
      folder.write("evaluator-0", R"({"accuracy": 0.98765, "loss": 0.5, "errors": 12, "global_step": 200})"),
      folder.write("damaged", "{\"accuracy\": "),
      folder.write("list", "[1]"),
      folder / "none"};
  const JobResults results = results_of(*storage, files);
  EXPECT_EQ(results.json.dump(),
            R"({"accuracy":0.98765,"loss":0.5,"errors":12,"global_step":200,"examples_per_second":15.0,"seconds":4.0})");
  EXPECT_EQ(results_text(results), "Evaluated at global step 200: accuracy 0.9877, loss 0.5, errors 12");
  EXPECT_EQ(results_text(results_of(*storage, std::span(files).first(2))), "");
  EXPECT_EQ(results_text({}), "");
}

TEST(LaunchResults, SayThatTheJobWasInterrupted) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::vector<std::string> files{
      folder.write("chief-0", R"({"global_step": 200, "examples_per_second": 10.5, "seconds": 3.0, "interrupted": true})"),
      folder.write("worker-0", R"({"global_step": 199, "examples_per_second": 4.5, "seconds": 4.0, "interrupted": true})"),
      folder.write("evaluator-0", R"({"accuracy": 0.5, "global_step": 100})")};
  EXPECT_EQ(results_text(results_of(*storage, files)), "Interrupted at global step 200; the last evaluation: accuracy 0.5");
  EXPECT_EQ(results_text(results_of(*storage, std::span(files).first(2))), "Interrupted at global step 200");
}

TEST(LaunchResults, AreThoseOfTasksThatDidNotFail) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::vector<std::string> files{
      folder.write("chief-0", R"({"status": "complete", "global_step": 200, "last": {"loss": 0.75}, "trial": "3"})"),
      folder.write("worker-0", R"({"status": "failed", "error": "no disk", "global_step": 900, "accuracy": 0.1})"),
      folder.write("evaluator-0",
                   R"({"status": "complete", "loss": 0.5, "last": {"loss": 0.5}, "export": "m/export/best/1"})")};
  EXPECT_EQ(results_of(*storage, files).json,
            json::parse_in_order(R"({"loss": 0.5, "status": "complete", "global_step": 200,
      "last": {"loss": 0.5}, "trial": "3", "export": "m/export/best/1"})"));
  EXPECT_EQ(failure_of(*storage, files[0]), std::nullopt);
  EXPECT_EQ(failure_of(*storage, files[1]), "no disk");
  EXPECT_EQ(failure_of(*storage, folder / "none"), std::nullopt);
  for (const char* odd :
       {"[1]", R"({"status": "failed"})", R"({"status": "failed", "error": 3})", R"({"status": 7, "error": "x"})"}) {
    EXPECT_EQ(failure_of(*storage, folder.write("odd", odd)), std::nullopt) << odd;
  }
}

TEST(LaunchResults, OfAnInterruptedOrFailedJobSaySo) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::vector<std::string> files{
      folder.write("chief-0", R"({"status": "interrupted", "interrupted": true, "global_step": 5})"),
      folder.write("evaluator-0", R"({"status": "complete", "loss": 0.5})")};
  const Json results = results_of(*storage, files).json;
  EXPECT_EQ(results["status"], "interrupted");
  EXPECT_EQ(failed_results(results, "chief 0: why"),
            json::parse_in_order(R"({"loss": 0.5, "status": "failed", "global_step": 5, "error": "chief 0: why"})"));
}

TEST(LaunchResults, WhatSaysOfWhichRunTheyAreIsNoResult) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::vector<std::string> files{
      folder.write("chief-0",
                   R"({"global_step": 200, "model_dir": "m", "flags": {"batch": 8}, "seed": 7, "version": "0.1.0"})"),
      folder.write(
          "evaluator-0",
          R"({"loss": 0.5, "global_step": 200, "best": {"loss": 0.25}, "model_dir": "m", "seed": 7, "version": "0.1.0"})")};
  const JobResults results = results_of(*storage, files);
  EXPECT_EQ(results_text(results), "Evaluated at global step 200: loss 0.5");
  EXPECT_EQ(results.json["best"]["loss"], 0.25);
  EXPECT_EQ(results.json["model_dir"], "m");
  EXPECT_EQ(results.json["flags"]["batch"], 8);
  EXPECT_EQ(results.json["seed"], 7);
}

// Nothing was left to train: the chief alone reports the flags of the start that trained.
TEST(LaunchResults, HaveTheFlagsOfTheLeader) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::string others = R"({"flags": {"steps": 200}, "seed": 9, "version": "0.2.0", "loss": 0.5, "global_step": 301})";
  const std::vector<std::string> files{
      folder.write("chief-0", R"({"status": "complete", "flags": {"steps": 300}, "seed": 7, "version": "0.1.0"})"),
      folder.write("worker-0", others), folder.write("evaluator-0", others)};
  const Json results = results_of(*storage, files).json;
  EXPECT_EQ(results["flags"]["steps"], 300);
  EXPECT_EQ(results["seed"], 7);
  EXPECT_EQ(results["version"], "0.1.0");
  EXPECT_EQ(results["loss"], 0.5);
  const Json leaderless = results_of(*storage, std::vector<std::string>{folder / "none", files[2]}).json;
  EXPECT_EQ(leaderless["flags"]["steps"], 200);
  // A chief that failed knows these, too.
  folder.write("chief-0", R"({"status": "failed", "error": "no disk", "flags": {"steps": 300}, "seed": 7})");
  EXPECT_EQ(results_of(*storage, files).json["flags"]["steps"], 300);
}

TEST(LaunchResults, HaveTheStatusOfTheLeader) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const std::string interrupted = R"({"status": "interrupted", "interrupted": true, "global_step": 200})";
  const std::string complete = R"({"status": "complete", "global_step": 600})";
  const auto results = [&](const std::string& chief, const std::string& worker) {
    return results_of(*storage, std::vector<std::string>{folder.write("chief-0", chief), folder.write("worker-0", worker)});
  };
  const JobResults of_complete = results(complete, interrupted);
  EXPECT_EQ(of_complete.json, json::parse_in_order(complete));
  EXPECT_EQ(results_text(of_complete), "");
  EXPECT_EQ(results(interrupted, complete).json["status"], "interrupted");
  EXPECT_EQ(results_text(results(interrupted, complete)), "Interrupted at global step 600");
  EXPECT_EQ(results("", interrupted).json["status"], "interrupted");  // The chief could not report anything.
  EXPECT_EQ(interrupted_results(Json::object()), json::parse_in_order(R"({"status": "interrupted", "interrupted": true})"));
}

// A signal to the evaluator alone ended it early.
TEST(LaunchResults, SayWhichStepWasEvaluated) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const auto results = [&](const std::string& chief, const std::string& evaluator) {
    return results_of(*storage,
                      std::vector<std::string>{folder.write("chief-0", chief), folder.write("evaluator-0", evaluator)});
  };
  const auto unevaluated = [&](const std::string& chief, const std::string& evaluator) {
    return unevaluated_text(results(chief, evaluator), "evaluator 0");
  };
  const std::string complete = R"({"status": "complete", "global_step": 601})";
  const std::string early =
      R"({"loss": 0.5, "global_step": 0, "status": "complete", "last": {"loss": 0.5, "global_step": 0}})";
  const std::string last = R"({"loss": 0.5, "global_step": 601})";
  EXPECT_EQ(results_text(results(complete, early)), "Evaluated at global step 0: loss 0.5");
  EXPECT_EQ(results(complete, early).json["global_step"], 601);
  EXPECT_EQ(
      unevaluated(complete, early),
      "global step 601, where training ended, was not evaluated; evaluator 0 ended after it had evaluated global step 0");
  EXPECT_EQ(unevaluated(complete, R"({"status": "complete"})"),
            "global step 601, where training ended, was not evaluated; evaluator 0 ended before it had evaluated anything");
  EXPECT_EQ(unevaluated(complete, last), "");
  EXPECT_EQ(unevaluated("", early), "");
  EXPECT_EQ(unevaluated(R"({"status": "interrupted", "interrupted": true, "global_step": 601})", early), "");
  // An earlier start evaluated the last step.
  EXPECT_EQ(unevaluated(R"({"status": "complete", "global_step": 601, "last": {"global_step": 601}})", "{}"), "");
  // In the report of a master, `last` says which step was evaluated.
  const std::string master = R"({"loss": 0.5, "global_step": 601, "last": {"loss": 0.5, "global_step": 300}})";
  EXPECT_EQ(results_text(results(master, "")), "Evaluated at global step 300: loss 0.5");
}

}  // namespace
}  // namespace shoal::cli::launch
