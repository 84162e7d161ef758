// SPDX-License-Identifier: Apache-2.0
// The evaluator of CONTRACT 8.5 in virtual time: what it looks at, what it does not mind, and when it leaves.
#include <gmock/gmock.h>

#include <set>

#include "shoal/base/blocking.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// Notes which steps it was asked about; may take the checkpoint away, as a chief does that collects old ones.
class RecordingExporter final : public Exporter {
 public:
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    calls.emplace_back(int64_t(request.eval_result.at("global_step")), request.is_the_final_export);
    if (std::exchange(take_away, false)) delete_checkpoint(request.env.storage(), request.checkpoint_path);
    return std::nullopt;
  }
  std::vector<std::pair<int64_t, bool>> calls;
  bool take_away = false;

 private:
  static void delete_checkpoint(Storage& storage, const std::string& prefix) {
    const std::string folder = prefix.substr(0, prefix.rfind('/'));
    for (const FileInfo& file : value_or_raise(storage.list(folder))) {
      const std::string path = join_path(folder, file.name);
      if (path.starts_with(prefix + ".")) value_or_raise(storage.remove(path));
    }
  }
  std::string name_ = "recorder";
};

/// Trains to a step without a mark of the end, as a chief that is not through.
Program trains_to(int64_t step) {
  return [step](RunConfig config) {
    Estimator estimator(small_model, std::move(config));
    estimator.train(training_data, {.max_steps = step});
  };
}

RunConfigOptions in_shared_model(int64_t save_steps = 1000) {
  RunConfigOptions config = every_steps(save_steps);
  config.model_dir = "/shared/model";
  return config;
}

TEST(Evaluator, FiveLooksTwoEvaluations) {  // CONTRACT 8.5: the looks find none, none, A, A, and B at max_steps.
  const auto recorder = std::make_shared<RecordingExporter>();
  World world({.seed = 1});
  world.add_task("evaluator 0", kEvaluatorConfig, SmallJob{.max_steps = 20, .throttle_secs = 100, .exporters = {recorder}},
                 in_shared_model());
  world.add_process("a", trains_to(10), in_shared_model());
  world.add_process("b", trains_to(20), in_shared_model());
  world.start_late("a", 150s);
  world.start_late("b", 350s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 0) << world.report();
  EXPECT_THAT(recorder->calls, ElementsAre(Pair(10, false), Pair(20, true)));
  EXPECT_EQ(world.count_log("evaluation: missing"), 1u);
  EXPECT_EQ(world.count_log("evaluation: not new"), 1u);
  EXPECT_NEAR(to_seconds(world.elapsed()), 400, 1);
}

TEST(Evaluator, WarnsThatItPollsAlsoWhileNothingIsThere) {  // CONTRACT EV-7
  World world({.seed = 1});
  world.add_task("evaluator 0", kEvaluatorConfig, SmallJob{}, in_shared_model());
  world.run_for(1500s);
  EXPECT_EQ(world.count_log("throttle_secs is 0"), 3u) << world.report();
  EXPECT_EQ(world.count_log("evaluation: missing"), 3u);
}

TEST(Evaluator, ExportsWhatItEvaluatedAlthoughTrainingDeletesTheCheckpoint) {  // CONTRACT EX-1, EX-3, EV-9
  for (const int64_t max_steps : {20, 10}) {  // 10: already the first evaluation is the last one.
    const auto recorder = std::make_shared<RecordingExporter>();
    recorder->take_away = true;
    World world({.seed = 1});
    world.add_process("a", trains_to(10), in_shared_model());
    world.add_process("b", trains_to(20), in_shared_model());
    world.add_task("evaluator 0", kEvaluatorConfig,
                   SmallJob{.max_steps = max_steps,
                            .throttle_secs = 10,
                            .exporters = {recorder, latest_exporter("latest"), final_exporter("final")}},
                   in_shared_model());
    world.start_late("evaluator 0", 5s);
    world.start_late("b", 100s);  // It goes on from an older checkpoint, since the newest is gone.
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("evaluator 0"), 0) << world.report();
    EXPECT_EQ(world.count_log("was deleted meanwhile"), 0u);
    EXPECT_EQ(world.shared().list("/shared/model/export/latest").value().size(), recorder->calls.size());
    EXPECT_EQ(world.shared().list("/shared/model/export/final").value().size(), 1u) << max_steps;
    EXPECT_EQ(recorder->calls.back(), std::pair(max_steps, true));
  }
}

/// A shared folder where data may come after the index that names it: some of the calls that open it find nothing.
class DataComesLate final : public ForwardingStorage {
 public:
  DataComesLate(std::shared_ptr<Storage> disk, std::set<int> not_found)
      : ForwardingStorage(std::move(disk)), not_found_(std::move(not_found)) {}
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (path.find(".data-") != std::string::npos && not_found_.contains(opened_++)) return not_found(path + ": comes late");
    return ForwardingStorage::open(path);
  }

 private:
  const std::set<int> not_found_;
  int opened_ = 0;
};

TEST(Evaluator, LooksAgainWhereDataComesAfterItsIndex) {  // CONTRACT EV-9
  // A look opens the data to find the checkpoint, to verify it and to evaluate it; and once more where that last found none.
  for (const std::set<int>& not_found : {std::set{1}, std::set{2, 3}}) {
    WorldOptions options;
    options.wrap_storage = [&not_found](const std::string& task,
                                        std::shared_ptr<Storage> disk) -> std::shared_ptr<Storage> {
      if (task != "evaluator 0") return disk;
      return std::make_shared<DataComesLate>(std::move(disk), not_found);
    };
    World world(std::move(options));
    world.add_process("a", trains_to(10), in_shared_model());
    world.add_task("evaluator 0", kEvaluatorConfig, SmallJob{.max_steps = 10, .throttle_secs = 50}, in_shared_model());
    world.start_late("evaluator 0", 5s);
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("evaluator 0"), 0) << world.report();
    EXPECT_EQ(world.count_log("looking again"), 1u);
    EXPECT_NEAR(to_seconds(world.elapsed()), 55, 1) << world.report();
  }
}

std::string data_file_of(World& world) {
  for (const std::string& path : world.shared().paths()) {
    if (path.find("model.ckpt-10.data") != std::string::npos) return path;
  }
  return {};
}

/// Trains to step 10 and calls `damage`; then the evaluator looks.
void damage_and_look(World& world, const std::function<void()>& damage) {
  world.add_process("a", trains_to(10), in_shared_model());
  world.add_task("evaluator 0", kEvaluatorConfig, SmallJob{.max_steps = 20, .throttle_secs = 50}, in_shared_model());
  world.at(5s, damage);
  world.start_late("evaluator 0", 10s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 4) << world.report();
  EXPECT_NEAR(to_seconds(world.elapsed()), 110, 2);  // The third look is the last.
}

TEST(Evaluator, ThreeTimesTheSameDamageIsTheEnd) {  // CONTRACT EV-9
  World cut;
  damage_and_look(cut, [&cut] { cut.shared().contents(data_file_of(cut)).resize(100); });
  World index;
  damage_and_look(index, [&index] { index.shared().contents("shared/model/model.ckpt-10.index").resize(60); });
  World pointer;
  damage_and_look(pointer, [&pointer] { pointer.shared().contents("shared/model/checkpoint") = "nonsense"; });
}

TEST(Evaluator, NoticesDamageThatAnEvaluationDoesNotRead) {
  World world;
  damage_and_look(world, [&world] {
    std::string& bytes = world.shared().contents(data_file_of(world));
    bytes[bytes.size() - 8] ^= 1;  // The bit is of the last optimizer slot, which no evaluation needs.
  });
}

TEST(Evaluator, DoesNotObeyTheMarkOfAnEarlierRun) {  // CONTRACT JE-2
  World world({.seed = 4});
  world.add_cluster("ps:1,worker:1,evaluator", SmallJob{.max_steps = 20}, every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  World again({.seed = 4});
  std::string mark;
  for (const std::string& path : world.shared().paths()) {  // The folder is as the first run left it.
    value_or_raise(again.shared().make_folders("/" + path.substr(0, path.rfind('/'))));
    value_or_raise(again.shared().write_atomically("/" + path, world.shared().contents(path)));
  }
  again.add_cluster("ps:1,worker:1,evaluator", SmallJob{.max_steps = 40}, every_steps(10));
  again.start_late("chief 0", 90s);
  ASSERT_TRUE(again.run()) << again.report();
  for (const std::string& task : again.tasks()) EXPECT_EQ(again.exit_status(task), 0) << again.report();
  EXPECT_EQ(again.count_log("worker 0: training finished at global step 4"), 1u) << again.report();
  EXPECT_GE(again.count_log("evaluator 0: evaluation: accuracy"), 2u) << again.report();
  EXPECT_EQ(again.count_log("was left by a run that ended at global step 2"), 2u)
      << again.report();  // The server, which has company, does not say so.
}

TEST(Evaluator, LeavesWhereNoChiefComesAfterAll) {  // CONTRACT JE-2
  World world({.seed = 4});
  RunConfigOptions config = in_shared_model(10);
  config.ready_timeout_secs = 100;
  value_or_raise(world.shared().make_folders("/shared/model"));
  world.add_process(
      "before",
      [](RunConfig run) {
        Estimator estimator(small_model, std::move(run));
        train_and_evaluate(estimator, {.input_fn = training_data, .max_steps = 20}, {.input_fn = test_data});
      },
      config);
  world.add_task("evaluator 0", kEvaluatorConfig, SmallJob{.max_steps = 40}, config);
  world.start_late("evaluator 0", 10s);
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 0) << world.report();
  EXPECT_NEAR(to_seconds(world.elapsed()), 110, 2);
}

TEST(Evaluator, WaitsForAChiefThatOnlyTheFolderCouldTellOf) {  // CONTRACT EV-13
  RunConfigOptions config = in_shared_model(10);
  config.ready_timeout_secs = 100;
  World world({.seed = 1});
  world.add_task("evaluator 0", kEvaluatorConfig, SmallJob{.max_steps = 20, .throttle_secs = 10}, config);
  world.add_process("a", trains_to(20), config);
  world.start_late("a", 2h);
  world.run_for(2h - 1s);
  EXPECT_TRUE(world.running("evaluator 0")) << world.report();
  EXPECT_EQ(world.count_log("evaluation: missing"), 12u);  // That is one in ten minutes.
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 0) << world.report();
  EXPECT_NEAR(to_seconds(world.elapsed()), 7200, 20);
}

/// The notes on the last step that a whole job leaves, and how often its evaluator evaluated.
struct LastStepNotes {
  size_t start_delay, throttle, no_checkpoint, evaluations;
  friend bool operator==(const LastStepNotes&, const LastStepNotes&) = default;
};
LastStepNotes notes_of(const SmallJob& job, int64_t save_steps) {
  World world({.seed = 4, .work = 1s});
  world.add_cluster("ps:1,worker:1,evaluator", job, every_steps(save_steps));
  EXPECT_TRUE(world.run()) << world.report();
  const std::string only = "evaluator 0: evaluation: of this training only the last step was evaluated, since ";
  EXPECT_EQ(world.count_log("of this training only"), world.count_log(only)) << world.report();
  return {world.count_log(only + "it ended before EvalSpec::start_delay_secs (120)"),
          world.count_log(only + "it ended before EvalSpec::throttle_secs (600)"),
          world.count_log(only + "no other checkpoint of it was there: RunConfig::save_checkpoints_steps is 1000"),
          world.count_log("evaluator 0: evaluation: accuracy")};
}

TEST(Evaluator, SaysWhichFieldKeptItFromSeeingMoreThanTheLastStep) {
  EXPECT_EQ(notes_of({.max_steps = 40, .start_delay_secs = 120}, 5), (LastStepNotes{.start_delay = 1, .evaluations = 1}));
  EXPECT_EQ(notes_of({.max_steps = 40, .throttle_secs = 600}, 5), (LastStepNotes{.throttle = 1, .evaluations = 1}));
  EXPECT_EQ(notes_of({.max_steps = 40}, 1000), (LastStepNotes{.no_checkpoint = 1, .evaluations = 2}));
  const LastStepNotes none = notes_of({.max_steps = 40}, 5);
  EXPECT_EQ(none, (LastStepNotes{.evaluations = none.evaluations}));
  EXPECT_GT(none.evaluations, 3u);
}

/// Evaluates 30 batches, each of which takes 3 s.
Program evaluates_slowly(std::optional<int64_t> steps, std::optional<std::string> name = {}) {
  class Slow final : public Hook {
   public:
    void after_step(RunContext& run, const StepValues&) override { value_or_raise(block_until(run.env(), run.now() + 3s)); }
  };
  return [=](RunConfig config) {
    const Estimator estimator(small_model, std::move(config));
    (void)estimator.evaluate([] { return small_data(240, 2).batch(8); },
                             {.steps = steps, .hooks = {std::make_shared<Slow>()}, .name = name});
  };
}

TEST(Evaluation, SaysEveryTenSecondsHowFarItIs) {  // CONTRACT EST-9
  World world;
  world.add_process("a", evaluates_slowly(30), in_shared_model());
  ASSERT_TRUE(world.run()) << world.report();
  for (int batch = 1; batch <= 30; ++batch) {  // The lines come at 12 s, 24 s, and so on.
    EXPECT_EQ(world.count_log("evaluation: batch " + std::to_string(batch) + " of 30"), batch % 4 == 0 ? 1u : 0u)
        << world.report();
  }
}

TEST(Evaluation, SaysHowFarItIsWhereNobodyKnowsHowFarItGoes) {
  World world;
  world.add_process("a", evaluates_slowly({}, "train"), in_shared_model());
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.count_log("evaluation train: batch "), 7u) << world.report();
  EXPECT_EQ(world.count_log("evaluation train: batch 28"), 1u);
}

TEST(Evaluation, OfAMomentSaysNothingBeforeItsResult) {
  World world;
  world.add_process("a", SmallJob{.max_steps = 20}, in_shared_model(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.count_log("batch 1 of"), 0u) << world.report();
  EXPECT_EQ(world.count_log("evaluation: accuracy"), 2u);
}

TEST(Evaluation, LogsBatchesForWhoReadsAll) {  // CONTRACT EST-9
  for (const auto& [steps, lines] : std::map<int64_t, size_t>{{19, 19}, {20, 10}, {30, 10}}) {
    World world({.log_level = LogLevel::kDebug});
    world.add_process(
        "a",
        [steps = steps](RunConfig config) {
          const Estimator estimator(small_model, std::move(config));
          (void)estimator.evaluate([] { return small_data(240, 2).batch(8); }, {.steps = steps});
        },
        in_shared_model());
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.count_log(" of " + std::to_string(steps)), lines) << world.report();
  }
}

TEST(Export, AnErrorOfTheDiskIsNotTakenForAMistakeOfTheUser) {  // CONTRACT FA-10
  int failed = 0;
  bool met = true;
  for (int64_t call = 0; met; ++call) {  // Each call that the run makes fails in turn.
    World world;
    RunConfigOptions config = every_steps(1000);
    config.model_dir = "/shared/model";
    world.add_process("local", SmallJob{.max_steps = 4, .exporters = {final_exporter("final")}}, std::move(config));
    world.shared().arm(Fault::kErrorAfterEffect, call);
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_LE(world.exit_status("local"), 1) << "call " << call << "\n" << world.report();
    failed += world.exit_status("local") == 1;
    met = world.shared().fault_counts().error > 0;
  }
  EXPECT_GT(failed, 20);
}

TEST(Throttle, LocalEvaluationsAreAtItsPace) {  // CONTRACT LO-6
  for (const auto& [throttle, steps] : std::map<int64_t, std::vector<int64_t>>{{0, {10, 20, 22}}, {600, {10, 22}}}) {
    const auto recorder = std::make_shared<RecordingExporter>();
    World world({.seed = 1, .work = 10s});
    world.add_process("a", SmallJob{.max_steps = 22, .throttle_secs = throttle, .exporters = {recorder}},
                      in_shared_model(10));
    ASSERT_TRUE(world.run()) << world.report();
    std::vector<int64_t> seen;
    for (const auto& [step, final] : recorder->calls) seen.push_back(step);
    EXPECT_EQ(seen, steps) << "throttle " << throttle << "\n" << world.report();
    EXPECT_TRUE(recorder->calls.back().second);
  }
}

}  // namespace
}  // namespace shoal::testing
