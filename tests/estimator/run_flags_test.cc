// SPDX-License-Identifier: Apache-2.0
// The command line of programs on shoal::run (DESIGN, "What a user meets").
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "run_program.h"
#include "shoal/backends/backend.h"
#include "shoal/transport/registry.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(RunFlags, GivesTheProgramItsDefaults) {
  const Outcome outcome = run_program({}, [](const RunConfig& config, const CommandLine&) {
    EXPECT_EQ(config.save_checkpoints_steps(), 50);
    EXPECT_EQ(config.model_dir(), std::nullopt);
    EXPECT_EQ(config.random_seed(), std::nullopt);
    EXPECT_EQ(config.task_type(), "worker");
    EXPECT_TRUE(config.is_chief());
    ASSERT_NE(config.host(), nullptr);
    EXPECT_FALSE(config.host()->insecure);
    EXPECT_EQ(config.host()->credential, nullptr);
    EXPECT_EQ(config.host()->bind, std::nullopt);
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.calls, 1);
  EXPECT_EQ(outcome.line.steps, 100);
  EXPECT_EQ(outcome.line.batch, 8);
  EXPECT_EQ(outcome.line.throttle_secs, 3);
  EXPECT_FALSE(outcome.line.json);
  EXPECT_EQ(outcome.line.flags.get_real("learning-rate"), 0.5);
  EXPECT_EQ(outcome.line.flags.get_int("units"), 16);
  EXPECT_EQ(outcome.line.flags.get_string("model"), "mlp");
  EXPECT_FALSE(outcome.line.flags.get_bool("augment"));
  EXPECT_TRUE(outcome.line.flags.get_bool("shuffle"));
  EXPECT_EQ(outcome.out, "");
}

TEST(RunFlags, DefaultsSuitRunsOfMinutes) {
  const ProgramInfo plain{.description = "x"};
  const auto look = [&](std::vector<std::string> arguments, double ready_timeout) {
    return run_program(
        std::move(arguments),
        [=](const RunConfig& config, const CommandLine& line) {
          EXPECT_EQ(config.save_checkpoints_secs(), 60);
          EXPECT_EQ(config.save_checkpoints_steps(), std::nullopt);
          EXPECT_EQ(line.throttle_secs, 60);
          EXPECT_EQ(config.ready_timeout_secs(), ready_timeout);
        },
        plain);
  };
  EXPECT_EQ(look({}, 7200).calls, 1);
  EXPECT_EQ(look({"--ready-timeout-secs", "5"}, 5).calls, 1);
  Place place;
  EXPECT_EQ(look({"--cluster", "ps:1", "--model-dir", place.model_dir()}, 600).calls, 2);
  EXPECT_EQ(look({"--cluster", "ps:1", "--model-dir", place.model_dir(), "--ready-timeout-secs", "7"}, 7).calls, 2);
  const auto none = [](const RunConfig& config, const CommandLine&) { EXPECT_FALSE(config.saves_checkpoints()); };
  EXPECT_EQ(run_program({"--save-checkpoints-steps", "0"}, none, plain).calls, 1);
  const std::string help = run_program({"--help"}, {}, plain).out;
  EXPECT_THAT(help, ContainsRegex("--save-checkpoints-secs [^\n]*60"));
  EXPECT_THAT(help, ContainsRegex("--throttle-secs [^\n]*60"));
  EXPECT_THAT(help, ContainsRegex("--ready-timeout-secs [^\n]*7200, with --cluster 600"));
  EXPECT_THAT(run_program({"--help"}).out, ContainsRegex("--save-checkpoints-steps [^\n]*50"));
}

TEST(RunFlags, ReadsEveryFlag) {
  const Outcome outcome = run_program({"--steps",
                                       "7",
                                       "--batch=3",
                                       "--seed",
                                       "-5",
                                       "--allow-non-finite",
                                       "--data-dir",
                                       "d",
                                       "--model-dir",
                                       "m",
                                       "--accept-changed-model",
                                       "--save-checkpoints-secs",
                                       "2.5",
                                       "--throttle-secs",
                                       "0",
                                       "--backend",
                                       "reference",
                                       "--transport",
                                       "inproc",
                                       "--threads",
                                       "2",
                                       "--insecure",
                                       "--json",
                                       "--bind",
                                       "h:1",
                                       "--compute-dtype",
                                       "bfloat16",
                                       "--compression",
                                       "top-k:0.05",
                                       "--heartbeat-secs",
                                       "0.5",
                                       "--quiet",
                                       "--learning-rate",
                                       "1e-3",
                                       "--units",
                                       "-4",
                                       "--model",
                                       "cnn",
                                       "--augment",
                                       "--no-shuffle"},
                                      [](const RunConfig& config, const CommandLine&) {
                                        EXPECT_EQ(config.random_seed(), -5);
                                        EXPECT_TRUE(config.allow_non_finite());
                                        EXPECT_EQ(config.model_dir(), "m");
                                        EXPECT_TRUE(config.accept_changed_model());
                                        EXPECT_EQ(config.save_checkpoints_secs(), 2.5);
                                        EXPECT_EQ(config.save_checkpoints_steps(), std::nullopt);
                                        EXPECT_EQ(config.backend(), "reference");
                                        EXPECT_EQ(config.transport(), "inproc");
                                        EXPECT_EQ(config.compute_dtype(), DType::kBFloat16);
                                        EXPECT_EQ(to_string(config.compression()), "top-k:0.05");
                                        EXPECT_EQ(config.heartbeat_secs(), 0.5);
                                        EXPECT_EQ(config.compute_threads(64), 2);
                                        EXPECT_TRUE(config.host()->insecure);
                                        EXPECT_EQ(config.host()->bind, "h:1");
                                      });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.line.steps, 7);
  EXPECT_EQ(outcome.line.batch, 3);
  EXPECT_EQ(outcome.line.throttle_secs, 0);
  EXPECT_EQ(outcome.line.data_dir, "d");
  EXPECT_TRUE(outcome.line.json);
  EXPECT_EQ(outcome.line.flags.get_real("learning-rate"), 1e-3);
  EXPECT_EQ(outcome.line.flags.get_int("units"), -4);
  EXPECT_EQ(outcome.line.flags.get_string("model"), "cnn");
  EXPECT_TRUE(outcome.line.flags.get_bool("augment"));
  EXPECT_FALSE(outcome.line.flags.get_bool("shuffle"));
}

/// LA-5: a search over hyper-parameters passes all of them in one form.
TEST(RunFlags, ParamsAreFlagsByName) {
  const Outcome outcome = run_program({"--param", "learning_rate=0.25", "--param=units=7", "--param", "augment=true",
                                       "--param", "shuffle=false", "--param", "batch=5", "--param=model=cnn"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.line.flags.get_real("learning-rate"), 0.25);
  EXPECT_EQ(outcome.line.flags.get_int("units"), 7);
  EXPECT_EQ(outcome.line.flags.get_string("model"), "cnn");
  EXPECT_TRUE(outcome.line.flags.get_bool("augment"));
  EXPECT_FALSE(outcome.line.flags.get_bool("shuffle"));
  EXPECT_EQ(outcome.line.batch, 5);
}

const ProgramInfo kListProgram{.description = "lists",
                               .flags = {{"hidden-units", "Units of each hidden layer", std::vector<int64_t>{64, 32}, {}},
                                         {"rates", "One for each stage", std::vector<double>{0.1, 0.5e-3}, {}},
                                         {"names", "Which columns", std::vector<std::string>{"age", "a,b", ""}, {}},
                                         {"woods", "Which woods", std::vector<std::string>(), {"oak", "pine"}}}};

std::vector<int64_t> hidden_units(std::vector<std::string> arguments) {
  const Outcome outcome = run_program(std::move(arguments), {}, kListProgram);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.line.flags.get_ints("hidden-units");
}
std::vector<std::string> names(const std::string& text) {
  const Outcome outcome = run_program({"--names", text}, {}, kListProgram);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.line.flags.get_strings("names");
}

TEST(RunFlags, MayBeLists) {
  using Ints = std::vector<int64_t>;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(hidden_units({}), (Ints{64, 32}));
  EXPECT_EQ(hidden_units({"--hidden-units", "128,64,32"}), (Ints{128, 64, 32}));
  EXPECT_EQ(hidden_units({"--hidden-units=7"}), Ints{7}) << "a list of one";
  EXPECT_EQ(hidden_units({"--hidden-units", " 1 ,\t-2 "}), (Ints{1, -2})) << "blanks around elements do not count";
  EXPECT_EQ(hidden_units({"--hidden-units", "-3,4"}), (Ints{-3, 4}));
  EXPECT_EQ(hidden_units({"--hidden-units", ""}), Ints()) << "an empty list";
  EXPECT_EQ(hidden_units({"--hidden-units="}), Ints());
  EXPECT_EQ(hidden_units({"--param", "hidden_units=16,8"}), (Ints{16, 8}));
  EXPECT_EQ(hidden_units({"--param=hidden-units="}), Ints());
  const Outcome outcome = run_program({"--rates", "1,2.5e-2", "--woods", "pine,oak,pine"}, {}, kListProgram);
  EXPECT_EQ(outcome.line.flags.get_reals("rates"), (std::vector<double>{1, 0.025}));
  EXPECT_EQ(outcome.line.flags.get_strings("woods"), (Texts{"pine", "oak", "pine"}));
  EXPECT_EQ(outcome.line.flags.get_strings("names"), (Texts{"age", "a,b", ""}));
  EXPECT_EQ(run_program({"--param", "model_dir="}).status, 2) << "an empty text is one for every flag";
  EXPECT_EQ(names("oak, red pine ,ash"), (Texts{"oak", "red pine", "ash"}));
  EXPECT_EQ(names(R"("pine, dry"," ash ","",5)"), (Texts{"pine, dry", " ash ", "", "5"}));
  EXPECT_EQ(names(R"("5"" wide")"), Texts{R"(5" wide)"});
  EXPECT_EQ(names(R"([a],{b})"), (Texts{"[a]", "{b}"}));
}

TEST(RunFlags, AListThatIsNoneNamesFlagPlaceAndText) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--hidden-units", "64,x"}, R"(error: --hidden-units: element 2 of "64,x" is "x", which is no INT; --help)"},
      {{"--param", "hidden_units=64,1.5"}, R"(--hidden-units: element 2 of "64,1.5" is "1.5", which is no INT)"},
      {{"--hidden-units", "64,32,"}, R"(element 3 of "64,32," is missing: write no comma there; --help)"},
      {{"--hidden-units", ",64"}, R"(element 1 of ",64" is missing)"},
      {{"--hidden-units", "64,,32"}, R"(element 2 of "64,,32" is missing)"},
      {{"--hidden-units", "64 32"}, R"(element 1 of "64 32" is "64 32", which is no INT)"},
      {{"--hidden-units", "99999999999999999999"}, R"(which is no INT)"},
      {{"--hidden-units", "64", "32"}, R"(not expected: 32)"},
      {{"--hidden-units"}, R"(--hidden-units)"},
      {{"--rates", "0.1;0.2"}, R"(--rates: element 1 of "0.1;0.2" is "0.1;0.2", which is no NUMBER)"},
      {{"--names", "a,,b"}, R"(element 2 of "a,,b" is missing: write no comma there, or "" for an empty text)"},
      {{"--names", R"(a,"b)"}, R"(element 2 of "a,"b" has no quote at its end)"},
      {{"--names", R"(a,"b"c)"}, R"(element 2 of "a,"b"c" goes on behind its quotes)"},
      {{"--names", R"(5" pipe)"}, R"(element 1 of "5" pipe" has a quote in it; put the element in double quotes)"},
      {{"--woods", "oak,pin"},
       R"(--woods: element 2 of "oak,pin" is "pin", which is none of oak, pine; did you mean pine?)"}};
  for (const auto& [arguments, part] : cases) {
    const Outcome outcome = run_program(arguments, {}, kListProgram);
    EXPECT_EQ(outcome.status, 2) << part;
    EXPECT_EQ(outcome.calls, 0) << part;
    EXPECT_THAT(outcome.err, HasSubstr(part));
  }
}

TEST(RunFlags, ListsAreInTheHelpAndInTheResults) {
  const std::string help = run_program({"--help"}, {}, kListProgram).out;
  EXPECT_THAT(help, ContainsRegex("--hidden-units INT,INT,[^\n]*64,32"));
  EXPECT_THAT(help, ContainsRegex("--rates NUMBER,NUMBER,[^\n]*0.1,5e-04"));
  EXPECT_THAT(help, HasSubstr(R"(age,"a,b","")"));
  EXPECT_THAT(help, HasSubstr("of {oak,pine}"));
  const Outcome outcome = run_program({"--json", "--hidden-units", "8,4", "--woods", "oak"}, {}, kListProgram);
  EXPECT_THAT(outcome.out, HasSubstr(R"("hidden-units":[8,4])"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("names":["age","a,b",""])"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("woods":["oak"])"));
}

TEST(RunFlags, TakesARankOfOneAsLocal) {
  const Outcome outcome =
      run_program({"--rank", "0", "--world-size", "1", "--ps", "0"}, [](const RunConfig& config, const CommandLine&) {
        EXPECT_EQ(config.task().source, cluster::ConfigSource::kOption);
        EXPECT_EQ(config.task().mode, cluster::TaskMode::kLocal);
        EXPECT_NE(config.host(), nullptr);
      });
  EXPECT_EQ(outcome.calls, 1) << outcome.err;
  EXPECT_THAT(run_program({"--ps", "1"}).err, HasSubstr("SHOAL_PS would be heeded if something did"));
}

TEST(RunFlags, HelpListsTheFlagsAndEndsWell) {
  const Outcome outcome = run_program({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.calls, 0);
  for (const char* part :
       {"A program under test", "--steps", "--cluster", "--json", "--learning-rate", "How wide", "0.5", "16", "mlp"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  for (const auto& [scheme, make] : transport::built_in_transports()) EXPECT_THAT(outcome.out, HasSubstr(scheme));
  for (const auto& entry : backends::built_in_backends()) EXPECT_THAT(outcome.out, HasSubstr(entry.name));
  EXPECT_EQ(outcome.err, "");
}

/// Runs the program with --help in a process whose standard output is `file`, or is closed if that is null; then ends it.
void print_help_to(const char* file) {
  std::fflush(stdout);
  ::close(STDOUT_FILENO);
  if (file) ::open(file, O_WRONLY);  // Gets the number that is free.
  const char* argv[] = {"program", "--help"};
  std::_Exit(run(2, argv, kProgram, [](const RunConfig&, const CommandLine&) {}));
}

TEST(RunFlagsDeathTest, HelpThatCannotBeWrittenIsAnError) {
  for (const char* file : {"/dev/full", static_cast<const char*>(nullptr)}) {
    EXPECT_EXIT(print_help_to(file), ::testing::ExitedWithCode(1),
                "error: the help could not be written to standard output")
        << (file ? file : "closed");
  }
  EXPECT_EXIT(print_help_to("/dev/null"), ::testing::ExitedWithCode(0), "");
}

TEST(RunFlags, ASwitchThatIsOffWinsOverItsVariable) {
  setenv("SHOAL_EVALUATOR", "1", 1);
  EXPECT_THAT(run_program({}).err, HasSubstr("SHOAL_EVALUATOR would be heeded"));
  EXPECT_EQ(run_program({"--evaluator=false"}).err, "");
  unsetenv("SHOAL_EVALUATOR");
}

/// --cluster excludes --evaluator, which is then off.
TEST(RunFlags, ASwitchThatIsOffExcludesNothing) {
  Place place;
  const Outcome outcome = run_program({"--evaluator=false", "--cluster", "ps:1", "--model-dir", place.model_dir()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.calls, 2);
}

TEST(RunFlags, WrongUsageIsASentenceAndStatus2) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--unknown"}, "--unknown"},
      {{"stray"}, "stray"},
      {{"--steps"}, "--steps"},
      {{"--steps", "many"}, "--steps"},
      {{"--steps", "1.5"}, "--steps"},
      {{"--batch", "0"}, "--batch"},
      {{"--batch", "-1"}, "--batch"},
      {{"--threads", "0"}, "--threads"},
      {{"--throttle-secs", "-1"}, "--throttle-secs"},
      {{"--seed", "99999999999999999999"}, "--seed"},
      {{"--steps", "0x10"}, "--steps"},
      {{"--threads", "99999999999"}, "--threads"},
      {{"--save-checkpoints-secs", "soon"}, "--save-checkpoints-secs"},
      {{"--model", "rnn"}, "--model"},
      {{"--units", "1.5"}, "--units"},
      {{"--units", "0x10"}, "--units"},
      {{"--units", "99999999999999999999"}, "--units"},
      {{"--learning-rate", "fast"}, "--learning-rate"},
      {{"--learning-rate", "1e999"}, "--learning-rate"},
      {{"--learning-rate", "0.1x"}, "--learning-rate"},
      {{"--param", "learning_rate=0.1x"}, "--learning-rate"},
      {{"--param", "param=steps=3"},
       "--param: \"param=steps=3\" names --param itself; name the flag that is to have the value"},
      {{"--param=param=--steps"}, "names --param itself"},
      {{"--param", "height=3"}, "--param: there is no flag --height; --help lists the flags"},
      {{"--stepz", "3"}, "not expected: --stepz 3; did you mean --steps?; --help lists the flags"},
      {{"--zebra"}, "not expected: --zebra; --help lists the flags"},
      {{"--steps", "0"}, "--steps: 0 is no positive number"},
      {{"--transport", "udp"}, "--transport: udp is none of "},
      {{"--transport", "tpc"}, "; did you mean tcp?"},
      {{"--backend", "gpu"}, "--backend: gpu is none of "},
      {{"--param", "units"}, "--param: \"units\" is no NAME=VALUE"},
      {{"--param=", "7"}, "--param"},
      {{"--param"}, "--param"},
      {{"--save-checkpoints-steps", "1", "--save-checkpoints-secs", "1"}, "cannot both be set"},
      {{"--save-checkpoints-steps", "-1"}, "save_checkpoints_steps"},
      {{"--model-dir", ""}, "--model-dir: is the empty string; give a path; --help"},
      {{"--data-dir="}, "--data-dir: is the empty string"},
      {{"--spare-dir", ""}, "--spare-dir: is the empty string"},
      {{"--predict", ""}, "--predict: is the empty string"},
      {{"--token-file", ""}, "--token-file: is the empty string"},
      {{"--tls-dir", ""}, "--tls-dir: is the empty string"},
      {{"--cluster", "ps:x"}, "ps:x"},
      {{"--cluster", "ps:1", "--bind", "h"}, "--bind"},
      {{"--cluster", "ps:1", "--rank", "1"}, "--rank"},
      {{"--cluster", "ps:1", "--evaluator"}, "--evaluator"},
      {{"--rank", "one"}, "no INT"},
      {{"--rank", "1"}, "SHOAL_WORLD_SIZE: is not set"},
      {{"--rank", "2", "--world-size", "2"}, "SHOAL_RANK: 2 is not below SHOAL_WORLD_SIZE"},
      {{"--rank", "1", "--world-size", "2"}, "SHOAL_RENDEZVOUS"},
      {{"--rank", "1", "--world-size", "2", "--ps", "2", "--rendezvous", "127.0.0.1:1"}, "too few"},
      {{"--rank", "1", "--world-size", "2", "--rendezvous", "node:1"}, "shoal keys token"},
      {{"--rank", "1", "--world-size", "2", "--rendezvous", "127.0.0.1:1", "--transport", "inproc"},
       "threads of one process"},
      {{"--source", "lsf"}, "SHOAL_SOURCE: \"lsf\" is none of"},
      {{"--cluster", "ps:1", "--transport", "tcp"}, "not by tcp"},
      {{"--cluster", "ps:1", "--transport", "auto"}, "not by auto"},
      {{"--compression", "zip"}, "bfloat16, float16, int8"},
  };
  for (const auto& [arguments, part] : cases) {
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.status, 2) << part;
    EXPECT_EQ(outcome.calls, 0) << part;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("error: "), HasSubstr(part)));
    EXPECT_EQ(outcome.out, "") << part;
  }
}

TEST(RunFlags, ReadsTheTokenFromTheEnvironmentOrAFile) {
  const std::string token = transport::Token::fresh().to_text();
  const auto expect_token = [&](const RunConfig& config, const CommandLine&) {
    ASSERT_NE(config.host()->credential, nullptr);
    EXPECT_EQ(std::get<transport::Token>(*config.host()->credential).to_text(), token);
  };
  const TemporaryFolder folder;
  const std::string file = folder.write("token", token);
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(run_program({"--token-file", file}, expect_token).calls, 1);
  setenv("SHOAL_TOKEN_FILE", file.c_str(), 1);
  EXPECT_EQ(run_program({}, expect_token).calls, 1);
  unsetenv("SHOAL_TOKEN_FILE");
  setenv("SHOAL_TOKEN", token.c_str(), 1);
  EXPECT_EQ(run_program({}, expect_token).calls, 1);
  setenv("SHOAL_TOKEN", (token + "x").c_str(), 1);
  const Outcome wrong = run_program({});
  unsetenv("SHOAL_TOKEN");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.calls, 0);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("error: SHOAL_TOKEN: no token"), ::testing::Not(HasSubstr(token))));
  EXPECT_EQ(run_program({"--token-file", folder / "none"}).status, 2);
}

TEST(RunFlags, KnowsItsTrialFromTheEnvironment) {
  std::mutex mutex;
  std::vector<std::string> seen;
  const auto look = [&](const RunConfig& config, const CommandLine&) {
    const std::lock_guard lock(mutex);
    seen.push_back(config.trial().value_or("none"));
  };
  run_program({}, look);
  setenv("SHOAL_TRIAL", "7", 1);
  run_program({}, look);
  run_program({"--cluster", "ps:1,worker:1"}, look);
  EXPECT_THAT(seen, ::testing::ElementsAre("none", "7", "7", "7", "7"));
  setenv("SHOAL_TRIAL", "\xFF", 1);
  for (const Outcome& refused : {run_program({}, look), run_program({"--cluster", "ps:1,worker:1"}, look)}) {
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("error: SHOAL_TRIAL"));
  }
  unsetenv("SHOAL_TRIAL");
  EXPECT_THAT(seen, ::testing::SizeIs(5));
}

TEST(RunFlags, KnowsItsRunFromTheEnvironment) {
  std::string seen;
  const auto look = [&](const RunConfig& config, const CommandLine&) { seen = config.host()->shoal_run; };
  run_program({}, look);
  EXPECT_EQ(seen, "");
  setenv("SHOAL_RUN", "night 7", 1);
  run_program({}, look);
  EXPECT_EQ(seen, "night 7");
  // A program without shoal::run() reads the variable, too.
  EXPECT_EQ(value_or_raise(process_host())->shoal_run, "night 7");
  for (const std::string& bad : {std::string("two\nlines"), std::string(201, 'x'), std::string("na\xC3\xAFve")}) {
    setenv("SHOAL_RUN", bad.c_str(), 1);
    const Outcome refused = run_program({}, look);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("error: SHOAL_RUN: must be at most 200 printable characters"));
    EXPECT_EQ(process_host().error().kind(), ErrorKind::kInvalidArgument);
  }
  unsetenv("SHOAL_RUN");
}

TEST(RunFlags, TakesWhatSigtermMeansFromAFlagOrElseTheEnvironment) {
  OnSigterm seen{};
  const auto look = [&](const RunConfig& config, const CommandLine&) { seen = config.on_sigterm(); };
  const auto meaning = [&](std::vector<std::string> flags) {
    EXPECT_EQ(run_program(std::move(flags), look).status, 0);
    return seen;
  };
  EXPECT_EQ(meaning({}), OnSigterm::kEnd);
  EXPECT_EQ(meaning({"--on-sigterm", "leave"}), OnSigterm::kLeave);
  EXPECT_EQ(meaning({"--on-sigterm=leave", "--cluster", "ps:1"}), OnSigterm::kLeave);
  const Outcome unknown = run_program({"--on-sigterm", "stop"}, look);
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--on-sigterm: stop is neither end nor leave"));
  setenv("SHOAL_ON_SIGTERM", "leave", 1);
  EXPECT_EQ(meaning({}), OnSigterm::kLeave);
  EXPECT_EQ(meaning({"--on-sigterm", "end"}), OnSigterm::kEnd);
  setenv("SHOAL_ON_SIGTERM", "LEAVE", 1);
  const Outcome wrong = run_program({}, look);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("error: SHOAL_ON_SIGTERM: \"LEAVE\" is neither end nor leave"));
  setenv("SHOAL_ON_SIGTERM", "", 1);
  EXPECT_EQ(meaning({}), OnSigterm::kEnd);
  unsetenv("SHOAL_ON_SIGTERM");
}

TEST(RunFlags, ReadsCertificatesFromTheirFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(run_program({"--tls-dir", folder / "none"}).err,
              HasSubstr("error: certificates of CAs " + folder / "none/ca.pem"));
  setenv("SHOAL_TLS_DIR", (folder / "none").c_str(), 1);
  EXPECT_EQ(run_program({}).status, 2);
  unsetenv("SHOAL_TLS_DIR");
  const Outcome both = run_program({"--tls-dir", folder.path(), "--token-file", folder / "token"});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("both certificates (--tls-dir, SHOAL_TLS_DIR) and a token (--token-file"));
}

TEST(RunFlags, AFlagThatIsTakenIsAMistakeOfTheProgram) {
  const Outcome outcome = run_program({}, {}, {.description = "x", .flags = {{"steps", "mine", int64_t(1), {}}}});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("steps"));
}

TEST(RunFlags, ProgramsWithoutFlagsGiveOnlyABody) {
  const char* argv[] = {"program"};
  int calls = 0;
  EXPECT_EQ(run(1, argv, [&](RunConfig) { ++calls; }), 0);
  EXPECT_EQ(calls, 1);
}

TEST(RunFlags, FlagsThatOnlyABodyCouldHeedAreRefusedWhereItCannot) {
  for (const char* flag : {"--steps", "--batch", "--data-dir", "--throttle-secs"}) {
    const char* argv[] = {"program", flag, "10"};
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(run(3, argv, [](const RunConfig&) { ADD_FAILURE() << "called"; }), 2);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr(flag), HasSubstr("has no effect: this program's code decides it")));
  }
  const char* argv[] = {"program", "--help"};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run(2, argv, [](const RunConfig&) {}), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("--model-dir"), ::testing::Not(HasSubstr("--steps"))));
}

}  // namespace
}  // namespace shoal::testing
