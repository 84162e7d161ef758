// SPDX-License-Identifier: Apache-2.0
// How the best exporter treats results and exports of earlier processes (CONTRACT EX-6).
#include <cmath>
#include <limits>

#include "fixture.h"
#include "model/export_format.h"
#include "shoal/base/virtual.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exporter.h"
#include "shoal/monitor/event_writer.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

bool larger_accuracy(const Metrics& best, const Metrics& current) { return current.at("accuracy") > best.at("accuracy"); }

/// A folder with given results and exports, and a process that starts with it.
struct BestHistory : ::testing::Test {
  Place place;
  VirtualWorld world;
  Environment& env = world.add_task({.task = "evaluator 0", .sink = place.log.sink()});
  Estimator estimator = place.estimator(counting_model);
  const InputFn serving = [] { return losses({1}); };
  std::shared_ptr<Exporter> best = best_exporter("best", {.exports_to_keep = std::nullopt});
  int64_t next_number = 1;

  void SetUp() override { estimator.train(endless, {.steps = 1}); }

  enum class Writer { kEvaluation, kOther };
  /// Writes a result as an evaluation of a checkpoint does, or the numbers of another program.
  std::string record(int64_t step, const Metrics& metrics, Writer by = Writer::kEvaluation, const char* folder = "eval") {
    world.run_for(std::chrono::seconds(1));
    const auto writer = value_or_raise(monitor::EventWriter::open(env, estimator.model_dir() + "/" + folder));
    for (const auto& [name, value] : metrics) value_or_raise(writer->add_scalar(step, name, value));
    if (by == Writer::kEvaluation) value_or_raise(writer->add_text(step, "checkpoint_path", "m/model.ckpt"));
    value_or_raise(writer->close());
    return writer->path();
  }
  void record(int64_t step, double loss) { record(step, Metrics{{"loss", loss}}); }
  std::string export_folder() const { return estimator.model_dir() + "/export/best"; }
  void write_export(int64_t step) { write_export_file(encode_export({.global_step = step})); }
  void write_export_file(const std::string& text) {
    const std::string folder = export_folder() + "/" + export_name(next_number++);
    std::filesystem::create_directories(folder);
    write_file(folder + "/export.json", text);
  }
  /// Whether the exporter exports this result, which is recorded first, as an evaluation does.
  bool exports(int64_t step, Metrics metrics) {
    record(step, metrics);
    metrics.set_count("global_step", double(step));
    return best->export_model({env, estimator, export_folder(), *estimator.latest_checkpoint(), metrics, serving, false})
        .has_value();
  }
  bool exports(int64_t step, double loss) { return exports(step, Metrics{{"loss", loss}}); }
  /// Another process starts.
  void start_again() { best = best_exporter("best", {.exports_to_keep = std::nullopt}); }
  std::string newest_name() { return value_or_raise(exports_in(*make_file_storage(), export_folder())).back(); }
  int lines_with(const std::string& part) const { return place.log.count('I', part); }
};

TEST_F(BestHistory, WithoutAHistoryTheFirstOneIsExported) {
  EXPECT_TRUE(exports(10, 100));
  EXPECT_FALSE(exports(20, 100));
  EXPECT_TRUE(exports(30, 99));
}

TEST_F(BestHistory, TheNewestExportIsToBeBeaten) {
  record(10, 50);
  write_export(10);
  record(20, 60);
  EXPECT_FALSE(exports(30, 100));
  EXPECT_EQ(lines_with("at global step 10, from which the newest export was made, was as good or better"), 1);
  EXPECT_TRUE(exports(40, 10));
  EXPECT_FALSE(exports(50, 20));
}

TEST_F(BestHistory, WithoutAnExportTheBestResultIsToBeBeaten) {
  record(10, 50);
  record(20, 60);
  EXPECT_FALSE(exports(30, 55));
  EXPECT_EQ(lines_with("at global step 10 was as good or better"), 1);
  EXPECT_TRUE(exports(40, 45));
}

/// The process was killed when it had recorded the result of step 20, and had not exported it.
TEST_F(BestHistory, AResultWithoutItsExportIsExportedWhenItIsEvaluatedAgain) {
  record(10, 60);
  write_export(10);
  record(20, 50);
  EXPECT_TRUE(exports(20, 50));
}

/// A process was killed after it had recorded the result of step 20 and before it exported that step. Training has gone on
/// since, so step 20 is not evaluated again.
TEST_F(BestHistory, AResultWithoutItsExportIsNotToBeBeaten) {
  record(10, 60);
  write_export(10);
  record(20, 50);
  EXPECT_TRUE(exports(30, 55));
}

TEST_F(BestHistory, AStepIsNotComparedWithItselfWhereNothingIsExported) {
  record(10, 50);
  EXPECT_TRUE(exports(10, 50));
}

TEST_F(BestHistory, WhatIsExportedIsNotExportedAgain) {
  record(10, 0.3);  // As float32 the value is slightly above 0.3.
  write_export(10);
  EXPECT_FALSE(exports(10, 0.3));
  start_again();
  EXPECT_FALSE(exports(20, 0.3)) << "equal is not better";
  EXPECT_TRUE(exports(30, 0.29));
}

TEST_F(BestHistory, TheLastOfSeveralResultsOfAStepCounts) {
  record(10, 50);
  record(10, 70);  // The evaluation used other data then.
  write_export(10);
  EXPECT_TRUE(exports(20, 60));
}

TEST_F(BestHistory, ResultsWithoutTheComparedMetricArePassedOver) {
  best = best_exporter("best", {.compare = larger_accuracy});
  record(10, 50);
  write_export(10);
  record(20, {{"loss", 40}, {"accuracy", 0.5}});
  EXPECT_FALSE(exports(30, {{"loss", 30}, {"accuracy", 0.4}}));
  EXPECT_EQ(
      lines_with("1 of 2 earlier evaluations are passed over, since they cannot be compared (the one at global step 10: "),
      1);
  EXPECT_TRUE(exports(40, {{"loss", 30}, {"accuracy", 0.6}}));
}

TEST_F(BestHistory, WhereNoResultCanBeComparedTheFirstOneIsExported) {
  best = best_exporter("best", {.compare = larger_accuracy});
  record(10, 50);
  write_export(10);
  EXPECT_TRUE(exports(20, {{"loss", 60}, {"accuracy", 0.1}}));
  EXPECT_FALSE(exports(30, {{"loss", 10}, {"accuracy", 0.1}}));
}

TEST_F(BestHistory, AResultThatLacksTheComparedMetricIsAnError) {
  EXPECT_THAT(refusal([&] { exports(10, {{"accuracy", 1}}); }), HasSubstr("an evaluation without `loss`"));
  record(20, 50);
  EXPECT_THAT(refusal([&] { exports(30, {{"accuracy", 1}}); }), HasSubstr("an evaluation without `loss`"));
}

TEST_F(BestHistory, ScalarsOfOthersArePassedOver) {
  record(10, 50);
  record(15, {{"learning_rate", 0.1}}, Writer::kOther);
  record(16, {{"loss", 0.001}}, Writer::kOther);
  record(10, {{"loss", 0.002}}, Writer::kOther);
  EXPECT_FALSE(exports(20, 55));
  EXPECT_TRUE(exports(30, 45));
}

TEST_F(BestHistory, ScalarsOfOthersAreNoHistory) {
  record(15, {{"learning_rate", 0.1}}, Writer::kOther);
  EXPECT_TRUE(exports(20, 55));
}

TEST_F(BestHistory, AHistoryThatNamesNoCheckpointsCounts) {  // Another program wrote these results.
  record(10, {{"loss", 50}}, Writer::kOther);
  EXPECT_FALSE(exports(20, 55));
  EXPECT_TRUE(exports(30, 45));
}

TEST_F(BestHistory, NanInTheHistoryIsPassedOver) {
  record(10, kNotANumber);
  write_export(10);  // An earlier version may have written this export.
  record(20, 50);
  EXPECT_FALSE(exports(30, 55));
  EXPECT_EQ(lines_with("the one at global step 10: the compared value is NaN"), 1);
}

TEST_F(BestHistory, AHistoryOfNanAloneIsNone) {
  record(10, kNotANumber);
  EXPECT_TRUE(exports(20, 100));
}

TEST_F(BestHistory, AComparedMetricThatIsNanIsNeverExported) {
  best = best_exporter("best", {.compare = larger_accuracy});
  EXPECT_FALSE(exports(10, {{"loss", 1}, {"accuracy", kNotANumber}}));
  EXPECT_EQ(place.log.count('W', "the compared value of the evaluation at global step 10 is NaN"), 1);
  EXPECT_TRUE(exports(20, {{"loss", 1}, {"accuracy", 0.1}, {"recall", kNotANumber}})) << "recall is not compared";
  EXPECT_FALSE(exports(30, {{"loss", 1}, {"accuracy", kNotANumber}}));
}

TEST_F(BestHistory, ReadsTheFolderThatItIsPointedAt) {
  record(10, {{"loss", 50}}, Writer::kEvaluation, "eval_other");
  best = best_exporter("best", {.event_dir = "eval_other"});
  EXPECT_FALSE(exports(20, 100));
  EXPECT_TRUE(exports(30, 40));
}

TEST_F(BestHistory, ReadsDamagedFilesUpToTheDamage) {
  const std::string cut = record(10, Metrics{{"loss", 50}});
  write_file(cut, read_file(cut) + "cut");
  const std::string damaged = record(20, Metrics{{"loss", 45}});
  std::string contents = read_file(damaged);
  contents[contents.rfind("m/model.ckpt")] = 'M';  // The record now lacks its end.
  write_file(damaged, contents);
  EXPECT_FALSE(exports(30, 60));
  EXPECT_TRUE(exports(40, 48));
}

TEST_F(BestHistory, AnExportThatCannotBeReadIsTold) {
  record(10, 50);
  record(20, 60);
  write_export(20);
  write_export_file("{");
  EXPECT_FALSE(exports(30, 55));
  EXPECT_EQ(place.log.count('W', "/export.json: "), 1);
}

TEST_F(BestHistory, AFolderOfOthersIsNoExport) {
  record(10, 50);
  record(20, 60);
  write_export(20);
  std::filesystem::create_directories(export_folder() + "/0000000007");
  EXPECT_TRUE(exports(30, 55));
}

/// Two evaluators of one folder: one that was taken for dead, and the one that replaced it.
TEST_F(BestHistory, WhatAnotherProcessExportsMeanwhileIsToBeBeaten) {
  EXPECT_TRUE(exports(10, 0.5));
  record(20, 0.2);
  next_number = export_number(newest_name()).value() + 1;
  write_export(20);
  EXPECT_FALSE(exports(30, 0.3));
  EXPECT_TRUE(exports(40, 0.1));
}

}  // namespace
}  // namespace shoal::testing
