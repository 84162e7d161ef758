// SPDX-License-Identifier: Apache-2.0
// Implements Estimator::export_model() and export_obstacles().
#include <algorithm>
#include <cstring>

#include "evaluate/evaluation.h"
#include "evaluate/form_writer.h"
#include "model/check_meaning.h"
#include "model/export_files.h"
#include "model/open_checkpoint.h"
#include "model/read_inputs.h"
#include "model/signatures.h"
#include "model/trained_weights.h"
#include "shoal/base/blocking.h"
#include "shoal/base/durable_folder.h"
#include "shoal/base/random.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/task_host.h"
#include "shoal/graph/graph_json.h"
#include "task/run_seed.h"
#include "task/task_network.h"
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

/// Returns the meaning (vocabularies, classes and so on) to store in an export. `trained` is the meaning that training
/// stored, which also covers labels; empty if it stored none. Facts of the prediction model's graph replace those of
/// `trained` from which they differ, since the user has accepted the difference.
Result<std::string> exported_meaning(const Graph& graph, const std::string& trained) {
  if (trained.empty()) return graph.meaning().encode();
  SHOAL_TRY(const Meaning recorded, Meaning::decode(trained));
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

/// Writes the weights below the export's folder, as a checkpoint of variables alone.
Result<std::vector<ExportedFile>> write_variables(Environment& env, const std::string& folder, const Graph& graph,
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
  info.rules = description.rules;
  info.run = description.run;
  SHOAL_TRY(const auto saved, writer->commit(std::move(info), {.keep_max = 0}));
  return exported_variables(saved);
}

Result<void> copy_assets(Environment& env, const std::string& folder, const std::map<std::string, std::string>& assets,
                         std::vector<ExportedFile>& files) {
  for (const auto& [target, source] : assets) {
    if (target.empty() || target.starts_with("/") || target.find("..") != std::string::npos) {
      return invalid_argument("export: asset destination \"" + target + "\" must lie inside the export");
    }
    SHOAL_TRY(const std::string contents, env.storage().read_all(source));
    const std::string name = join_path(kExportAssets, target), path = join_path(folder, name);
    SHOAL_TRY_VOID(make_durable_folder(env.storage(), path.substr(0, path.rfind('/'))));
    SHOAL_TRY_VOID(env.storage().write_atomically(path, contents));
    files.push_back(exported_file(name, contents));
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

/// Publishes the finished export in the folder `temporary`: renames it to a number. This is the time in seconds since 1970
/// or, if that is larger, one more than the number of the newest export. So numbers tell the order of exports even if a
/// clock is wrong, and no export waits for the next second. If another process has taken the same number, the rename fails,
/// since the folder there has files, and the next number is tried.
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
    // Tries the next name only if this one is taken, and returns any other error. (After such an error the folder may
    // have its new name nevertheless.)
    const bool taken = renamed.error().kind() == ErrorKind::kFailedPrecondition && env.storage().exists(path);
    if (!taken) return std::move(renamed).error();
    env.sometimes("export.name_taken");
  }
  return unavailable("export: " + std::to_string(kNameTries) + " names in a row were taken in " + base + ", the last one " +
                     export_name(number - 1) + "; do other processes export there?");
}

/// The source of an export's weights: a checkpoint, the weights that training left in memory, or neither.
struct Origin {
  std::shared_ptr<const checkpoint::Reader> reader;
  const TrainedWeights* trained = nullptr;

  int64_t global_step() const { return reader ? reader->global_step() : trained ? trained->global_step : 0; }
  std::string meaning() const { return reader ? reader->manifest().info.meaning : trained ? trained->meaning : ""; }
  std::string rules() const { return reader ? reader->manifest().info.rules : trained ? trained->rules : ""; }
  std::string run() const { return reader ? reader->manifest().info.run : trained ? trained->run : ""; }
};

/// Finds the source of the weights. Training without checkpoints begins with the newest checkpoint, so the weights that it
/// left in memory are newer.
Result<Origin> find_origin(Environment& env, const Estimator& estimator, const TrainedWeights* trained,
                           const ExportOptions& options) {
  Origin origin;
  if (trained && !options.checkpoint) {
    origin.trained = trained;
    env.log().info("export: the weights that training has left in memory, of global step " +
                   std::to_string(trained->global_step) + ", are exported, since checkpoints are off");
    return origin;
  }
  SHOAL_TRY(origin.reader, open_checkpoint(env, estimator, options.checkpoint));
  if (!origin.reader && !estimator.warm_start())
    return not_found("export: no checkpoint in " + estimator.model_dir() + "; train first");
  if (!origin.reader) env.log().info("export: " + without_checkpoint(estimator) + " is exported");
  return origin;
}

Result<LoadedVariables> load_trained(Environment& env, const Estimator& estimator, const BuiltModel& model,
                                     const TrainedWeights& trained) {
  SHOAL_TRY_VOID(check_use_of_weights(env.log(), estimator.config(), {trained.meaning, trained.rules},
                                      "the training of this process", model, Mode::kPredict));
  const auto copy = [&trained](const Variable& variable, std::span<std::byte> place) -> Result<void> {
    const auto value = trained.values.find(variable.name);
    if (value == trained.values.end()) {
      return invalid_argument("export: training has no variable " + variable.name +
                              ", which predictions read; build the same network in both modes");
    }
    const Tensor& tensor = value->second;
    if (tensor.dtype() != variable.dtype || tensor.shape() != variable.shape) {
      return invalid_argument("export: variable " + variable.name + " is " + to_string(tensor.shape()) +
                              " in training and " + to_string(variable.shape) +
                              " in prediction; build the same network in both modes");
    }
    if (!place.empty()) std::memcpy(place.data(), tensor.view().data, place.size());
    return {};
  };
  return LoadedVariables::load(env, model.graph(), LoadedVariables::Fill(copy));
}

struct ServingModel {
  std::unique_ptr<BuiltModel> model;
  LoadedVariables variables;
};

/// Builds the model of PREDICT for the features of `serving_input`.
Result<std::unique_ptr<BuiltModel>> build_predict_model(Environment& env, const Estimator& estimator,
                                                        const InputFn& serving_input) {
  const std::optional<int64_t> seed = seed_of_run(env, estimator.config(), estimator.model_dir());
  SHOAL_TRY(const OpenedInput input,
            open_input(env, estimator, serving_input, Mode::kPredict, seed, stop_of_call(estimator.config())));
  data::Batch batch;
  SHOAL_TRY(const bool any, input.iterator->next(batch));
  if (!any) return invalid_argument("export: serving_input gave no batch; it must give one, to tell names and types");
  batch.labels = {};
  SHOAL_TRY(const InputTypes types, input_types(batch, estimator.varying()));
  return BuiltModel::build({estimator.model_fn(), Mode::kPredict, estimator.params(), estimator.config(),
                            graph_seed(env, seed), estimator.ops()},
                           types);
}

Result<ServingModel> build_serving(Environment& env, const Estimator& estimator, const InputFn& serving_input,
                                   const Origin& origin) {
  SHOAL_TRY(auto model, build_predict_model(env, estimator, serving_input));
  SHOAL_TRY(LoadedVariables variables, origin.trained
                                           ? load_trained(env, estimator, *model, *origin.trained)
                                           : load_variables(env, estimator, Mode::kPredict, *model, origin.reader.get()));
  return ServingModel{std::move(model), std::move(variables)};
}

/// Writes all files of an export, export.json last. Returns the reason why the export must not be published; "" if it may
/// be.
Result<std::string> write_export(const FormToWrite& to, ServingModel serving, ExportDescription description) {
  const Graph& graph = serving.model->graph();
  const std::string& folder = to.folder;
  SHOAL_TRY_VOID(make_durable_folder(to.env.storage(), folder));
  SHOAL_TRY(std::vector<ExportedFile> files,
            write_variables(to.env, join_path(folder, kExportVariables), graph, serving.variables, description));
  const std::string text = graph.to_json();
  SHOAL_TRY_VOID(to.env.storage().write_atomically(join_path(folder, kExportGraph), text));
  files.push_back(exported_file(std::string(kExportGraph), text));
  SHOAL_TRY_VOID(copy_assets(to.env, folder, to.options.assets, files));
  SHOAL_TRY(const ReadInputs inputs, read_inputs(graph, serving.model->spec(), description.inputs));
  SHOAL_TRY(const WrittenForm form,
            write_form(to, std::move(serving.model), std::move(serving.variables), inputs.read, description.global_step));
  if (!form.refusal.empty()) return form.refusal;
  files.insert(files.end(), form.files.begin(), form.files.end());
  std::ranges::sort(files, {}, &ExportedFile::name);
  description.files = std::move(files);
  SHOAL_TRY_VOID(to.env.storage().write_atomically(join_path(folder, kExportFile), encode_export(description)));
  return std::string();
}

Result<ExportOutcome> export_to(Environment& env, const Estimator& estimator, const TrainedWeights* trained,
                                const std::string& base_dir, const InputFn& serving_input, const ExportOptions& options) {
  SHOAL_TRY_VOID(check_proof(options.format, options.proof));
  SHOAL_TRY(const Origin origin, find_origin(env, estimator, trained, options));
  SHOAL_TRY(ServingModel serving, build_serving(env, estimator, serving_input, origin));
  const Graph& graph = serving.model->graph();
  SHOAL_TRY(std::string meaning, exported_meaning(graph, origin.meaning()));
  ExportDescription description =
      describe(*serving.model, serving.model->spec(), graph, origin.global_step(), std::move(meaning));
  description.rules = origin.rules();
  description.run = origin.run();
  remove_temporary_files(env, base_dir, {kUnfinishedExport});
  const std::string temporary = join_path(base_dir, std::string(kUnfinishedExport) + std::to_string(env.entropy()));
  const auto write = [&]() -> Result<ExportOutcome> {
    SHOAL_TRY(std::string refusal, write_export({env, estimator, options, temporary, serving_input}, std::move(serving),
                                                std::move(description)));
    if (!refusal.empty()) return ExportOutcome{{}, std::move(refusal)};
    SHOAL_TRY(std::string path, publish(env, base_dir, temporary));
    return ExportOutcome{std::move(path), {}};
  };
  Result<ExportOutcome> written = write();
  if (!written || !written->refusal.empty()) static_cast<void>(env.storage().remove_all(temporary).has_value());
  return written;
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
  SHOAL_TRY(ExportOutcome outcome, export_to(*env, *this, trained_.get(), base_dir, serving_input, options));
  if (!outcome.refusal.empty()) return failed_precondition("export: " + outcome.refusal);
  return std::move(outcome.path);
}

Result<ExportOutcome> export_checkpoint(const Estimator& estimator, const std::string& base_dir,
                                        const InputFn& serving_input, const ExportOptions& options) {
  const std::shared_ptr<Environment> env = make_call_environment(estimator.config());
  return export_to(*env, estimator, nullptr, base_dir, serving_input, options);
}

std::vector<std::string> Estimator::export_obstacles(ExportFormat format, const InputFn& serving_input) const {
  return value_or_raise(try_export_obstacles(format, serving_input));
}

Result<std::vector<std::string>> Estimator::try_export_obstacles(ExportFormat format, const InputFn& serving_input) const {
  if (!serving_input) return type_mismatch("Estimator::export_obstacles: a serving input function is required");
  if (format == ExportFormat::kShoal) return std::vector<std::string>();
  const std::shared_ptr<Environment> env = make_call_environment(config_);
  SHOAL_TRY(const auto model, build_predict_model(*env, *this, serving_input));
  std::vector<ExportedTensor> inputs;
  for (const auto& [name, type] : model->types().features) inputs.push_back(exported_tensor(name, type));
  SHOAL_TRY(const ReadInputs read, read_inputs(model->graph(), model->spec(), inputs));
  return form_obstacles(format, trained_model_of(model->graph(), model->spec(), read.read, nullptr, 0));
}

}  // namespace shoal
