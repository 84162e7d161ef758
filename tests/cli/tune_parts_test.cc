// SPDX-License-Identifier: Apache-2.0
/// Parts of `shoal tune`: the command of a trial, what a trial leaves, the lock of its processes, and its tables.
#include <cmath>
#include <filesystem>

#include "fixture.h"
#include "launch/inbox.h"
#include "shoal/base/storage.h"
#include "shoal/estimator/export_names.h"
#include "tune/running_trial.h"
#include "tune/search_table.h"
#include "tune/trial_command.h"
#include "tune/trial_process.h"
#include "tune/trial_results.h"

namespace shoal::cli::tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

tuning::Space space_of(const std::vector<std::string>& texts) {
  std::vector<tuning::Parameter> parameters;
  for (const std::string& text : texts) parameters.push_back(tuning::parse_parameter(text).value());
  return tuning::Space::create(std::move(parameters)).value();
}

TuneOptions random_search(std::vector<std::string> program) {
  TuneOptions options{.folder = "s", .header = {}, .tuner = {}};
  options.header.space = space_of({"lr=0..1"});
  options.header.program = std::move(program);
  return options;
}

const tuning::Trial kTrial{.number = 7, .parameters = {{"lr", 0.5}, {"optimizer", std::string("a b")}}};

TEST(TrialCommand, GivesParametersFolderAndThreads) {
  EXPECT_THAT(
      trial_words(random_search({"./train", "--data-dir", "d"}), kTrial),
      ElementsAre("./train", "--data-dir", "d", "--lr=0.5", "--optimizer=a b", "--model-dir=s/trials/0007", "--threads=1"));
  EXPECT_THAT(
      trial_variables(*make_file_storage(), random_search({"./train"}), 7),
      ElementsAre(Pair("SHOAL_TRIAL", "7"),
                  Pair("SHOAL_REPORT_FILE", (std::filesystem::current_path() / "s/trials/0007/report.json").string())));
}

TEST(TrialCommand, TellsTrialsThatMayEndEarlyWhenToEvaluate) {
  TuneOptions options = random_search({"./train"});
  options.header.algorithm = tuning::Algorithm::kAsha;
  options.header.min_steps = 100;
  options.header.max_steps = 900;
  options.threads = 0;
  EXPECT_THAT(trial_words(options, {.number = 12345}), ElementsAre("./train", "--model-dir=s/trials/12345", "--steps=900",
                                                                   "--save-checkpoints-steps=100", "--throttle-secs=0"));
  options.header.program = {"./train", "--steps", "900", "--save-checkpoints-steps=50", "--param", "throttle_secs=3"};
  EXPECT_EQ(trial_words(options, {}).size(), 7u);
  // A searched interval and throttle are not given twice.
  options.header.program = {"./train", "--steps=900"};
  const tuning::Trial searched{.parameters = {{"save-checkpoints-steps", int64_t{10}}, {"throttle-secs", int64_t{1}}}};
  EXPECT_THAT(trial_words(options, searched), ElementsAre("./train", "--steps=900", "--save-checkpoints-steps=10",
                                                          "--throttle-secs=1", "--model-dir=s/trials/0000"));
}

TEST(TrialCommand, LaunchesAJob) {
  TuneOptions options = random_search({"./train", "-x"});
  options.launch = {"shoal", "launch", "--ps", "1", "--"};
  EXPECT_THAT(trial_words(options, {}), ElementsAre("shoal", "launch", "--ps", "1", "--", "./train", "-x",
                                                    "--model-dir=s/trials/0000", "--threads=1"));
  options.launches_itself = true;
  EXPECT_THAT(trial_words(options, {}),
              ElementsAre("shoal", "launch", "--ps", "1", "--", "-x", "--model-dir=s/trials/0000", "--threads=1"));
}

TEST(TrialCommand, RefusesFlagsThatAreGivenTwice) {
  EXPECT_TRUE(check_program({"./train", "--steps=3"}, space_of({"lr=0..1"})));
  EXPECT_THAT(check_program({"./train", "--model-dir=m"}, space_of({"lr=0..1"})).error().message(),
              HasSubstr("--model-dir"));
  EXPECT_THAT(check_program({"./train", "--lr", "3"}, space_of({"lr=0..1"})).error().message(), HasSubstr("leave one out"));
  EXPECT_THAT(check_program({"./train"}, space_of({"json=a|b"})).error().message(), HasSubstr("cannot be searched"));
}

class TrialResults : public cli::testing::InFolder {
 protected:
  const std::unique_ptr<Storage> storage_ = make_file_storage();
};

TEST_F(TrialResults, ReadsAReport) {
  write("r", R"({"loss": 0.5, "auc": "NaN", "count": 3, "global_step": 7, "interrupted": true, "best": {"loss": 1}})");
  const auto report = read_report(*storage_, folder + "/r", "loss").value();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->value, 0.5);
  EXPECT_EQ(report->step, 7);
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(std::isnan(*read_report(*storage_, folder + "/r", "auc").value()->value));
  EXPECT_FALSE(read_report(*storage_, folder + "/r", "bleu").value()->value);
  EXPECT_FALSE(read_report(*storage_, folder + "/nowhere", "loss").value());
  // Of a start that was interrupted before it trained: step and metrics are those of an earlier start.
  write("r", R"({"interrupted": true, "last": {"loss": 0.25, "global_step": 374}})");
  EXPECT_EQ(read_report(*storage_, folder + "/r", "loss").value()->value, 0.25);
  EXPECT_EQ(read_report(*storage_, folder + "/r", "loss").value()->step, 374);
  for (const char* text : {"", "[]", "{\"loss\":", "\x00\xff"}) {
    write("r", text);
    EXPECT_FALSE(read_report(*storage_, folder + "/r", "loss").value());
  }
}

TEST_F(TrialResults, FindsTheLastWordsOfALog) {
  const auto words = [&](const std::string& text) {
    write("log", text);
    return last_words(*storage_, folder + "/log", 0);
  };
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("a\nb\n\n"), "b");
  EXPECT_EQ(words("[chief] error: it broke\nmore\n"), "it broke");
  EXPECT_EQ(words(std::string(1 << 20, 'x')).size(), 1000u);
  EXPECT_EQ(last_words(*storage_, folder + "/nowhere", 0), "");
  // An earlier attempt wrote the first 12 bytes.
  write("log", "error: full\nstep 2\n");
  EXPECT_EQ(last_words(*storage_, folder + "/log", 12), "step 2");
  EXPECT_EQ(last_words(*storage_, folder + "/log", 99), "");
}

/// Attempts of a trial whose program is a script of the shell.
class TrialAttempts : public TrialResults {
 protected:
  tuning::AttemptEnd run(const std::string& script) {
    options_.folder = folder;
    options_.header.metric = "loss";
    options_.header.program = {"sh", "-c", script};
    auto running = RunningTrial::start(*storage_, options_, "/bin/sh", {.number = 7}).value();
    if (!running) return {.error = "an earlier attempt still runs"};
    const SteadyTime limit = launch::steady_now() + std::chrono::seconds(60);
    while (!running->is_gone() && launch::steady_now() < limit) running->group().look();
    return running->attempt_end().value();
  }

  TuneOptions options_ = random_search({});
};

TEST_F(TrialAttempts, SayWhichSignalEndedThem) {
  const tuning::AttemptEnd killed = run("echo checkpoint written; kill -9 $$");
  EXPECT_EQ(killed.status, 128 + 9);
  EXPECT_EQ(killed.error, "it was ended by signal 9 (Killed); last in its log: checkpoint written");
  EXPECT_EQ(run("kill -9 $$").error,
            "it was ended by signal 9 (Killed)");  // What the attempt before wrote is not repeated.
}

TEST_F(TrialAttempts, SayWhyTheyFailed) {
  EXPECT_EQ(run("echo 'error: no data'; exit 2").error, "no data");
  EXPECT_EQ(run("exit 7").error, "it ended with status 7");
  EXPECT_EQ(run("printf 'error: \\033[2Jno data\\302\\233\\n'; exit 2").error, "\uFFFD[2Jno data\uFFFD");
  EXPECT_THAT(run("exit 0").error, HasSubstr("there is no metric loss (--metric); it has reported nothing"));
  const tuning::AttemptEnd interrupted = run("echo '{\"interrupted\": true}' > $SHOAL_REPORT_FILE");
  EXPECT_TRUE(interrupted.interrupted);
  EXPECT_EQ(interrupted.error, "");
}

TEST_F(TrialResults, FindsTheNewestExport) {
  EXPECT_FALSE(newest_export_of_run(*storage_, folder));
  for (const char* path : {"export/best/0000000002", "export/final/0000000003", "export/final/other"}) {
    ASSERT_TRUE(storage_->make_folders(folder + "/" + path));
  }
  EXPECT_EQ(newest_export_of_run(*storage_, folder), folder + "/export/final/0000000003");
}

TEST_F(TrialResults, LinksAreReplaced) {
  ASSERT_TRUE(replace_link("trials/0001", folder + "/best"));
  ASSERT_TRUE(replace_link("trials/0002", folder + "/best"));
  EXPECT_EQ(std::filesystem::read_symlink(folder + "/best"), "trials/0002");
  EXPECT_FALSE(replace_link("x", folder + "/nowhere/best"));
}

TEST_F(TrialResults, LocksAreHeldOnce) {
  const std::string path = folder + "/.running";
  {
    const auto lock = RunningLock::take(path);
    ASSERT_TRUE(lock && *lock);
    (*lock)->say(4711);
    EXPECT_EQ(holder_of(*storage_, path), "4711");
    const auto second = RunningLock::take(path);
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
  }
  EXPECT_TRUE(RunningLock::take(path).value().has_value());
  EXPECT_FALSE(RunningLock::take(folder + "/nowhere/.running"));
}

/// A search with three trials: complete, failed, and stopped.
tuning::Tuner three_trials() {
  tuning::Tuner tuner({.trials = 3}, tuning::grid_sampler(space_of({"name=a,b|c\"d|e"})).value());
  const SteadyTime now{};
  static_cast<void>(tuner.begin(now));
  static_cast<void>(tuner.ended(0, {.value = 0.5, .step = 10, .seconds = 1}, now));
  static_cast<void>(tuner.ended(1, {.status = 2, .seconds = 2, .error = "no,\nnever"}, now));
  static_cast<void>(tuner.ended(2, {.value = std::nan(""), .step = 10, .seconds = 1}, now));
  return tuner;
}

TEST(SearchTable, IsCsv) {
  EXPECT_EQ(trials_csv(three_trials(), space_of({"name=a,b|c\"d|e"})),
            "trial,state,value,step,seconds,attempts,status,error,param.name\r\n"
            "0,complete,0.5,10,1.000,1,0,,\"a,b\"\r\n"
            "1,failed,,,2.000,1,2,\"no,\nnever\",\"c\"\"d\"\r\n"
            "2,complete,nan,10,1.000,1,0,,e\r\n");
}

TEST(SearchTable, BeginsWithTheBest) {
  EXPECT_THAT(search_lines(three_trials(), {}),
              ElementsAre("trial  state     value  step  parameters", "    0  best        0.5    10  name a,b",
                          "    2  complete    nan    10  name e", "    1  failed                 name c\"d"));
}

TEST(SearchTable, OrdersTheOthersByTheirValues) {
  for (const tuning::Goal goal : {tuning::Goal::kMin, tuning::Goal::kMax}) {
    tuning::Tuner tuner({.trials = 4, .goal = goal}, tuning::grid_sampler(space_of({"name=a|b|c|d"})).value());
    const SteadyTime now{};
    static_cast<void>(tuner.begin(now));
    const double values[] = {0.5, 0.9, 0.7, 0.6};
    for (int64_t i = 0; i < 4; ++i) static_cast<void>(tuner.ended(i, {.value = values[i], .step = 10}, now));
    std::string order;
    for (const std::string& line : search_lines(tuner, {})) order += line.back();
    EXPECT_EQ(order, goal == tuning::Goal::kMin ? "sadcb" : "sbcda");  // Behind the last letter of the head.
  }
}

TEST(SearchTable, FitsANarrowTerminal) {
  const auto lines = search_lines(three_trials(), {.columns = 20, .lines = 4});
  ASSERT_EQ(lines.size(), 3u);
  for (const std::string& line : lines) EXPECT_LT(line.size(), 20u);
  EXPECT_EQ(lines.back(), "and 2 more trials");
}

}  // namespace
}  // namespace shoal::cli::tune
