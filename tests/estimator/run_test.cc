// SPDX-License-Identifier: Apache-2.0
// shoal::run: exit statuses, the line of JSON, tasks as threads (CONTRACT FA-10; DESIGN, "What a user meets").
#include "shoal/estimator/run.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "run_program.h"
#include "shoal/base/process_info.h"
#include "shoal/estimator/early_stopping.h"
#include "shoal/estimator/exporter.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Dataset line_of_points() { return line({1, 2, 3, 4}).batch(2); }

TEST(Run, AClusterThatNobodyEvaluatesSaysSo) {
  const std::string warning = "neither an evaluator nor a master, so nothing is evaluated or exported";
  const auto run = [](const char* cluster) {
    return run_program({"--cluster", cluster}, [](const RunConfig&, const CommandLine&) {}).err;
  };
  for (const std::string size : {"ps:1,worker:1", "ps:1", "basic", "chief", "worker:1,ps:1,evaluator:0"}) {
    const std::string said = run(size.c_str());
    ASSERT_THAT(said, HasSubstr(warning)) << size;
    const std::string flag = "with one: --cluster ";
    const size_t begin = said.find(flag);
    ASSERT_NE(begin, std::string::npos) << said;
    const std::string advised = said.substr(begin + flag.size(), said.find('\n', begin) - begin - flag.size());
    const Outcome followed = run_program({"--cluster", advised}, [](const RunConfig&, const CommandLine&) {});
    EXPECT_EQ(followed.status, 0) << size << ": " << advised << ": " << followed.err;
    EXPECT_THAT(followed.err, ::testing::Not(HasSubstr(warning))) << advised;
  }
  EXPECT_THAT(run("ps:1,evaluator"), ::testing::Not(HasSubstr(warning)));
  EXPECT_THAT(run("master,ps:1"), ::testing::Not(HasSubstr(warning)));
}

TEST(Run, AClusterThatCannotTrainIsRefusedBeforeItsTasksBegin) {
  const Outcome outcome = run_program({"--cluster", "worker:1"}, [](const RunConfig&, const CommandLine&) {});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.calls, 0);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("error: the cluster has workers but no ps"), ::testing::Not(HasSubstr("--cluster"))));
}

TEST(Run, ANamedClusterHasNoMoreTrainersThanTheMachineHasCores) {
  const int cores = read_process_info().usable_cores;
  std::atomic<int> trainers = 0;
  const Outcome outcome = run_program({"--cluster", "premium"}, [&](const RunConfig& config, const CommandLine&) {
    if (config.is_chief() || config.task_type() == "worker") ++trainers;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(trainers, std::clamp(cores, 2, 20));
  const std::string warning = "the size premium is ps:11,worker:19,evaluator, which is more than the ";
  EXPECT_EQ(outcome.err.find(warning) != std::string::npos, cores < 20) << outcome.err;
}

TEST(Run, ErrorsBecomeSentencesAndStatuses) {
  const std::pair<Error, int> cases[] = {
      {invalid_argument("one"), 2},    {type_mismatch("two"), 2}, {failed_precondition("three"), 2},
      {not_found("four"), 2},          {nan_loss("five"), 3},     {data_loss("six"), 4},
      {deadline_exceeded("seven"), 5}, {unavailable("eight"), 1}, {internal_error("nine"), 1}};
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

/// The program's own exception leaves train_and_evaluate() as it was thrown; the facts about its place are logged.
TEST(Run, AnExceptionInAMapIsToldWithFileAndLine) {
  TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "x\n1\n2\nthree\n4\n");
  std::atomic<int> unchanged = 0;
  const auto program = [&path, &unchanged](bool may_go_away) {
    return [&path, &unchanged, may_go_away](RunConfig config, const CommandLine&) {
      const data::MapFn number = [may_go_away](data::Element row) -> Result<data::Element> {
        const std::string& text = row.features["x"].strings()[0];
        if (may_go_away && text == "three") throw std::runtime_error("no answer");
        return data::Element{.features = Tensor::scalar(std::stof(text))};
      };
      const Dataset numbers = Dataset::csv({path}, {.columns = {{"x"}}, .header_lines = 1}).map(number).batch(1);
      Estimator estimator(counting_model, std::move(config));
      try {
        train_and_evaluate(estimator, {.input_fn = numbers.repeat(), .max_steps = 50}, {.input_fn = numbers});
      } catch (const std::invalid_argument&) {
        ++unchanged;
        throw;
      }
    };
  };
  Place place;
  for (const char* cluster : {"", "ps:1"}) {
    std::vector<std::string> arguments{"--model-dir", place.model_dir() + cluster};
    if (*cluster) arguments.insert(arguments.end(), {"--cluster", cluster});
    const Outcome wrong = run_program(arguments, program(false));
    EXPECT_EQ(wrong.status, 2) << cluster;
    EXPECT_EQ(unchanged.exchange(0), 1) << cluster;
    EXPECT_THAT(wrong.err, HasSubstr(path + ", line 4: the function of map threw an exception: stof\n")) << cluster;
    const Outcome away = run_program(arguments, program(true));
    EXPECT_EQ(away.status, 1) << cluster;
    EXPECT_THAT(away.err, HasSubstr(path + ", line 4: the function of map threw an exception: no answer\n")) << cluster;
  }
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

/// CONTRACT HK-12: in a run of seconds, a look per minute would only see the first step.
TEST(Run, AShortJobIsStoppedByItsEvaluations) {
  for (const char* cluster : {"", "ps:1,worker:1,evaluator", "master,ps:1,worker:1"}) {
    SCOPED_TRACE(cluster);
    Place place;
    std::vector<std::string> arguments{"--steps", "500000",      "--save-checkpoints-steps", "50",        "--throttle-secs",
                                       "0",       "--model-dir", place.model_dir(),          "--backend", "reference"};
    if (*cluster) arguments.insert(arguments.end(), {"--cluster", cluster});
    const Outcome outcome = run_program(std::move(arguments), [](RunConfig config, const CommandLine& line) {
      const InputFn points = [] { return line_of_points(); };
      Estimator estimator(linear_model, std::move(config), {{"learning_rate", 0.01}});
      train_and_evaluate(estimator,
                         {.input_fn = [] { return line_of_points().repeat(); },
                          .max_steps = line.steps,
                          .hooks = {stop_if_lower("loss", 1e9)}},
                         {.input_fn = points, .throttle_secs = line.throttle_secs, .start_delay_secs = 0});
    });
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("early stopping at global step"));
    const auto mark = end_mark(place.model_dir());
    ASSERT_TRUE(mark);
    EXPECT_EQ(mark->reason, checkpoint::EndReason::kStopRequested);
    EXPECT_LT(mark->global_step, 500000);
    if (!*cluster) {
      EXPECT_EQ(mark->global_step, 50);
    }
  }
}

TEST(Run, TheObjectSaysWhichRunItIsAndWhatWasBest) {
  Place place;
  // The loss of each evaluation is its step, except the second, whose loss is 0.
  const ProgramBody body = [](RunConfig config, const CommandLine& line) {
    Estimator estimator(counting_model, std::move(config));
    int evaluations = 0;
    const auto scripted = [&evaluations] { return losses({++evaluations == 2 ? 0.f : float(evaluations)}); };
    train_and_evaluate(estimator, {.input_fn = endless, .max_steps = line.steps},
                       {.input_fn = scripted, .throttle_secs = 0});
  };
  const std::vector<std::string> flags{
      "--json", "--model-dir", place.model_dir(),          "--backend", "reference",       "--units", "7",
      "--seed", "5",           "--save-checkpoints-steps", "2",         "--throttle-secs", "0"};
  const auto results = [&](const char* steps) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), {"--steps", steps});
    const Outcome outcome = run_program(all, body);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1));
  };
  const auto json = results("8");
  EXPECT_GT(json.at("loss"), 0);
  ASSERT_EQ(json.at("best").at("loss"), 0) << json;
  EXPECT_LT(json.at("best").at("global_step"), 8);
  EXPECT_EQ(json.at("global_step"), 8);
  EXPECT_EQ(json.at("model_dir"), place.model_dir());
  EXPECT_EQ(json.at("seed"), 5);
  EXPECT_EQ(json.at("flags").at("units"), 7);
  EXPECT_EQ(json.at("flags").at("learning-rate"), 0.5);
  EXPECT_EQ(json.at("flags").at("shuffle"), true);
  EXPECT_EQ(json.at("flags").at("steps"), 8);
  EXPECT_EQ(json.at("flags").at("batch"), 8);
  EXPECT_FALSE(json.at("version").get<std::string>().empty());
  // Evaluations of an earlier start count, too.
  EXPECT_EQ(results("10").at("best").at("global_step"), json.at("best").at("global_step"));
}

TEST(Run, TheSeedThatWasDrawnIsTold) {
  Place place;
  const Outcome outcome =
      run_program({"--json", "--steps", "2", "--model-dir", place.model_dir(), "--backend", "reference"}, training());
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(outcome.err,
              HasSubstr("random seed " + std::to_string(json.at("seed").get<int64_t>()) + ", drawn for this run"));
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
  EXPECT_THAT((std::ostringstream() << std::ifstream(file).rdbuf()).str(), HasSubstr(R"("error":"no")"));
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
  write_file(place.model_dir() + "/model.ckpt-0.index", "garbage");
  EXPECT_EQ(run_program({"--model-dir", place.model_dir(), "--backend", "reference"}, training()).status, 4);
}

/// Trains until it is stopped; the first trainer to make its fifth step raises `signal`. 0: trains until --steps.
ProgramBody signalled(int signal) {
  return [signal](RunConfig config, const CommandLine& line) {
    const bool raises = signal != 0 && config.trainer_index() == 0;
    const auto hook = after_each_step([raises, signal](RunContext& run, const StepValues&) {
      if (!raises || run.iterations() != 5) return;
      ::raise(signal);
      while (!run.env().interrupted().stop_requested()) std::this_thread::yield();
    });
    Estimator estimator(counting_model, std::move(config));
    train_and_evaluate(estimator,
                       {.input_fn = endless, .max_steps = signal != 0 ? std::nullopt : line.steps, .hooks = {hook}},
                       {.input_fn = [] { return losses({0.5f}); }, .start_delay_secs = 0});
  };
}

TEST(Run, ATaskThatGivesWayEndsWith143AndItsNextStartGoesOn) {  // CONTRACT FA-12
  for (const int signal : {SIGTERM, SIGHUP}) {
    Place place;
    const std::vector<std::string> flags{"--model-dir", place.model_dir(), "--backend",
                                         "reference",   "--on-sigterm",    "leave"};
    const Outcome left = run_program(flags, signalled(signal));
    EXPECT_EQ(left.status, 143) << left.err;
    EXPECT_EQ(left.out, "");
    EXPECT_THAT(left.err, HasSubstr("gave way at global step 5; the same command goes on from the newest checkpoint"));
    EXPECT_THAT(left.err, ::testing::Not(HasSubstr("error: ")));
    EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/training_finished"));
    const Outcome again = run_program(flags, signalled(0));
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("model.ckpt-5 at global step 5"));
  }
}

TEST(Run, ATrainingThatGivesWayEndsWith143) {
  Place place;
  const auto hook = after_each_step([](RunContext& run, const StepValues&) {
    if (run.iterations() != 5) return;
    ::raise(SIGTERM);
    while (!run.env().interrupted().stop_requested()) std::this_thread::yield();
  });
  bool went_on = false;
  const Outcome left = run_program({"--model-dir", place.model_dir(), "--backend", "reference", "--on-sigterm", "leave"},
                                   [&](RunConfig config, const CommandLine&) {
                                     Estimator(counting_model, std::move(config)).train(endless, {.hooks = {hook}});
                                     went_on = true;
                                   });
  EXPECT_EQ(left.status, 143) << left.err;
  EXPECT_FALSE(went_on);
}

TEST(Run, ACtrlCEndsTheJobWhateverSigtermMeans) {
  Place place;
  const Outcome ended =
      run_program({"--model-dir", place.model_dir(), "--backend", "reference", "--on-sigterm", "leave"}, signalled(SIGINT));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(std::filesystem::exists(place.model_dir() + "/training_finished"));
}

TEST(Run, AClusterOfThreadsGivesWayAsOne) {
  Place place;
  const std::vector<std::string> flags{"--model-dir", place.model_dir(),         "--backend",    "reference",
                                       "--cluster",   "ps:2,worker:1,evaluator", "--on-sigterm", "leave"};
  const Outcome left = run_program(flags, signalled(SIGTERM));
  EXPECT_EQ(left.status, 143) << left.err;
  EXPECT_THAT(left.err, ::testing::Not(HasSubstr("failed: ")));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/training_finished"));
}

TEST(Run, AProgramThatGoesOnAllTheSameEndsWith143) {
  Place place;
  ErrorKind kind{};
  const Outcome left = run_program({"--model-dir", place.model_dir(), "--backend", "reference", "--on-sigterm", "leave"},
                                   [&](RunConfig config, const CommandLine& line) {
                                     try {
                                       signalled(SIGTERM)(std::move(config), line);
                                     } catch (const Exception& exception) {
                                       kind = exception.kind();
                                     }
                                   });
  EXPECT_EQ(kind, ErrorKind::kCancelled);
  EXPECT_EQ(left.status, 143) << left.err;
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

}  // namespace
}  // namespace shoal::testing
