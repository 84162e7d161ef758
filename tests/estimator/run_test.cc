// shoal::run: the command line, exit statuses, the line of JSON (CONTRACT FA-10; DESIGN, "What a user meets").
#include "shoal/estimator/run.h"

#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fixture.h"
#include "shoal/backends/backend.h"
#include "shoal/estimator/exporter.h"
#include "shoal/transport/registry.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string out, err;
  int calls = 0;
  CommandLine line;  ///< The command line of the last call.
};

const ProgramInfo kProgram{.description = "A program under test",
                           .flags = {{"learning-rate", "How fast", 0.5, {}},
                                     {"units", "How wide", int64_t(16), {}},
                                     {"model", "Which", std::string("mlp"), {"mlp", "cnn"}},
                                     {"augment", "More data", false, {}},
                                     {"shuffle", "In any order", true, {}}},
                           .steps = 100,
                           .batch = 8,
                           .save_checkpoints_steps = 50,
                           .throttle_secs = 3};

Outcome run_program(std::vector<std::string> arguments, const ProgramBody& body = {},
                    const ProgramInfo& program = kProgram) {
  std::vector<const char*> argv{"program"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Outcome outcome;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  std::mutex mutex;
  outcome.status = run(int(argv.size()), argv.data(), program, [&](RunConfig config, const CommandLine& line) {
    {
      const std::lock_guard lock(mutex);  // Tasks of a cluster are threads.
      ++outcome.calls;
      outcome.line = line;
    }
    if (body) body(std::move(config), line);
  });
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Run, GivesTheProgramItsDefaults) {
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

TEST(Run, DefaultsSuitRunsOfMinutes) {
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
  EXPECT_THAT(help, ContainsRegex("--save-checkpoints-secs [^\n]*60"));  // How a default is shown is CLI11's.
  EXPECT_THAT(help, ContainsRegex("--throttle-secs [^\n]*60"));
  EXPECT_THAT(help, ContainsRegex("--ready-timeout-secs [^\n]*7200, with --cluster 600"));
  EXPECT_THAT(run_program({"--help"}).out, ContainsRegex("--save-checkpoints-steps [^\n]*50"));
}

TEST(Run, ReadsEveryFlag) {
  const Outcome outcome = run_program({"--steps",
                                       "7",
                                       "--batch=3",
                                       "--seed",
                                       "-5",
                                       "--data-dir",
                                       "d",
                                       "--model-dir",
                                       "m",
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
                                        EXPECT_EQ(config.model_dir(), "m");
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

TEST(Run, AClusterThatNobodyEvaluatesSaysSo) {
  const std::string warning = "neither an evaluator nor a master, so nothing is evaluated or exported";
  const auto run = [](const char* cluster) {
    return run_program({"--cluster", cluster}, [](const RunConfig&, const CommandLine&) {}).err;
  };
  EXPECT_THAT(run("ps:1,worker:1"), AllOf(HasSubstr(warning), HasSubstr("--cluster ps:1,worker:1,evaluator")));
  EXPECT_THAT(run("ps:1,evaluator"), ::testing::Not(HasSubstr(warning)));
  EXPECT_THAT(run("master,ps:1"), ::testing::Not(HasSubstr(warning)));
}

/// LA-5: a search over hyper-parameters gives them all in one way.
TEST(Run, ParamsAreFlagsByName) {
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

TEST(Run, TakesARankOfOneAsLocal) {
  const Outcome outcome =
      run_program({"--rank", "0", "--world-size", "1", "--ps", "0"}, [](const RunConfig& config, const CommandLine&) {
        EXPECT_EQ(config.task().source, cluster::ConfigSource::kOption);
        EXPECT_EQ(config.task().mode, cluster::TaskMode::kLocal);
        EXPECT_NE(config.host(), nullptr);
      });
  EXPECT_EQ(outcome.calls, 1) << outcome.err;
  EXPECT_THAT(run_program({"--ps", "1"}).err, HasSubstr("SHOAL_PS would be heeded if something did"));
}

TEST(Run, HelpListsTheFlagsAndEndsWell) {
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

TEST(Run, WrongUsageIsASentenceAndStatus2) {
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
      {{"--param", "height=3"}, "--param: there is no flag --height; --help lists the flags"},
      {{"--param", "units"}, "--param: \"units\" is no NAME=VALUE"},
      {{"--param=", "7"}, "--param"},
      {{"--param"}, "--param"},
      {{"--save-checkpoints-steps", "1", "--save-checkpoints-secs", "1"}, "cannot both be set"},
      {{"--save-checkpoints-steps", "-1"}, "save_checkpoints_steps"},
      {{"--model-dir", ""}, "model_dir"},
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

TEST(Run, ReadsTheTokenFromTheEnvironmentOrAFile) {
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

TEST(Run, KnowsItsRunFromTheEnvironment) {
  std::string seen;
  const auto look = [&](const RunConfig& config, const CommandLine&) { seen = config.host()->shoal_run; };
  run_program({}, look);
  EXPECT_EQ(seen, "");
  setenv("SHOAL_RUN", "night 7", 1);
  run_program({}, look);
  EXPECT_EQ(seen, "night 7");
  EXPECT_EQ(value_or_raise(process_host())->shoal_run, "night 7");  // A program without shoal::run() has it, too.
  for (const std::string& bad : {std::string("two\nlines"), std::string(201, 'x'), std::string("na\xC3\xAFve")}) {
    setenv("SHOAL_RUN", bad.c_str(), 1);
    const Outcome refused = run_program({}, look);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("error: SHOAL_RUN: must be at most 200 printable characters"));
    EXPECT_EQ(process_host().error().kind(), ErrorKind::kInvalidArgument);
  }
  unsetenv("SHOAL_RUN");
}

TEST(Run, ReadsCertificatesFromTheirFolder) {
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

TEST(Run, AFlagThatIsTakenIsAMistakeOfTheProgram) {
  const Outcome outcome = run_program({}, {}, {.description = "x", .flags = {{"steps", "mine", int64_t(1), {}}}});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("steps"));
}

TEST(Run, ErrorsBecomeSentencesAndStatuses) {
  const std::pair<Error, int> cases[] = {
      {invalid_argument("one"), 2}, {type_mismatch("two"), 2}, {failed_precondition("three"), 2}, {not_found("four"), 2},
      {nan_loss("five"), 3}, {data_loss("six"), 4}, {deadline_exceeded("seven"), 5}, {unavailable("eight"), 1},
      {internal_error("nine"), 1}};
  for (const auto& [error, status] : cases) {
    const Outcome outcome =
        run_program({"--json"}, [&error = error](const RunConfig&, const CommandLine&) { raise(error); });
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(outcome.err, "error: " + error.message() + "\n");
    EXPECT_EQ(outcome.out, "");
  }
  const Outcome other = run_program({}, [](const RunConfig&, const CommandLine&) { throw std::runtime_error("my own"); });
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("my own"));
  EXPECT_EQ(run_program({}, [](const RunConfig&, const CommandLine&) { throw 7; }).status, 1);
}

ProgramBody training(std::vector<std::shared_ptr<Exporter>> exporters = {}) {
  return [exporters](RunConfig config, const CommandLine& line) {
    Estimator estimator(counting_model, std::move(config));
    train_and_evaluate(
        estimator, {.input_fn = endless, .max_steps = line.steps},
        {.input_fn = [] { return losses({0.5f}); }, .throttle_secs = line.throttle_secs, .exporters = exporters});
  };
}

TEST(Run, WithJsonTheLastLineIsOneObject) {
  Place place;
  const Outcome outcome =
      run_program({"--json", "--steps", "5", "--model-dir", place.model_dir(), "--backend", "reference"}, training());
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string last = outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1);
  const auto json = nlohmann::json::parse(last);
  EXPECT_EQ(json.at("loss"), 0.5);
  EXPECT_EQ(json.at("global_step"), 5);
  EXPECT_GT(json.at("examples_per_second").get<double>(), 0);
  EXPECT_GT(json.at("seconds").get<double>(), 0);
  EXPECT_TRUE(outcome.out.ends_with("}\n"));
}

TEST(Run, LeavesItsResultsInTheFileThatALauncherNames) {
  Place place;
  const TemporaryFolder folder;
  const std::string file = folder / "results.json";
  const std::vector<std::string> flags{"--steps",   "5",         "--model-dir", place.model_dir(),
                                       "--backend", "reference", "--json"};
  setenv("SHOAL_REPORT_FILE", file.c_str(), 1);
  const Outcome failed = run_program(flags, [](const RunConfig&, const CommandLine&) { raise(invalid_argument("no")); });
  EXPECT_EQ(failed.status, 2);
  EXPECT_FALSE(std::filesystem::exists(file));
  const Outcome trained = run_program(flags, training());
  EXPECT_EQ(trained.status, 0) << trained.err;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("\"global_step\":5"));
  EXPECT_TRUE(trained.out.ends_with(text.str()));
  setenv("SHOAL_REPORT_FILE", (folder / "none/results.json").c_str(), 1);
  const Outcome lost = run_program(flags, [](const RunConfig&, const CommandLine&) {});
  unsetenv("SHOAL_REPORT_FILE");
  EXPECT_EQ(lost.status, 0);
  EXPECT_THAT(lost.err, HasSubstr("warning: SHOAL_REPORT_FILE: "));
}

TEST(Run, ExportersWorkWhileTheProgramWatchesForSignals) {
  Place place;
  const Outcome outcome = run_program({"--steps", "5", "--model-dir", place.model_dir(), "--backend", "reference"},
                                      training({final_exporter("last")}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(place.model_dir() + "/export/last"));
}

TEST(Run, QuietSaysNothingButTrouble) {
  Place place;
  const Outcome outcome =
      run_program({"--quiet", "--steps", "5", "--model-dir", place.model_dir(), "--backend", "reference"}, training());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
}

TEST(Run, UnknownBackendsAndBadMaxStepsAreWrongUsage) {
  Place place;
  const Outcome backend = run_program({"--backend", "abacus", "--model-dir", place.model_dir()}, training());
  EXPECT_EQ(backend.status, 2);
  EXPECT_THAT(backend.err, AllOf(HasSubstr("abacus"), HasSubstr("reference")));
  EXPECT_EQ(run_program({"--steps", "0", "--model-dir", place.model_dir()}, training()).status, 2);
}

TEST(Run, WhatIsComputedInIsPartOfACheckpointsNumerics) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    Place place;
    const Outcome outcome = run_program(
        {"--steps", "5", "--model-dir", place.model_dir(), "--backend", "reference", "--compute-dtype", dtype}, training());
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::ifstream index(place.model_dir() + "/model.ckpt-5.index");
    const auto numerics = nlohmann::json::parse(index).at("manifest").at("numerics").get<std::string>();
    EXPECT_EQ(numerics.ends_with(", bfloat16"), std::string(dtype) == "bfloat16") << numerics;
  }
  EXPECT_EQ(run_program({"--compute-dtype", "float16"}, training()).status, 2);
}

TEST(Run, NanLossIsStatus3AndADamagedFolderStatus4) {
  Place place;
  const Outcome nan =
      run_program({"--model-dir", place.model_dir(), "--backend", "reference"}, [](RunConfig config, const CommandLine&) {
        Estimator estimator(counting_model, std::move(config));
        train_and_evaluate(estimator,
                           {.input_fn = [] { return losses({std::numeric_limits<float>::quiet_NaN()}); }, .max_steps = 3},
                           {.input_fn = endless});
      });
  EXPECT_EQ(nan.status, 3);
  EXPECT_THAT(nan.err, HasSubstr("NaN"));
  write_file(place.model_dir() + "/checkpoint", "garbage");
  EXPECT_EQ(run_program({"--model-dir", place.model_dir(), "--backend", "reference"}, training()).status, 4);
}

TEST(Run, AClusterOfThreadsCallsTheProgramOncePerTask) {
  Place place;
  std::mutex mutex;
  std::vector<std::string> tasks;
  const Outcome outcome = run_program({"--cluster", "ps:1,worker:1", "--model-dir", place.model_dir()},
                                      [&](const RunConfig& config, const CommandLine&) {
                                        const std::lock_guard lock(mutex);
                                        tasks.push_back(config.task().name());
                                      });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(tasks, ::testing::UnorderedElementsAre("chief 0", "ps 0", "worker 0"));
}

TEST(Run, ATaskThatFailsIsNamed) {
  Place place;
  const Outcome outcome = run_program({"--cluster", "ps:1,worker:1", "--model-dir", place.model_dir()},
                                      [&](const RunConfig& config, const CommandLine&) {
                                        if (config.task_type() == "worker") raise(data_loss("bad disk"));
                                      });
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err, HasSubstr("error: worker 0: bad disk"));
}

TEST(Run, ATaskIsNamedOnceInItsError) {
  Place place;
  const Outcome outcome = run_program({"--cluster", "ps:1,worker:1", "--model-dir", place.model_dir()},
                                      [&](const RunConfig& config, const CommandLine&) {
                                        if (config.is_chief()) throw std::runtime_error("the cable");
                                      });
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error: chief 0: the program threw an exception: the cable\n"));
}

TEST(Run, ProgramsWithoutFlagsGiveOnlyABody) {
  const char* argv[] = {"program"};
  int calls = 0;
  EXPECT_EQ(run(1, argv, [&](RunConfig) { ++calls; }), 0);
  EXPECT_EQ(calls, 1);
}

TEST(Run, FlagsThatOnlyABodyCouldHeedAreRefusedWhereItCannot) {
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
