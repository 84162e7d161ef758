// SPDX-License-Identifier: Apache-2.0
// Whole jobs as threads of one process (CONTRACT 8, 18.1, 20).
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "jobs.h"
#include "shoal/nn/embedding.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(Job, AllTasksEndAndNothingIsLost) {
  Job job;
  run_job(job, {.size = {.ps = 2, .workers = 2, .evaluator = true}});
  job.expect_all_ended_well();
  std::vector<std::string> tasks;
  for (const TaskOutcome& outcome : job.outcomes) tasks.push_back(outcome.task);
  EXPECT_THAT(tasks, ElementsAre("chief 0", "ps 0", "ps 1", "worker 0", "worker 1", "evaluator 0"));
  EXPECT_THAT(job.last_step(), AllOf(Ge(60), Le(62)));  // There are three trainers.
  EXPECT_EQ(job.counted_updates(), float(job.last_step()));
  const auto mark = end_mark(job.model_dir());
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->global_step, job.last_step());
  EXPECT_EQ(mark->checkpoint, job.last_checkpoint());
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kMaxSteps);
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("global_step"), double(job.last_step()));
  EXPECT_EQ(steps_of(job.folder / "m/eval", "average_loss").back(), job.last_step());
  EXPECT_EQ(job.log.count('E', ""), 0);
}

TEST(Job, EveryCheckpointHasTheUpdatesOfItsStep) {
  Job job;
  struct Look final : CheckpointListener {
    std::vector<std::pair<uint64_t, float>> seen;
    bool after_save(RunContext&, uint64_t step, const std::string& prefix) override {
      float value = -1;
      const std::string bits = tensors(prefix).at("updates");
      std::memcpy(&value, bits.data(), sizeof value);
      seen.emplace_back(step, value);
      return false;
    }
  };
  const auto look = std::make_shared<Look>();
  // With one server there is one state, however many trainers push meanwhile.
  run_job(job, {.size = {.ps = 1, .workers = 2},
                .max_steps = std::nullopt,
                .save_steps = 5,
                .hooks = hook_of("chief 0", after_each_step([](RunContext& run, const StepValues&) {
                                   if (run.iterations() == 60) run.request_stop();
                                 })),
                .listeners = {look}});
  job.expect_all_ended_well();
  EXPECT_GE(look->seen.size(), 60u / 5);
  for (const auto& [step, updates] : look->seen) EXPECT_EQ(updates, float(step));
}

/// Trains in this process, with the same options.
void run_local(Job& job, const JobSpec& spec) {
  auto host = std::make_shared<TaskHost>();
  host->sink = job.log.sink();
  Estimator estimator(spec.model, RunConfig(job_options(spec, job.model_dir())).with_host(std::move(host)), spec.params);
  estimator.train(spec.input, {.max_steps = spec.max_steps});
}

TEST(Job, OneTrainerGivesTheBitsOfALocalRun) {
  const JobSpec spec{.size = {}, .model = split_model, .max_steps = 50, .input = wide_line};
  Job local;
  run_local(local, spec);
  const auto expected = local.last_tensors();
  ASSERT_EQ(expected.size(), 12u);  // There are four variables, each with m and v.
  for (int32_t servers : {1, 2, 3, 5}) {
    SCOPED_TRACE(std::to_string(servers) + " servers");
    Job job;
    JobSpec remote = spec;
    remote.size = {.ps = servers};
    run_job(job, remote);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_checkpoint(), "model.ckpt-50");
    EXPECT_EQ(job.last_tensors(), expected);
    if (servers == 1) {
      const std::string data = "/model.ckpt-50.data-00000-of-00001";
      EXPECT_EQ(read_file(job.model_dir() + data), read_file(local.model_dir() + data));
    }
  }
}

TEST(Job, ServersThatComputeBesideTheirStrandGiveTheSameBits) {
  JobSpec spec{.size = {.ps = 2}, .model = split_model, .max_steps = 50, .input = wide_line};
  Job on_strand, beside;
  run_job(on_strand, spec);
  spec.bytes_on_strand = 0;
  run_job(beside, spec);
  beside.expect_all_ended_well();
  EXPECT_EQ(beside.last_tensors(), on_strand.last_tensors());
}

TEST(Job, NothingIsLostWhereServersComputeBesideTheirStrand) {
  for (const char* const compression : {"none", "bfloat16", "top-k:0.5"}) {
    SCOPED_TRACE(compression);
    Job job;
    run_job(job, {.size = {.ps = 2, .workers = 2, .evaluator = true},
                  .save_steps = 7,
                  .compression = value_or_raise(cluster::parse_compression(compression)),
                  .bytes_on_strand = 0});
    job.expect_all_ended_well();
    EXPECT_THAT(job.last_step(), AllOf(Ge(60), Le(62)));
    EXPECT_EQ(job.log.count('E', ""), 0);
    if (compression == std::string_view("none")) {
      EXPECT_EQ(job.counted_updates(), float(job.last_step()));
    }
  }
}

/// A server holds the pushes of an update in slots of the trainer's connection, which are 256.
TEST(Job, AnUpdateOfManyPushesOverSharedMemoryTakesOneSlotForEach) {
  JobSpec spec{.size = {.ps = 1},
               .model = split_model,
               .max_steps = 3,
               .input = wide_line,
               .own_part_bytes = 1,
               .updates = {.kind = UpdateStrategyKind::kSync, .replicas_to_aggregate = 200},
               .transport = "shm"};
  Job job;
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_checkpoint(), "model.ckpt-3");
}

TEST(Job, ShardsThatTravelInPartsGiveTheSameBits) {
  for (const char* const transport : {"inproc", "shm"}) {
    JobSpec spec{.size = {.ps = 2, .workers = 1},
                 .model = split_model,
                 .max_steps = 40,
                 .input = wide_line,
                 .updates = {.kind = UpdateStrategyKind::kSync},
                 .transport = transport};
    Job whole, parts;
    run_job(whole, spec);
    spec.own_part_bytes = 1;
    run_job(parts, spec);
    parts.expect_all_ended_well();
    EXPECT_EQ(parts.last_tensors(), whole.last_tensors()) << transport;
  }
}

TEST(Job, OneTrainerClipsLikeALocalRun) {
  const JobSpec spec{
      .size = {}, .model = split_model, .max_steps = 30, .input = wide_line, .params = {{"optimizer", "LAMB"}}};
  Job local;
  run_local(local, spec);
  const auto expected = local.last_tensors();
  ASSERT_EQ(expected.size(), 12u);
  Job job;
  JobSpec remote = spec;
  remote.size = {.ps = 3};
  run_job(job, remote);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_tensors(), expected);
}

/// Two embeddings, one of which is looked up twice, beside a dense layer.
EstimatorSpec embedding_model(const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value ids = ops::cast(features.single(), DType::kInt64);
  const Value pairs = nn::embedding(ids, {.ids = 50, .dimension = 8});
  const Value single = nn::embedding(ops::slice(ids, {{}, {.begin = 0, .size = 1}}), {.ids = 50, .dimension = 3});
  const Value y = nn::dense(ops::concat({ops::flatten(pairs), ops::flatten(single)}, 1), {.units = 1});
  spec.loss = nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = y}));
  if (mode == Mode::kTrain) spec.train_op = nn::adam({.learning_rate = 0.01}).minimize(spec.loss);
  return spec;
}

data::Dataset pairs_of_ids() {
  std::vector<float> x(32), y(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float((i * i * 7) % 50);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[2 * i] / 50 - x[2 * i + 1] / 25;
  return data::Dataset::from_tensor_slices(Tensor::of<float>({16, 2}, x), Tensor::of<float>({16, 1}, y))
      .shuffle(16)
      .repeat()
      .batch(4);
}

TEST(Job, UpdatesByRowsGiveTheBitsOfALocalRun) {
  const JobSpec spec{.size = {}, .model = embedding_model, .max_steps = 40, .input = pairs_of_ids};
  Job local;
  run_local(local, spec);
  const auto expected = local.last_tensors();
  ASSERT_EQ(expected.size(), 12u);
  for (int32_t servers : {1, 3}) {  // With three servers the larger table is split by rows.
    SCOPED_TRACE(std::to_string(servers) + " servers");
    Job job;
    JobSpec remote = spec;
    remote.size = {.ps = servers};
    run_job(job, remote);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_tensors(), expected);
  }
}

TEST(Job, OnePassPerTrainerIsExact) {
  for (int32_t workers : {0, 1, 2}) {
    for (int32_t servers : {1, 2}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, " + std::to_string(servers) + " servers");
      Job job;
      run_job(job, {.size = {.ps = servers, .workers = workers, .evaluator = true}, .max_steps = std::nullopt, .input = [] {
                      return line({1, 2, 3, 4, 5, 6, 7}).batch(1);
                    }});
      job.expect_all_ended_well();
      EXPECT_EQ(job.last_step(), 7 * (workers + 1));
      EXPECT_EQ(job.counted_updates(), float(7 * (workers + 1)));
      EXPECT_EQ(end_mark(job.model_dir())->reason, checkpoint::EndReason::kEndOfInput);
      EXPECT_EQ(job.log.count('W', "makes its own pass over the input"), workers > 0 ? 1 : 0) << "CONTRACT OE-4";
    }
  }
}

TEST(Job, AShardedInputIsTrainedOnOnce) {
  Job job;
  run_job(
      job,
      {.size = {.ps = 1, .workers = 2}, .max_steps = std::nullopt, .input = [](const InputContext& context) {
         return line({1, 2, 3, 4, 5, 6, 7}).shard(context.config.num_trainers(), context.config.trainer_index()).batch(1);
       }});
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 7);  // The parts are 3 + 2 + 2.
}

TEST(Job, AnInputThatIsEmptyForOneTrainerEndsWell) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1}, .max_steps = std::nullopt, .input = [](const InputContext& context) {
                  return context.config.trainer_index() == 0 ? line({1, 2}).batch(1).take(0) : line({1, 2, 3}).batch(1);
                }});
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 3);
}

TEST(Job, TheChiefWaitsForAWorkerThatIsSlowToStart) {
  Job job;
  const auto late = std::make_shared<FunctionHook>();
  late->at_begin = [&job](HookSetup&) {  // The chief has come to the end of its input long before the worker begins.
    const std::string reached = job.model_dir() + "/model.ckpt-7.index";
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!std::filesystem::exists(reached) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(std::filesystem::exists(reached));
  };
  run_job(job, {.size = {.ps = 1, .workers = 1},
                .max_steps = std::nullopt,
                .input =
                    [] {
                      return line({1, 2, 3, 4, 5, 6, 7}).batch(1);
                    },
                .save_steps = 1,
                .hooks = hook_of("worker 0", late)});
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 14);
  EXPECT_EQ(job.counted_updates(), 14);
}

TEST(Job, TwoClustersRunAtTheSameTime) {
  Job one, other;
  std::thread thread([&] { run_job(one, {.size = {.ps = 1, .workers = 1, .evaluator = true}, .max_steps = 80}); });
  run_job(other, {.size = {.ps = 2, .workers = 2, .evaluator = true}, .max_steps = 40});
  thread.join();
  one.expect_all_ended_well();
  other.expect_all_ended_well();
  EXPECT_THAT(one.last_step(), AllOf(Ge(80), Le(81)));
  EXPECT_THAT(other.last_step(), AllOf(Ge(40), Le(42)));
  EXPECT_EQ(one.counted_updates(), float(one.last_step()));
  EXPECT_EQ(other.counted_updates(), float(other.last_step()));
}

TEST(Job, ASecondRunOfAFinishedJobDoesNothing) {
  Job job;
  const JobSpec spec{.size = {.ps = 2, .workers = 1, .evaluator = true}};
  run_job(job, spec);
  const auto before = job.last_tensors();
  std::atomic<int> inputs{0};
  JobSpec again = spec;
  again.max_steps = 60;
  again.input = [&inputs] { return ++inputs, line({1}).batch(1); };
  job.reports.clear();
  run_job(job, again);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_tensors(), before);
  EXPECT_LE(inputs, 1);  // The worker opens its input before it hears of the end; the chief does not.
  EXPECT_LT(job.seconds, 10);
  // CONTRACT EV-8.
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("global_step"), double(job.last_step()));
}

TEST(Job, ARunWithMoreStepsGoesOn) {
  Job job;
  JobSpec spec{.size = {.ps = 2, .workers = 1, .evaluator = true}, .max_steps = 20};
  run_job(job, spec);
  const int64_t first = job.last_step();
  spec.max_steps = 50;
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.log.count('I', "restored from checkpoint " + job.model_dir() + "/model.ckpt-" + std::to_string(first)), 1);
  EXPECT_THAT(job.last_step(), AllOf(Ge(50), Le(51)));
  EXPECT_EQ(job.counted_updates(), float(job.last_step()));
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("global_step"), double(job.last_step()));
}

TEST(Job, AnotherNumberOfServersGoesOnFromTheSameCheckpoint) {
  Job job;
  JobSpec spec{.size = {.ps = 3}, .model = split_model, .max_steps = 20, .input = wide_line};
  run_job(job, spec);
  spec.size = {.ps = 2};
  spec.max_steps = 50;
  run_job(job, spec);
  job.expect_all_ended_well();
  Job local;
  spec.max_steps = 20;
  run_local(local, spec);
  spec.max_steps = 50;
  run_local(local, spec);
  EXPECT_EQ(job.last_tensors(), local.last_tensors());
}

// --- Who does what ---------------------------------------------------------------------------------------------------

TEST(Job, EachRoleDoesItsOwn) {
  Job job;
  std::mutex mutex;
  std::multiset<std::string> inputs, hooked;
  std::vector<std::string> saves;
  JobSpec spec{.size = {.ps = 2, .workers = 2, .evaluator = true}, .max_steps = 30};
  spec.input = [&](const InputContext& context) {
    const std::lock_guard lock(mutex);
    inputs.insert(context.config.task().name());
    return line({1, 2, 3, 4}).batch(2).repeat();
  };
  spec.hooks = [&](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
    auto hook = std::make_shared<FunctionHook>();
    hook->at_ready = [&, name = config.task().name()](RunContext& run) {
      const std::lock_guard lock(mutex);
      hooked.insert(name + (run.is_chief() ? " leads" : ""));
    };
    return {hook};
  };
  spec.listeners = {std::make_shared<RecordingListener>(&saves)};
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_THAT(inputs, ElementsAre("chief 0", "worker 0", "worker 1"));
  EXPECT_THAT(hooked, ElementsAre("chief 0 leads", "worker 0", "worker 1"));
  ASSERT_GE(saves.size(), 4u);
  EXPECT_EQ(saves[0], "begin");
  EXPECT_THAT(saves[1], HasSubstr("before "));  // The line names the step that workers had reached by then.
  EXPECT_EQ(saves.back(), "end " + std::to_string(job.last_step()));
  EXPECT_EQ(std::count(saves.begin(), saves.end(), "begin"), 1);
}

TEST(Job, WithoutCheckpointsTheEvaluatorEndsWithAWarning) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1, .evaluator = true}, .save_steps = std::nullopt});
  job.expect_all_ended_well();
  EXPECT_EQ(job.log.count('W', "checkpoints are disabled"), 1);
  EXPECT_EQ(job.log.count('W', "nothing was ever evaluated"), 1);
  EXPECT_EQ(end_mark(job.model_dir())->checkpoint, "");
}

// --- Stopping and failing --------------------------------------------------------------------------------------------

TEST(Job, AStopOfTheChiefStopsAll) {
  Job job;
  run_job(job, {.size = {.ps = 2, .workers = 2, .evaluator = true},
                .max_steps = std::nullopt,
                .hooks = hook_of("chief 0", after_each_step([](RunContext& run, const StepValues&) {
                                   if (run.iterations() == 15) run.request_stop();
                                 }))});
  job.expect_all_ended_well();
  EXPECT_EQ(end_mark(job.model_dir())->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(job.counted_updates(), float(job.last_step()));
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("global_step"), double(job.last_step()));
}

TEST(Job, AStopOfAWorkerStopsItAlone) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1},
                .max_steps = 100,
                .hooks = hook_of("worker 0", after_each_step([](RunContext& run, const StepValues&) {
                                   if (run.iterations() == 3) run.request_stop();
                                 }))});
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 100);
  EXPECT_EQ(job.counted_updates(), 100);
}

TEST(Job, AnInterruptSavesAndEndsAll) {
  Job job;
  run_job(job, {.size = {.ps = 2, .workers = 2, .evaluator = true},
                .max_steps = std::nullopt,
                .hooks = hook_of("worker 1", after_each_step([&job](RunContext& run, const StepValues&) {
                                   if (run.iterations() == 10) job.interrupt.request_stop();
                                 }))});
  job.expect_all_ended_well();
  EXPECT_EQ(end_mark(job.model_dir())->reason, checkpoint::EndReason::kInterrupted);
  EXPECT_EQ(job.counted_updates(), float(job.last_step()));
  EXPECT_LT(job.seconds, 20);
}

/// The chief's log line and summaries are about all trainers, from the servers' counts. At most one line a second.
TEST(Job, TheChiefTellsWhatAllTrainersDo) {
  Job job;
  const auto pace =
      after_each_step([](RunContext&, const StepValues&) { std::this_thread::sleep_for(std::chrono::milliseconds(15)); });
  run_job(job, {.size = {.ps = 2, .workers = 2},
                .max_steps = 180,
                .save_steps = 180,
                .hooks = hook_of("chief 0", pace),
                .updates = {.kind = UpdateStrategyKind::kSync},
                .log_steps = 10,
                .summary_steps = 10});
  job.expect_all_ended_well();
  EXPECT_GE(job.log.count('I', " batches/s by 3 trainers, loss = "), 1);
  EXPECT_EQ(job.log.count('I', "job: "), job.log.count('I', ", staleness 0 (at most 0), 0 dropped, waiting "));
  EXPECT_LE(job.log.count('I', "job: "), 1 + int(job.seconds));
  const Scalars rates = scalars(job.model_dir(), "job/batches_per_sec");
  const Scalars of_one = scalars(job.model_dir(), "trainer_1/batches_per_sec");
  ASSERT_GE(rates.size(), 1u);
  EXPECT_NEAR(rates[0].second, 3 * of_one.at(0).second, 1e-3 * rates[0].second);
  const std::vector<int64_t> steps = steps_of(job.model_dir(), "job/batches_per_sec");
  for (const char* const tag :
       {"job/loss", "job/staleness", "job/staleness_max", "job/waiting", "trainer_0/batches_per_sec"}) {
    EXPECT_EQ(steps_of(job.model_dir(), tag), steps) << tag;
  }
  for (const auto& [step, dropped] : scalars(job.model_dir(), "job/dropped")) EXPECT_EQ(dropped, 0) << step;
}

TEST(Job, AWorkerThatArrivesAfterTheEndSaysSoAndLeaves) {
  Job job;
  const JobSpec spec{.size = {.ps = 1, .workers = 1}, .ready_timeout = 300};
  run_job(job, spec);
  auto host = std::make_shared<TaskHost>();
  host->sink = job.log.sink();
  host->transports["inproc"] = transport::inproc_factory(std::make_shared<transport::InprocHub>());
  for (const cluster::TaskConfig& task : cluster::in_process_tasks(spec.size, "cluster")) {
    if (task.type == "worker") train_task_of(spec, RunConfig(job_options(spec, job.model_dir()), task).with_host(host));
  }
  EXPECT_EQ(job.log.count('I', "training finished before this task arrived"), 1);
}

}  // namespace
}  // namespace shoal::testing
