// SPDX-License-Identifier: Apache-2.0
// The checks of `shoal launch` before it starts anything. tests/cluster/processes/launch_test.py runs whole jobs.
#include <algorithm>

#include "fixture.h"

namespace shoal::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Output;
using testing::shoal_program;

TEST(LaunchCommand, ShowsWhatItWouldStart) {
  const Output plan = shoal_program({"launch", "--ps", "1", "--workers", "2", "--evaluator", "--dry-run", "--", "/bin/echo",
                                     "--model", "two words", "[1,2]", "--"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(std::count(plan.out.begin(), plan.out.end(), '\n'), 10);
  EXPECT_THAT(plan.out, AllOf(HasSubstr("# worker 1\n"), HasSubstr(R"("task":{"index":1,"type":"worker"}})"),
                              HasSubstr(" /bin/echo --model 'two words' '[1,2]' --\n"), HasSubstr("SHOAL_RUN=")));
  EXPECT_THAT(plan.out, Not(HasSubstr("shoal1-")));  // How tokens begin.
}

TEST(LaunchCommand, ShowsItAsJson) {
  const Output plan =
      shoal_program({"launch", "--ps", "1", "--workers", "1", "--dry-run", "--json", "--", "/bin/echo", "--x"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  const auto lines = plan.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2]["task"], "worker 0");
  EXPECT_EQ(lines[2]["command"], (testing::Json{"/bin/echo", "--x"}));
  const auto config = testing::Json::parse(lines[2]["environment"]["TF_CONFIG"].get<std::string>());
  EXPECT_EQ(config["cluster"]["ps"].size(), 1u);
}

TEST(LaunchCommand, RunsTasksBehindAWrapper) {
  const Output plan = shoal_program({"launch", "--wrapper", "taskset -c '0'", "--dry-run", "--", "/bin/echo", "--x"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr(" taskset -c 0 /bin/echo --x\n"));
  // The same holds for other machines. --copy sends the program there.
  const TemporaryFolder folder;
  const std::string hosts = folder.write("hosts", "board1\n");
  const Output there =
      shoal_program({"launch", "--wrapper", "nice", "--hosts", hosts, "--dry-run", "--json", "--", "train"});
  ASSERT_EQ(there.status, 0) << there.err;
  EXPECT_EQ(there.json()["command"], (testing::Json{"nice", "train"}));
}

TEST(LaunchCommand, RefusesAWrapperThatCannotBe) {
  const Output quoted = shoal_program({"launch", "--wrapper", "taskset '", "--dry-run", "--", "/bin/echo"});
  EXPECT_EQ(quoted.status, 2);
  EXPECT_THAT(quoted.err, HasSubstr("--wrapper"));
  const Output empty = shoal_program({"launch", "--wrapper", "", "--dry-run", "--", "/bin/echo"});
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("--wrapper: there is no command in it"));
  const Output missing = shoal_program({"launch", "--wrapper", "no-such-program", "--dry-run", "--", "/bin/echo"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("no-such-program"));
  const Output emitted = shoal_program({"launch", "--wrapper", "nice", "--emit", "slurm", "--", "/bin/echo"});
  EXPECT_EQ(emitted.status, 2);
}

/// Runs the command line of a program that has the commands itself (shoal::tools).
Output own_program(std::vector<const char*> argv) {
  argv.insert(argv.begin(), "train");
  return testing::run_program(argv, {}, {.name = "train", .program = "/bin/echo"});
}

TEST(LaunchCommand, OfAProgramWithItsCommandsLaunchesThatProgram) {
  const Output plan = own_program({"launch", "--dry-run", "--", "--steps", "5"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr(" /bin/echo --steps 5\n"));
  const Output without_flags = own_program({"launch", "--dry-run"});
  EXPECT_EQ(without_flags.status, 0) << without_flags.err;
  EXPECT_THAT(without_flags.out, HasSubstr(" /bin/echo\n"));
  const Output no_separator = own_program({"launch", "--dry-run", "--model-dir", "m"});
  EXPECT_EQ(no_separator.status, 2);
  EXPECT_EQ(no_separator.err,
            "train: not expected: --model-dir m; flags of train itself stand behind --, as in train launch --workers 2 -- "
            "--model-dir\n");
  EXPECT_THAT(own_program({"launch", "--help"}).out, HasSubstr("PROGRAM is train itself here"));
  EXPECT_THAT(own_program({"checkpoint", "list", "/no/such/folder"}).err, ::testing::StartsWith("train: "));
}

TEST(LaunchCommand, NamedSizes) {
  const Output plan = shoal_program({"launch", "--size", "basic", "--dry-run", "--", "/bin/echo"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_TRUE(plan.out.starts_with("# chief 0\n"));
  EXPECT_EQ(std::count(plan.out.begin(), plan.out.end(), '\n'), 2);
}

TEST(LaunchCommand, NamedSizesFitTheSlotsOfHosts) {
  const TemporaryFolder folder;
  const std::string hosts = folder.write("hosts",
                                         "\xEF\xBB\xBF"
                                         "board1\nboard2 slots=2\n");  // An editor's mark.
  const Output plan = shoal_program({"launch", "--hosts", hosts, "--size", "standard", "--dry-run", "--", "train"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.err,
              HasSubstr("more than the 3 slots of these hosts can train with: it is cut to ps:2,worker:2,evaluator"));
  for (const char* place : {"# chief 0 on board1;", "# worker 0 on board2;", "# worker 1 on board2;", "# ps 0 on board1;",
                            "# ps 1 on board2;", "# evaluator 0 on board1;", "\"board2:", "BatchMode=yes"}) {
    EXPECT_THAT(plan.out, HasSubstr(place));
  }
  const Output shown =
      shoal_program({"launch", "--hosts", hosts, "--dry-run", "--json", "--ssh", "ssh -v", "--", "train", "x"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto task = shown.json();
  EXPECT_EQ(task["command"], (testing::Json{"train", "x"}));
  EXPECT_EQ(task["ssh"][1], "-v");
}

TEST(LaunchCommand, RefusesHostsThatCannotBe) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& hosts, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"launch", "--hosts", folder.write("hosts", hosts), "--dry-run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Output run = shoal_program(arguments);
    EXPECT_EQ(run.status, 2);
    return run.err;
  };
  EXPECT_THAT(refusal("a\nb slots=x\n", {"--", "train"}), HasSubstr("hosts, line 2: "));
  EXPECT_THAT(refusal("a\rb\r", {"--", "train"}), HasSubstr("lines that end with CR alone"));
  EXPECT_THAT(refusal("a\n", {"--ps", "1", "--workers", "1", "--", "train"}), HasSubstr("the hosts have 1 slot;"));
  EXPECT_THAT(refusal("a\n", {"--ssh", "ssh '", "--", "train"}), HasSubstr("--ssh: a quote of"));
  EXPECT_THAT(refusal("a\n", {"--ssh", " ", "--", "train"}), HasSubstr("--ssh: there is no command in it"));
  EXPECT_THAT(refusal("a\n", {"--ssh", "no-such-ssh", "--", "train"}), HasSubstr("no-such-ssh"));
  EXPECT_THAT(refusal("a\n", {"--copy", "--", "no-such-program"}), HasSubstr("no-such-program"));
  EXPECT_EQ(shoal_program({"launch", "--copy", "--", "/bin/true"}).status, 2);
  EXPECT_THAT(shoal_program({"launch", "--hosts", folder / "none", "--", "train"}).err, HasSubstr("none"));
}

TEST(LaunchCommand, RefusesWhatCannotBe) {
  const auto expect_refused = [](std::vector<std::string> arguments, const std::string& sentence) {
    arguments.insert(arguments.begin(), "launch");
    const Output run = shoal_program(arguments);
    EXPECT_EQ(run.status, 2) << sentence;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(sentence));
  };
  expect_refused({}, "what to launch is missing: it stands behind --");
  expect_refused({"--ps", "1", "--"}, "what to launch is missing");
  expect_refused({"/bin/true"}, "/bin/true");
  expect_refused({"--", "no-such-program"}, "there is no such program");
  expect_refused({"--", "/no/such/program"}, "/no/such/program: there is no such program");
  expect_refused({"--", "/etc/passwd"}, "is no program that may be run");
  expect_refused({"--", "/etc"}, "is no program that may be run");
  expect_refused({"--workers", "1", "--", "/bin/true"}, "no ps");
  expect_refused({"--workers", "-1", "--", "/bin/true"}, "--workers");
  expect_refused({"--worker", "1", "--", "/bin/true"}, "--worker");
  expect_refused({"--master", "--evaluator", "--", "/bin/true"}, "master");
  expect_refused({"--size", "huge", "--", "/bin/true"}, "is none of basic, standard, premium");
  expect_refused({"--size", "basic", "--ps", "1", "--", "/bin/true"}, "--ps");
  expect_refused({"--chaos", "0", "--", "/bin/true"}, "--chaos");
  expect_refused({"--chaos", "nan", "--", "/bin/true"}, "nan is no number of seconds");
  expect_refused({"--stop-secs", "-1", "--", "/bin/true"}, "--stop-secs");
  expect_refused({"--log-dir", "x", "--no-logs", "--", "/bin/true"}, "--no-logs");
}

TEST(LaunchCommand, HelpIsForNewcomers) {
  const Output help = shoal_program({"launch", "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* text : {"shoal launch --ps 1 --workers 2 --evaluator -- build/bin/mnist", "who is not counted here",
                           "Ctrl-C", "--max-restarts", "--chaos", "--dry-run"}) {
    EXPECT_THAT(help.out, HasSubstr(text));
  }
}

}  // namespace
}  // namespace shoal::cli
