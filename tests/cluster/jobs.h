// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whole jobs as threads of this process, with a model that counts its updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cluster_of_threads.h"
#include "count_updates.h"
#include "fixture.h"
#include "shoal/transport/inproc.h"

namespace shoal::testing {

/// The linear model of fixture.h, and a variable "updates" to which each step adds 1: the updates that counted.
inline EstimatorSpec counted_linear_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                          const RunConfig& config) {
  EstimatorSpec spec = linear_model(features, labels, mode, params, config);
  if (mode == Mode::kPredict) return spec;
  nn::TrainOp counting = count_updates(features);
  if (mode == Mode::kTrain) spec.train_op = nn::group({*spec.train_op, std::move(counting)});
  return spec;
}

/// A model whose kernel is split over three servers, with Adam: slots and its count of updates matter too.
inline EstimatorSpec split_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                 const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value hidden = nn::dense(features.single(), {.units = 64, .name = "hidden"});
  const Value y = nn::dense(hidden, {.units = 1, .name = "out"});
  const Value losses = nn::squared_error({.labels = labels.single(), .predictions = y});
  spec.loss = nn::reduce_loss(losses);
  const bool clipped = params.get_string("optimizer", "Adam") == "LAMB";
  if (mode == Mode::kTrain && !clipped) spec.train_op = nn::adam({.learning_rate = 0.01}).minimize(spec.loss);
  if (mode == Mode::kTrain && clipped) {
    spec.train_op = nn::lamb({.learning_rate = 0.01}).clip_by_global_norm(0.05).minimize(spec.loss);
    spec.summaries = {{"norm", spec.train_op->scalars[1].value}};  // It is fetched for the scalar and for hooks.
  }
  return spec;
}

inline data::Dataset wide_line_once() {
  std::vector<float> x(16 * 32), y(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float((i * 37) % 101) / 101;
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[32 * i] - x[32 * i + 1];
  return data::Dataset::from_tensor_slices(Tensor::of<float>({16, 32}, x), Tensor::of<float>({16, 1}, y)).shuffle(16);
}
inline data::Dataset wide_line() { return wide_line_once().repeat().batch(4); }

/// The files, logs and reports that a job of threads left behind.
struct Job {
  TemporaryFolder folder;
  Log log;
  std::vector<TaskOutcome> outcomes;
  std::map<std::string, TaskReport> reports;
  StopSource interrupt;
  double seconds = 0;

  std::string model_dir() const { return folder / "m"; }
  /// The name of the newest checkpoint.
  std::string last_checkpoint() const { return retained(model_dir()).back(); }
  int64_t last_step() const {
    const auto storage = make_file_storage();
    return value_or_raise(checkpoint::Reader::open(*storage, folder / ("m/" + last_checkpoint())))->manifest().global_step;
  }
  std::map<std::string, std::string> last_tensors() const { return tensors(folder / ("m/" + last_checkpoint())); }
  /// The variable that counts updates, in the newest checkpoint.
  float counted_updates() const {
    float value = -1;
    const std::string bits = last_tensors().at("updates");
    std::memcpy(&value, bits.data(), sizeof value);
    return value;
  }
  void expect_all_ended_well() const {
    for (const TaskOutcome& outcome : outcomes) {
      EXPECT_TRUE(outcome.result) << outcome.task << ": " << (outcome.result ? "" : outcome.result.error().message());
    }
  }
  Result<void> result_of(const std::string& task) const {
    for (const TaskOutcome& outcome : outcomes) {
      if (outcome.task == task) return outcome.result;
    }
    return not_found("no task " + task);
  }
};

struct JobSpec {
  cluster::ClusterSize size;
  ModelFn model = counted_linear_model;
  std::optional<int64_t> max_steps = 60;
  InputFn input = [] { return line({1, 2, 3, 4}).batch(2).repeat(); };
  InputFn eval_input = [] { return line({5, 6}).batch(2); };
  Setting<int64_t> save_steps = 10;
  Setting<double> save_secs = {};
  double ready_timeout = 30;
  int64_t throttle_secs = 0;
  Params params = {{"learning_rate", 0.01}};
  cluster::Compression compression = {};
  std::function<std::vector<std::shared_ptr<Hook>>(const RunConfig&)> hooks = {};
  std::vector<std::shared_ptr<Hook>> eval_hooks = {};
  std::vector<std::shared_ptr<CheckpointListener>> listeners = {};
  std::vector<std::shared_ptr<Exporter>> exporters = {};
  std::function<void(const RunConfig&)> before = {};  ///< Called first in each task.
  bool handle_signals = false;
  /// On servers: work on more bytes of an arena than this runs on other threads.
  std::optional<uint64_t> bytes_on_strand = {};
  uint64_t own_part_bytes = cluster::kOwnPartBytes;  ///< Shards of more bytes travel in parts.
  UpdateStrategyOptions updates = {};
  int32_t replicas = 1;  ///< The number of replicas of a local run.
  std::string transport = "inproc";
  std::optional<int64_t> log_steps = 100, summary_steps = {};
  std::optional<WarmStart> warm_start = {};
  VaryingAxes varying = {};
  std::vector<OpDef> ops = {};  ///< Ops of the program's own.
  Placement placement = {};
};

/// Makes hooks for one task only.
inline auto hook_of(const std::string& task, std::shared_ptr<Hook> hook) {
  return [task, hook = std::move(hook)](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
    if (config.task().name() == task) return {hook};
    return {};
  };
}

inline Estimator estimator_of(const JobSpec& spec, const RunConfig& config) {
  Estimator estimator(spec.model, config, spec.params);
  if (spec.warm_start) estimator.warm_start(*spec.warm_start);
  estimator.vary(spec.varying).use_ops(spec.ops);
  return estimator;
}

inline void train_task_of(const JobSpec& spec, RunConfig config) {
  if (spec.before) spec.before(config);
  Estimator estimator = estimator_of(spec, config);
  train_and_evaluate(estimator,
                     {.input_fn = spec.input,
                      .max_steps = spec.max_steps,
                      .hooks = spec.hooks ? spec.hooks(config) : std::vector<std::shared_ptr<Hook>>(),
                      .saving_listeners = spec.listeners},
                     {.input_fn = spec.eval_input,
                      .steps = std::nullopt,
                      .throttle_secs = spec.throttle_secs,
                      .start_delay_secs = 0,
                      .hooks = spec.eval_hooks,
                      .exporters = spec.exporters});
}

inline RunConfigOptions job_options(const JobSpec& spec, const std::string& model_dir) {
  RunConfigOptions options;
  options.model_dir = model_dir;
  options.save_checkpoints_steps = spec.save_steps;
  options.save_checkpoints_secs = spec.save_secs;
  options.random_seed = 7;
  options.ready_timeout_secs = spec.ready_timeout;
  options.save_summary_steps = spec.summary_steps;
  options.log_step_count_steps = spec.log_steps;
  options.update_strategy = spec.updates;
  options.placement = spec.placement;
  options.runtime = RuntimeOptions{.threads = 1,
                                   .transport = spec.transport,
                                   .backend = "reference",
                                   .compression = spec.compression,
                                   .replicas = spec.replicas};
  return options;
}

/// Trains in the same way without a cluster.
inline void run_locally(Job& job, const JobSpec& spec) {
  auto host = std::make_shared<TaskHost>();
  host->sink = job.log.sink();
  const RunConfig config = RunConfig(job_options(spec, job.model_dir())).with_host(std::move(host));
  estimator_of(spec, config).train(spec.input, {.max_steps = spec.max_steps});
}

inline void run_job(Job& job, const JobSpec& spec) {
  TaskHost host;
  host.sink = job.log.sink();
  host.stop = job.interrupt.token();
  host.handle_signals = spec.handle_signals;
  host.bytes_on_strand = spec.bytes_on_strand;
  host.own_part_bytes = spec.own_part_bytes;
  std::mutex mutex;
  host.report = [&](const TaskReport& report) {
    const std::lock_guard lock(mutex);
    job.reports[report.task] = report;
  };
  const auto start = std::chrono::steady_clock::now();
  job.outcomes = run_cluster_of_threads(spec.size, job_options(spec, job.model_dir()), host,
                                        [&](RunConfig config) { train_task_of(spec, std::move(config)); });
  job.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Checks that a synchronous cluster of two trainers and two servers trains `make(steps)` to the bits of two replicas
/// in one process, over both transports that stay within a process or a machine. `local` is the job of the replicas.
inline void expect_the_bits_of_replicas(const std::function<JobSpec(int64_t)>& make, Job& local) {
  JobSpec replicas = make(30);
  replicas.replicas = 2;
  run_locally(local, replicas);
  for (const std::string transport : {"inproc", "shm"}) {
    Job job;
    JobSpec spec = make(30);
    spec.size = {.ps = 2, .workers = 1};
    spec.updates = {.kind = UpdateStrategyKind::kSync};
    spec.transport = transport;
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_tensors(), local.last_tensors()) << transport;
  }
}

/// Checks that an asynchronous cluster of three trainers and two servers learns to get all of the evaluation right.
inline void expect_all_learned(JobSpec spec) {
  Job job;
  spec.size = {.ps = 2, .workers = 2, .evaluator = true};
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("accuracy"), 1);
}

/// A task of a job that trains the linear model for 40 steps, and notes by task what train_and_evaluate() returned.
struct ResultsByTask {
  std::map<std::string, TrainAndEvaluateResult> results;

  void operator()(RunConfig config) {
    const std::string task = config.task().name();
    Estimator estimator(linear_model, std::move(config), {{"learning_rate", 0.01}});
    auto result = train_and_evaluate(estimator, {.input_fn = line({1, 2, 3, 4}).batch(2).repeat(), .max_steps = 40},
                                     {.input_fn = line({5, 6}).batch(2), .throttle_secs = 0, .start_delay_secs = 0});
    const std::lock_guard lock(mutex);
    results[task] = std::move(result);
  }

 private:
  std::mutex mutex;
};

}  // namespace shoal::testing
