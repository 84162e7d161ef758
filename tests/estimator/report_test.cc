// SPDX-License-Identifier: Apache-2.0
// The report of a run: the file that SHOAL_REPORT_FILE names, and report.json in model_dir.
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "report_files.h"
#include "run_program.h"
#include "shoal/base/memory_storage.h"
#include "shoal/estimator/exporter.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using Json = nlohmann::json;

/// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
Json json_of(const std::string& path) {
  const Json json = Json::parse(text_of(path), nullptr, false);
  EXPECT_TRUE(json.is_object()) << path << ": " << text_of(path);
  return json;
}

/// A folder with a model_dir, and the file that SHOAL_REPORT_FILE names.
class Report : public ::testing::Test {
 protected:
  std::string model_dir() const { return place.model_dir(); }
  std::string in_folder() const { return model_dir() + "/report.json"; }
  std::string by_variable() const { return place.folder / "outcome.json"; }
  Outcome run(std::vector<std::string> more, const ProgramBody& body) const {
    std::vector<std::string> arguments{"--model-dir", model_dir(), "--backend", "reference",
                                       "--threads",   "1",         "--seed",    "7"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, body);
  }

  Place place;
  Variable file{"SHOAL_REPORT_FILE", place.folder / "outcome.json"};
};

ProgramBody trains(std::vector<std::shared_ptr<Hook>> hooks = {}, std::vector<std::shared_ptr<Exporter>> exporters = {}) {
  return [=](RunConfig config, const CommandLine& line) {
    Estimator estimator(counting_model, std::move(config));
    train_and_evaluate(
        estimator, {.input_fn = endless, .max_steps = line.steps, .hooks = hooks},
        {.input_fn = [] { return losses({0.5f}); }, .throttle_secs = 0, .start_delay_secs = 0, .exporters = exporters});
  };
}

/// Raises the signal in the fifth step of this start, and waits until the task has heard it.
std::shared_ptr<Hook> signal_in_step_5(int signal) {
  return after_each_step([signal](RunContext& run, const StepValues&) {
    if (run.iterations() != 5) return;
    ::raise(signal);
    while (!run.env().interrupted().stop_requested()) std::this_thread::yield();
  });
}

TEST_F(Report, IsTheSameInTheFolderInTheFileAndOnStandardOutput) {
  const Variable trial("SHOAL_TRIAL", "12");
  const Outcome outcome = run({"--steps", "8", "--units", "3", "--json"}, trains({}, {final_exporter("last")}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = text_of(in_folder());
  EXPECT_TRUE(outcome.out.ends_with(text)) << outcome.out;
  EXPECT_EQ(text_of(by_variable()), text);
  const Json report = json_of(in_folder());
  EXPECT_EQ(report.at("status"), "complete");
  EXPECT_FALSE(report.contains("error"));
  EXPECT_FALSE(report.contains("interrupted"));
  EXPECT_EQ(report.at("trial"), "12");
  EXPECT_EQ(report.at("global_step"), 8);
  EXPECT_EQ(report.at("last"), Json({{"loss", 0.5}, {"global_step", 8}}));
  EXPECT_EQ(report.at("best").at("loss"), 0.5);
  EXPECT_EQ(report.at("flags").at("units"), 3);
  EXPECT_EQ(report.at("flags").at("steps"), 8);
  EXPECT_EQ(report.at("seed"), 7);
  EXPECT_THAT(report.at("export"), MatchesRegex(model_dir() + "/export/last/[0-9]{10}"));
  EXPECT_TRUE(std::filesystem::exists(report.at("export").get<std::string>() + "/export.json"));
}

TEST_F(Report, NamesTheNewestExportOfAllExporters) {
  ASSERT_EQ(run({"--steps", "4"}, trains({}, {final_exporter("z")})).status, 0);
  const std::string first = json_of(in_folder()).at("export");
  ASSERT_EQ(run({"--steps", "6"}, trains({}, {final_exporter("a")})).status, 0);
  const std::string second = json_of(in_folder()).at("export");
  EXPECT_THAT(second, HasSubstr("/export/a/"));
  EXPECT_THAT(first, HasSubstr("/export/z/"));
}

TEST_F(Report, TellsOfAnErrorAndLeavesTheStatusAlone) {
  const ProgramBody nan = [](RunConfig config, const CommandLine&) {
    Estimator estimator(counting_model, std::move(config));
    train_and_evaluate(estimator,
                       {.input_fn = [] { return losses({std::numeric_limits<float>::quiet_NaN()}); }, .max_steps = 3},
                       {.input_fn = endless});
  };
  const Outcome failed = run({"--json"}, nan);
  EXPECT_EQ(failed.status, 3);
  EXPECT_EQ(failed.out, "");
  for (const std::string& path : {in_folder(), by_variable()}) {
    const Json report = json_of(path);
    EXPECT_EQ(report.at("status"), "failed");
    EXPECT_EQ("error: " + report.at("error").get<std::string>() + "\n", failed.err.substr(failed.err.rfind("error: ")));
    EXPECT_EQ(report.at("model_dir"), model_dir());
    EXPECT_EQ(report.at("seed"), 7);
    EXPECT_FALSE(report.contains("last"));
  }
}

TEST_F(Report, OfAFailureHasTheEvaluationsBeforeIt) {
  const auto fails = after_each_step([](RunContext& run, const StepValues&) {
    if (run.global_step() == 120) raise(unavailable("the disk is full"));
  });
  const Outcome failed = run({"--steps", "200"}, trains({fails}));
  EXPECT_EQ(failed.status, 1);
  const Json report = json_of(in_folder());
  EXPECT_EQ(report.at("status"), "failed");
  EXPECT_THAT(report.at("error"), HasSubstr("the disk is full"));
  EXPECT_EQ(report.at("last").at("loss"), 0.5);
  EXPECT_LE(report.at("last").at("global_step"), 100);
  EXPECT_EQ(report.at("best").at("loss"), 0.5);
}

TEST_F(Report, OfAProgramThatFailsBeforeItTrainsIsTheFileAlone) {
  const Outcome failed =
      run({"--units", "5"}, [](const RunConfig&, const CommandLine&) { raise(invalid_argument("units: 5 is odd")); });
  EXPECT_EQ(failed.status, 2);
  EXPECT_FALSE(std::filesystem::exists(model_dir()));
  const Json report = json_of(by_variable());
  EXPECT_EQ(report.at("status"), "failed");
  EXPECT_EQ(report.at("error"), "units: 5 is odd");
  EXPECT_EQ(report.at("flags").at("units"), 5);
  EXPECT_EQ(report.at("model_dir"), model_dir());
}

TEST_F(Report, IsNotWrittenForACommandLineThatIsRefused) {
  EXPECT_NE(run({"--no-such-flag"}, trains()).status, 0);
  EXPECT_FALSE(std::filesystem::exists(by_variable()));
}

TEST_F(Report, AFileThatCannotBeWrittenIsAWarning) {
  const Variable elsewhere("SHOAL_REPORT_FILE", place.folder / "none/outcome.json");
  const Outcome failed = run({}, [](const RunConfig&, const CommandLine&) { raise(nan_loss("no number")); });
  EXPECT_EQ(failed.status, 3);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("error: no number\n"), HasSubstr("warning: SHOAL_REPORT_FILE: ")));
  std::filesystem::create_directories(in_folder() + "/x");  // No file can take the place of a folder that is not empty.
  const Outcome trained = run({"--steps", "3"}, trains());
  EXPECT_EQ(trained.status, 0);
  EXPECT_THAT(trained.err, HasSubstr("warning: the report of this run could not be written: "));
}

TEST_F(Report, SaysThatASignalEndedTheRun) {
  ASSERT_EQ(run({"--steps", "1000"}, trains({signal_in_step_5(SIGTERM)})).status, 0);
  const Json report = json_of(in_folder());
  EXPECT_EQ(report.at("status"), "interrupted");
  EXPECT_EQ(report.at("interrupted"), true);
  EXPECT_EQ(report.at("global_step"), 5);
  ASSERT_EQ(run({"--steps", "9"}, trains()).status, 0);
  EXPECT_EQ(json_of(in_folder()).at("status"), "complete");
}

TEST_F(Report, OfARunThatGaveWayIsNone) {
  ASSERT_EQ(run({"--steps", "4"}, trains()).status, 0);
  ASSERT_TRUE(std::filesystem::exists(in_folder()));
  std::filesystem::remove(by_variable());
  EXPECT_EQ(run({"--steps", "1000", "--on-sigterm", "leave"}, trains({signal_in_step_5(SIGTERM)})).status, 143);
  EXPECT_FALSE(std::filesystem::exists(in_folder()));
  EXPECT_FALSE(std::filesystem::exists(by_variable()));
}

/// A process that is killed leaves no report that speaks of an earlier start.
TEST_F(Report, OfAnEarlierStartIsGoneWhileTraining) {
  ASSERT_EQ(run({"--steps", "4"}, trains()).status, 0);
  bool seen = true;
  const auto look = after_each_step([&](RunContext&, const StepValues&) { seen = std::filesystem::exists(in_folder()); });
  ASSERT_EQ(run({"--steps", "6"}, trains({look})).status, 0);
  EXPECT_FALSE(seen);
  EXPECT_EQ(json_of(in_folder()).at("global_step"), 6);
}

TEST_F(Report, OfAFinishedRunStaysAndIsCompletedFromTheFolder) {
  ASSERT_EQ(run({"--steps", "4"}, trains({}, {final_exporter("last")})).status, 0);
  const std::string before = text_of(in_folder());
  const Json first = json_of(in_folder());
  const std::string run_file = text_of(model_dir() + "/run.json");
  const Outcome again = run_program({"--model-dir", model_dir(), "--backend", "reference", "--threads", "1", "--seed", "8",
                                     "--steps", "4", "--units", "99"},
                                    trains());
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("so these flags had no effect: units; the results are those of the start that trained"));
  EXPECT_EQ(text_of(model_dir() + "/run.json"), run_file);  // The seed stays that of the run.
  EXPECT_THAT(again.out, IsEmpty());                        // It has evaluated nothing.
  EXPECT_EQ(text_of(in_folder()), before);
  const Json outcome = json_of(by_variable());
  EXPECT_EQ(outcome.at("status"), "complete");
  EXPECT_FALSE(outcome.contains("loss"));
  for (const char* name : {"last", "best", "export", "global_step", "seed", "flags"})
    EXPECT_EQ(outcome.at(name), first.at(name)) << name;
  // Where it was deleted, or a version of Shoal trained that wrote none, the next start makes one.
  std::filesystem::remove(in_folder());
  ASSERT_EQ(run({"--steps", "4"}, trains()).status, 0);
  EXPECT_EQ(json_of(in_folder()).at("last"), first.at("last"));
}

/// A report in JSON does not tell of what type an empty list is.
TEST(FlagsNotUsed, AreNoEmptyListsOfAnotherType) {
  ExperimentReport report, own;
  report.parameters.set("layers", std::vector<std::string>());
  own.parameters.set("layers", std::vector<int64_t>());
  EXPECT_EQ(flags_not_used(report, own), "");
  own.parameters.set("layers", std::vector<int64_t>{1});
  EXPECT_EQ(flags_not_used(report, own), "layers");
}

TEST_F(Report, OfARunThatAnotherProgramBeganComesWithAWarning) {
  ASSERT_EQ(run({"--steps", "2"}, trains()).status, 0);
  const std::string path = model_dir() + "/run.json", program = Json::parse(text_of(path)).at("program");
  std::string text = text_of(path);
  text.replace(text.find(program), program.size(), "housing");
  write_file(path, text);
  const Outcome outcome = run({"--steps", "3"}, trains());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("was begun by the program housing, and this is " + program));
}

TEST_F(Report, ThatAKilledProcessWasWritingIsRemoved) {
  std::filesystem::create_directories(model_dir());
  write_file(in_folder() + ".tmp-ab-1", "{");
  ASSERT_EQ(run({"--steps", "2"}, trains()).status, 0);
  EXPECT_FALSE(std::filesystem::exists(in_folder() + ".tmp-ab-1"));
}

/// A start that is killed or fails after its last step leaves a report that would never become complete otherwise.
TEST_F(Report, OfAFinishedRunIsMadeAnewUnlessItSaysComplete) {
  ASSERT_EQ(run({"--steps", "4"}, trains()).status, 0);
  const Json first = json_of(in_folder());
  for (const char* text : {"", "garbage", "[]", R"({"status":"failed","error":"no room"})", R"({"status":"interrupted"})",
                           R"({"status":1})"}) {
    write_file(in_folder(), text);
    ASSERT_EQ(run({"--steps", "4"}, trains()).status, 0);
    const Json made = json_of(in_folder());
    EXPECT_EQ(made.at("status"), "complete") << text;
    EXPECT_EQ(made.at("last"), first.at("last")) << text;
    EXPECT_FALSE(made.contains("error")) << text;
  }
}

/// The second start is refused, and its failure is not that of the run that has the folder.
TEST_F(Report, OfAStartThatIsRefusedIsNotInTheFolder) {
  ASSERT_EQ(run({"--steps", "4"}, trains()).status, 0);
  const std::string before = text_of(in_folder());
  const auto storage = make_file_storage();
  const auto held = value_or_raise(storage->lock(model_dir() + "/training_lock", "another process"));
  const Outcome second = run({"--steps", "9"}, trains());
  EXPECT_NE(second.status, 0);
  EXPECT_EQ(text_of(in_folder()), before);
  EXPECT_EQ(json_of(by_variable()).at("status"), "failed");
}

TEST_F(Report, IsNotWrittenIntoAFolderThatWasReplaced) {
  const auto replace = after_each_step([&](RunContext& run, const StepValues&) {
    if (run.global_step() != 3) return;
    std::filesystem::rename(model_dir(), model_dir() + "-moved");
    std::filesystem::create_directories(model_dir());
  });
  EXPECT_EQ(run({"--steps", "100"}, trains({replace})).status, 2);
  EXPECT_THAT(std::filesystem::directory_iterator(model_dir()), ::testing::Eq(std::filesystem::directory_iterator()));
  EXPECT_FALSE(std::filesystem::exists(model_dir() + "-moved/report.json"));
  EXPECT_EQ(json_of(by_variable()).at("status"), "failed");
}

TEST_F(Report, OfAClusterOfThreadsIsOne) {
  for (const char* cluster : {"ps:1,worker:1,evaluator", "master,ps:1"}) {
    std::filesystem::remove_all(model_dir());
    const Outcome outcome = run({"--steps", "20", "--cluster", cluster, "--json"}, trains());
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.ends_with(text_of(in_folder())));
    const Json report = json_of(in_folder());
    EXPECT_EQ(report.at("status"), "complete");
    EXPECT_EQ(report.at("last").at("loss"), 0.5);
    EXPECT_GE(report.at("global_step"), 20);
  }
}

TEST_F(Report, OfAClusterOfThreadsNamesTheTaskThatFailed) {
  const Outcome outcome = run({"--steps", "20", "--cluster", "ps:1"}, [](RunConfig config, const CommandLine& line) {
    if (config.is_chief()) raise(invalid_argument("no such model"));
    trains()(std::move(config), line);
  });
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(json_of(by_variable()).at("error"), "chief 0: no such model");
}

TEST_F(Report, OfAProgramThatOnlyTrainsSaysHowItEnded) {
  const auto only_trains = [](std::vector<std::shared_ptr<Hook>> hooks) {
    return [hooks](RunConfig config, const CommandLine&) {
      Estimator(counting_model, std::move(config)).train(endless, {.max_steps = 1000, .hooks = hooks});
    };
  };
  ASSERT_EQ(run({}, only_trains({signal_in_step_5(SIGINT)})).status, 0);
  EXPECT_EQ(json_of(in_folder()).at("status"), "interrupted");
  ASSERT_EQ(run({}, only_trains({})).status, 0);
  EXPECT_EQ(json_of(in_folder()).at("status"), "complete");
}

/// Two trainings of one program: the first folder's report does not tell of the failure of the second.
TEST_F(Report, OfTwoFoldersAreTwo) {
  const std::string first = place.folder / "first", second = place.folder / "second";
  const ProgramBody both = [&](RunConfig config, const CommandLine& line) {
    trains()(config.replace({{"model_dir", first}}), line);
    trains({after_each_step([](RunContext&, const StepValues&) { raise(internal_error("broken")); })})(
        config.replace({{"model_dir", second}}), line);
  };
  const Outcome outcome = run_program({"--backend", "reference", "--threads", "1", "--steps", "3"}, both);
  EXPECT_EQ(outcome.status, 1);
  const Json done = json_of(first + "/report.json"), broken = json_of(second + "/report.json");
  EXPECT_EQ(done.at("status"), "complete");
  EXPECT_EQ(done.at("model_dir"), first);
  EXPECT_EQ(broken.at("status"), "failed");
  EXPECT_EQ(broken.at("model_dir"), second);
  EXPECT_FALSE(broken.contains("last"));
}

TEST_F(Report, GoesWhereTheRunHasItsFiles) {
  const std::shared_ptr<Storage> memory = make_memory_storage();
  const ProgramBody in_memory = [&](const RunConfig& config, const CommandLine& line) {
    RunConfigOptions options{.model_dir = "m", .save_checkpoints_steps = 5, .runtime = config.runtime(), .storage = memory};
    trains()(RunConfig(std::move(options)).with_host(config.host()), line);
  };
  const Outcome outcome = run_program({"--backend", "reference", "--threads", "1", "--steps", "6"}, in_memory);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("warning: the report")));
  EXPECT_EQ(Json::parse(value_or_raise(memory->read_all("m/report.json"))).at("global_step"), 6);
  EXPECT_FALSE(std::filesystem::exists("m"));
}

}  // namespace
}  // namespace shoal::testing
