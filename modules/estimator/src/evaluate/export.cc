// Estimator::export_model and load_exported_model.
#include <algorithm>

#include "evaluate/evaluation.h"
#include "evaluate/predictor.h"
#include "model/export_format.h"
#include "model/open_checkpoint.h"
#include "model/signatures.h"
#include "shoal/base/random.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/task_host.h"
#include "shoal/graph/graph_json.h"
#include "task/run_seed.h"
#include "task/temporary_files.h"

namespace shoal {
namespace {

constexpr int kNameTries = 100;

ExportedTensor exported_tensor(std::string name, const ValueType& type) {
  ExportedTensor tensor{std::move(name), type.dtype, {}};
  bool others = false;
  for (const Dim& dim : type.shape.dims()) {
    tensor.shape.push_back(dim.is_symbol() ? -1 : dim.size());
    if (!dim.is_symbol()) continue;
    tensor.axes.push_back(dim.name());
    others |= dim.name() != kBatchAxis;
  }
  if (!others) tensor.axes.clear();
  return tensor;
}

ValueType value_type(const ExportedTensor& tensor) {
  std::vector<Dim> dims;
  auto axis = tensor.axes.begin();
  for (int64_t size : tensor.shape) {
    dims.push_back(size >= 0 ? Dim(size) : Dim::symbol(axis == tensor.axes.end() ? kBatchAxis : *axis++));
  }
  return {tensor.dtype, DimShape(std::move(dims))};
}

/// What an export says of its model: what its checkpoint has, which knows the labels, too; what is another by now, where
/// that was accepted, as the model has it.
Result<std::string> exported_meaning(const Graph& graph, const checkpoint::Reader* reader) {
  if (!reader || reader->manifest().info.meaning.empty()) return graph.meaning().encode();
  SHOAL_TRY(const Meaning recorded, Meaning::decode(reader->manifest().info.meaning));
  return recorded.updated_by(graph.meaning()).encode();
}

ExportDescription describe(const BuiltModel& model, const EstimatorSpec& spec, const Graph& graph, int64_t global_step,
                           std::string meaning) {
  ExportDescription description{.global_step = global_step,
                                .inputs = {},
                                .outputs = {},
                                .texts = {},
                                .signatures = signatures_of(spec),
                                .meaning = std::move(meaning)};
  for (const auto& [name, type] : model.types().features) description.inputs.push_back(exported_tensor(name, type));
  for (const auto& [name, value] : spec.predictions) {
    description.outputs.push_back({exported_tensor(name, value.type()), graph.node(value.node()).name, value.output()});
  }
  for (const nn::TextPrediction& text : spec.text_predictions) {
    description.texts.push_back({text.key(), text.source(), text.vocabulary(), text.by_position()});
  }
  return description;
}

/// The weights as a checkpoint of variables alone, below the export's folder.
Result<void> write_variables(Environment& env, const std::string& folder, const Graph& graph,
                             const LoadedVariables& variables, const ExportDescription& description) {
  SHOAL_TRY(const auto writer, checkpoint::Writer::begin(env.storage(), folder, description.global_step));
  std::vector<checkpoint::Writer::NamedTensor> tensors;
  for (const Variable& variable : graph.variables()) {
    tensors.push_back({variable.name, {variable.dtype, variable.shape, variables.bytes_of(variable.name).data()}});
  }
  SHOAL_TRY_VOID(writer->add_tensors(tensors));
  checkpoint::SaveInfo info;
  info.save_time = env.wall_now();
  info.meaning = description.meaning;
  info.run = description.run;
  SHOAL_TRY(const auto saved, writer->commit(std::move(info), {.keep_max = 0}));
  static_cast<void>(saved);
  return {};
}

Result<void> copy_assets(Environment& env, const std::string& folder, const std::map<std::string, std::string>& assets) {
  for (const auto& [target, source] : assets) {
    if (target.empty() || target.starts_with("/") || target.find("..") != std::string::npos) {
      return invalid_argument("export: asset destination \"" + target + "\" must lie inside the export");
    }
    SHOAL_TRY(const std::string contents, env.storage().read_all(source));
    const std::string path = join_path(join_path(folder, "assets"), target);
    SHOAL_TRY_VOID(env.storage().make_folders(path.substr(0, path.rfind('/'))));
    SHOAL_TRY_VOID(env.storage().write_atomically(path, contents));
  }
  return {};
}

Error no_name_left(const std::string& base, int64_t newest, int64_t now) {
  const std::string why =
      newest >= kExportNumberMax
          ? join_path(base, export_name(newest)) + " is there; move it away, if a clock that was wrong named it"
          : "the clock says " + std::to_string(now) + " seconds since 1970; set it right";
  return failed_precondition("export: a name of ten digits that is beyond all others in " + base +
                             " does not exist: " + why);
}

/// Renames the finished export to the seconds since 1970, or to the number behind the newest one there, whichever is larger: so
/// numbers tell the order of exports, whatever clocks say, and nobody waits for the next second. Renaming a folder to one that
/// has files in it fails, so of two processes that race for a number one gets it, whole, and the other takes the next.
Result<std::string> publish(Environment& env, const std::string& base, const std::string& temporary) {
  const int64_t now = std::chrono::floor<std::chrono::seconds>(env.wall_now()).time_since_epoch().count();
  SHOAL_TRY(const std::vector<std::string> exports, exports_in(env.storage(), base));
  const int64_t newest = exports.empty() ? -1 : export_number(exports.back()).value();
  int64_t number = std::max(now, newest + 1);
  for (int i = 0; i < kNameTries; ++i, ++number) {
    if (number > kExportNumberMax) return no_name_left(base, newest, now);
    const std::string path = join_path(base, export_name(number));
    Result<void> renamed = env.storage().rename(temporary, path);
    if (renamed) {
      SHOAL_TRY_VOID(env.storage().sync_folder(base));
      return path;
    }
    // It failed not for want of a free name; or a disk reports an error, which may have renamed it all the same.
    const bool taken = renamed.error().kind() == ErrorKind::kFailedPrecondition && env.storage().exists(path);
    if (!taken) return std::move(renamed).error();
    env.sometimes("export.name_taken");
  }
  return unavailable("export: " + std::to_string(kNameTries) + " names in a row were taken in " + base + ", the last one " +
                     export_name(number - 1) + "; do other processes export there?");
}

struct ServingModel {
  std::unique_ptr<BuiltModel> model;
  LoadedVariables variables;
};

Result<ServingModel> build_serving(Environment& env, const Estimator& estimator, const InputFn& serving_input,
                                   const checkpoint::Reader* reader) {
  const std::optional<int64_t> seed = seed_of_run(env, estimator.config(), estimator.model_dir());
  SHOAL_TRY(const OpenedInput input, open_input(env, estimator, serving_input, Mode::kPredict, seed));
  data::Batch batch;
  SHOAL_TRY(const bool any, input.iterator->next(batch));
  if (!any) return invalid_argument("export: serving_input gave no batch; it must give one, to tell names and types");
  batch.labels = {};
  SHOAL_TRY(const InputTypes types, input_types(batch, estimator.varying()));
  SHOAL_TRY(auto model, BuiltModel::build({estimator.model_fn(), Mode::kPredict, estimator.params(), estimator.config(),
                                           graph_seed(env, seed)},
                                          types));
  SHOAL_TRY(LoadedVariables variables, load_variables(env, estimator, Mode::kPredict, *model, reader));
  return ServingModel{std::move(model), std::move(variables)};
}

Result<std::string> export_to(Environment& env, const Estimator& estimator, const std::string& base_dir,
                              const InputFn& serving_input, const ExportOptions& options) {
  SHOAL_TRY(const auto reader, open_checkpoint(env, estimator.model_dir(), options.checkpoint));
  if (!reader && !estimator.warm_start())
    return not_found("export: no checkpoint in " + estimator.model_dir() + "; train first");
  if (!reader) env.log().info("export: " + without_checkpoint(estimator) + " is exported");
  SHOAL_TRY(const ServingModel serving, build_serving(env, estimator, serving_input, reader.get()));
  Graph& graph = serving.model->graph();
  const int64_t step = reader ? reader->global_step() : 0;
  SHOAL_TRY(std::string meaning, exported_meaning(graph, reader.get()));
  ExportDescription description = describe(*serving.model, serving.model->spec(), graph, step, std::move(meaning));
  if (reader) description.run = reader->manifest().info.run;
  remove_temporary_files(env, base_dir, {kUnfinishedExport});
  const std::string temporary = join_path(base_dir, std::string(kUnfinishedExport) + std::to_string(env.entropy()));
  const auto write = [&]() -> Result<std::string> {
    SHOAL_TRY_VOID(env.storage().make_folders(temporary));
    SHOAL_TRY_VOID(write_variables(env, join_path(temporary, kExportVariables), graph, serving.variables, description));
    SHOAL_TRY_VOID(env.storage().write_atomically(join_path(temporary, kExportGraph), graph.to_json()));
    SHOAL_TRY_VOID(copy_assets(env, temporary, options.assets));
    const std::string text = encode_export(description);
    SHOAL_TRY_VOID(env.storage().write_atomically(join_path(temporary, kExportFile), text));
    return publish(env, base_dir, temporary);
  };
  Result<std::string> written = write();
  if (!written) static_cast<void>(env.storage().remove_all(temporary).has_value());
  return written;
}

data::TensorMap generated_features(const std::vector<ExportedTensor>& inputs, int64_t batch) {
  data::TensorMap features;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int64_t> sizes = inputs[i].shape;
    std::replace(sizes.begin(), sizes.end(), int64_t(-1), batch);
    const bool text = inputs[i].dtype == DType::kString;
    Tensor tensor = text ? Tensor::of_strings(Shape(sizes), std::vector<std::string>(size_t(Shape(sizes).elements())))
                         : Tensor::zeros(inputs[i].dtype, Shape(sizes));
    if (tensor.dtype() == DType::kFloat32) fill_uniform(fold_in(RandomKey{1}, i), 0, tensor.mutable_as<float>(), -1, 1);
    features.set(inputs[i].name, std::move(tensor));
  }
  return features;
}

class LoadedExport final : public ExportedModel {
 public:
  LoadedExport(std::shared_ptr<Environment> env, ExportDescription description, std::unique_ptr<Predictor> predictor)
      : env_(std::move(env)), description_(std::move(description)), predictor_(std::move(predictor)) {
    for (const ExportedOutput& output : description_.outputs) outputs_.push_back(output.tensor);
    for (const ExportedText& text : description_.texts) {
      const auto source = std::find_if(outputs_.begin(), outputs_.end(),
                                       [&](const ExportedTensor& tensor) { return tensor.name == text.source; });
      if (source != outputs_.end()) outputs_.push_back({text.name, DType::kString, source->shape, source->axes});
    }
  }
  int64_t global_step() const override { return description_.global_step; }
  const std::vector<ExportedTensor>& inputs() const override { return description_.inputs; }
  const std::vector<ExportedTensor>& outputs() const override { return outputs_; }
  Result<data::TensorMap> try_predict(const data::TensorMap& features) override {
    data::Batch batch{features, {}};
    return predictor_->predict(batch);
  }
  const std::vector<nn::ExportSignature>& signatures() const override { return description_.signatures; }
  Result<data::TensorMap> try_predict(const data::TensorMap& features, std::string_view signature) override {
    std::string names;
    for (const nn::ExportSignature& one : description_.signatures) {
      names += (names.empty() ? "" : ", ") + one.name;
      if (one.name != signature) continue;
      SHOAL_TRY(const data::TensorMap predictions, try_predict(features));
      data::TensorMap outputs;
      for (const auto& [name, key] : one.outputs) outputs.set(name, *predictions.find(key));
      return outputs;
    }
    return invalid_argument("predict: the export has no signature \"" + std::string(signature) + "\"; there are: " + names);
  }
  Result<backends::Profile> try_profile(const ProfileOptions& options) override {
    if (options.batch < 1)
      return invalid_argument("profile: batch must be at least 1, not " + std::to_string(options.batch));
    if (options.runs < 1) return invalid_argument("profile: runs must be at least 1, not " + std::to_string(options.runs));
    const data::TensorMap features = generated_features(description_.inputs, options.batch);
    for (int i = 0; i < 3; ++i) {  // The first runs compile, touch memory and fill caches.
      SHOAL_TRY(data::TensorMap unused, try_predict(features));
    }
    backends::Profiler profiler([this] { return env_->now(); });
    StepRequest request;
    request.observe(profiler);
    while (profiler.runs() < options.runs) {
      data::Batch batch{features, {}};
      SHOAL_TRY(data::TensorMap unused, predictor_->predict(batch, request));
    }
    return profiler.profile(backends::measure_machine_limits(predictor_->model().numerics().threads));
  }

 private:
  std::shared_ptr<Environment> env_;
  ExportDescription description_;
  std::vector<ExportedTensor> outputs_;
  std::unique_ptr<Predictor> predictor_;
};

Result<EstimatorSpec> spec_of(Graph& graph, const ExportDescription& description) {
  EstimatorSpec spec;
  spec.mode = Mode::kPredict;
  for (const ExportedOutput& output : description.outputs) {
    const auto node =
        std::find_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) { return n.name == output.node; });
    if (node == graph.nodes().end() || output.output < 0 || size_t(output.output) >= node->outputs.size()) {
      return data_loss("prediction " + output.tensor.name + " is not in the graph");
    }
    spec.predictions.emplace_back(output.tensor.name, Value(&graph, NodeId(node - graph.nodes().begin()), output.output));
  }
  for (const ExportedText& text : description.texts) {
    std::shared_ptr<const Vocabulary> vocabulary;
    if (!text.vocabulary.empty()) {
      SHOAL_TRY(Vocabulary names, Vocabulary::make(text.vocabulary));
      vocabulary = std::make_shared<const Vocabulary>(std::move(names));
    }
    spec.text_predictions.push_back(text.by_position
                                        ? nn::TextPrediction::of_positions(text.name, text.source, std::move(vocabulary))
                                        : nn::TextPrediction(text.name, text.source, std::move(vocabulary)));
  }
  spec.export_outputs = description.signatures;
  if (auto checked = check_signatures(spec.export_outputs, spec); !checked) return data_loss(checked.error().message());
  return spec;
}

/// graph.json of an export that is there: what is wrong with it, its absence too, is DataLoss naming the file.
Result<std::unique_ptr<Graph>> read_graph(Environment& env, const std::string& folder) {
  const std::string path = join_path(folder, kExportGraph);
  if (!env.storage().exists(path))
    return data_loss("export " + folder + ": " + path + " is missing; export the model again");
  SHOAL_TRY(const std::string text, env.storage().read_all(path));
  auto graph = graph_from_json(text);
  if (!graph) return data_loss("export " + folder + ": " + path + ": " + graph.error().message());
  return graph;
}

/// The model's inputs, which have to be those of the graph; what no node reads may be missing there.
Result<InputTypes> inputs_of(Graph& graph, const std::vector<ExportedTensor>& inputs) {
  InputTypes types;
  for (const ExportedTensor& input : inputs) {
    types.features.emplace_back(input.name, value_type(input));
    const ValueType& stated = types.features.back().second;
    const Value value = graph.find(input_name("features", input.name));
    if (!value.valid() || value.type() == stated) continue;
    return data_loss("input \"" + input.name + "\" is " + std::string(to_string(stated.dtype)) + " " +
                     to_string(stated.shape) + " there, and " + std::string(to_string(value.dtype())) + " " +
                     to_string(value.shape()) + " in " + std::string(kExportGraph));
  }
  return types;
}

Result<std::unique_ptr<ExportedModel>> load(const std::string& folder, const RuntimeOptions& runtime) {
  const RunConfig config({.runtime = runtime});
  auto env = make_call_environment(config);
  SHOAL_TRY(const std::string text, env->storage().read_all(join_path(folder, kExportFile)));
  auto description = decode_export(text);
  if (!description) return std::move(description).error().with_context("export " + folder);
  SHOAL_TRY(std::unique_ptr<Graph> graph, read_graph(*env, folder));
  auto spec = spec_of(*graph, *description);
  if (!spec) return std::move(spec).error().with_context("export " + folder);
  description->signatures = signatures_of(*spec);
  auto types = inputs_of(*graph, description->inputs);
  if (!types) return std::move(types).error().with_context("export " + join_path(folder, kExportFile));
  auto model = BuiltModel::from_graph(std::move(graph), std::move(spec).value(), std::move(types).value());
  SHOAL_TRY(auto backend, make_configured_backend(config));
  model->use_backend(std::move(backend), config.compute_threads(env->process().usable_cores), config.compute_dtype());
  SHOAL_TRY(const auto reader, open_checkpoint(*env, join_path(folder, kExportVariables), std::nullopt));
  if (!reader) return data_loss("export " + folder + " has no variables");
  SHOAL_TRY(LoadedVariables variables, LoadedVariables::load(*env, model->graph(), *reader));
  SHOAL_TRY(auto predictor, Predictor::make(std::move(model), std::move(variables), {}));
  return std::unique_ptr<ExportedModel>(
      new LoadedExport(std::move(env), std::move(description).value(), std::move(predictor)));
}

}  // namespace

std::string Estimator::export_model(const std::string& base_dir, const InputFn& serving_input,
                                    ExportOptions options) const {
  return value_or_raise(try_export_model(base_dir, serving_input, std::move(options)));
}

Result<std::string> Estimator::try_export_model(const std::string& base_dir, const InputFn& serving_input,
                                                ExportOptions options) const {
  if (!serving_input) return type_mismatch("Estimator::export_model: a serving input function is required");
  const std::shared_ptr<Environment> env = make_call_environment(config_);
  return export_to(*env, *this, base_dir, serving_input, options);
}

std::unique_ptr<ExportedModel> load_exported_model(const std::string& folder, RuntimeOptions runtime) {
  return value_or_raise(load(folder, runtime));
}

Result<std::unique_ptr<ExportedModel>> try_load_exported_model(const std::string& folder, RuntimeOptions runtime) {
  return load(folder, runtime);
}

}  // namespace shoal
