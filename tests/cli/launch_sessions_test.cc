// SPDX-License-Identifier: Apache-2.0
// Both ends of sessions. The far ends run in this machine's shell, without ssh.
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "fixture.h"
#include "launch/hosts/scripts.h"
#include "launch/hosts/sessions.h"
#include "launch/task_process.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kMark = "@@mark";
constexpr Duration kTestLimit = seconds(60);

/// The command that ssh would run for a script. It leads a group of processes, as it does under sshd. `shell` stands for
/// /bin/sh.
Program shell_for(const std::string& script, const std::string& shell = "/bin/sh") {
  std::string command = bootstrap(script.size());
  command.replace(command.find("/bin/sh"), 7, shell);
  return {.file = "/bin/sh",
          .command = {"sh", "-c", std::move(command)},
          .environment = environment_without("SHOAL_"),
          .reads_input = true};
}

std::vector<std::string> names_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_alive(pid_t process) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), text);
  const size_t state = text.rfind(") ");
  // A zombie has ended, but no process has asked for its status.
  return state != std::string::npos && text[state + 2] != 'Z';
}

class LaunchSupervision : public ::testing::Test {
 protected:
  Supervision running(std::vector<std::string> command) const {
    return {.mark = kMark,
            .folder = folder_ / "",
            .work_folder = folder_ / "",
            .task = "worker-1",
            .command = std::move(command)};
  }
  Supervision running_script(const std::string& text) const { return running({"sh", "-c", text}); }

  TaskProcess start(const Supervision& supervision) {
    std::string script = supervising_script(supervision);
    auto group = ChildGroup::start(shell_for(script, shell_));
    SessionLink link(std::move(group->input()), std::move(script), kMark, steady_now());
    link.write();
    return TaskProcess(std::move(*group), TaskStream("worker 1", to_output_, nullptr),
                       TaskStream("worker 1", to_errors_, nullptr), std::move(link));
  }

  /// Reads and writes once, as the launcher does in each of its turns.
  static void turn(TaskProcess& process) {
    const std::vector<int> readers{process.group().output().number(), process.group().errors().number()};
    const std::vector<int> writers{process.waits_to_write()};
    const std::vector<bool> ready = wait_for_input(readers, steady_now() + std::chrono::milliseconds(20), writers);
    process.write();
    process.read(ready[0], ready[1]);
    process.group().look();
  }

  void turn_until(TaskProcess& process, const std::string& output) {
    const SteadyTime limit = steady_now() + kTestLimit;
    while (output_.find(output) == std::string::npos && steady_now() < limit) turn(process);
    EXPECT_THAT(output_, HasSubstr(output));
  }

  Ending end_of(TaskProcess& process) {
    const SteadyTime limit = steady_now() + kTestLimit;
    while (!process.group().program_status() && steady_now() < limit) turn(process);
    EXPECT_TRUE(process.group().program_status()) << "a supervised task does not end";
    process.read_rest();
    return process.ending();
  }

  Ending run(const Supervision& supervision) {
    TaskProcess process = start(supervision);
    return end_of(process);
  }

  const TemporaryFolder folder_;
  const OrphanAdoption adoption_;
  std::string shell_ = "/bin/sh";
  std::string output_, errors_;
  TextOutput to_output_{output_}, to_errors_{errors_};
};

TEST_F(LaunchSupervision, WordsArriveAsTheyAre) {
  const std::vector<std::string> hostile{"two words", "it's", "\"", "$HOME `id` $(id)", "a\nb",
                                         "\\",        "",     "*",  "; exit 1 #",       "!x"};
  Supervision supervision = running_script("printf '<%s>' \"$@\" \"$HOSTILE\"; pwd");
  supervision.command.push_back("-");
  supervision.command.insert(supervision.command.end(), hostile.begin(), hostile.end());
  supervision.variables.emplace_back("HOSTILE", "'\n$x'");
  EXPECT_TRUE(run(supervision).clean()) << errors_;
  EXPECT_EQ(output_,
            "[worker 1] <two words><it's><\"><$HOME `id` $(id)><a\n[worker 1] b><\\><><*><; exit 1 #><!x><'\n"
            "[worker 1] $x'>" +
                std::filesystem::canonical(folder_ / "").string() + "\n");
}

TEST_F(LaunchSupervision, SaysHowItEnded) {
  EXPECT_EQ(run(running_script("exit 3")).status, 3);
  EXPECT_EQ(run(running_script("exit 255")).status, 255);
  EXPECT_EQ(run(running_script("kill -9 $$")).signal, SIGKILL);
  EXPECT_EQ(run(running({"/no/such/program"})).status, 127);
  EXPECT_FALSE(run(running_script("exit 3")).connection_lost);
  EXPECT_THAT(names_in(folder_), IsEmpty());
}

TEST_F(LaunchSupervision, BringsResults) {
  TaskProcess process = start(running_script("printf '{\"loss\":\\n0.5}\\n' > worker-1.json; printf 'no end'"));
  EXPECT_TRUE(end_of(process).clean());
  EXPECT_EQ(process.report(), "{\"loss\":0.5}");
  EXPECT_EQ(output_, "[worker 1] no end\n");
}

TEST_F(LaunchSupervision, PassesSignalsOn) {
  TaskProcess process = start(running_script("trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.05; done"));
  turn_until(process, "ready");
  process.send(SIGINT, steady_now());
  EXPECT_TRUE(end_of(process).clean());
  EXPECT_THAT(output_, HasSubstr("told"));
}

// The shells receive the word and notice the program's end at the same time.
TEST_F(LaunchSupervision, KnowsTheStatusOfWhatEndsWhileItIsToldTo) {
  // bash is /bin/sh in many places, and loses such a status more easily than dash, which is Debian's.
  if (std::filesystem::exists("/bin/bash")) shell_ = "/bin/bash";
  for (int i = 0; i < 40; ++i) {
    TaskProcess process = start(running_script("echo ready" + std::to_string(i) + "; exec sleep 1000"));
    turn_until(process, "ready" + std::to_string(i) + "\n");
    process.send(SIGTERM, steady_now());
    EXPECT_EQ(end_of(process).signal, SIGTERM);
  }
}

TEST_F(LaunchSupervision, KillsWhatHeedsNothingAndWhatItHasStarted) {
  TaskProcess process =
      start(running_script("trap '' TERM; sleep 1000 & echo child $!; echo ready; while :; do sleep 0.05; done"));
  turn_until(process, "ready");
  process.send(SIGTERM, steady_now());
  process.send(SIGKILL, steady_now());
  EXPECT_EQ(end_of(process).signal, SIGKILL);
  const std::string text = output_;
  const pid_t child = std::stoi(text.substr(text.find("child ") + 6));
  for (const SteadyTime limit = steady_now() + kTestLimit; is_alive(child) && steady_now() < limit;) turn(process);
  EXPECT_FALSE(is_alive(child));
}

TEST_F(LaunchSupervision, WhoIsNotSpokenToIsKilled) {
  Supervision supervision = running_script("exec sleep 1000");
  supervision.silent_looks = 1;
  EXPECT_EQ(run(supervision).signal, SIGKILL);
}

TEST_F(LaunchSupervision, ReplacesWhatACutSessionHasLeft) {
  TaskProcess first = start(running_script("echo ready; exec sleep 1000"));
  turn_until(first, "ready");
  EXPECT_THAT(names_in(folder_), ElementsAre("worker-1.notes"));
  TaskProcess second = start(running_script("echo second"));
  EXPECT_TRUE(end_of(second).clean());
  EXPECT_TRUE(end_of(first).connection_lost);  // Its shell did not come to report anything.
}

TEST_F(LaunchSupervision, LeavesAProcessAloneThatOnlyHasTheSameNumber) {
  auto bystander = ChildGroup::start({.file = "/bin/sleep", .command = {"sleep", "1000"}, .environment = {}});
  folder_.write("worker-1.notes", std::to_string(bystander->id()) + " 1\n");
  EXPECT_TRUE(run(running_script("exit 0")).clean());
  EXPECT_TRUE(is_alive(bystander->id()));
}

TEST_F(LaunchSupervision, SaysWhatKeptItFromBeginning) {
  Supervision supervision = running_script("exit 0");
  supervision.work_folder = "/no/such";
  TaskProcess process = start(supervision);
  const Ending ending = end_of(process);
  EXPECT_EQ(ending.status, 1);
  EXPECT_FALSE(ending.connection_lost);
  EXPECT_EQ(process.complaint(), "there is no folder /no/such any more");
}

TEST_F(LaunchSupervision, AScriptThatIsCutOffDoesNothing) {
  std::string script = supervising_script(running_script("echo it ran"));
  const Program shell = shell_for(script);
  script.resize(script.size() - 20);
  auto group = ChildGroup::start(shell);
  SessionLink link(std::move(group->input()), std::move(script), kMark, steady_now());
  link.write();
  { const SessionLink ends_input = std::move(link); }
  TaskProcess process(std::move(*group), TaskStream("worker 1", to_output_, nullptr),
                      TaskStream("worker 1", to_errors_, nullptr));
  end_of(process);
  EXPECT_EQ(output_, "");
}

// Short sessions.

class LaunchPreparation : public ::testing::Test {
 protected:
  Preparation preparation() const {
    return {.mark = kMark, .folder = folder_ / "job", .work_folder = folder_ / "", .program = "sh"};
  }
  SessionOutcome prepare(const Preparation& preparation, std::string_view file = {}) {
    return run(preparing_script(preparation), file);
  }
  SessionOutcome run(const std::string& script, std::string_view file = {}, Duration patience = kTestLimit) {
    auto inbox = SignalInbox::open();
    const std::vector<Session> sessions{{.program = shell_for(script), .mark = kMark, .script = script, .file = file}};
    return run_sessions(sessions, patience, *inbox)->front();
  }
  const TemporaryFolder folder_;
  const OrphanAdoption adoption_;
};

TEST_F(LaunchPreparation, MakesAFolderAndSaysWhichPortsAreInUse) {
  Preparation with_names = preparation();
  with_names.addresses = {"localhost", "no-such-host.invalid"};
  const SessionOutcome outcome = prepare(with_names);
  EXPECT_EQ(outcome.said_of("ready"), "");
  EXPECT_TRUE(outcome.said_of("taken"));
  EXPECT_THAT(outcome.said, ::testing::Contains("address localhost 127.0.0.1"));
  EXPECT_THAT(outcome.said, ::testing::Contains(StartsWith("address no-such-host.invalid")));
  EXPECT_THAT(names_in(folder_), ElementsAre("job"));
  EXPECT_EQ(run(cleaning_script(kMark, folder_ / "job")).said_of("removed"), "");
  EXPECT_THAT(names_in(folder_), IsEmpty());
}

TEST_F(LaunchPreparation, TakesNoFolderThatIsThere) {
  std::filesystem::create_directory(folder_ / "job");
  EXPECT_THAT(prepare(preparation()).said_of("failed").value_or(""), HasSubstr("File exists"));
}

TEST_F(LaunchPreparation, ReceivesAProgramOfAnySize) {
  const std::string program = "#!/bin/sh\n" + std::string(3'000'000, '#');
  Preparation with_copy = preparation();
  with_copy.copy_name = "it's";
  with_copy.copy_sum = "damaged";
  EXPECT_THAT(prepare(with_copy, program).said_of("failed").value_or(""),
              StartsWith("the program has arrived damaged (cksum "));
  EXPECT_THAT(names_in(folder_), IsEmpty());
  auto sum = prepare(with_copy, program).said_of("failed").value_or("");
  sum = sum.substr(sum.find("cksum ") + 6);
  with_copy.copy_sum = sum.substr(0, sum.find(','));
  EXPECT_TRUE(prepare(with_copy, program).said_of("ready"));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "job/it's"), program.size());
}

TEST_F(LaunchPreparation, KnowsWhetherTheProgramIsThere) {
  Preparation without = preparation();
  without.program = "no-such-program";
  EXPECT_THAT(prepare(without).said_of("failed").value_or(""), HasSubstr("no-such-program: there is no such program"));
  without.program = "./sh";
  EXPECT_TRUE(prepare(without).said_of("failed"));
  EXPECT_THAT(names_in(folder_), IsEmpty());
}

TEST_F(LaunchPreparation, IsNotWaitedForForEver) {
  const SessionOutcome outcome = run("exec sleep 1000", {}, std::chrono::milliseconds(100));
  EXPECT_FALSE(outcome.in_time);
}

// Near ends.

TEST(LaunchSessionLink, IsLostWithoutAWord) {
  SessionLink link({}, "", kMark, {});
  link.take("@@mark begun 7\n");
  EXPECT_TRUE(link.ending().connection_lost);
  EXPECT_EQ(link.ending().exit_status(), 1);
  EXPECT_FALSE(link.ending().clean());
  EXPECT_TRUE(link.send(SIGKILL, {}));
  EXPECT_EQ(link.ending().signal, SIGKILL);
  EXPECT_FALSE(link.time_passed(SteadyTime() + SessionLink::kKillLimit));  // The session itself is to be killed.
  link.take("@@mark ended 1 taken\n");
  EXPECT_EQ(link.ending().status, 1);
  EXPECT_TRUE(link.ending().port_taken);
}

TEST(LaunchSessionLink, IsEndedItselfWhereNothingRuns) {
  SessionLink link({}, "", kMark, {});
  EXPECT_FALSE(link.send(SIGTERM, {}));
  EXPECT_TRUE(link.ending().clean());  // The task had nothing to save.
  EXPECT_FALSE(link.send(SIGKILL, {}));
  EXPECT_EQ(link.ending().signal, SIGKILL);
}

TEST(LaunchSessionLink, SaysThatItIsThere) {
  auto pipe = make_pipe();
  SessionLink link(std::move(pipe->writer), "script", kMark, {});
  link.write();
  EXPECT_EQ(link.next_time(), SteadyTime() + SessionLink::kBeatEvery);
  EXPECT_TRUE(link.time_passed(SteadyTime() + SessionLink::kBeatEvery));
  char bytes[64] = {};
  const ssize_t count = ::read(pipe->reader.number(), bytes, sizeof bytes);
  EXPECT_EQ(std::string(bytes, size_t(count)), "scriptbeat\n");
}

}  // namespace
}  // namespace shoal::cli::launch
