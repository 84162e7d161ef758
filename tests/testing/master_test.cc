// SPDX-License-Identifier: Apache-2.0
// A cluster with a master, which trains and evaluates (CONTRACT 8.6), in virtual time: what it evaluates, that nobody waits
// for it who need not, and that nobody takes it for lost.
#include <gmock/gmock.h>

#include <set>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/estimator/eval_listener.h"
#include "shoal/monitor/event_reader.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr auto kModel = "/shared/model";
constexpr auto kMaster = "master 0";

/// Notes which steps were exported, and which of them as the final one.
class NotingExporter final : public Exporter {
 public:
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    calls.emplace_back(int64_t(request.eval_result.at("global_step")), request.is_the_final_export);
    return std::nullopt;
  }
  std::vector<std::pair<int64_t, bool>> calls;

 private:
  std::string name_ = "noting";
};

/// Does something before the evaluation of one number, from 1.
class BeforeEvaluation final : public EvalListener {
 public:
  BeforeEvaluation(int number, std::function<void()> act) : number_(number), act_(std::move(act)) {}
  bool before_eval() override {
    if (++asked_ == number_) act_();
    return true;
  }

 private:
  const int number_;
  const std::function<void()> act_;
  int asked_ = 0;
};

class StopFrom final : public Hook {
 public:
  explicit StopFrom(uint64_t step) : step_(step) {}
  void after_step(RunContext& run, const StepValues&) override {
    if (run.global_step() >= step_) run.request_stop();
  }

 private:
  const uint64_t step_;
};

/// Tasks give each other up after little more than the time of a few steps of a second: an evaluation of 300 s is long.
RunConfigOptions impatient(int64_t save_steps, UpdateStrategyKind updates = UpdateStrategyKind::kAsync) {
  RunConfigOptions config = every_steps(save_steps);
  config.ready_timeout_secs = 60;
  config.update_strategy.kind = updates;
  config.runtime = RuntimeOptions{.lost_grace_secs = 20};
  return config;
}
WorldOptions steps_of_a_second() { return {.work = 1s, .work_jitter = 1ms}; }

void expect_all_ended_well(const World& world) {
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  EXPECT_THAT(world.leftovers(), IsEmpty());
}

std::optional<checkpoint::EndMark> end_mark(World& world) {
  return value_or_raise(checkpoint::read_end_mark(world.shared(), kModel));
}

std::map<std::string, std::string> tensors_at(World& world, int64_t step) {
  const auto reader =
      value_or_raise(checkpoint::Reader::open(world.shared(), kModel + ("/model.ckpt-" + std::to_string(step))));
  std::map<std::string, std::string> bits;
  for (const auto& entry : reader->manifest().tensors) {
    const Tensor tensor = value_or_raise(reader->read_tensor(entry.name));
    bits[entry.name].assign(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
  }
  return bits;
}

// --- What is evaluated (MA-1) ----------------------------------------------------------------------------------------

/// The worked example of LO-6, for which the numbers are the contract's.
TEST(Master, EvaluatesWhatLocalModeDoes) {
  using Calls = std::vector<std::pair<int64_t, bool>>;
  const struct {
    int64_t max_steps, throttle_secs;
    Calls calls;
  } cases[] = {{22, 0, {{10, false}, {20, false}, {22, true}}},
               {22, 600, {{10, false}, {22, true}}},
               {12, 0, {{10, false}, {12, true}}}};
  for (const auto& c : cases) {
    for (const char* size : {"", "master", "master,ps:1", "master,ps:2"}) {
      SCOPED_TRACE(size + std::string(", ") + std::to_string(c.max_steps) + ", " + std::to_string(c.throttle_secs));
      const auto exporter = std::make_shared<NotingExporter>();
      const SmallJob job{.max_steps = c.max_steps, .throttle_secs = c.throttle_secs, .exporters = {exporter}};
      World world;
      RunConfigOptions config = every_steps(10);
      config.model_dir = kModel;
      if (std::string_view(size).empty()) {
        world.add_process("local", job, config);
      } else {
        world.add_cluster(size, job, config);
      }
      ASSERT_TRUE(world.run()) << world.report();
      expect_all_ended_well(world);
      EXPECT_EQ(exporter->calls, c.calls) << world.report();
      EXPECT_EQ(world.count_log("evaluation: accuracy"), c.calls.size());
    }
  }
}

TEST(Master, EvaluatesTheLastCheckpointOfAJobWithWorkers) {
  for (const UpdateStrategyKind updates : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync}) {
    const auto exporter = std::make_shared<NotingExporter>();
    World world;
    RunConfigOptions config = every_steps(20);
    config.update_strategy.kind = updates;
    world.add_cluster("master,ps:2,worker:2", SmallJob{.max_steps = 60, .exporters = {exporter}}, config);
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    const auto mark = end_mark(world);
    ASSERT_TRUE(mark) << world.report();
    EXPECT_EQ(mark->reason, checkpoint::EndReason::kMaxSteps);
    EXPECT_GE(mark->global_step, 60);
    EXPECT_LE(mark->global_step, updates == UpdateStrategyKind::kSync ? 60 : 62);  // WO-3
    ASSERT_GE(exporter->calls.size(), 2u) << world.report();
    EXPECT_EQ(exporter->calls.back(), std::pair(mark->global_step, true));
    exporter->calls.pop_back();
    EXPECT_THAT(exporter->calls, Each(Pair(::testing::Gt(0), false)));
  }
}

/// The master's own input ends first (CH-8): it stays, and evaluates what the workers still do.
TEST(Master, EvaluatesWhileItsWorkersHaveInputLeft) {
  const auto exporter = std::make_shared<NotingExporter>();
  const Program program = [exporter](RunConfig config) {
    SmallJob{.max_steps = std::nullopt, .passes = config.is_chief() ? 1 : 10, .exporters = {exporter}}(config);
  };
  World world({.work = 100ms});
  world.add_cluster("master,ps:1,worker:1", program, every_steps(15));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_EQ(end_mark(world)->reason, checkpoint::EndReason::kEndOfInput);
  EXPECT_EQ(end_mark(world)->global_step, 8 + 80);
  ASSERT_GE(exporter->calls.size(), 4u) << world.report();
  EXPECT_EQ(exporter->calls.back(), std::pair(int64_t(88), false));  // EX-3: there is no max_steps.
}

TEST(Master, EndsTheJobWhenItsEvaluationsAreEnded) {  // EV-15
  class Refusing final : public EvalListener {
    bool after_eval(const EvalOutcome&) override { return false; }
  };
  World world;
  world.add_cluster("master,ps:1,worker:1", SmallJob{.eval_listener = std::make_shared<Refusing>()}, every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_EQ(end_mark(world)->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(world.count_log("evaluation: accuracy"), 1u);
}

// --- Long evaluations ------------------------------------------------------------------------------------------------

TEST(Master, ItsWorkersGoOnWhileItEvaluates) {
  World world(steps_of_a_second());
  uint64_t step_before = 0, step_after = 0;
  const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
    world.spend(kMaster, 300s);
    step_before = world.global_step();
    world.after(299s, [&] { step_after = world.global_step(); });
  });
  world.add_cluster("master,ps:2,worker:2", SmallJob{.max_steps = 1000, .throttle_secs = 3600, .eval_listener = evaluation},
                    impatient(10));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_GE(step_before, 10u);
  EXPECT_GE(step_after, step_before + 280) << "two workers make a step in two seconds each";
  EXPECT_EQ(world.count_log("master 0 is connected"), 2u) << world.report();
}

/// The same updates, by the same trainers, as without evaluations: none was lost, made again, or made by another.
TEST(Master, ASynchronousJobWaitsForIt) {
  const auto run = [](World& world, const std::string& size, std::shared_ptr<EvalListener> listener) {
    world.add_cluster(size, SmallJob{.max_steps = 40, .throttle_secs = 3600, .eval_listener = std::move(listener)},
                      impatient(10, UpdateStrategyKind::kSync));
    EXPECT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    EXPECT_EQ(world.count_log("has been away"), 0u);
    return tensors_at(world, 40);
  };
  World chief(steps_of_a_second());
  const auto expected = run(chief, "ps:2,worker:2", nullptr);
  World world(steps_of_a_second());
  std::optional<uint64_t> step_before, step_after;
  const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
    world.spend(kMaster, 300s);
    step_before = world.global_step();
    world.after(299s, [&] { step_after = world.global_step(); });
  });
  EXPECT_EQ(run(world, "master,ps:2,worker:2", evaluation), expected);
  EXPECT_EQ(step_before, 10u);
  EXPECT_EQ(step_after, 10u);
  EXPECT_EQ(world.count_log("is connected, from"), 2u * 3 + 1) << "nobody came twice\n" << world.report();
}

TEST(Master, ConnectsAgainWhileItEvaluates) {
  World world(steps_of_a_second());
  const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
    world.spend(kMaster, 300s);
    world.after(100s, [&] { world.network().reset(kMaster, "ps 0"); });
    world.after(200s, [&] { world.network().reset("worker 0", "ps 1"); });
  });
  world.add_cluster("master,ps:2,worker:1", SmallJob{.max_steps = 30, .throttle_secs = 3600, .eval_listener = evaluation},
                    impatient(10, UpdateStrategyKind::kSync));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_EQ(world.count_log("has been away"), 0u) << world.report();
  EXPECT_EQ(world.time().marks().at("chief.connects_beside_other_work"), 1u);
  EXPECT_EQ(world.global_step(), 30u);
}

TEST(Master, FindsAServerThatWasLostWhileItEvaluated) {
  for (const UpdateStrategyKind updates : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync}) {
    World world(steps_of_a_second());
    const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
      world.spend(kMaster, 300s);
      world.after(280s, [&] { world.kill("ps 1"); });
      world.after(285s, [&] { world.start("ps 1"); });
    });
    RunConfigOptions config = impatient(10, updates);
    config.ready_timeout_secs = 600;  // A worker waits for the master to restore the server.
    world.add_cluster("master,ps:2,worker:1", SmallJob{.max_steps = 60, .throttle_secs = 3600, .eval_listener = evaluation},
                      config);
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    EXPECT_GE(world.count_log("global step goes back") + world.count_log("lost its state"), 1u) << world.report();
    EXPECT_GE(end_mark(world)->global_step, 60);
  }
}

/// The job is over for all others when its last checkpoint is written.
TEST(Master, NobodyWaitsForItsLastEvaluation) {
  World world(steps_of_a_second());
  bool looked = false;
  const auto evaluation = std::make_shared<BeforeEvaluation>(2, [&] {  // The first is that of a checkpoint in between.
    world.spend(kMaster, 1h);
    world.after(30s, [&] {
      looked = true;
      for (const char* task : {"ps 0", "ps 1", "worker 0"}) EXPECT_FALSE(world.running(task)) << world.report();
      EXPECT_TRUE(world.running(kMaster));
      ASSERT_TRUE(end_mark(world));
      EXPECT_EQ(end_mark(world)->reason, checkpoint::EndReason::kMaxSteps);
    });
  });
  world.add_cluster("master,ps:2,worker:1", SmallJob{.max_steps = 25, .eval_listener = evaluation}, impatient(20));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_TRUE(looked);
  EXPECT_GT(world.elapsed(), 1h);
}

// --- Killed and started again ----------------------------------------------------------------------------------------

TEST(Master, KilledInAnEvaluationGoesOnFromTheServers) {
  for (const UpdateStrategyKind updates : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync}) {
    World world(steps_of_a_second());
    const auto exporter = std::make_shared<NotingExporter>();
    const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
      world.spend(kMaster, 300s);
      world.after(100s, [&] { world.kill(kMaster); });
      world.after(105s, [&] { world.start(kMaster); });
    });
    const SmallJob job{.max_steps = 600, .exporters = {exporter}, .eval_listener = evaluation};
    world.add_cluster("master,ps:2,worker:1", job, impatient(100, updates));
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    EXPECT_EQ(world.count_log("the servers still hold the model"), 1u) << world.report();
    EXPECT_EQ(end_mark(world)->reason, checkpoint::EndReason::kMaxSteps);
    EXPECT_EQ(exporter->calls.back(), std::pair(end_mark(world)->global_step, true));
  }
}

/// Nothing is left to train (LO-3), but the last evaluation and its exports are missing.
TEST(Master, KilledInItsLastEvaluationMakesItAgain) {
  for (const bool interrupted : {false, true}) {
    SCOPED_TRACE(interrupted ? "interrupted while it makes it" : "left alone");
    World world(steps_of_a_second());
    const auto exporter = std::make_shared<NotingExporter>();
    const auto again = std::make_shared<BeforeEvaluation>(1, [&] {
      if (interrupted) world.interrupt(kMaster);
    });
    const auto first = std::make_shared<BeforeEvaluation>(1, [&] {
      world.spend(kMaster, 300s);
      world.after(100s, [&] { world.kill(kMaster); });
      world.after(105s, [&] { world.start(kMaster); });
    });
    int starts = 0;
    const Program program = [&](RunConfig config) {
      const bool is_first = !config.is_chief() || starts++ == 0;
      SmallJob{.max_steps = 15, .exporters = {exporter}, .eval_listener = is_first ? first : again}(config);
    };
    world.add_cluster("master,ps:1", program, impatient(100));
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    EXPECT_EQ(world.count_log("training finished before"), 1u) << world.report();
    EXPECT_EQ(end_mark(world)->global_step, 15);
    ASSERT_FALSE(exporter->calls.empty()) << world.report();
    EXPECT_EQ(exporter->calls.back(), std::pair(int64_t(15), true));
  }
}

/// A job that can go on: the master, started again, would wait for servers that are gone, if these did not wait for it.
TEST(Master, KilledInTheLastEvaluationOfAJobThatCouldGoOnFindsItsServers) {
  for (const bool stopped : {false, true}) {
    for (const UpdateStrategyKind updates : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync}) {
      SCOPED_TRACE(std::string(stopped ? "stopped" : "end of input") + ", " + std::string(to_string(updates)));
      World world(steps_of_a_second());
      const auto exporter = std::make_shared<NotingExporter>();
      const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
        world.spend(kMaster, 300s);
        world.after(100s, [&] { world.kill(kMaster); });
        world.after(105s, [&] { world.start(kMaster); });
      });
      SmallJob job{.max_steps = 600, .passes = 2, .exporters = {exporter}, .eval_listener = evaluation};
      if (stopped) {
        job.passes = 0;
        job.hooks = [] { return std::vector<std::shared_ptr<Hook>>{std::make_shared<StopFrom>(10)}; };
      }
      world.add_cluster("master,ps:2,worker:1", job, impatient(100, updates));
      ASSERT_TRUE(world.run()) << world.report();
      expect_all_ended_well(world);
      const auto mark = end_mark(world);
      ASSERT_TRUE(mark) << world.report();
      EXPECT_EQ(mark->reason, stopped ? checkpoint::EndReason::kStopRequested : checkpoint::EndReason::kEndOfInput);
      EXPECT_EQ(exporter->calls.back(), std::pair(mark->global_step, false));
    }
  }
}

/// All have twenty seconds to end (FA-12), and it is the last that is evaluated.
TEST(Master, AnInterruptSendsAllHomeFromItsLastEvaluation) {
  World world(steps_of_a_second());
  const auto exporter = std::make_shared<NotingExporter>();
  bool looked = false;
  const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&] {
    world.spend(kMaster, 10s);
    for (const std::string& task : world.tasks()) world.interrupt(task);
    world.after(30s, [&] {
      looked = true;
      for (const char* task : {"ps 0", "ps 1", "worker 0"}) EXPECT_FALSE(world.running(task)) << task;
    });
  });
  const SmallJob job{.max_steps = 600, .passes = 2, .exporters = {exporter}, .eval_listener = evaluation};
  world.add_cluster("master,ps:2,worker:1", job, impatient(100));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_TRUE(looked);
  EXPECT_EQ(world.count_log("given up: an interrupt ends the job first"), 1u) << world.report();
  EXPECT_EQ(exporter->calls, (std::vector{std::pair(end_mark(world)->global_step, false)}));
}

// --- Who writes what (MA-2) ------------------------------------------------------------------------------------------

struct Recorded {
  std::set<std::string> tags;
  std::vector<int64_t> loss_steps;
};

/// What each task has written to the folder of the training events.
std::map<std::string, Recorded> recorded_by_task(World& world) {
  std::map<std::string, Recorded> recorded;
  for (const std::string& path : value_or_raise(monitor::list_event_files(world.shared(), kModel))) {
    std::string host = path.substr(path.find(".tfevents.") + 10);
    host = host.substr(host.find('.') + 1);
    Recorded& by_task = recorded[host.substr(0, host.find('.'))];
    monitor::EventFileReader reader(world.shared(), path);
    for (monitor::EventValue value; value_or_raise(reader.next(value));) {
      if (!value.tag.empty()) by_task.tags.insert(value.tag);
      if (value.tag == "loss") by_task.loss_steps.push_back(value.global_step);
    }
  }
  return recorded;
}

RunConfigOptions recording(RunConfigOptions config) {
  config.save_summary_steps = 10;
  config.log_step_count_steps = 10;
  return config;
}

TEST(Master, LeavesSummariesToItsFirstWorker) {
  World world(steps_of_a_second());
  const auto evaluation = std::make_shared<BeforeEvaluation>(1, [&world] { world.spend(kMaster, 100s); });
  world.add_cluster("master,ps:1,worker:2", SmallJob{.max_steps = 500, .throttle_secs = 3600, .eval_listener = evaluation},
                    recording(impatient(50)));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  const auto recorded = recorded_by_task(world);
  EXPECT_THAT(recorded, Not(Contains(Pair("worker 1", ::testing::_))));
  const Recorded& worker = recorded.at("worker 0");
  EXPECT_THAT(worker.tags, AllOf(Contains("loss"), Contains("global_step/sec")));
  ASSERT_GE(worker.loss_steps.size(), 40u);
  for (size_t i = 1; i < worker.loss_steps.size(); ++i) {  // The evaluation, of about 100 steps of workers, leaves no gap.
    EXPECT_LE(worker.loss_steps[i] - worker.loss_steps[i - 1], 20);
  }
  // What the servers' counts tell only the master is told, and it alone says what is trained.
  EXPECT_THAT(recorded.at(kMaster).tags,
              Each(::testing::AnyOf(StartsWith("job/"), StartsWith("trainer_"), StartsWith("_hparams_/"))));
}

TEST(Master, WritesThemItselfWithoutWorkers) {
  for (const char* size : {"master", "master,ps:1"}) {
    World world(steps_of_a_second());
    world.add_cluster(size, SmallJob{.max_steps = 50}, recording(every_steps(20)));
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    EXPECT_THAT(recorded_by_task(world),
                ElementsAre(Pair(kMaster,
                                 ::testing::Field(&Recorded::tags, AllOf(Contains("loss"), Contains("global_step/sec"))))));
  }
}

// --- What is refused (MA-3) ------------------------------------------------------------------------------------------

TEST(Master, HasNoEvaluatorBesideIt) {
  World world;
  world.add_cluster("master,ps:1", SmallJob{.max_steps = 20}, every_steps(10));
  world.add_task("evaluator 0", R"({"cluster": {"master": ["master-0:2222"], "ps": ["ps-0:2222"]},
                                    "task": {"type": "evaluator", "index": 0}})",
                 SmallJob{.max_steps = 20});
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 2);
  EXPECT_THAT(world.outcome("evaluator 0").error().message(), HasSubstr("a master, which evaluates itself"));
  EXPECT_EQ(world.exit_status(kMaster), 0) << world.report();
  EXPECT_EQ(world.exit_status("ps 0"), 0);
}

TEST(Master, IsRefusedWithoutCheckpointsInAllTasks) {
  World world;
  RunConfigOptions config;
  config.save_checkpoints_steps = 0;
  world.add_cluster("master,ps:1,worker:1", SmallJob{}, config);
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) {
    EXPECT_EQ(world.exit_status(task), 2) << task;
    EXPECT_THAT(world.outcome(task).error().message(), HasSubstr("the evaluation of a master needs them")) << task;
  }
  EXPECT_FALSE(world.shared().exists(kModel));
}

}  // namespace
}  // namespace shoal::testing
