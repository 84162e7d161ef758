// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "model/signatures.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/utf8.h"
#include "shoal/graph/passes.h"
#include "shoal/graph/source.h"
#include "shoal/nn/initializers.h"

namespace shoal {
namespace {

constexpr size_t kProgramsMax = 8;
constexpr int64_t kPlansLoggedMax = 16;
/// The names of the variables that these values depend on.
Result<std::vector<std::string>> variables_of(const Graph& graph, const std::vector<Value>& values) {
  SHOAL_TRY(const Flow flow, extract(graph, values, {}));
  std::vector<std::string> names;
  for (const FlowNode& node : flow.nodes) {
    if (source_of(node.node.op) == Source::kVariable) names.push_back(node.node.name);
  }
  return names;
}

template <class Inputs>
Inputs add_inputs(Graph& graph, const std::vector<std::pair<std::string, ValueType>>& types, std::string_view part) {
  Inputs values;
  for (const auto& [name, type] : types) values.set(name, graph.input(input_name(part, name), type.dtype, type.shape));
  return values;
}

/// Adds to `meaning` the class names of predictions that a model function makes without a head. (If a head makes them, its
/// class names are in `meaning` already.)
void note_text_predictions(const std::vector<nn::TextPrediction>& texts, Meaning& meaning) {
  for (const nn::TextPrediction& text : texts) {
    const MeaningList names = MeaningList::of(text.vocabulary());
    if (names.count == 0 || meaning.has_list(names)) continue;
    meaning.add("prediction/" + text.key(), {.kind = "names", .lists = {{"names", names}}});
  }
}

/// Checks that all names that go into event files and exports are UTF-8.
Result<void> check_names_of(const EstimatorSpec& spec) {
  constexpr std::string_view kRemedy = "names are saved as UTF-8; give it another";
  for (const auto& [name, value] : spec.predictions) {
    SHOAL_TRY_VOID(check_utf8(name, "model_fn: the name of a prediction", kRemedy));
  }
  for (const nn::TextPrediction& text : spec.text_predictions) {
    SHOAL_TRY_VOID(check_utf8(text.key(), "model_fn: the name of a prediction", kRemedy));
  }
  for (const auto& [name, metric] : spec.eval_metrics) {
    SHOAL_TRY_VOID(check_utf8(name, "model_fn: the name of a metric", kRemedy));
  }
  for (const auto& [name, value] : spec.summaries) {
    SHOAL_TRY_VOID(check_utf8(name, "model_fn: the name of a summary", kRemedy));
  }
  for (const ImageSummary& summary : spec.image_summaries) {
    SHOAL_TRY_VOID(check_utf8(summary.name, "model_fn: the name of an image summary", kRemedy));
  }
  for (const nn::ExportSignature& signature : spec.export_outputs) {
    SHOAL_TRY_VOID(check_utf8(signature.name, "model_fn: the name of a signature", kRemedy));
    for (const auto& [name, key] : signature.outputs) {
      SHOAL_TRY_VOID(check_utf8(name, "model_fn: the name of a signature's output", kRemedy));
    }
  }
  return {};
}

/// Returns the number of threads as text, such as "on 2 threads".
std::string threads_text(const backends::CompiledProgramInfo& info) {
  const int threads = std::min(info.threads, info.numerics.threads);  // Some backends use only one thread.
  const std::string text = "on " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  return threads == info.numerics.threads
             ? text
             : text + ", since its step is too small for " + std::to_string(info.numerics.threads);
}

/// Returns the sizes as text, such as "batch 32, time 17".
std::string sizes_text(const SymbolSizes& sizes) {
  return comma_separated(sizes, [](const auto& entry) { return entry.first + " " + std::to_string(entry.second); });
}

/// Returns a line for the log, such as "program for batch 32: 57 nodes, memory plan 3.10 MiB, lower bound 3.01 MiB (1.030
/// times), on 2 threads".
std::string plan_text(const backends::CompiledProgramInfo& info, const std::string& sizes) {
  constexpr double kMiB = 1 << 20;
  const double ratio = info.lower_bound_bytes == 0 ? 1 : double(info.arena_bytes) / double(info.lower_bound_bytes);
  return "program for " + sizes +
         formatted(": %zu nodes, memory plan %.2f MiB, lower bound %.2f MiB (%.3f times)", info.kernels.size(),
                   double(info.arena_bytes) / kMiB, double(info.lower_bound_bytes) / kMiB, ratio) +
         ", " + threads_text(info);
}

}  // namespace

cluster::VariableSpec cluster_variable(const BuiltModel& model, const Variable& variable) {
  return {.name = variable.name,
          .dtype = variable.dtype,
          .shape = variable.shape,
          .initializer = model.initial_values().initializer_of(variable),
          .key = nn::variable_key(model.graph().seed(), variable.name),
          .rule = {},
          .lazy_rows = false};
}

Result<std::shared_ptr<const OpCatalogue>> catalogue_of(std::vector<OpDef> own) {
  if (own.empty()) return std::shared_ptr<const OpCatalogue>();
  auto catalogue = std::make_shared<OpCatalogue>();
  for (OpDef& op : own) SHOAL_TRY_VOID(catalogue->add(std::move(op)));
  return std::shared_ptr<const OpCatalogue>(std::move(catalogue));
}

std::shared_ptr<Graph> with_ops(std::unique_ptr<Graph> graph, std::shared_ptr<const OpCatalogue> ops) {
  struct Kept {
    std::shared_ptr<const OpCatalogue> ops;  // Destroyed after the graph, which uses it.
    std::unique_ptr<Graph> graph;
  };
  const auto kept = std::make_shared<Kept>(Kept{std::move(ops), std::move(graph)});
  return std::shared_ptr<Graph>(kept, kept->graph.get());
}

Result<std::unique_ptr<BuiltModel>> BuiltModel::build(const BuildRequest& request, const InputTypes& types) {
  std::unique_ptr<BuiltModel> model(new BuiltModel);
  model->types_ = types;
  if (request.mode == Mode::kPredict) model->types_.labels.clear();
  model->graph_ = with_ops(std::make_unique<Graph>(request.seed, request.ops.get()), request.ops);
  if (!model->types_.labels.empty() && !request.model_fn.takes_labels()) {
    return invalid_argument("model_fn takes no labels, and the input function gives " +
                            input_names(model->types_.labels, "labels") + "; give features alone, or take `const Labels&`");
  }
  const auto call = [&]() -> EstimatorSpec {
    const auto features = add_inputs<Features>(*model->graph_, model->types_.features, "features");
    const auto labels = add_inputs<Labels>(*model->graph_, model->types_.labels, "labels");
    return request.model_fn(features, labels, request.mode, request.params, request.config);
  };
  SHOAL_TRY(model->spec_, call_user("model_fn", call));
  SHOAL_TRY_VOID(model->check_spec(request.mode));
  note_text_predictions(model->spec_.text_predictions, model->graph_->meaning());
  SHOAL_TRY(model->initial_values_, InitialValues::resolve(model->spec_.initial_values, *model->graph_, request.mode));
  return model;
}

std::unique_ptr<BuiltModel> BuiltModel::from_graph(std::shared_ptr<Graph> graph, EstimatorSpec spec, InputTypes types) {
  std::unique_ptr<BuiltModel> model(new BuiltModel);
  model->graph_ = std::move(graph);
  model->spec_ = std::move(spec);
  model->types_ = std::move(types);
  return model;
}

Result<void> BuiltModel::check_predictions() const {
  for (const auto& [name, value] : spec_.predictions) {
    if (!value.valid() || value.dtype() != DType::kString) continue;
    return invalid_argument("model_fn: prediction \"" + name +
                            "\" is a text of the input; predictions are numbers, or names of ids (text_predictions)");
  }
  if (auto checked = check_text_predictions(spec_); !checked) return std::move(checked).error().with_context("model_fn");
  if (auto checked = check_signatures(spec_.export_outputs, spec_); !checked) {
    return std::move(checked).error().with_context("model_fn: export_outputs");
  }
  return {};
}

Result<void> BuiltModel::check_spec(Mode mode) {
  const auto missing = [mode](std::string_view field) {
    return invalid_argument("model_fn: the spec for mode " + std::string(to_string(mode)) + " has no " +
                            std::string(field));
  };
  if (spec_.mode != mode) {
    return invalid_argument("model_fn: returned a spec for mode " + std::string(to_string(spec_.mode)) +
                            " when asked for " + std::string(to_string(mode)));
  }
  for (const auto* hooks :
       {&spec_.training_hooks, &spec_.training_chief_hooks, &spec_.evaluation_hooks, &spec_.prediction_hooks}) {
    if (std::find(hooks->begin(), hooks->end(), nullptr) != hooks->end())
      return invalid_argument("model_fn: one of the spec's hooks is null");
  }
  SHOAL_TRY_VOID(check_named_values());
  SHOAL_TRY_VOID(check_twice());
  SHOAL_TRY_VOID(check_names_of(spec_));
  if (mode == Mode::kPredict) return spec_.predictions.empty() ? missing("predictions") : check_predictions();
  if (!spec_.loss.valid()) return missing("loss");
  const DimShape& shape = spec_.loss.shape();
  const bool one = std::all_of(shape.dims().begin(), shape.dims().end(),
                               [](const Dim& dim) { return !dim.is_symbol() && dim.size() == 1; });
  if (!one || spec_.loss.dtype() != DType::kFloat32) {
    return invalid_argument("model_fn: the loss must be one float32 number, it is " + to_string(shape));
  }
  if (mode == Mode::kTrain && !spec_.train_op) return missing("train_op");
  std::set<std::string_view> metric_names;
  for (const auto& [name, metric] : spec_.eval_metrics) {
    if (name == "loss" || name == "global_step") {
      return invalid_argument("model_fn: a metric may not be named " + name + "; that name is reserved");
    }
    if (!metric_names.insert(name).second) return invalid_argument("model_fn: two metrics are named " + name);
  }
  return {};
}

void BuiltModel::set_values(std::vector<Value> always, std::vector<Value> sometimes, std::vector<Value> updates,
                            std::vector<std::string> update_variables) {
  always_ = std::move(always);
  sometimes_ = std::move(sometimes);
  updates_ = std::move(updates);
  update_variables_ = std::move(update_variables);
}

backends::Numerics BuiltModel::numerics() const {
  backends::Numerics numerics = backend_->numerics(threads_);
  numerics.compute_dtype = compute_dtype_;
  return numerics;
}

SymbolSizes BuiltModel::smallest_sizes() const {
  SymbolSizes sizes;
  for (const auto* types : {&types_.features, &types_.labels}) {
    for (const auto& [name, type] : *types) {
      for (const Dim& dim : type.shape.dims()) {
        if (dim.is_symbol()) sizes.emplace(dim.name(), 1);
      }
    }
  }
  return sizes;
}

/// Logs the memory plans of the first compiled programs only. If lengths of sequences vary, each new length compiles a
/// program, and a line for each would hide the other lines.
void BuiltModel::log_plan(const backends::CompiledProgramInfo& info, const SymbolSizes& sizes) {
  if (!log_ || plans_logged_ > kPlansLoggedMax) return;
  if (plans_logged_++ < kPlansLoggedMax) return log_->info(plan_text(info, sizes_text(sizes)));
  log_->info(
      "more programs are compiled for batches of other sizes, and no longer logged; input of fewer sizes is faster, "
      "since only the last " +
      std::to_string(kProgramsMax) + " programs are kept");
}

/// Adds up the memory of the kept programs. If the sum exceeds the budget, drops the newest program, which is first in the
/// list, and returns the error.
Result<void> BuiltModel::check_memory(const SymbolSizes& sizes) {
  if (!budget_.has_limit()) return {};
  if (std::exchange(measures_again_, false)) budget_.measure();
  constexpr uint64_t kBatches = 2;  // One batch is in use while the input makes the next one.
  uint64_t activations = 0, prepared = 0, input = 0;
  for (const Compiled& compiled : programs_) {
    const backends::CompiledProgramInfo& info = compiled.program.program->info();
    activations += info.arena_bytes + info.scratch_bytes;
    prepared += info.kept_bytes;
    uint64_t batch = 0;
    for (const auto& binding : info.inputs) batch += uint64_t(binding.shape.elements()) * size_of(binding.dtype);
    input = std::max(input, kBatches * batch);
  }
  budget_.set("activations", activations, "a smaller batch or nn::recompute()");
  budget_.set("prepared weights", prepared, "a smaller model");
  budget_.set("batches", input, "a smaller batch or nn::recompute()");
  Result<void> fits = budget_.check("the program for " + sizes_text(sizes));
  if (!fits) programs_.pop_front();  // The program has never run, so it has not taken this memory yet.
  if (fits && log_ && plans_logged_ <= kPlansLoggedMax) log_->info("memory: at most " + budget_.text());
  return fits;
}

Result<BoundProgram*> BuiltModel::program(const SymbolSizes& sizes, bool fetching) {
  fetching = fetching && !sometimes_.empty();
  for (auto it = programs_.begin(); it != programs_.end(); ++it) {
    if (it->sizes != sizes || it->fetching != fetching) continue;
    programs_.splice(programs_.begin(), programs_, it);
    return &it->program;
  }
  backends::CompileOptions options;
  options.sizes = sizes;
  options.fetches = always_;
  if (fetching) options.fetches.insert(options.fetches.end(), sometimes_.begin(), sometimes_.end());
  // All programs must use the same variables, because these are bound once for all. So even a program that does not compute
  // the values for hooks gets the variables that these values depend on.
  SHOAL_TRY(options.variables, variables_of(*graph_, sometimes_));
  options.updates = updates_;
  options.update_variables = update_variables_;
  options.threads = threads_;
  options.compute_dtype = compute_dtype_;
  BoundProgram bound;
  SHOAL_TRY(bound.program, backend_->compile(*graph_, std::move(options)));
  log_plan(bound.program->info(), sizes);
  SHOAL_TRY_VOID(bind_sources(bound));
  if (programs_.size() >= kProgramsMax) programs_.pop_back();
  programs_.push_front({sizes, fetching, std::move(bound)});
  SHOAL_TRY_VOID(check_memory(sizes));
  return &programs_.front().program;
}

Result<EncodedInput> BuiltModel::fed_from(const std::string& input) const {
  const Value value = graph_->find(input);
  if (value.valid()) {
    SHOAL_TRY(auto encoded, encoded_input(graph_->node(value.node())));
    if (encoded) return std::move(*encoded);
  }
  return EncodedInput{.of = input, .encoding = {}};
}

/// Returns null if no input of the train op has this name.
const nn::StepInput* BuiltModel::step_input(std::string_view name) const {
  if (!spec_.train_op) return nullptr;
  const auto found = std::ranges::find(spec_.train_op->inputs, name, &nn::StepInput::name);
  return found == spec_.train_op->inputs.end() ? nullptr : &*found;
}

Result<void> BuiltModel::feed_step(const nn::StepInput& input, Tensor& number) const {
  SHOAL_TRY(const double value, call_user(input.name, [&] { return input.at(global_step_); }));
  if (!std::isfinite(float(value))) {
    return invalid_argument("train op: " + input.name + " is " + std::to_string(value) + " at global step " +
                            std::to_string(global_step_) + "; its function has to give finite numbers");
  }
  number.mutable_as<float>()[0] = float(value);
  return {};
}

Result<void> BuiltModel::bind_sources(BoundProgram& bound) const {
  struct Provided {
    bool label;
    size_t index;
  };
  std::map<std::string, Provided> provided;
  for (size_t i = 0; i < types_.features.size(); ++i) {
    provided.emplace(input_name("features", types_.features[i].first), Provided{false, i});
  }
  for (size_t i = 0; i < types_.labels.size(); ++i) {
    provided.emplace(input_name("labels", types_.labels[i].first), Provided{true, i});
  }
  for (const auto& input : bound.program->info().inputs) {
    if (const nn::StepInput* const of_step = step_input(input.name)) {
      bound.sources.push_back({.name = input.name, .shape = input.shape, .dtype = input.dtype, .step_input = of_step});
      continue;
    }
    SHOAL_TRY(EncodedInput from, fed_from(input.name));
    const auto at = provided.find(from.of);
    if (at == provided.end()) {
      return invalid_argument("the model has an input " + from.of + " that the input function does not provide");
    }
    bound.sources.push_back({at->second.label, at->second.index, from.of, input.shape, input.dtype});
    if (from.of != input.name) bound.sources.back().encoding = std::move(from.encoding);
  }
  bound.inputs.resize(bound.sources.size());
  bound.ids.resize(bound.sources.size());
  for (size_t i = 0; i < bound.sources.size(); ++i) {
    if (bound.sources[i].step_input) bound.ids[i] = Tensor::scalar(0.0f);
  }
  return {};
}

/// A feed whose name matches no input of the model is a mistake. A feed for an input that only this program does not use is
/// allowed.
Result<void> BuiltModel::check_feeds(const BoundProgram& bound, Feeds feeds) const {
  for (const auto& [name, tensor] : feeds) {
    const auto is_fed = [&fed = name](std::string_view part) {
      return [part, &fed](const auto& entry) { return input_name(part, entry.first) == fed; };
    };
    if (std::ranges::any_of(types_.features, is_fed("features")) || std::ranges::any_of(types_.labels, is_fed("labels")))
      continue;
    return invalid_argument("a hook feeds " + name +
                            ", which is no input; there are: " + input_names(types_.features, "features") +
                            (types_.labels.empty() ? "" : ", " + input_names(types_.labels, "labels")));
  }
  for (const BoundProgram::Source& source : bound.sources) {
    const auto fed = std::ranges::find(feeds, source.name, &std::pair<std::string, Tensor>::first);
    if (source.step_input || fed == feeds.end()) continue;
    const DType dtype = dtype_of(source);
    if (fed->second.dtype() == dtype && fed->second.shape() == source.shape) continue;
    return invalid_argument("a hook feeds " + source.name + " with " + std::string(to_string(fed->second.dtype())) + " " +
                            to_string(fed->second.shape()) + " in before_step(); this step needs " +
                            std::string(to_string(dtype)) + " " + to_string(source.shape));
  }
  return {};
}

/// The type that batches and hooks give: text, where the program itself reads ids.
DType BuiltModel::dtype_of(const BoundProgram::Source& source) const {
  if (!source.encoding) return source.dtype;
  return (source.label ? types_.labels : types_.features)[source.index].second.dtype;
}

Result<void> BuiltModel::feed(BoundProgram& bound, const data::Batch& batch, Feeds feeds) {
  for (size_t i = 0; i < bound.sources.size(); ++i) {
    const BoundProgram::Source& source = bound.sources[i];
    if (source.step_input) {
      SHOAL_TRY_VOID(feed_step(*source.step_input, bound.ids[i]));
      bound.inputs[i] = bound.ids[i].view();
      continue;
    }
    const data::TensorMap& part = source.label ? batch.labels : batch.features;
    const Tensor* tensor = &(part.begin() + ptrdiff_t(source.index))->second;
    for (const auto& [name, fed] : feeds) {
      if (name == source.name) tensor = &fed;
    }
    const DType dtype = dtype_of(source);
    if (tensor->dtype() != dtype || !(tensor->shape() == source.shape)) {
      return wrong_type(source.name, *tensor, dtype, to_string(source.shape));
    }
    if (source.encoding) {
      auto ids = source.encoding->ids_of(*tensor);
      if (!ids) return std::move(ids).error().with_context("input " + source.name);
      bound.ids[i] = std::move(*ids);
      tensor = &bound.ids[i];
    }
    bound.inputs[i] = tensor->view();
  }
  return {};
}

namespace {

/// The feed that `error` is about, or the end of `feeds`. An error names its tensor by the address of the elements.
Feeds::iterator feed_of(const Error& error, Feeds feeds) {
  const void* const tensor = error.place().tensor;
  if (error.kind() != ErrorKind::kInvalidArgument || tensor == nullptr) return feeds.end();
  return std::ranges::find_if(feeds, [tensor](const auto& feed) { return feed.second.address() == tensor; });
}

}  // namespace

Error with_place_of_row(Error error, const data::Batch& batch, const data::Iterator& input, Feeds feeds) {
  const Error::Place& place = error.place();
  if (error.kind() != ErrorKind::kInvalidArgument || place.tensor == nullptr) return error;
  if (const auto fed = feed_of(error, feeds); fed != feeds.end())
    return std::move(error).with_context(fed->first + " as a hook feeds it in before_step()");
  for (const data::TensorMap* part : {&batch.labels, &batch.features}) {
    for (const auto& [name, tensor] : *part) {
      // An error names its tensor by the address of the elements. Skips tensors of the batch that the error is not about.
      // All are skipped if the error is about a tensor that the model computed, whose rows need not be rows of the batch.
      if (tensor.address() != place.tensor || tensor.shape().rank() == 0 || place.element >= tensor.elements()) continue;
      const std::string read_at = input.place_of_row(place.element / (tensor.elements() / tensor.shape()[0]));
      if (read_at.empty()) return error;
      return Error(error.kind(), error.message() + "; that row is " + read_at);
    }
  }
  return error;
}

Error in_batch(Error error, const StepBatch& step) {
  if (error.kind() != ErrorKind::kInvalidArgument) return error;
  const bool of_feed = feed_of(error, step.feeds) != step.feeds.end();
  error = with_place_of_row(std::move(error), step.batch, step.input, step.feeds);
  if (of_feed) return error;
  return std::move(error).with_context("batch " + std::to_string(step.number) + " of the input (its rows count from 0)");
}

}  // namespace shoal
