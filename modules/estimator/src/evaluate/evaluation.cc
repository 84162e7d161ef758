// SPDX-License-Identifier: Apache-2.0
#include "evaluate/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "evaluate/batches_with_rows.h"
#include "hooks/loop_context.h"
#include "model/check_meaning.h"
#include "model/checkpoint_layout.h"
#include "model/open_checkpoint.h"
#include "model/trained_weights.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/monitor/event_writer.h"
#include "shoal/monitor/task_meters.h"
#include "shoal/nn/initializers.h"
#include "task/plugins.h"
#include "task/run_seed.h"

namespace shoal {
namespace {

constexpr auto kProgressEvery = std::chrono::seconds(10);

size_t bytes_of_variable(const Variable& variable) { return size_t(variable.shape.elements()) * size_of(variable.dtype); }

/// Curves and matrices, by the names of their metrics.
using Figures = std::vector<std::pair<std::string, nn::MetricFigure>>;

/// Runs the batches of one evaluation and adds up their results.
class EvaluationRun {
 public:
  /// `title` begins each log line of the evaluation.
  EvaluationRun(Environment& env, std::string title, const TaskHost* host, BuiltModel& model, data::Iterator& input,
                LoadedVariables variables, std::vector<std::shared_ptr<Hook>> hooks)
      : env_(env),
        title_(std::move(title)),
        model_(model),
        input_(input),
        variables_(std::move(variables)),
        hooks_(std::move(hooks)),
        context_(env, host),
        meters_(host ? host->meters.get() : nullptr) {}

  Result<void> prepare(uint64_t global_step, const std::string& model_dir);
  Result<void> run(std::optional<int64_t> steps, std::optional<data::Batch> first, const StopToken& stop);
  Result<Metrics> results(uint64_t global_step) const;
  Result<Figures> figures() const;
  int64_t batches() const { return batches_; }
  bool ended_by_steps() const { return ended_by_steps_; }

 private:
  Result<void> one_batch(data::Batch& batch);
  Result<void> add_to_metrics(std::span<const TensorView> fetched);
  void note_progress(std::optional<int64_t> steps);
  void note_interrupt();

  Environment& env_;
  const std::string title_;
  BuiltModel& model_;
  data::Iterator& input_;
  LoadedVariables variables_;
  std::vector<std::shared_ptr<Hook>> hooks_;
  LoopContext context_;
  monitor::TaskMeters* const meters_;  // Null: no endpoint for monitoring.
  StepRequest request_;
  StepValues values_;
  NamedValues final_values_;  // The values that hooks read at the end (HookSetup::fetch_at_end()).
  std::vector<nn::MetricAccumulator> accumulators_;
  std::vector<TensorView> metric_inputs_;
  double loss_sum_ = 0;
  int64_t batches_ = 0;
  bool ended_by_steps_ = false;
  SteadyTime next_note_{};
  bool interrupt_noted_ = false;
};

Result<void> EvaluationRun::prepare(uint64_t global_step, const std::string& model_dir) {
  context_.set_task(true, model_dir, nullptr);
  context_.set_global_step(global_step);
  HookSetup setup = model_.hook_setup();
  for (const auto& hook : hooks_) SHOAL_TRY_VOID(call_user("evaluation hook begin", [&] { hook->begin(setup); }));
  std::vector<Value> always{model_.spec().loss};
  for (const auto& [name, metric] : model_.spec().eval_metrics) {
    always.insert(always.end(), metric.inputs.begin(), metric.inputs.end());
    accumulators_.emplace_back(metric);
  }
  std::vector<Value> sometimes;
  for (const auto& [name, value] : setup.fetches()) {
    sometimes.push_back(value);
    values_.values().emplace_back(name, TensorView{});
  }
  final_values_ = setup.fetches_at_end();
  model_.set_values(std::move(always), std::move(sometimes), {});
  for (const auto& hook : hooks_)
    SHOAL_TRY_VOID(call_user("evaluation hook after_ready", [&] { hook->after_ready(context_); }));
  return {};
}

Result<void> EvaluationRun::run(std::optional<int64_t> steps, std::optional<data::Batch> first, const StopToken& stop) {
  data::Batch batch;
  bool more = first.has_value();
  next_note_ = env_.after(kProgressEvery);
  if (first) batch = std::move(*first);
  while (more && (!steps || batches_ < *steps)) {
    if (stop.stop_requested()) return cancelled();
    SHOAL_TRY_VOID(one_batch(batch));
    note_progress(steps);
    if (!stop.stop_requested()) note_interrupt();
    ended_by_steps_ = steps && batches_ >= *steps;
    if (context_.stop_requested() || ended_by_steps_) break;
    data::Batch next;
    SHOAL_TRY(more, input_.next(final_values_.empty() ? batch : next));
    // `batch` keeps the last batch when the input ends: the final values are computed from it after the loop.
    if (more && !final_values_.empty()) batch = std::move(next);
  }
  if (batches_ > 0 && !final_values_.empty()) {
    const auto bind = [this](const backends::Program& program) { return variables_.bind(program); };
    SHOAL_TRY(auto values, model_.compute_once(final_values_, batch, bind, {}));
    context_.set_final_values(std::move(values));
  }
  if (batches_ == 0) env_.log().warning("evaluation: the input gave no batch; is it empty or wrongly set up?");
  for (const auto& hook : hooks_) SHOAL_TRY_VOID(call_user("evaluation hook end", [&] { hook->end(context_); }));
  return {};
}

/// Logs once that an interrupt waits for the evaluation, so that the user knows why the program does not end yet.
void EvaluationRun::note_interrupt() {
  if (interrupt_noted_ || !env_.interrupted().stop_requested()) return;
  interrupt_noted_ = true;
  env_.log().info(title_ + ": interrupted; this evaluation is finished first, and a second signal ends at once");
}

Result<void> EvaluationRun::one_batch(data::Batch& batch) {
  request_.clear();
  for (const auto& hook : hooks_) {
    SHOAL_TRY_VOID(call_user("evaluation hook before_step", [&] { hook->before_step(context_, request_); }));
  }
  SHOAL_TRY(const int64_t size, batch_size(batch));
  SHOAL_TRY(const SymbolSizes sizes, model_.sizes_of(batch));
  SHOAL_TRY(BoundProgram * program, model_.program(sizes, request_.fetches()));
  const auto number = uint64_t(batches_) + 1;
  SHOAL_TRY_VOID(model_.check_feeds(*program, request_.feeds()));
  if (auto fed = model_.feed(*program, batch, request_.feeds()); !fed)
    return in_batch(std::move(fed).error(), {number, batch, input_, request_.feeds()});
  SHOAL_TRY(const std::vector<backends::Pieces> variables, variables_.bind(*program->program));
  Result<void> ran = program->program->run({.inputs = program->inputs,
                                            .variables = variables,
                                            .updates = {},
                                            .weights = {1, 1},  // Epoch and version of the weights, which never change.
                                            .key = {},
                                            .observer = request_.observer()});
  if (!ran) return in_batch(std::move(ran).error(), {number, batch, input_, request_.feeds()});
  const std::span<const TensorView> fetched = program->program->fetched();
  const double loss = double(fetched[0].as<float>()[0]);
  loss_sum_ += loss;
  ++batches_;
  context_.count_iteration();
  SHOAL_TRY_VOID(add_to_metrics(fetched.subspan(1)));
  size_t next = 1;
  for (const auto& [name, metric] : model_.spec().eval_metrics) next += metric.inputs.size();
  values_.set(loss, size, fetched.size() > next);
  for (size_t i = 0; next + i < fetched.size(); ++i) values_.values()[i].second = fetched[next + i];
  for (const auto& hook : hooks_) {
    SHOAL_TRY_VOID(call_user("evaluation hook after_step", [&] { hook->after_step(context_, values_); }));
  }
  return {};
}

/// Adds a batch to each metric. `fetched` begins with the inputs of the first metric, then those of the second, and so on.
Result<void> EvaluationRun::add_to_metrics(std::span<const TensorView> fetched) {
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    const auto& [name, metric] = model_.spec().eval_metrics[i];
    const std::string where = "metric " + name;
    const auto batch = fetched.first(metric.inputs.size());
    fetched = fetched.subspan(metric.inputs.size());
    SHOAL_TRY(Result<void> added, call_user(where, [&] { return accumulators_[i].update(batch); }));
    if (!added) return std::move(added).error().with_context(where);
  }
  return {};
}

/// Logs the progress of an evaluation every ten seconds, and at debug level at each tenth of a known number of steps.
void EvaluationRun::note_progress(std::optional<int64_t> steps) {
  if (meters_) meters_->note_progress();
  const bool for_all = env_.now() >= next_note_;
  const int64_t every = steps.value_or(0) < 20 ? 1 : *steps / 10;
  if (!for_all && (!steps || batches_ % every != 0)) return;
  if (for_all) next_note_ = env_.after(kProgressEvery);
  const std::string of = steps ? " of " + std::to_string(*steps) : "";
  env_.log().log(for_all ? LogLevel::kInfo : LogLevel::kDebug, title_ + ": batch " + std::to_string(batches_) + of);
}

Result<Metrics> EvaluationRun::results(uint64_t global_step) const {
  Metrics metrics;
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    const auto& [name, metric] = model_.spec().eval_metrics[i];
    SHOAL_TRY(const double value, call_user("metric " + name, [&] { return accumulators_[i].value(); }));
    if (metric.is_count) {
      metrics.set_count(name, value);
    } else {
      metrics[name] = value;
    }
  }
  metrics["loss"] = batches_ == 0 ? 0 : loss_sum_ / double(batches_);
  metrics.set_count("global_step", double(global_step));
  return metrics;
}

Result<Figures> EvaluationRun::figures() const {
  Figures figures;
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    const std::string& name = model_.spec().eval_metrics[i].first;
    SHOAL_TRY(auto figure, call_user("metric " + name, [&] { return accumulators_[i].figure(); }));
    if (figure) figures.emplace_back(name, std::move(*figure));
  }
  return figures;
}

/// The event file for the results. It is opened before the evaluation, so that a folder that cannot be written fails at
/// once. A file to which nothing was written is removed.
class ResultsFile {
 public:
  /// `title` begins each log line of the evaluation.
  static Result<ResultsFile> open(Environment& env, std::string title, const std::string& folder) {
    SHOAL_TRY(auto writer, monitor::EventWriter::open(env, folder));
    return ResultsFile(env, std::move(title), std::move(writer));
  }
  ResultsFile(ResultsFile&&) noexcept = default;
  ~ResultsFile() {
    if (!writer_ || written_) return;
    static_cast<void>(writer_->close().has_value());
    static_cast<void>(env_->storage().remove(writer_->path()).has_value());
  }
  Result<void> write(const Metrics& metrics, const Figures& figures, const std::string& prefix);

 private:
  Result<void> add(int64_t step, const std::string& name, const nn::MetricFigure& figure);
  bool is_number(int64_t step, const std::string& name, double value) const;

  ResultsFile(Environment& env, std::string title, std::unique_ptr<monitor::EventWriter> writer)
      : env_(&env), title_(std::move(title)), writer_(std::move(writer)) {}

  Environment* env_;
  std::string title_;
  std::unique_ptr<monitor::EventWriter> writer_;
  bool written_ = false;
};

Result<void> ResultsFile::add(int64_t step, const std::string& name, const nn::MetricFigure& figure) {
  if (figure.kind == nn::MetricFigure::Kind::kPrecisionRecall) {
    return writer_->add_pr_curve(step, name + "/pr_curve", figure.values);
  }
  return writer_->add_tensor(step, name + "/confusion_matrix",
                             {.shape = figure.shape, .values = figure.values, .plugin = "shoal_confusion_matrix"});
}

/// False, with a warning, for a metric that is NaN, which event files leave out.
bool ResultsFile::is_number(int64_t step, const std::string& name, double value) const {
  if (!std::isnan(value)) return true;
  env_->log().warning_once("not a number: " + title_ + " " + name,
                           title_ + ": metric " + name + " is NaN at global step " + std::to_string(step) +
                               ", so it is left out of the event file " + writer_->path() +
                               "; later ones are left out without a warning; look at the evaluation " +
                               "input and at what the metric divides by");
  return false;
}

Result<void> ResultsFile::write(const Metrics& metrics, const Figures& figures, const std::string& prefix) {
  written_ = true;
  const int64_t step = int64_t(metrics.at("global_step"));
  std::vector<monitor::Scalar> scalars;
  for (const auto& [name, value] : metrics) {
    if (name != "global_step" && is_number(step, name, value)) scalars.push_back({name, value});
  }
  SHOAL_TRY_VOID(writer_->add_scalars(step, scalars));
  for (const auto& [name, figure] : figures) SHOAL_TRY_VOID(add(step, name, figure));
  if (!prefix.empty()) SHOAL_TRY_VOID(writer_->add_text(step, "checkpoint_path", prefix));
  return writer_->close();
}

std::string describe(const Metrics& metrics) {
  return comma_separated(metrics, [&metrics](const auto& metric) {
    const std::optional<int64_t> count = metrics.count_of(metric.first);
    return metric.first + " = " + (count ? std::to_string(*count) : formatted("%.6g", metric.second));
  });
}

}  // namespace

LoadedVariables LoadedVariables::make_places(Environment& env, const Graph& graph) {
  LoadedVariables made;
  size_t total = 0;
  for (const Variable& variable : graph.variables()) total += align_up(bytes_of_variable(variable));
  made.arena_ = env.buffers().get(std::max<size_t>(total, kBufferAlignment));
  size_t offset = 0;
  for (const Variable& variable : graph.variables()) {
    const std::span<std::byte> bytes = made.arena_->bytes().subspan(offset, bytes_of_variable(variable));
    const int64_t rows = variable.shape.rank() == 0 ? 1 : variable.shape[0];
    made.places_.push_back({variable.name, {bytes.data(), 0, rows}, bytes});
    offset += align_up(bytes.size());
  }
  return made;
}

Result<LoadedVariables> LoadedVariables::load(Environment& env, const Graph& graph, const Fill& fill) {
  LoadedVariables loaded = make_places(env, graph);
  for (size_t i = 0; i < loaded.places_.size(); ++i) {
    SHOAL_TRY_VOID(fill(graph.variables()[i], loaded.places_[i].bytes));
  }
  return loaded;
}

Result<LoadedVariables> LoadedVariables::load(Environment& env, const Graph& graph, const checkpoint::Reader& reader) {
  return load(env, graph, Fill([&reader](const Variable& variable, std::span<std::byte> place) -> Result<void> {
                SHOAL_TRY_VOID(check_variable(reader, variable.name, variable.dtype, variable.shape));
                return reader.read(variable.name, place);
              }));
}

Result<LoadedVariables> LoadedVariables::initialize(Environment& env, const BuiltModel& model, InitialSource& source) {
  LoadedVariables made = make_places(env, model.graph());
  for (size_t i = 0; i < made.places_.size(); ++i) {
    const Variable& variable = model.graph().variables()[i];
    const Place& place = made.places_[i];
    const cluster::Segment whole{.variable = cluster_variable(model, variable),
                                 .row_begin = place.piece.row_begin,
                                 .row_end = place.piece.row_end,
                                 .offset = 0,
                                 .bytes = place.bytes.size()};
    SHOAL_TRY_VOID(source.read(whole, 0, place.bytes));
  }
  return made;
}

Result<std::vector<backends::Pieces>> LoadedVariables::bind(const backends::Program& program) const {
  std::map<std::string_view, const Place*> by_name;
  for (const Place& place : places_) by_name.emplace(place.name, &place);
  std::vector<backends::Pieces> pieces;
  for (const auto& variable : program.info().variables) {
    const auto found = by_name.find(variable.name);
    if (found == by_name.end()) return not_found("variable " + variable.name + " was not loaded");
    pieces.push_back(backends::Pieces(&found->second->piece, 1));
  }
  return pieces;
}

std::span<const std::byte> LoadedVariables::bytes_of(std::string_view variable) const {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.name == variable; });
  SHOAL_CHECK(found != places_.end());
  return found->bytes;
}

Result<LoadedVariables> load_variables(Environment& env, const Estimator& estimator, Mode mode, const BuiltModel& model,
                                       const checkpoint::Reader* reader) {
  if (reader) {
    const checkpoint::SaveInfo& saved = reader->manifest().info;
    SHOAL_TRY_VOID(check_use_of_weights(env.log(), estimator.config(), {saved.meaning, saved.rules},
                                        "checkpoint " + reader->prefix(), model, mode));
    return LoadedVariables::load(env, model.graph(), *reader);
  }
  SHOAL_TRY(const auto source,
            InitialSource::open(env, estimator.warm_start(), model.graph(), model.initial_values(), mode));
  for (const std::string& summary : source->summaries()) env.log().info(summary);
  return LoadedVariables::initialize(env, model, *source);
}

void warn_of_weights_in_memory(Environment& env, const std::string& call, const TrainedWeights* trained) {
  if (!trained) return;
  env.log().warning(call + ": the weights of step " + std::to_string(trained->global_step) +
                    ", which were trained without checkpoints, are not used; only export_model() takes them "
                    "(RunConfig: save_checkpoints_steps or save_checkpoints_secs turn checkpoints on)");
}

std::string without_checkpoint(const Estimator& estimator) {
  return std::string("no checkpoint, so the ") + (estimator.warm_start() ? "warm-started" : "freshly initialized") +
         " model";
}

data::IterateOptions iterate_options(const RunConfig& config, Mode mode, const std::optional<int64_t>& run_seed,
                                     const StopToken& stop) {
  const bool training = mode == Mode::kTrain;
  return {.seed = config.random_seed(),
          .trainer_index = training ? config.trainer_index() : 0,
          .num_trainers = training ? config.num_trainers() : 1,
          .run_seed = run_seed,
          .stop = stop,
          .batch_bytes_max = config.memory_limit()};
}

Result<OpenedInput> open_input(Environment& env, const Estimator& estimator, const InputFn& input_fn, Mode mode,
                               const std::optional<int64_t>& run_seed, const StopToken& stop) {
  OpenedInput opened;
  const InputContext context{mode, estimator.params(), estimator.config()};
  SHOAL_TRY(opened.dataset, call_user("input_fn", [&] { return input_fn(context); }));
  SHOAL_TRY(opened.iterator,
            iterate_batches_with_rows(env, *opened.dataset, iterate_options(estimator.config(), mode, run_seed, stop)));
  return opened;
}

Result<std::unique_ptr<backends::Backend>> make_configured_backend(const RunConfig& config) {
  SHOAL_TRY(auto backend, make_backend(config.backend().value_or(backends::default_backend()), config.runtime()));
  SHOAL_TRY_VOID(backend->check_compute_dtype(config.compute_dtype()));
  return backend;
}

Result<void> set_up_computation(const Environment& env, const RunConfig& config, BuiltModel& model) {
  SHOAL_TRY(auto backend, make_configured_backend(config));
  model.use_backend(std::move(backend), config.compute_threads(env.process().usable_cores), config.compute_dtype());
  MemoryBudget budget(config);
  uint64_t bytes = 0;
  for (const Variable& variable : model.graph().variables()) {
    bytes += uint64_t(variable.shape.elements()) * size_of(variable.dtype);  // Cannot overflow: no variable has 2^56 bytes.
  }
  budget.set("weights", bytes, "a smaller model");
  SHOAL_TRY_VOID(budget.check("the model"));
  // False: the process's memory is not measured again at the first compilation, since loaded weights would count twice.
  model.use_budget(std::move(budget), false);
  return {};
}

std::string eval_folder(const std::string& model_dir, const std::optional<std::string>& name) {
  return join_path(model_dir, name ? "eval_" + *name : "eval");
}

Result<void> check_options(const std::string& call, const EvaluateOptions& options) {
  if (options.steps.value_or(1) <= 0) return invalid_argument(call + ": steps must be greater than 0");
  if (std::find(options.hooks.begin(), options.hooks.end(), nullptr) != options.hooks.end()) {
    return invalid_argument(call + ": hooks: one of them is null");
  }
  if (options.name && (options.name->empty() || options.name->find('/') != std::string::npos)) {
    return invalid_argument(call + ": name: \"" + *options.name + "\" cannot be part of the folder name eval_<name>");
  }
  return {};
}

Result<Evaluation> run_evaluation(Environment& env, const Estimator& estimator, const InputFn& input_fn,
                                  const EvaluateOptions& options, const StopToken& stop) {
  SHOAL_TRY(const auto reader, open_checkpoint(env, estimator, options.checkpoint));
  if (!reader) env.log().info("evaluation: " + without_checkpoint(estimator) + " is evaluated");
  const WeightsToEvaluate weights{
      .global_step = reader ? uint64_t(reader->global_step()) : 0,
      .checkpoint = reader ? reader->prefix() : "",
      .load = [&](const BuiltModel& model) { return load_variables(env, estimator, Mode::kEval, model, reader.get()); }};
  return run_evaluation_of(env, weights, estimator, input_fn, options, stop);
}

Result<Evaluation> run_evaluation_of(Environment& env, const WeightsToEvaluate& weights, const Estimator& estimator,
                                     const InputFn& input_fn, const EvaluateOptions& options, const StopToken& stop) {
  const std::optional<int64_t> seed = seed_of_run(env, estimator.config(), estimator.model_dir());
  SHOAL_TRY(OpenedInput input, open_input(env, estimator, input_fn, Mode::kEval, seed, stop));
  if (!options.steps && input.dataset->repeats_for_ever()) {
    return invalid_argument(
        "evaluation: without steps all of the input is evaluated, and it does not end; leave repeat() "
        "out, or set steps");
  }
  data::Batch first;
  SHOAL_TRY(const bool any, input.iterator->next(first));
  const std::string title = "evaluation" + (options.name ? " " + *options.name : "");
  if (!any) {
    return invalid_argument(title +
                            ": the evaluation input is empty: its input function gave no batch; look at its files, "
                            "generators, filters and drop_remainder");
  }
  SHOAL_TRY(const InputTypes types, input_types(first, estimator.varying()));
  SHOAL_TRY(const auto model, BuiltModel::build({estimator.model_fn(), Mode::kEval, estimator.params(), estimator.config(),
                                                 graph_seed(env, seed), estimator.ops()},
                                                types));
  SHOAL_TRY_VOID(set_up_computation(env, estimator.config(), *model));
  std::vector<std::shared_ptr<Hook>> hooks = options.hooks;
  hooks.insert(hooks.end(), model->spec().evaluation_hooks.begin(), model->spec().evaluation_hooks.end());
  SHOAL_TRY(LoadedVariables variables, weights.load(*model));
  EvaluationRun run(env, title, estimator.config().host().get(), *model, *input.iterator, std::move(variables),
                    std::move(hooks));
  SHOAL_TRY(ResultsFile results, ResultsFile::open(env, title, estimator.eval_dir(options.name)));
  SHOAL_TRY_VOID(run.prepare(weights.global_step, estimator.model_dir()));
  SHOAL_TRY_VOID(run.run(options.steps, std::move(first), stop));
  SHOAL_TRY(Metrics metrics, run.results(weights.global_step));
  SHOAL_TRY(const Figures figures, run.figures());
  Evaluation evaluation{.metrics = std::move(metrics),
                        .batches = run.batches(),
                        .ended_by_steps = run.ended_by_steps() && input.dataset->is_finite().value_or(true),
                        .input_batches = input.dataset->cardinality()};
  SHOAL_TRY_VOID(results.write(evaluation.metrics, figures, weights.checkpoint));
  env.log().info(title + ": " + describe(evaluation.metrics));
  return evaluation;
}

}  // namespace shoal
