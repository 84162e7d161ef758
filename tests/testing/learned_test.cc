// SPDX-License-Identifier: Apache-2.0
// What the input taught is the run's (CONTRACT RU-3): RunConfig::learned(), in virtual time.
#include <gmock/gmock.h>

#include <bit>

#include "shoal/checkpoint/directory.h"
#include "shoal/columns/column.h"
#include "shoal/columns/statistics.h"
#include "shoal/data/csv_columns.h"
#include "shoal/estimator/canned.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kModel = "/shared/model";
const std::string kTable = "/shared/data/woods.csv";

/// A table in which each wood has its label; which comes first in a vocabulary is what is the most frequent.
std::string table_of(const std::vector<std::pair<std::string, int>>& woods) {
  std::string text = "wood,label\n";
  for (const auto& [wood, times] : woods) {
    for (int i = 0; i < times; ++i) text += wood + (wood < "f" ? ",yes\n" : ",no\n");
  }
  return text;
}
const std::string kFirst = table_of({{"ash", 12}, {"oak", 11}, {"elm", 10}, {"fir", 9}});
/// The same woods in another order of frequency, and a new one.
const std::string kGrown = table_of({{"ash", 12}, {"oak", 14}, {"elm", 10}, {"fir", 15}, {"yew", 3}});

RunConfigOptions in_model(int64_t every = 40) {
  RunConfigOptions config = every_steps(every);
  config.model_dir = kModel;
  return config;
}

/// As the tutorial's: columns and vocabulary come from the table.
struct WoodProgram {
  int64_t max_steps = 200;
  std::string table = kTable;
  std::vector<Metrics>* metrics = nullptr;

  void operator()(RunConfig config) const {
    using namespace columns;
    data::CsvOptions csv{.labels = {"label"}, .header_lines = 1};
    csv.columns = data::csv_columns(table, csv, {.env = config.environment()});
    const data::Dataset rows = data::Dataset::csv({table}, csv);
    const Statistics statistics =
        config.learned("statistics", [&] { return statistics_of(rows, {.env = config.environment()}); });
    Estimator estimator =
        dnn_classifier({.columns = {indicator(categorical_by_vocabulary("wood", statistics.text("wood").vocabulary()))},
                        .hidden_units = {8}},
                       {.label_vocabulary = {"no", "yes"}}, config);
    const auto results =
        train_and_evaluate(estimator, {.input_fn = rows.shuffle(64).repeat().batch(8), .max_steps = max_steps},
                           {.input_fn = rows.take(42).batch(42), .throttle_secs = 0, .start_delay_secs = 0});
    if (metrics && results.metrics) metrics->push_back(*results.metrics);
  }
};

void put_table(World& world, const std::string& text) {
  ASSERT_TRUE(world.shared().make_folders("/shared/data"));
  ASSERT_TRUE(world.shared().write_atomically(kTable, text));
}

TEST(Learned, ATableThatGrewGoesOnWithTheWordsItBeganWith) {
  World world;
  put_table(world, kFirst);
  std::vector<Metrics> metrics;
  world.add_process("first", WoodProgram{.metrics = &metrics}, in_model());
  world.add_process("second", WoodProgram{.max_steps = 240, .metrics = &metrics}, in_model());
  world.start_late("second", 10min);
  world.at(9min, [&world] { put_table(world, kGrown); });
  ASSERT_TRUE(world.run()) << world.report();
  ASSERT_EQ(world.exit_status("first"), 0) << world.report();
  ASSERT_EQ(world.exit_status("second"), 0) << world.report();
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0].at("accuracy"), 1);
  EXPECT_EQ(metrics[1].at("accuracy"), 1);  // 0.45 where the words are turned round.
  EXPECT_EQ(world.count_log("the data have 1 text of wood that the run does not know: \"yew\""), 1U) << world.report();
}

TEST(Learned, OfAStartThatFailedIsNamedByItsFile) {
  World world;
  put_table(world, "tree" + kFirst.substr(4));  // The program knows a column wood.
  world.add_process("first", WoodProgram{}, in_model());
  world.add_process("second", WoodProgram{}, in_model());
  world.start_late("second", 10min);
  world.at(9min, [&world] { put_table(world, kFirst); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("second"), 2) << world.report();
  EXPECT_EQ(world.count_log("delete /shared/model/learned/statistics.json"), 1U) << world.report();
  EXPECT_EQ(world.count_log("the data have a feature of text wood, which the run does not know"), 1U) << world.report();
}

TEST(Learned, AllTasksOfAJobHaveWhatTheChiefMade) {
  World world;
  put_table(world, kFirst);
  world.add_cluster("ps:1,worker:2,evaluator", WoodProgram{}, in_model());
  world.start_late("chief 0", 3min);  // The others wait for the file, and say so.
  world.at(2min, [&world] { EXPECT_FALSE(world.shared().exists(kModel + "/learned/statistics.json")); });
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  EXPECT_GE(world.count_log("waiting for the chief to write /shared/model/learned/statistics.json"), 3U) << world.report();
}

TEST(Learned, AWorkerOnAnotherCopyOfATableHasTheWordsOfTheRun) {
  World world;
  put_table(world, kFirst);
  world.add_cluster("ps:1", WoodProgram{}, in_model());
  world.add_task("evaluator", kEvaluatorConfig, WoodProgram{.table = "/shared/data/copy.csv"}, in_model());
  ASSERT_TRUE(world.shared().write_atomically("/shared/data/copy.csv", kGrown));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("evaluator"), 0) << world.report();
  EXPECT_GE(world.count_log("accuracy = 1"), 1U) << world.report();
}

TEST(Learned, IsWaitedForUntilTheTimeoutOnly) {
  World world;
  put_table(world, kFirst);
  RunConfigOptions config = in_model();
  config.ready_timeout_secs = 30;
  world.add_task("evaluator", kEvaluatorConfig, WoodProgram{}, config);
  ASSERT_TRUE(world.run(1min)) << world.report();
  EXPECT_EQ(world.exit_status("evaluator"), 5) << world.report();
  EXPECT_THAT(world.outcome("evaluator").error().message(), HasSubstr("/shared/model/learned/statistics.json"));
}

/// A program that is only about learned().
template <class Body>
void run_alone(World& world, const std::string& name, Body body, Duration later = 0s) {
  world.add_process(
      name, [body](RunConfig config) { body(config); }, in_model());
  world.start_late(name, later);
}

TEST(Learned, KeepsEveryBitOfEveryType) {
  const double third = 1.0 / 3, huge = std::numeric_limits<double>::infinity();
  const std::vector<std::string> words{"", "a\"b\n", "\xc3\xa9", "\xff\xfe"};
  std::vector<std::string> seen;
  World world;
  for (const std::string name : {"first", "second"}) {
    const auto body = [&, name](const RunConfig& config) {
      const bool first = name == "first";
      EXPECT_EQ(config.learned("words", [&] { return first ? words : std::vector<std::string>{"other"}; }), words);
      EXPECT_EQ(config.learned("number", [&] { return first ? third : 0.5; }), third);
      EXPECT_EQ(config.learned("count", [&] { return first ? INT64_MIN : int64_t(0); }), INT64_MIN);
      EXPECT_EQ(config.learned("text", [&] { return first ? words[3] : std::string(); }), words[3]);
      EXPECT_THAT(config.learned("bounds",
                                 [&] {
                                   return std::vector<double>{first ? -huge : 0.0, third, huge};
                                 }),
                  ElementsAre(-huge, third, huge));
      const std::map<std::string, std::vector<double>> lists{{"", {}}, {"\xff", {third, huge}}};
      EXPECT_EQ(config.learned("lists", [&] { return first ? lists : std::map<std::string, std::vector<double>>{}; }),
                lists);
      seen.push_back(name);
    };
    run_alone(world, name, body, name == "first" ? Duration(0s) : Duration(1min));
  }
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_THAT(seen, ElementsAre("first", "second")) << world.report();
  EXPECT_EQ(world.count_log("the data have 1 text that the run does not know: \"other\""), 1U) << world.report();
}

TEST(Learned, GoesOnWhereTheDataCannotBeLookedAtAgain) {
  World world;
  run_alone(world, "first", [](const RunConfig& config) { config.learned("count", [] { return int64_t(3); }); });
  int64_t kept = 0;
  const auto second = [&kept](const RunConfig& config) {
    kept = config.learned("count", []() -> int64_t { raise(not_found("no such table")); });
  };
  run_alone(world, "second", second, 1min);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(kept, 3);
  EXPECT_EQ(world.count_log("the data could not be looked at again (no such table)"), 1U) << world.report();
}

TEST(Learned, WhatMakeThrowsComesOutUnchanged) {
  World world;
  run_alone(world, "local", [](const RunConfig& config) {
    EXPECT_THROW(config.learned("count", []() -> int64_t { throw std::out_of_range("mine"); }), std::out_of_range);
    EXPECT_EQ(config.learned("count", [] { return int64_t(4); }), 4);  // Nothing was left half done.
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("local"), 0) << world.report();
  EXPECT_TRUE(world.leftovers().empty());
}

TEST(Learned, RefusesOtherNamesAndDamagedFiles) {
  World world;
  run_alone(world, "local", [&world](const RunConfig& config) {
    const auto count = [] { return int64_t(4); };
    for (const char* name : {"", "a/b", "..", "a.b", "caf\xc3\xa9"}) {
      const auto refused = config.try_learned<int64_t>(name, count);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalidArgument);
    }
    config.learned("count", count);
    for (const char* text : {"", "{", "{\"version\":1}", "{\"version\":1,\"value\":\"four\"}"}) {
      ASSERT_TRUE(world.shared().write_atomically(kModel + "/learned/count.json", text));
      const auto damaged = config.try_learned<int64_t>("count", count);
      ASSERT_FALSE(damaged) << text;
      EXPECT_EQ(damaged.error().kind(), ErrorKind::kDataLoss);
      EXPECT_THAT(damaged.error().message(), HasSubstr("count"));
    }
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("local"), 0) << world.report();
}

TEST(Learned, IsNotMadeWhereAnotherRunHoldsTheFolder) {
  World world({.work = 100ms});
  world.add_process("trains", SmallJob{.max_steps = 200}, in_model());
  Result<int64_t> refused = int64_t(0);
  run_alone(
      world, "late",
      [&refused](const RunConfig& config) { refused = config.try_learned<int64_t>("count", [] { return int64_t(4); }); },
      5s);
  ASSERT_TRUE(world.run()) << world.report();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("model_dir /shared/model is in use"));
}

}  // namespace
}  // namespace shoal::testing
