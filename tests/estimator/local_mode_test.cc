// SPDX-License-Identifier: Apache-2.0
// train_and_evaluate in local mode: when it saves, evaluates and exports, and how it ends (CONTRACT 5 and 6).
#include "fixture.h"

#include <algorithm>

#include "evaluate/local_evaluation.h"
#include "hooks/loop_context.h"
#include "shoal/estimator/exporter.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A counting model that is trained and evaluated in a folder of its own.
struct LocalMode : ::testing::Test {
  Place place;
  CountedInput train_input{endless()};
  CountedInput eval_input{losses({0.5f})};
  std::shared_ptr<RecordingExporter> exporter = std::make_shared<RecordingExporter>();

  TrainAndEvaluateResult run(TrainSpec train, EvalSpec eval, RunConfigOptions options = {}) {
    if (options.save_checkpoints_steps.is_unset() && options.save_checkpoints_secs.is_unset())
      options.save_checkpoints_steps = 10;
    Estimator estimator = place.estimator(counting_model, options);
    if (!train.input_fn) train.input_fn = train_input;
    if (!eval.input_fn) eval.input_fn = eval_input;
    if (eval.exporters.empty()) eval.exporters = {exporter};
    return train_and_evaluate(estimator, std::move(train), std::move(eval));
  }
  std::vector<int64_t> evaluations() const { return steps_of(place.model_dir() + "/eval", "loss"); }
};

TEST_F(LocalMode, WorksAsTheContractsExample) {
  const auto result = run({.max_steps = 22}, {.throttle_secs = 0});
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-20", "model.ckpt-22"));
  EXPECT_THAT(evaluations(), ElementsAre(10, 20, 22));
  EXPECT_THAT(exporter->calls, ElementsAre("10", "20", "22 final"));
  EXPECT_THAT(exporter->checkpoints, ElementsAre("model.ckpt-10", "model.ckpt-20", "model.ckpt-22"));
  EXPECT_EQ(exporter->path, place.model_dir() + "/export/recorder");
  // Each opening of an input is one call: training opens it once, and each evaluation once.
  EXPECT_THAT(train_input.modes, ElementsAre(Mode::kTrain));
  EXPECT_THAT(eval_input.modes, ElementsAre(Mode::kEval, Mode::kEval, Mode::kEval));
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 0.5}, {"global_step", 22}}));
  EXPECT_THAT(result.exports, ElementsAre("22 final"));
  EXPECT_EQ(place.report.global_step, 22u);
  EXPECT_EQ(place.report.metrics, *result.metrics);
}

TEST_F(LocalMode, ThrottleSkipsWhatComesTooSoonButNeitherTheFirstNorTheLast) {
  run({.max_steps = 22}, {.throttle_secs = 600});
  EXPECT_THAT(evaluations(), ElementsAre(10, 22));
  EXPECT_EQ(place.log.count('I', "throttle"), 1);
  EXPECT_THAT(exporter->calls, ElementsAre("10", "22 final"));
}

TEST_F(LocalMode, EvaluatesTheLastStepOfAShortRun) {
  run({.max_steps = 12}, {.throttle_secs = 600});
  EXPECT_THAT(evaluations(), ElementsAre(10, 12));
}

TEST_F(LocalMode, DoesNotEvaluateOneStepTwice) {
  run({.max_steps = 20}, {.throttle_secs = 600});
  EXPECT_THAT(evaluations(), ElementsAre(10, 20));
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-20"));
  EXPECT_EQ(place.log.count('I', "throttle"), 0) << "the last one is not skipped, and nothing says so";
}

TEST_F(LocalMode, SaysWhyASkippedCheckpointIsEvaluatedAfterAll) {
  train_input.dataset = losses(std::vector<float>(20, 1));  // The input ends where a checkpoint has just been skipped.
  run({}, {.throttle_secs = 600});
  EXPECT_THAT(evaluations(), ElementsAre(10, 20));
  const std::vector<std::string> lines = place.log.all('I');
  const auto line = [&](const std::string& part) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const std::string& l) { return l.find(part) != std::string::npos; });
  };
  EXPECT_LT(line("model.ckpt-20 skipped by the throttle"), line("model.ckpt-20 after all: training has ended with it"));
  EXPECT_NE(line("model.ckpt-20 after all: training has ended with it"), lines.end());
}

TEST_F(LocalMode, StartDelayPlaysNoPart) {
  run({.max_steps = 5}, {.start_delay_secs = 100000});
  EXPECT_THAT(evaluations(), ElementsAre(5));
}

TEST_F(LocalMode, ResumesWithoutEvaluatingTheStartAgain) {
  run({.max_steps = 13}, {.throttle_secs = 0});
  exporter->calls.clear();
  const auto result = run({.max_steps = 35}, {.throttle_secs = 0});
  EXPECT_THAT(evaluations(), ElementsAre(10, 13, 23, 33, 35));
  EXPECT_THAT(exporter->calls, ElementsAre("23", "33", "35 final"));
  EXPECT_EQ(result.metrics->at("global_step"), 35);
  EXPECT_EQ(train_input.calls, 2);
}

TEST_F(LocalMode, FinishedFolderReportsNothing) {
  run({.max_steps = 12}, {});
  exporter->calls.clear();
  const int eval_calls = eval_input.calls;
  auto hook = std::make_shared<RecordingHook>();
  const auto before = std::filesystem::last_write_time(place.model_dir() + "/checkpoint");
  for (const int64_t max_steps : {12, 5}) {
    const auto result = run({.max_steps = max_steps, .hooks = {hook}}, {});
    EXPECT_EQ(result.metrics, std::nullopt);
    EXPECT_THAT(result.exports, IsEmpty());
  }
  EXPECT_EQ(train_input.calls, 1);
  EXPECT_EQ(eval_input.calls, eval_calls);
  EXPECT_THAT(exporter->calls, IsEmpty());
  EXPECT_THAT(hook->calls(), IsEmpty());
  EXPECT_EQ(std::filesystem::last_write_time(place.model_dir() + "/checkpoint"), before);
  EXPECT_EQ(place.log.count('I', "nothing to do"), 2);
  EXPECT_EQ(end_mark(place.model_dir())->checkpoint, "model.ckpt-12");
}

TEST_F(LocalMode, EndOfInputIsNoFinalExport) {
  train_input.dataset = losses(std::vector<float>(13, 1));
  const auto result = run({.max_steps = 20}, {.throttle_secs = 0, .exporters = {exporter, final_exporter("last")}});
  EXPECT_THAT(evaluations(), ElementsAre(10, 13));
  EXPECT_THAT(exporter->calls, ElementsAre("10", "13"));
  EXPECT_THAT(result.exports, ElementsAre("13", std::nullopt));
  EXPECT_EQ(place.log.count('W', "export last was never made"), 1);
  EXPECT_EQ(end_mark(place.model_dir())->reason, checkpoint::EndReason::kEndOfInput);
  EXPECT_EQ(place.log.count('W', "the training input has ended before step 20; repeat() makes as many passes"), 1);
}

TEST_F(LocalMode, WithoutMaxStepsTrainsUntilTheInputEnds) {
  train_input.dataset = losses(std::vector<float>(10, 1));
  run({}, {});
  EXPECT_EQ(place.log.count('W', "repeat()"), 0);
  EXPECT_THAT(evaluations(), ElementsAre(10));
  EXPECT_THAT(exporter->calls, ElementsAre("10"));
}

TEST_F(LocalMode, AJobStartedAgainAtTheEndOfItsInputSaysSo) {
  train_input.dataset = losses(std::vector<float>(13, 1));
  run({.max_steps = 20}, {});
  EXPECT_EQ(place.log.count('W', "no step was made"), 0);
  place.log.clear();
  run({.max_steps = 20}, {});
  EXPECT_EQ(place.log.count('W', "no step was made: this job had come to the end of its input before (global step 13)"), 1);
  EXPECT_EQ(place.log.count('W', "empty"), 0);
}

TEST_F(LocalMode, EmptyTrainingInputIsWarnedOfAndTheStartEvaluatedOnce) {
  train_input.dataset = losses({});
  const auto result = run({.max_steps = 20}, {});
  EXPECT_EQ(place.log.count('W', "no step was made"), 1);
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 0.5}, {"global_step", 0}}));
  EXPECT_THAT(evaluations(), ElementsAre(0));
  EXPECT_THAT(exporter->calls, ElementsAre("0"));
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
}

TEST_F(LocalMode, StopRequestOfAHookEndsWithAnEvaluationOfThatStep) {
  const auto result = run({.max_steps = 100, .hooks = {stop_after(7)}}, {});
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-7"));
  EXPECT_THAT(evaluations(), ElementsAre(7));
  EXPECT_THAT(exporter->calls, ElementsAre("7"));
  EXPECT_EQ(end_mark(place.model_dir())->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(result.metrics->at("global_step"), 7);
  EXPECT_FALSE(place.report.interrupted);
}

TEST_F(LocalMode, InterruptFinishesTheStepSavesAndEvaluates) {
  run({.max_steps = 100, .hooks = {after_each_step([&](RunContext& run, const StepValues&) {
                           if (run.global_step() == 4) place.interrupt.request_stop();
                         })}},
      {});
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-4"));
  EXPECT_THAT(evaluations(), ElementsAre(4));
  EXPECT_EQ(end_mark(place.model_dir())->reason, checkpoint::EndReason::kInterrupted);
  EXPECT_TRUE(place.report.interrupted);
}

TEST_F(LocalMode, UserListenersComeBeforeTheEvaluation) {
  std::vector<std::string> calls;
  eval_input = CountedInput(losses({0.5f}));
  auto hook = std::make_shared<FunctionHook>();
  hook->at_ready = [&](RunContext& run) { calls.push_back("evaluation " + std::to_string(run.global_step())); };
  run({.max_steps = 12,
       .saving_listeners = {std::make_shared<RecordingListener>(&calls, "a"),
                            std::make_shared<RecordingListener>(&calls, "b")}},
      {.throttle_secs = 0, .hooks = {hook}});
  EXPECT_THAT(calls,
              ElementsAre("a begin", "b begin", "a before 0", "b before 0", "a after 0 model.ckpt-0",
                          "b after 0 model.ckpt-0", "a before 10", "b before 10", "a after 10 model.ckpt-10",
                          "b after 10 model.ckpt-10", "evaluation 10", "a before 12", "b before 12",
                          "a after 12 model.ckpt-12", "b after 12 model.ckpt-12", "evaluation 12", "a end 12", "b end 12"));
}

TEST_F(LocalMode, ListenerMayAskToStop) {
  std::vector<std::string> calls;
  run({.max_steps = 100, .saving_listeners = {std::make_shared<RecordingListener>(&calls, "", 20)}}, {.throttle_secs = 0});
  EXPECT_THAT(evaluations(), ElementsAre(10, 20));
  EXPECT_THAT(calls, ElementsAre("begin", "before 0", "after 0 model.ckpt-0", "before 10", "after 10 model.ckpt-10",
                                 "before 20", "after 20 model.ckpt-20", "end 20"));
}

/// Changes the folder without the run's knowledge, after the save of step 20.
class Tampers final : public CheckpointListener {
 public:
  explicit Tampers(std::function<void(const std::string& folder)> tamper) : tamper_(std::move(tamper)) {}
  bool after_save(RunContext& run, uint64_t step, const std::string&) override {
    if (step == 20) tamper_(run.model_dir());
    return false;
  }

 private:
  std::function<void(const std::string& folder)> tamper_;
};

TEST_F(LocalMode, EvaluatesNothingButWhatItHasJustWritten) {  // See CONTRACT LO-9.
  const auto refused_after = [this](std::function<void(const std::string& folder)> tamper,
                                    ErrorKind kind = ErrorKind::kFailedPrecondition) {
    std::filesystem::remove_all(place.model_dir());
    const auto listener = std::make_shared<Tampers>(std::move(tamper));
    const std::string sentence =
        refusal([&] { run({.max_steps = 40, .saving_listeners = {listener}}, {.throttle_secs = 0}); }, kind);
    EXPECT_THAT(sentence, HasSubstr("model.ckpt-20 was just written as the newest checkpoint"));
    EXPECT_THAT(evaluations(), ElementsAre(10));
    return sentence;
  };
  const auto remove = [](const std::string& name) {
    return [name](const std::string& folder) { std::filesystem::remove(folder + "/" + name); };
  };
  EXPECT_THAT(refused_after(remove("checkpoint")), HasSubstr("now there is none"));
  EXPECT_THAT(refused_after(remove("model.ckpt-20.index")), HasSubstr("model.ckpt-20"));
  // A damaged list is DataLoss (CONTRACT FA-10).
  const auto confuse = [](const std::string& folder) { write_file(folder + "/checkpoint", "nonsense"); };
  EXPECT_THAT(refused_after(confuse, ErrorKind::kDataLoss), HasSubstr("line 1"));
  const auto cut = [](const std::string& folder) { std::filesystem::resize_file(folder + "/model.ckpt-20.index", 100); };
  EXPECT_THAT(refused_after(cut, ErrorKind::kDataLoss), HasSubstr("index"));
  EXPECT_THAT(refused_after([](const std::string& folder) {  // The checkpoint is evaluated already.
                write_file(folder + "/checkpoint", "model_checkpoint_path: \"model.ckpt-10\"\n");
              }),
              HasSubstr("now it is " + place.model_dir() + "/model.ckpt-10"));
}

TEST_F(LocalMode, AStepThatIsSavedAgainAfterARecoveryIsNotEvaluatedAgain) {  // See CONTRACT LO-9.
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  estimator.train(train_input, {.max_steps = 10});
  const std::shared_ptr<Environment> env = make_call_environment(estimator.config());
  const EvalSpec spec{.input_fn = eval_input, .throttle_secs = 0};
  LocalEvaluation evaluation(*env, estimator, spec, 20, LocalEvaluation::Last::kInTraining);
  LoopContext context(*env, nullptr);
  const auto save = [&](uint64_t step) {
    return evaluation.after_save(context, step, place.model_dir() + "/model.ckpt-" + std::to_string(step));
  };
  EXPECT_FALSE(save(0));
  EXPECT_FALSE(save(10));
  EXPECT_FALSE(save(10));  // A run that has lost its servers and recovered saves like this.
  EXPECT_THAT(evaluations(), ElementsAre(10));
}

TEST_F(LocalMode, NeedsCheckpoints) {
  for (const Setting<int64_t>& steps : {Setting<int64_t>(std::nullopt), Setting<int64_t>(0)}) {
    EXPECT_THAT(refusal([&] { run({.max_steps = 12}, {}, {.save_checkpoints_steps = steps}); }),
                HasSubstr("checkpoints are disabled"));
  }
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
}

TEST_F(LocalMode, EndsWithAnErrorWithoutLastCheckpointOrEvaluation) {
  auto hook = after_each_step([](RunContext& run, const StepValues&) {
    if (run.global_step() == 13) throw std::out_of_range("thirteen");
  });
  EXPECT_THROW(run({.max_steps = 30, .hooks = {hook}}, {}), std::out_of_range);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-10"));
  EXPECT_THAT(evaluations(), ElementsAre(10));
  EXPECT_EQ(end_mark(place.model_dir()), std::nullopt);
}

TEST_F(LocalMode, AnErrorOfTheEvaluationOrAnExporterEndsTraining) {
  struct FailingExporter : RecordingExporter {
    std::optional<std::string> export_model(const ExportRequest&) override { throw std::domain_error("no room"); }
  };
  EXPECT_THROW(run({.max_steps = 30}, {.exporters = {std::make_shared<FailingExporter>()}}), std::domain_error);
  const InputFn broken = []() -> Dataset { throw std::length_error("no file"); };
  EXPECT_THROW(run({.max_steps = 30}, {.input_fn = broken}), std::length_error);
  EXPECT_THAT(evaluations(), ElementsAre(10));
}

/// The same command, started again, makes what is missing, once.
TEST_F(LocalMode, ALastEvaluationThatFailedIsMadeByTheNextStart) {
  struct FailsAtTheEnd : RecordingExporter {
    std::optional<std::string> export_model(const ExportRequest& request) override {
      if (request.is_the_final_export && fails) throw std::domain_error("no room");
      return RecordingExporter::export_model(request);
    }
    bool fails = true;
  };
  const auto failing = std::make_shared<FailsAtTheEnd>();
  EXPECT_THROW(run({.max_steps = 12}, {.exporters = {failing}}), std::domain_error);
  EXPECT_THROW(run({.max_steps = 12}, {.exporters = {failing}}), std::domain_error);
  failing->fails = false;
  const auto result = run({.max_steps = 12}, {.exporters = {failing}});
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 0.5}, {"global_step", 12}}));
  EXPECT_THAT(result.exports, ElementsAre("12 final"));
  EXPECT_EQ(place.report.metrics, *result.metrics);
  EXPECT_EQ(place.log.count('I', "the last evaluation is missing"), 2);
  EXPECT_EQ(train_input.calls, 1) << "nothing was trained again";
  EXPECT_EQ(place.log.count('I', "only the last step was evaluated"), 0);
  EXPECT_EQ(run({.max_steps = 12}, {.exporters = {failing}}).metrics, std::nullopt);
  EXPECT_THAT(failing->calls, ElementsAre("10", "12 final"));
}

/// Estimator::train() makes no evaluation, so none is missing.
TEST_F(LocalMode, TrainingWithoutEvaluationsLeavesNoneToMake) {
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  estimator.train(train_input, {.max_steps = 12});
  EXPECT_EQ(run({.max_steps = 12}, {}).metrics, std::nullopt);
  EXPECT_THAT(exporter->calls, IsEmpty());
}

TEST_F(LocalMode, StartingRemovesTheMarkOfTheRunBefore) {
  run({.max_steps = 12}, {});
  const auto mark = end_mark(place.model_dir());
  EXPECT_EQ(mark->global_step, 12);
  EXPECT_EQ(mark->checkpoint, "model.ckpt-12");
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kMaxSteps);
  bool marked = true;
  run({.max_steps = 14, .hooks = {after_each_step([&](RunContext&, const StepValues&) {
                          marked = end_mark(place.model_dir()).has_value();
                        })}},
      {});
  EXPECT_FALSE(marked);
  EXPECT_EQ(end_mark(place.model_dir())->global_step, 14);
}

TEST_F(LocalMode, ACallThatTrainsNothingLeavesTheMarkAsItIs) {
  run({.max_steps = 12}, {});
  const std::string path = place.model_dir() + "/training_finished";
  const std::string mark = read_file(path);
  const auto written = std::filesystem::last_write_time(path);
  run({.max_steps = 12}, {});
  EXPECT_EQ(read_file(path), mark);
  EXPECT_EQ(std::filesystem::last_write_time(path), written);
  // If the file is missing, because the run was killed right before it was written, it is there afterwards.
  std::filesystem::remove(path);
  run({.max_steps = 12}, {});
  ASSERT_TRUE(end_mark(place.model_dir()));
  EXPECT_EQ(end_mark(place.model_dir())->checkpoint, "model.ckpt-12");
}

TEST_F(LocalMode, ALostListIsWrittenAnewThoughNothingIsLeftToTrain) {
  run({.max_steps = 12}, {});
  std::filesystem::remove(place.model_dir() + "/checkpoint");
  run({.max_steps = 12}, {});
  EXPECT_EQ(value_or_raise(checkpoint::latest(*make_file_storage(), place.model_dir())),
            place.model_dir() + "/model.ckpt-12");
  EXPECT_EQ(end_mark(place.model_dir())->checkpoint, "model.ckpt-12");
}

TEST_F(LocalMode, AMarkGoesWhereTheNewestCheckpointTurnsOutDamaged) {
  run({.max_steps = 12}, {});
  std::filesystem::resize_file(place.model_dir() + "/model.ckpt-12.index", 10);
  bool marked = true;
  run({.max_steps = 12, .hooks = {after_each_step([&](RunContext&, const StepValues&) {
                          marked = end_mark(place.model_dir()).has_value();
                        })}},
      {});
  EXPECT_FALSE(marked);
  EXPECT_EQ(end_mark(place.model_dir())->global_step, 12);
}

TEST_F(LocalMode, TwoNamedEvaluationsDoNotMix) {
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  train_and_evaluate(estimator, {.input_fn = train_input, .max_steps = 3}, {.input_fn = eval_input, .name = "train"});
  estimator.evaluate([] { return losses({0.25f}); }, {.name = "other"});
  EXPECT_EQ(scalars(estimator.eval_dir("train"), "loss"), (Scalars{{3, 0.5}}));
  EXPECT_EQ(scalars(estimator.eval_dir("other"), "loss"), (Scalars{{3, 0.25}}));
  EXPECT_THAT(evaluations(), IsEmpty());
}

TEST_F(LocalMode, LooksAtAsManyBatchesAsTheSpecSays) {
  eval_input.dataset = losses({1, 2, 3, 4}).repeat();
  EXPECT_EQ(run({.max_steps = 1}, {.steps = 2}).metrics->at("loss"), 1.5);
  eval_input.dataset = losses({1, 2, 3, 4});
  EXPECT_EQ(run({.max_steps = 2}, {.steps = std::nullopt}).metrics->at("loss"), 2.5);
  eval_input.dataset = losses(std::vector<float>(100, 1)).concatenate(losses(std::vector<float>(100, 3)));
  EXPECT_EQ(run({.max_steps = 3}, {}).metrics->at("loss"), 1);
}

TEST_F(LocalMode, WarnsOfNothingInAPlainRun) {
  run({.max_steps = 12}, {});
  EXPECT_THAT(place.log.all('W'), IsEmpty());
  EXPECT_THAT(place.log.all('E'), IsEmpty());
}

// CONTRACT 5: the choice of the procedure, and the check of arguments before anything is written or opened.

RunConfig task_config(Place& place, const std::string& tf_config) {
  const RunConfig given = place.config();
  return RunConfig::from_environment({.model_dir = given.model_dir()}, environment(tf_config)).with_host(given.host());
}
std::string task_of_cluster(const std::string& type, int index = 0) {
  return R"({"cluster": {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"], "ps": ["127.0.0.1:3"],
             "other": ["127.0.0.1:4"]},
             "task": {"type": ")" +
         type + R"(", "index": )" + std::to_string(index) + "}}";
}

TEST(TrainAndEvaluate, ChecksItsArgumentsFirstInEveryRole) {
  for (const char* task : {"chief", "worker", "ps", "evaluator"}) {
    Place place;
    Estimator estimator(counting_model, task_config(place, task_of_cluster(task)));
    CountedInput input(endless());
    const EvalSpec eval{.input_fn = input};
    EXPECT_THAT(refusal([&] { train_and_evaluate(estimator, {.max_steps = 1}, eval); }, ErrorKind::kTypeMismatch),
                HasSubstr("TrainSpec: input_fn"))
        << task;
    EXPECT_THAT(refusal([&] { train_and_evaluate(estimator, {.input_fn = input, .max_steps = 0}, eval); }),
                HasSubstr("max_steps"))
        << task;
    EXPECT_THAT(refusal([&] { train_and_evaluate(estimator, {.input_fn = input}, {}); }, ErrorKind::kTypeMismatch),
                HasSubstr("EvalSpec: input_fn"))
        << task;
    EXPECT_THAT(refusal([&] { train_and_evaluate(estimator, {.input_fn = input}, {.input_fn = input, .steps = 0}); }),
                HasSubstr("EvalSpec: steps"))
        << task;
    EXPECT_EQ(input.calls, 0);
    EXPECT_FALSE(std::filesystem::exists(place.model_dir())) << task;
  }
}

TEST(TrainAndEvaluate, RefusesRolesThatCannotRun) {
  const auto refused = [](const std::string& tf_config) {
    Place place;
    Estimator estimator(counting_model, task_config(place, tf_config));
    const std::string message =
        refusal([&] { train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 1}, {.input_fn = endless}); });
    EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
    return message;
  };
  EXPECT_THAT(refused(task_of_cluster("other")),
              AllOf(HasSubstr("chief"), HasSubstr("worker"), HasSubstr("ps"), HasSubstr("evaluator")));
  EXPECT_THAT(refused(task_of_cluster("evaluator", 1)), HasSubstr("evaluator"));
  EXPECT_THAT(
      refused(
          R"({"cluster": {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}, "task": {"type": "chief", "index": 0}})"),
      HasSubstr("ps"));
}

TEST(TrainAndEvaluate, AMasterAloneEvaluatesWithoutAPort) {  // CL-15
  Place place;
  const RunConfig config =
      task_config(place, R"({"cluster": {"master": ["127.0.0.1:1"]}, "task": {"type": "master", "index": 0}})");
  Estimator estimator(counting_model, config);
  CountedInput eval_input(losses({1, 3}));
  const auto result = train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 3}, {.input_fn = eval_input});
  EXPECT_EQ(result.metrics, std::nullopt);
  EXPECT_EQ(eval_input.calls, 1);
  EXPECT_EQ(result.report.metrics, (Metrics{{"global_step", 3}, {"loss", 2}}));
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-3"));
  EXPECT_EQ(end_mark(place.model_dir())->global_step, 3);
}

TEST(TrainAndEvaluate, AChiefAloneTrainsWithoutEvaluationOrPort) {
  Place place;
  const RunConfig config =
      task_config(place, R"({"cluster": {"chief": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}})");
  Estimator estimator(counting_model, config);
  CountedInput eval_input(endless());
  const auto result = train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 3}, {.input_fn = eval_input});
  EXPECT_EQ(result.metrics, std::nullopt);
  EXPECT_EQ(eval_input.calls, 0);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-3"));
  EXPECT_EQ(end_mark(place.model_dir())->global_step, 3);
}

TEST_F(LocalMode, WarnsOnceWhereAShuffleUndoesWhatIsHeldOut) {
  const auto mixed = [] {
    return data::Dataset::from_tensor_slices(Tensor::of<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8})).shuffle(8);
  };
  const auto stacked = [](const data::Dataset& part) { return part.repeat().batch(2); };
  run({.input_fn = [&] { return stacked(mixed().skip(2)); }, .max_steps = 22},
      {.input_fn = [&] { return stacked(mixed().take(2)); }, .steps = 2, .throttle_secs = 0});
  EXPECT_EQ(place.log.count('W', "may measure elements that were trained on"), 1);
  EXPECT_EQ(place.log.count('W', "take and skip (or split) first"), 1);
}

TEST_F(LocalMode, DoesNotWarnWhereThePartsAreShuffledThemselves) {
  const auto all = data::Dataset::from_tensor_slices(Tensor::of<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  run({.input_fn = all.skip(2).shuffle(6).repeat().batch(2), .max_steps = 22}, {.input_fn = all.take(2).batch(2)});
  EXPECT_EQ(place.log.count('W', "trained on"), 0);
}

TEST(TrainAndEvaluate, AChiefAloneIsWarnedOnce) {
  const auto alone = environment(R"({"cluster": {"chief": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}})");
  for (const bool at_once : {false, true}) {
    Place place;
    Logger early(place.log.sink(), "", [] { return WallTime(); });
    const RunConfig local = place.config();
    const RunConfig config = RunConfig::from_environment(
        {.model_dir = place.model_dir(), .runtime = RuntimeOptions{.threads = 1, .backend = "reference"}}, alone,
        at_once ? &early : nullptr);
    Estimator estimator(counting_model, config.with_host(local.host()));
    train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 1}, {.input_fn = endless});
    EXPECT_EQ(place.log.count('W', "evaluat"), 1) << at_once;
  }
}

}  // namespace
}  // namespace shoal::testing
