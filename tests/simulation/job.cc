// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <cstring>

#include "../estimator/own_model.h"
#include "shoal/base/blocking.h"
#include "shoal/base/random.h"
#include "shoal/estimator/early_stopping.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/task_host.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"
#include "shoal/nn/normalization.h"
#include "user_hook.h"

namespace shoal::simulation {
namespace {

constexpr int64_t kEvalExamples = 12, kClasses = 3, kIdsPerExample = 2;
constexpr int64_t kIds =
    1000;  // All examples together have less than a quarter of them, so that checkpoints write the changes alone.

/// An exporter of the user that takes until the next full second. The exporters behind it then read a checkpoint that the chief may
/// have deleted meanwhile.
class SlowExporter final : public Exporter {
 public:
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    const SteadyTime now = request.env.now();
    value_or_raise(block_until(request.env, std::chrono::floor<std::chrono::seconds>(now) + std::chrono::seconds(1)));
    return std::nullopt;
  }

 private:
  const std::string name_ = "slow";
};

/// Nearly nothing, but where all features of a batch are 0: then it is 0 and its gradient NaN (the root of 0), or it is NaN.
/// `learned` is what its gradient flows into, beside a variable of its own.
Value sensitive_to_zeros(Poison poison, Value features, std::optional<Value> learned) {
  const Value size = ops::reduce_mean(ops::square(ops::cast(features, DType::kFloat32)));
  if (poison == Poison::kLoss) return ops::scale(size / size, 1e-3);
  Value weight = ops::square(features.graph().variable("gate", Shape{}));
  if (learned) weight = weight + ops::reduce_mean(ops::square(*learned));
  return ops::scale(ops::sqrt(size * (weight + 1.0)), 1e-3);
}

Value network(const JobPlan& job, const Features& features, Mode mode) {
  const Value input = features.single();
  Value logits;
  std::optional<Value> rows;
  switch (job.model) {
    case ModelKind::kDense: {
      Value x = nn::dense(input, {.units = 6, .activation = nn::Activation::kRelu});
      logits = nn::dense(x, {.units = kClasses});
      break;
    }
    case ModelKind::kNormalized: {
      Value x = nn::batch_norm(nn::dense(input, {.units = 5}), mode);
      logits = nn::dense(nn::dropout(x, mode, {.rate = 0.25}), {.units = kClasses});
      break;
    }
    case ModelKind::kTable: {
      rows = nn::embedding(input, {.ids = kIds, .dimension = 4});
      logits = nn::dense(nn::flatten(*rows), {.units = kClasses});
      break;
    }
    case ModelKind::kOwn: {
      const Value x = nn::dense(input, {.units = 6});
      logits = nn::dense(x.graph().add("squash", {x}, {{"slope", 2.0}})[0], {.units = kClasses});
      break;
    }
  }
  return job.poison == Poison::kNone ? logits : logits + sensitive_to_zeros(job.poison, input, rows);
}

/// Variables that each update adds one to, so that what is saved of them is how often their server had applied one.
nn::TrainOp count_updates(Graph& graph) {
  const Value one = graph.constant(1.0f);
  nn::TrainOp counting;
  for (int i = 0; i < kCountVariables; ++i) {
    const Value count = graph.variable(count_variable(i), Shape{}, {.trainable = false});
    counting.updates.push_back(nn::assign_add(count, one));
  }
  return nn::train_op(std::move(counting));
}

nn::Optimizer plain_optimizer_of(ModelKind kind) {
  if (kind == ModelKind::kDense) return nn::sgd({.learning_rate = 0.05, .momentum = 0.9});
  if (kind == ModelKind::kNormalized) return nn::adam({.learning_rate = 0.01});
  return nn::adagrad({.learning_rate = 0.05});
}

nn::Optimizer optimizer_of(const JobPlan& job) {
  const nn::Optimizer plain = plain_optimizer_of(job.model);
  return job.poison == Poison::kNorm ? plain.clip_by_global_norm(5) : plain;
}

data::Dataset examples(ModelKind kind, int64_t count, uint64_t seed) {
  RandomStream random{RandomKey(seed)};
  Tensor labels(DType::kInt64, {count});
  for (int64_t& label : labels.mutable_as<int64_t>()) label = int64_t(random.below(kClasses));
  if (kind == ModelKind::kTable) {
    Tensor ids(DType::kInt64, {count, kIdsPerExample});
    for (int64_t& id : ids.mutable_as<int64_t>()) id = int64_t(random.below(kIds));
    return data::Dataset::from_tensor_slices(ids, labels);
  }
  Tensor points(DType::kFloat32, {count, 3});
  for (float& x : points.mutable_as<float>()) x = 2 * random.next_float() - 1;
  return data::Dataset::from_tensor_slices(points, labels);
}

class Notebook final : public CheckpointListener {
 public:
  explicit Notebook(std::shared_ptr<JobNotes> notes) : notes_(std::move(notes)) {}
  void before_save(RunContext&, uint64_t) override { ++notes_->saves_begun; }
  bool after_save(RunContext&, uint64_t, const std::string& prefix) override {
    notes_->saved.push_back(prefix);
    return false;
  }

 private:
  std::shared_ptr<JobNotes> notes_;
};

std::shared_ptr<Hook> early_stopping(int64_t from, std::shared_ptr<JobNotes> notes) {
  const auto decide = [from, notes = std::move(notes)](const EvaluationHistory& history) {
    const bool stop = !history.empty() && history.rbegin()->first >= from;
    notes->stopped_early |= stop;
    return stop;
  };
  return stop_if(decide, {.run_every_secs = std::nullopt, .run_every_steps = 3});
}

}  // namespace

std::string count_variable(int index) { return "updates_" + std::to_string(index); }

/// All tasks of a run have what its first start learned, though the data have grown since (CONTRACT RU-3).
void learn(const RunConfig& config, JobNotes& notes) {
  const auto look = [&notes] {
    std::vector<std::string> words;
    for (int64_t i = 0; i <= notes.looks; ++i) words.push_back("word " + std::to_string(i));
    ++notes.looks;
    return words;
  };
  const std::vector<std::string> words = config.learned("words", look);
  if (config.task_type() == cluster::kPsRole) return;
  if (notes.words.empty()) notes.words = words;
  if (words == notes.words) return;
  notes.violations.push_back(config.task().name() + " learned " + std::to_string(words.size()) +
                             " words, and the run began with " + std::to_string(notes.words.size()));
}

testing::Program make_program(const JobPlan& job, std::shared_ptr<JobNotes> notes) {
  return [job, notes = std::move(notes)](RunConfig config) {
    if (job.learns && config.model_dir() == kModelDir) learn(config, *notes);
    const ModelFn model = [job](const Features& features, const Labels& labels, Mode mode, const Params&,
                                const RunConfig&) {
      nn::HeadInput input{.mode = mode, .labels = labels, .logits = network(job, features, mode)};
      if (mode == Mode::kTrain && job.model == ModelKind::kOwn) {
        input.train_op = [](Value loss) { return testing::lion(loss, 0.01); };
      } else if (mode == Mode::kTrain) {
        input.optimizer = optimizer_of(job);
      }
      EstimatorSpec spec = nn::multi_class_head({.n_classes = kClasses})->build(input);
      nn::TrainOp counting = count_updates(input.logits.graph());
      if (mode == Mode::kTrain) spec.train_op = nn::group({*spec.train_op, std::move(counting)});
      return spec;
    };
    const InputFn training = [job](const InputContext& context) {
      const auto trainer = size_t(context.config.trainer_index());
      const int64_t passes = trainer < job.uneven_passes.size() ? job.uneven_passes[trainer] : job.passes;
      auto data = examples(job.model, kTrainExamples, 1).shuffle(kTrainExamples / 2);
      return (passes > 0 ? data.repeat(passes) : data.repeat()).batch(job.batch).prefetch(2);
    };
    const InputFn test = [job] { return examples(job.model, kEvalExamples, 2).batch(6); };
    auto host = std::make_shared<TaskHost>(*config.host());
    host->report = [notes](const TaskReport& report) {
      const auto step = report.metrics.find("global_step");
      if (step != report.metrics.end()) notes->last_evaluated = step->second;
    };
    EvalSpec eval{.input_fn = test, .throttle_secs = job.throttle_secs, .start_delay_secs = 0};
    if (job.exporters)
      eval.exporters = {std::make_shared<SlowExporter>(), latest_exporter("latest", {.exports_to_keep = 2}),
                        best_exporter("best"), final_exporter("final")};
    TrainSpec train{.input_fn = training,
                    .hooks = {user_hook(job, config, notes)},
                    .saving_listeners = {std::make_shared<Notebook>(notes)}};
    if (job.early_stop_from) train.hooks.push_back(early_stopping(*job.early_stop_from, notes));
    if (job.max_steps > 0) train.max_steps = job.max_steps + notes->more_steps;
    Estimator estimator(model, config.with_host(std::move(host)));
    if (job.model == ModelKind::kOwn) estimator.use_ops(testing::own_ops());
    train_and_evaluate(estimator, train, eval);
  };
}

Tensor poison_of(const JobPlan& job) {
  const bool table = job.model == ModelKind::kTable;
  Tensor zeros(table ? DType::kInt64 : DType::kFloat32, {job.batch, table ? kIdsPerExample : 3});
  std::memset(zeros.mutable_view().data, 0, zeros.bytes());
  return zeros;
}

RunConfigOptions config_of(const JobPlan& job, uint64_t seed) {
  RunConfigOptions config{.model_dir = kModelDir};
  if (job.save_steps > 0) {
    config.save_checkpoints_steps = job.save_steps;
  } else {
    config.save_checkpoints_secs = job.save_secs;
  }
  config.save_summary_steps = job.summary_steps;
  config.log_step_count_steps = 50;
  config.keep_checkpoint_max = job.keep_max;
  if (!job.drawn_seed) config.random_seed = int64_t(seed);
  config.ready_timeout_secs = job.ready_timeout_secs;
  if (!job.local && job.updates != Updates::kAsync) {
    config.update_strategy = {.kind = UpdateStrategyKind::kSync, .replicas_to_aggregate = aggregated(job)};
  }
  RuntimeOptions runtime{.threads = 1, .backend = "reference", .replicas = job.replicas, .lost_grace_secs = 12};
  if (!job.compression.empty()) runtime.compression = value_or_raise(cluster::parse_compression(job.compression));
  config.runtime = std::move(runtime);
  return config;
}

}  // namespace shoal::simulation
