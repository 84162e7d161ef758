// SPDX-License-Identifier: Apache-2.0
// Exporters: when they write, and which exports they delete (CONTRACT 13).
#include "shoal/estimator/exporter.h"

#include <algorithm>
#include <limits>

#include "fixture.h"
#include "model/export_format.h"
#include "shoal/estimator/export_names.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One checkpoint in a folder, and exporters that are called with given results.
struct Exporters : ::testing::Test {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  std::shared_ptr<Environment> env = make_task_environment(estimator.config());
  const InputFn serving = [] { return losses({1}); };
  int64_t step = 0;
  std::string exported_checkpoint;  // The checkpoint to export; empty for the newest.

  void SetUp() override { estimator.train(endless, {.steps = 1}); }

  std::optional<std::string> call(Exporter& exporter, Metrics result, bool final = false) {
    result.emplace("global_step", double(++step));
    const std::string checkpoint = exported_checkpoint.empty() ? *estimator.latest_checkpoint() : exported_checkpoint;
    return exporter.export_model({*env, estimator, path(exporter), checkpoint, result, serving, final});
  }
  std::optional<std::string> call(Exporter& exporter, double loss) { return call(exporter, Metrics{{"loss", loss}}); }
  std::string path(const Exporter& exporter) const { return estimator.model_dir() + "/export/" + exporter.name(); }
  std::vector<std::string> written(const Exporter& exporter) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path(exporter)))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// Writes the part of an export that the best exporter reads: its step.
  void write_export(const Exporter& exporter, const std::string& name, int64_t global_step) const {
    const std::string folder = path(exporter) + "/" + name;
    std::filesystem::create_directories(folder);
    write_file(folder + "/export.json", encode_export({.global_step = global_step}));
  }
  /// Adds old exports, and other files and folders beside them.
  void clutter(const Exporter& exporter) const {
    for (const char* folder :
         {"0000000001", "0000000002", "0000000003", "00000000001", "000000001", "000000001x", "notes"}) {
      std::filesystem::create_directories(path(exporter) + "/" + folder);
      write_file(path(exporter) + "/" + folder + "/file", "x");
    }
    write_file(path(exporter) + "/0000000000", "a file, not an export");
  }
};

TEST_F(Exporters, LatestWritesEveryTimeAndKeepsTheNewest) {
  const auto latest = latest_exporter("latest", {.exports_to_keep = 2});
  clutter(*latest);
  const auto path = call(*latest, 1);
  ASSERT_TRUE(path);
  const std::string name = path->substr(path->rfind('/') + 1);
  EXPECT_THAT(name, ::testing::MatchesRegex("[0-9]{10}"));
  EXPECT_THAT(written(*latest),
              ElementsAre("0000000000", "00000000001", "0000000003", "000000001", "000000001x", name, "notes"));
  EXPECT_TRUE(std::filesystem::exists(*path + "/export.json"));
}

TEST_F(Exporters, LatestKeepsAllWithoutALimit) {
  const auto latest = latest_exporter("latest", {.exports_to_keep = std::nullopt});
  clutter(*latest);
  EXPECT_TRUE(call(*latest, 1));
  EXPECT_EQ(written(*latest).size(), 9u);
}

int64_t number_of(const std::optional<std::string>& path) {
  return export_number(path.value().substr(path->rfind('/') + 1)).value();
}

TEST_F(Exporters, NumbersOfOneSecondFollowEachOther) {
  const auto latest = latest_exporter("latest");
  const int64_t first = number_of(call(*latest, 1)), second = number_of(call(*latest, 1));
  EXPECT_GT(second, first);
  const int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(double(first), double(now), 600);
}

/// CONTRACT EST-13, EX-7: an export that a wrong clock named is no obstacle, and does not make the collection delete the
/// new export.
TEST_F(Exporters, AnExportFollowsTheNewestOneWhateverTheClockSays) {
  const auto latest = latest_exporter("latest", {.exports_to_keep = 1});
  write_export(*latest, "5000000000", 7);
  write_file(path(*latest) + "/5000000001", "a file in the way, not an export");
  EXPECT_EQ(number_of(call(*latest, 1)), 5000000002);
  EXPECT_EQ(number_of(call(*latest, 1)), 5000000003);
  EXPECT_THAT(written(*latest), ElementsAre("5000000001", "5000000003"));
}

TEST_F(Exporters, BeyondTheLastNumberIsAnError) {
  const auto latest = latest_exporter("latest");
  write_export(*latest, "9999999998", 7);
  EXPECT_EQ(number_of(call(*latest, 1)), kExportNumberMax);
  EXPECT_THAT(refusal([&] { call(*latest, 1); }, ErrorKind::kFailedPrecondition),
              HasSubstr("9999999999 is there; move it"));
  EXPECT_THAT(written(*latest), ElementsAre("9999999998", "9999999999"));  // Nothing unfinished is left.
}

TEST_F(Exporters, FinalWritesOnlyAtTheFinalExport) {
  const auto last = final_exporter("last");
  EXPECT_TRUE(last->final_only());
  EXPECT_EQ(call(*last, Metrics{{"loss", 1}}, false), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path(*last)));
  EXPECT_TRUE(call(*last, Metrics{{"loss", 1}}, true));
}

TEST_F(Exporters, BestWritesWhatIsStrictlyBetter) {
  const auto best = best_exporter("best");
  EXPECT_TRUE(call(*best, 0.5));
  EXPECT_FALSE(call(*best, 0.6));
  EXPECT_FALSE(call(*best, 0.5));  // Equal is not better.
  EXPECT_TRUE(call(*best, 0.4));
  EXPECT_FALSE(call(*best, 0.4));
}

TEST_F(Exporters, BestComparesAsAsked) {
  const auto best = best_exporter(
      "best", {.compare = [](const Metrics& a, const Metrics& b) { return b.at("accuracy") > a.at("accuracy"); }});
  EXPECT_TRUE(call(*best, Metrics{{"accuracy", 0.5}}));
  EXPECT_FALSE(call(*best, Metrics{{"accuracy", 0.4}}));
  EXPECT_TRUE(call(*best, Metrics{{"accuracy", 0.6}}));
}

TEST_F(Exporters, BestTakesNoNotANumberForTheBestThereWillBe) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto best = best_exporter("best");
  EXPECT_FALSE(call(*best, kNan));  // Not at the first decision either (CONTRACT CK-17).
  EXPECT_FALSE(call(*best, kNan));
  EXPECT_TRUE(call(*best, 0.5));
  EXPECT_FALSE(call(*best, kNan));
  EXPECT_FALSE(call(*best, 0.5));
  EXPECT_TRUE(call(*best, 0.4));
}

TEST_F(Exporters, BestDecidesForEachModelDirByItself) {
  const auto best = best_exporter("best");
  EXPECT_TRUE(call(*best, 0.5));
  Place elsewhere;
  Estimator other = elsewhere.estimator(counting_model);
  other.train(endless, {.steps = 1});
  std::swap(estimator, other);
  EXPECT_TRUE(call(*best, 0.6));  // The first export there.
  EXPECT_FALSE(call(*best, 0.7));
  std::swap(estimator, other);
  EXPECT_FALSE(call(*best, 0.55));
  EXPECT_TRUE(call(*best, 0.45));
}

TEST_F(Exporters, BestIsOnlyWhatWasExported) {
  const auto best = best_exporter("best");
  const auto fail = [&](double loss) {
    // The checkpoint moves with the folder.
    std::filesystem::rename(estimator.model_dir(), estimator.model_dir() + "-away");
    EXPECT_THROW(call(*best, loss), Exception);
    std::filesystem::remove_all(estimator.model_dir());
    std::filesystem::rename(estimator.model_dir() + "-away", estimator.model_dir());
  };
  exported_checkpoint = *estimator.latest_checkpoint();
  fail(0.3);
  EXPECT_TRUE(call(*best, 0.5));  // The first export, still.
  fail(0.3);
  EXPECT_TRUE(call(*best, 0.4));
  EXPECT_FALSE(call(*best, 0.4));
}

TEST_F(Exporters, BestCollectsAfterItsOwnExports) {
  const auto best = best_exporter("best", {.exports_to_keep = 2});
  EXPECT_TRUE(call(*best, 1));
  clutter(*best);
  EXPECT_FALSE(call(*best, 2));  // Old exports are only collected after an export.
  EXPECT_EQ(written(*best).size(), 9u);
  EXPECT_TRUE(call(*best, 0.5));
  EXPECT_EQ(written(*best).size(), 7u);
  EXPECT_FALSE(std::filesystem::exists(path(*best) + "/0000000003"));
}

TEST_F(Exporters, BestIsNeverAnEvaluationWhoseLossIsNanWhateverIsCompared) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto any = best_exporter("any", {.compare = [](const Metrics&, const Metrics&) { return true; }});
  EXPECT_FALSE(call(*any, nan));
  EXPECT_TRUE(call(*any, 0.5));
  EXPECT_FALSE(call(*any, nan));
  EXPECT_TRUE(call(*any, 0.6));
}

TEST_F(Exporters, BestNeedsTheLossItCompares) {
  const auto best = best_exporter("best");
  EXPECT_TRUE(call(*best, 1));
  EXPECT_THAT(refusal([&] { call(*best, Metrics{{"accuracy", 1}}); }), HasSubstr("loss"));
  EXPECT_TRUE(smaller_loss({{"loss", 2}}, {{"loss", 1}}));
  EXPECT_FALSE(smaller_loss({{"loss", 1}}, {{"loss", 1}}));
}

TEST(ExporterOptions, AreChecked) {
  EXPECT_THAT(refusal([] { latest_exporter("x", {.exports_to_keep = 0}); }), HasSubstr("exports_to_keep"));
  EXPECT_THAT(refusal([] { best_exporter("x", {.exports_to_keep = -1}); }), HasSubstr("exports_to_keep"));
  EXPECT_THAT(refusal([] { best_exporter("x", {.compare = nullptr}); }), HasSubstr("compare"));
  EXPECT_THAT(refusal([] { latest_exporter(""); }), HasSubstr("name"));
  EXPECT_THAT(refusal([] { final_exporter(""); }), HasSubstr("name"));
  EXPECT_THAT(refusal([] { best_exporter(""); }), HasSubstr("name"));
}

// The tests below use train_and_evaluate.

TEST(Exporting, FollowsTheLossesOfTheEvaluations) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  int evaluation = 0;
  const InputFn scripted = [&evaluation](const InputContext& context) {
    if (context.mode == Mode::kEval) ++evaluation;
    return losses({std::vector<float>{0.5f, 0.6f, 0.4f}[size_t(evaluation - 1)]});
  };
  auto recorder = std::make_shared<RecordingExporter>();
  const auto result = train_and_evaluate(
      estimator, {.input_fn = endless, .max_steps = 22},
      {.input_fn = scripted, .throttle_secs = 0, .exporters = {best_exporter("best"), final_exporter("last"), recorder}});
  ASSERT_EQ(result.exports.size(), 3u);
  EXPECT_THAT(*result.exports[0], HasSubstr("/export/best/"));
  EXPECT_THAT(*result.exports[1], HasSubstr("/export/last/"));
  EXPECT_EQ(result.exports[2], "22 final");
  const auto count = [&](const std::string& name) {
    return std::distance(std::filesystem::directory_iterator(place.model_dir() + "/export/" + name), {});
  };
  EXPECT_EQ(count("best"), 2);  // The exports have the losses 0.5 and 0.4.
  EXPECT_EQ(count("last"), 1);
  EXPECT_EQ(place.log.count('W', "never made"), 0);
}

/// CONTRACT EX-6: the best model outlives starts that reach nothing better, though only one export is kept.
TEST(Exporting, AStartExportsOnlyWhatBeatsTheStartsBefore) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  const auto start = [&](int64_t max_steps, std::vector<float> scripted) {
    size_t evaluation = 0;
    const InputFn test = [&](const InputContext& context) {
      return losses({scripted.at(context.mode == Mode::kEval ? evaluation++ : 0)});
    };
    train_and_evaluate(estimator, {.input_fn = endless, .max_steps = max_steps},
                       {.input_fn = test, .throttle_secs = 0, .exporters = best_exporter("best", {.exports_to_keep = 1})});
    const auto exports = value_or_raise(exports_in(*make_file_storage(), place.model_dir() + "/export/best"));
    EXPECT_EQ(exports.size(), 1u);
    return load_exported_model(place.model_dir() + "/export/best/" + exports.back(), {.backend = "reference"})
        ->global_step();
  };
  EXPECT_EQ(start(20, {0.5f, 0.3f}), 20);
  EXPECT_EQ(start(40, {0.6f, 0.4f}), 20);
  EXPECT_EQ(
      place.log.count('I', "export best: an earlier evaluation, at global step 20, from which the newest export was made,"),
      1);
  EXPECT_EQ(start(60, {0.3f, 0.2f}), 60);  // Equal is not better.
}

TEST(Exporting, ClashingNamesAreRefusedBeforeAnything) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  EXPECT_THAT(refusal([&] {
                train_and_evaluate(
                    estimator, {.input_fn = endless, .max_steps = 1},
                    {.input_fn = endless, .exporters = {latest_exporter("a"), final_exporter("b"), best_exporter("a")}});
              }),
              AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
}

}  // namespace
}  // namespace shoal::testing
