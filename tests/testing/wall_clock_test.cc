// SPDX-License-Identifier: Apache-2.0
// Clocks on the wall that go back, or were wrong for a while: no order hangs on them (CONTRACT RU-5, EST-13, EX-7).
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/estimator/export_names.h"
#include "shoal/monitor/event_reader.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr const char* kModel = "/shared/model";
constexpr Duration kHourBack = -1h, kYearAhead = 24h * 365;

RunConfigOptions in_shared_model(int64_t save_steps) {
  RunConfigOptions config = every_steps(save_steps);
  config.model_dir = kModel;
  return config;
}

std::string folder_of(const std::string& exporter) { return std::string(kModel) + "/export/" + exporter; }

/// The steps of the exports in `folder`, in the order of their numbers.
std::vector<int64_t> exported_steps(Storage& disk, const std::string& folder) {
  std::vector<int64_t> steps;
  for (const std::string& name : value_or_raise(exports_in(disk, folder))) {
    const std::string text = value_or_raise(disk.read_all(folder + "/" + name + "/export.json"));
    const std::string field = "\"global_step\": ";
    steps.push_back(std::stoll(text.substr(text.find(field) + field.size())));
  }
  return steps;
}

/// The steps of the evaluations, in the order of their files.
std::vector<int64_t> evaluated_steps(Storage& disk) {
  std::vector<int64_t> steps;
  value_or_raise(monitor::read_events(disk, std::string(kModel) + "/eval", [&](const monitor::EventValue& value) {
    if (value.tag == "loss") steps.push_back(value.global_step);
    return true;
  }));
  return steps;
}

std::vector<int64_t> listed_steps(Storage& disk) {
  std::vector<int64_t> steps;
  for (const auto& listed : value_or_raise(checkpoint::list(disk, kModel, checkpoint::Check::kChecksums))) {
    steps.push_back(listed.global_step);
  }
  return steps;
}

class WallClock : public ::testing::TestWithParam<Duration> {};
INSTANTIATE_TEST_SUITE_P(, WallClock, ::testing::Values(kHourBack, kYearAhead),
                         [](const auto& jump) { return jump.param < Duration(0) ? "AnHourBack" : "AYearAhead"; });

TEST_P(WallClock, ThatJumpsInTrainingChangesNoOrder) {
  for (const uint64_t jump_step : {5, 15, 25, 35}) {
    World world({.seed = jump_step});
    world.add_process("alone",
                      SmallJob{.max_steps = 40,
                               .exporters = {latest_exporter("all", {.exports_to_keep = std::nullopt}),
                                             latest_exporter("two", {.exports_to_keep = 2})}},
                      in_shared_model(10));
    world.at_step(jump_step, [&] { world.set_wall_clock("alone", GetParam()); });
    world.at_step(jump_step + 10, [&] { world.set_wall_clock("alone", -GetParam()); });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("alone"), 0) << world.report();
    EXPECT_THAT(exported_steps(world.shared(), folder_of("all")), ElementsAre(10, 20, 30, 40));
    EXPECT_THAT(exported_steps(world.shared(), folder_of("two")), ElementsAre(30, 40));
    EXPECT_THAT(evaluated_steps(world.shared()), ElementsAre(10, 20, 30, 40));
    EXPECT_THAT(listed_steps(world.shared()), ElementsAre(0, 10, 20, 30, 40));
  }
}

/// Each start is one more boot of a machine whose clock is wrong in another way.
TEST_P(WallClock, ThatDiffersAtEachStartChangesNoOrder) {
  World world({.seed = 1});
  int64_t max_steps = 10;
  const Program program = [&max_steps](RunConfig config) {
    SmallJob{.max_steps = max_steps,
             .exporters = {latest_exporter("all", {.exports_to_keep = std::nullopt}),
                           latest_exporter("one", {.exports_to_keep = 1})}}(std::move(config));
  };
  world.add_process("alone", program, in_shared_model(1000));
  std::vector<int64_t> steps;
  for (const Duration jump : {Duration(0), GetParam(), Duration(-2 * GetParam()), GetParam()}) {
    world.set_wall_clock("alone", jump);
    if (max_steps > 10) world.start("alone");
    ASSERT_TRUE(world.run()) << world.report();
    steps.push_back(max_steps);
    EXPECT_EQ(exported_steps(world.shared(), folder_of("all")), steps);
    EXPECT_THAT(exported_steps(world.shared(), folder_of("one")), ElementsAre(max_steps)) << "it was just made";
    EXPECT_EQ(evaluated_steps(world.shared()), steps);
    max_steps += 10;
  }
}

/// Exports with its own exporter, and notes in which order the exports were made.
class NotingExporter final : public Exporter {
 public:
  NotingExporter(std::shared_ptr<Exporter> inner, std::vector<std::string>& made) : inner_(std::move(inner)), made_(made) {}
  const std::string& name() const override { return inner_->name(); }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    std::optional<std::string> path = inner_->export_model(request);
    EXPECT_TRUE(path && request.env.storage().exists(*path)) << "collection took what was just made";
    if (path) made_.push_back(path->substr(path->rfind('/') + 1));
    return path;
  }

 private:
  std::shared_ptr<Exporter> inner_;
  std::vector<std::string>& made_;
};

/// An evaluator that was taken for dead lives on beside the one in its place, on hosts whose clocks differ.
TEST_P(WallClock, OfOneOfTwoEvaluatorsChangesNoOrder) {
  std::vector<std::string> all, one;
  World world({.seed = 1, .work = 100ms});
  const auto evaluates = [&all, &one](RunConfig config) {
    SmallJob{.max_steps = 60,
             .exporters = {std::make_shared<NotingExporter>(latest_exporter("all", {.exports_to_keep = std::nullopt}), all),
                           std::make_shared<NotingExporter>(latest_exporter("one", {.exports_to_keep = 1}), one)}}(
        std::move(config));
  };
  for (const char* evaluator : {"evaluator a", "evaluator b"}) {
    world.add_task(evaluator, kEvaluatorConfig, evaluates, in_shared_model(10));
  }
  world.add_process(
      "trainer",
      [](RunConfig config) { Estimator(small_model, std::move(config)).train(training_data, {.max_steps = 60}); },
      in_shared_model(10));
  world.set_wall_clock("evaluator b", GetParam());
  ASSERT_TRUE(world.run()) << world.report();
  for (const char* evaluator : {"evaluator a", "evaluator b"}) {
    EXPECT_EQ(world.exit_status(evaluator), 0) << world.report();
  }
  ASSERT_GE(all.size(), 8u) << world.report();
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "each has a name of its own";
  EXPECT_EQ(value_or_raise(exports_in(world.shared(), folder_of("all"))), all) << "nothing is lost";
  EXPECT_THAT(value_or_raise(exports_in(world.shared(), folder_of("one"))), ElementsAre(one.back()));
  EXPECT_EQ(exported_steps(world.shared(), folder_of("all")).back(), 60);
}

/// CONTRACT CK-18: whether an unfinished export is abandoned is seen by the clock of whoever keeps the folder.
TEST_P(WallClock, LeavesWhatAnotherProcessIsWriting) {
  const std::string theirs = folder_of("all") + "/.export-7/graph.json";
  World world({.seed = 1});
  world.add_process("alone", SmallJob{.max_steps = 40, .exporters = {latest_exporter("all")}}, in_shared_model(10));
  value_or_raise(world.shared().make_folders(folder_of("all") + "/.export-7"));
  value_or_raise(world.shared().write_atomically(theirs, "half of it"));
  world.set_wall_clock("alone", GetParam());
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_TRUE(world.shared().exists(theirs)) << world.report();
  world.run_for(2h);
  world.add_process("later", SmallJob{.max_steps = 60, .exporters = {latest_exporter("all")}}, in_shared_model(10));
  world.set_wall_clock("later", GetParam() - 3h);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_FALSE(world.shared().exists(theirs)) << "for two hours nobody has touched it";
}

TEST(ManyExports, WaitForNoSecond) {
  World world({.seed = 1});
  world.add_process("alone",
                    SmallJob{.max_steps = 12, .exporters = {latest_exporter("all", {.exports_to_keep = std::nullopt})}},
                    in_shared_model(1));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_THAT(exported_steps(world.shared(), folder_of("all")), SizeIs(12));
  EXPECT_LT(to_seconds(world.elapsed()), 1) << world.report();
}

}  // namespace
}  // namespace shoal::testing
