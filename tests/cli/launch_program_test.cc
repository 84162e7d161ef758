// SPDX-License-Identifier: Apache-2.0
// How the launcher reads a program's command: flags in each spelling, variables before it, contradictions.
#include <cstdlib>
#include <regex>
#include <sstream>

#include "fixture.h"
#include "launch/contradictions.h"
#include "launch/credentials.h"
#include "launch/metrics_ports.h"
#include "launch/program_command.h"
#include "shoal/estimator/run.h"

namespace shoal::cli::launch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

TEST(ProgramCommand, AFlagIsTheSameInEverySpelling) {
  for (const std::vector<std::string>& spelling : std::vector<std::vector<std::string>>{{"--model-dir", "m"},
                                                                                        {"--model-dir=m"},
                                                                                        {"--param", "model-dir=m"},
                                                                                        {"--param=model-dir=m"},
                                                                                        {"--param", "model_dir=m"},
                                                                                        {"--param=model_dir=m"}}) {
    std::vector<std::string> words{"./train", "--own", "x"};
    words.insert(words.end(), spelling.begin(), spelling.end());
    EXPECT_EQ(read_command(words).value("--model-dir"), "m") << spelling.front();
  }
}

TEST(MetricsLine, SaysWhereEachTaskAnswers) {
  const auto line = [](const std::vector<std::string>& words, const cluster::ClusterSize& size) {
    const auto said = metrics_line(words, tasks_of(size), [](std::string_view) { return std::nullopt; });
    return said ? said->value_or("nothing") : "error: " + said.error().message();
  };
  const cluster::ClusterSize job{.ps = 1, .workers = 2, .evaluator = true};
  EXPECT_EQ(line({"p"}, job), "nothing");
  EXPECT_EQ(
      line({"p", "--metrics", "9400"}, job),
      "metrics: chief 0 at 127.0.0.1:9400, and each further task one port above, up to evaluator 0 at 127.0.0.1:9404");
  EXPECT_EQ(line({"p", "--metrics=[::]:9400", "--token-file", "t"}, {}), "metrics: chief 0 at [::]:9400");
  EXPECT_EQ(line({"env", "SHOAL_METRICS=0", "p"}, job),
            "metrics: each task at a free port of 127.0.0.1, which its log names");
  EXPECT_THAT(line({"p", "--metrics", "65531"}, job), HasSubstr("up to evaluator 0 at 127.0.0.1:65535"));
  EXPECT_THAT(line({"p", "--metrics", "65532"}, job), HasSubstr("give a lower port"));
  EXPECT_THAT(line({"p", "--metrics", "node:1"}, job), HasSubstr("error: metrics: \"node:1\""));
}

TEST(MetricsLine, HeedsTheVariableThatTasksInherit) {
  const auto inherits = [](std::string_view name) {
    return name == "SHOAL_METRICS" ? std::optional<std::string>("9400") : std::nullopt;
  };
  const auto line = [&](const std::vector<std::string>& words) {
    return metrics_line(words, tasks_of({}), inherits).value();
  };
  EXPECT_EQ(line({"p"}), "metrics: chief 0 at 127.0.0.1:9400");
  EXPECT_EQ(line({"p", "--metrics", "9500"}), "metrics: chief 0 at 127.0.0.1:9500");
  EXPECT_EQ(line({"env", "SHOAL_METRICS=9600", "p"}), "metrics: chief 0 at 127.0.0.1:9600");
  EXPECT_EQ(line({"env", "SHOAL_METRICS=", "p"}), std::nullopt);
  const auto wrong = metrics_line(std::vector<std::string>{"p"}, tasks_of({}), [](std::string_view name) {
    return name == "SHOAL_METRICS" ? std::optional<std::string>("node:1") : std::nullopt;
  });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), ErrorKind::kInvalidArgument);
}

/// Nobody could make the monitoring system's secret of a token that the launcher draws.
TEST(MetricsLine, BeyondThisMachineNeedsATokenThatIsKnown) {
  if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
  for (const std::vector<std::string>& dry : std::vector<std::vector<std::string>>{{}, {"--dry-run"}}) {
    std::vector<std::string> words{"launch", "--no-logs"};
    words.insert(words.end(), dry.begin(), dry.end());
    words.insert(words.end(), {"--", "/bin/true", "--metrics", "0.0.0.0:9400"});
    const Output run = shoal_program(words);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("shoal keys token --out job.token"));
  }
  const auto refused = [](const std::vector<std::string>& words) {
    return !metrics_line(words, tasks_of({}), [](std::string_view) { return std::nullopt; });
  };
  EXPECT_TRUE(refused({"p", "--metrics", "[::]:0"}));
  EXPECT_FALSE(refused({"env", "SHOAL_TOKEN_FILE=job.token", "p", "--metrics", "[::]:0"}));
  EXPECT_FALSE(refused({"p", "--metrics", "0.0.0.0:1", "--tls-dir", "t"}));
  EXPECT_FALSE(refused({"p", "--metrics", "[::1]:0"}));
}

TEST(ProgramCommand, AValueIsNoFlag) {
  const ProgramCommand read =
      read_command(std::vector<std::string>{"p", "--bind", "--cluster", "--seed=--rank", "--quiet", "--ps"});
  EXPECT_EQ(read.value("--bind"), "--cluster");
  EXPECT_EQ(read.flag("--cluster"), nullptr);
  EXPECT_EQ(read.flag("--rank"), nullptr);
  EXPECT_TRUE(read.is_on("--quiet"));
  ASSERT_NE(read.flag("--ps"), nullptr);
  EXPECT_EQ(read.value("--ps"), std::nullopt);
  EXPECT_EQ(read_command(std::vector<std::string>{"p", "--", "--rank", "1"}).flag("--rank"), nullptr);
  EXPECT_TRUE(read_command(std::vector<std::string>{"p", "--param"}).flags.empty() ||
              read_command(std::vector<std::string>{"p", "--param"}).flags.front().name == "--param");
}

TEST(ProgramCommand, SwitchesMayBeTurnedOff) {
  for (const char* on : {"--insecure", "--insecure=true", "--insecure=1"}) {
    EXPECT_TRUE(read_command(std::vector<std::string>{"p", on}).is_on("--insecure")) << on;
  }
  for (const char* off : {"--insecure=false", "--insecure=0", "--insecure=OFF"}) {
    EXPECT_FALSE(read_command(std::vector<std::string>{"p", off}).is_on("--insecure")) << off;
  }
  EXPECT_TRUE(read_command(std::vector<std::string>{"p", "--param", "insecure=true"}).is_on("--insecure"));
}

TEST(ProgramCommand, EnvSetsVariablesBeforeTheProgram) {
  const ProgramCommand read =
      read_command(std::vector<std::string>{"/usr/bin/env", "A=1", "B=x=y", "env", "A=2", "./train", "C=3", "--seed", "4"});
  EXPECT_EQ(read.program, 5);
  EXPECT_EQ(read.variable("A"), "2");
  EXPECT_EQ(read.variable("B"), "x=y");
  EXPECT_EQ(read.variable("C"), std::nullopt);
  EXPECT_EQ(read.value("--seed"), "4");
  EXPECT_EQ(read_command(std::vector<std::string>{"env", "-u", "A", "B=1", "p"}).program, 4);
  EXPECT_EQ(read_command(std::vector<std::string>{"env", "-i", "p"}).env_option, "-i");
  EXPECT_EQ(read_command(std::vector<std::string>{"env", "A=1"}).program, 2);
  EXPECT_EQ(read_command(std::vector<std::string>{"./train"}).program, 0);
}

/// The flags are those of shoal::run(), whose help shows which of them have values.
TEST(ProgramCommand, KnowsTheFlagsOfEveryProgram) {
  ::testing::internal::CaptureStdout();
  const char* const argv[] = {"program", "--help"};
  EXPECT_EQ(run(2, argv, {}, [](RunConfig, const CommandLine&) {}), 0);
  std::istringstream lines(::testing::internal::GetCapturedStdout());
  const std::regex flag(R"(  (?:-h, )?(--[a-z-]+)( (?!\()\S.*)?.*)");  // A type stands right behind the name.
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, flag)) continue;
    const auto known = parts[2].matched ? flags_with_values() : switches();
    EXPECT_THAT(std::vector<std::string>(known.begin(), known.end()), Contains(parts[1].str())) << line;
    ++seen;
  }
  EXPECT_GT(seen, 30);
}

Error contradiction(std::vector<std::string> words,
                    JobFacts job = {.size = {.ps = 1, .workers = 2}, .by = "shoal launch"}) {
  words.insert(words.begin(), "./train");
  const auto fits = check_contradictions(read_command(words), words, job);
  return fits ? Error(ErrorKind::kInternal, "nothing") : fits.error();
}

TEST(Contradictions, AreToldInOneSentence) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--cluster", "ps:1"}, "the program's --cluster ps:1 would make a cluster of threads in each task"},
      {{"--rank=0"}, "the program's --rank 0 would be the same for all tasks, and shoal launch tells each its own place"},
      {{"--param", "source=local"}, "--source local would be the same for all tasks"},
      {{"--rendezvous", "a:1"}, "--rendezvous a:1"},
      {{"--world-size", "3"}, "--world-size 3 contradicts the job, which has 4 tasks"},
      {{"--ps", "2"}, "--ps 2 contradicts the job, which has --ps 1"},
      {{"--ps", "one"}, "--ps one contradicts the job"},
      {{"--evaluator"}, "--evaluator contradicts the job, which has no evaluator"},
      {{"--replicas", "2"}, "--replicas 2: replicas are the trainers of one process"},
      {{"--param=transport=inproc"}, "--transport inproc connects threads of one process"},
      {{"--model-dir", "a", "--param", "model_dir=b"}, "--model-dir is given twice, as a and b"},
      {{"--seed", "1", "--seed", "1"}, "--seed is given twice, as 1 and 1"},
  };
  for (const auto& [words, part] : cases) {
    const Error error = contradiction(words);
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument) << part;
    EXPECT_THAT(error.message(), HasSubstr(part));
  }
  const JobFacts elsewhere{.size = {.ps = 1}, .by = "--emit compose", .one_machine = false};
  EXPECT_THAT(contradiction({"--transport", "shm"}, elsewhere).message(),
              HasSubstr("with --emit compose not all tasks do"));
}

TEST(Contradictions, WhatAgreesIsTaken) {
  const JobFacts job{.size = {.ps = 1, .workers = 2, .evaluator = true}, .by = "shoal launch"};
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"--ps", "1", "--evaluator", "--world-size", "5"},
                                             {"--replicas", "1"},
                                             {"--transport", "shm"},
                                             {"--transport=auto"},
                                             {"--quiet", "--quiet"},
                                             {"--own", "--own"},
                                             {"--bind", "--rank"}}) {
    EXPECT_EQ(contradiction(words, job).message(), "nothing") << (words.empty() ? "" : words.front());
  }
  EXPECT_EQ(contradiction({"--transport", "inproc", "--replicas", "3"}, {.size = {}, .by = "shoal launch"}).message(),
            "nothing");
}

TEST(Contradictions, AreFoundBeforeAnythingIsStarted) {
  const auto expect_refused = [](std::vector<std::string> command, const std::string& sentence) {
    for (const std::vector<std::string>& dry : std::vector<std::vector<std::string>>{{}, {"--dry-run"}}) {
      std::vector<std::string> words{"launch", "--no-logs", "--ps", "1", "--workers", "1"};
      words.insert(words.end(), dry.begin(), dry.end());
      words.emplace_back("--");
      words.insert(words.end(), command.begin(), command.end());
      const Output run = shoal_program(words);
      EXPECT_EQ(run.status, 2) << sentence;
      EXPECT_EQ(run.out, "");
      EXPECT_THAT(run.err, HasSubstr(sentence));
    }
  };
  expect_refused({"/bin/true", "--cluster", "ps:1"}, "--cluster ps:1");
  expect_refused({"/bin/true", "--param", "transport=inproc"}, "--transport inproc");
  expect_refused({"env", "SHOAL_SOURCE=local", "/bin/true"}, "env SHOAL_SOURCE local would be the same for all tasks");
  expect_refused({"env", "-i", "/bin/true"}, "env -i: takes away");
  expect_refused({"/usr/bin/shoal", "launch", "--", "/bin/true"}, "the program is shoal launch itself");
}

/// A task of a launched job that launches a job itself, for example by a script.
TEST(Contradictions, ALaunchedTaskLaunchesNothing) {
  const auto launch = [] { return shoal_program({"launch", "--no-logs", "--dry-run", "--", "/bin/true"}); };
  setenv("TF_CONFIG", R"({"cluster":{"chief":["127.0.0.1:1"]},"task":{"type":"chief","index":0}})", 1);
  EXPECT_EQ(launch().status, 0);  // TF_CONFIG was not set by a launcher.
  setenv("SHOAL_SOURCE", "TF_CONFIG", 1);
  setenv("SHOAL_REPORT_FILE", "/tmp/r", 1);
  const Output inner = launch();
  unsetenv("TF_CONFIG");
  const Output without = launch();
  unsetenv("SHOAL_SOURCE");
  unsetenv("SHOAL_REPORT_FILE");
  EXPECT_EQ(inner.status, 2);
  EXPECT_EQ(inner.out, "");
  EXPECT_THAT(inner.err, HasSubstr("this process is a task that shoal launch has started"));
  EXPECT_EQ(without.status, 0);
}

TEST(LaunchToken, IsNotMadeBesideOneOfAnySpelling) {
  const auto made = [](const std::vector<std::string>& command) {
    return token_for_job(command, [](std::string_view) -> std::optional<std::string> { return std::nullopt; }).has_value();
  };
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"p", "--param", "token-file=t"},
                                                                                       {"p", "--param=tls_dir=t"},
                                                                                       {"p", "--param", "insecure=true"},
                                                                                       {"env", "SHOAL_TOKEN=t", "p"},
                                                                                       {"env", "SHOAL_INSECURE=1", "p"}}) {
    EXPECT_FALSE(made(command)) << command[1];
  }
  EXPECT_EQ(made({"p", "--note", "x", "--param", "insecure=false"}), SHOAL_TEST_TLS != 0);
}

}  // namespace
}  // namespace shoal::cli::launch
