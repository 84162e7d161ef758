// SPDX-License-Identifier: Apache-2.0
// load_exported_model(): loads an export from a folder, another storage or memory, and predicts on any thread.
#include "shoal/estimator/exported_model.h"

#include <algorithm>

#include "evaluate/evaluation.h"
#include "evaluate/opened_export.h"
#include "evaluate/predictor_pool.h"
#include "model/export_files.h"
#include "shoal/base/random.h"
#include "shoal/estimator/task_host.h"

namespace shoal {
namespace {

// What error messages name as the folder of an export that was loaded from memory.
constexpr char kMemory[] = "in-memory";

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

/// The parts that all predictors of one export share. They never change once the export is loaded.
struct ServedModel {
  RunConfig config;
  int threads = 1;
  std::shared_ptr<Graph> graph;
  EstimatorSpec spec;
  InputTypes types;
  LoadedVariables variables;

  Result<std::unique_ptr<Predictor>> make_predictor() const {
    auto model = BuiltModel::from_graph(graph, spec, types);
    SHOAL_TRY(auto backend, make_configured_backend(config));
    model->use_backend(std::move(backend), threads, config.compute_dtype());
    model->use_budget(MemoryBudget(config), false);
    return Predictor::make(std::move(model), variables, {});
  }
};

class LoadedExport final : public ExportedModel {
 public:
  LoadedExport(std::shared_ptr<Environment> env, ExportDescription description, ReadInputs inputs,
               std::shared_ptr<const ServedModel> served, std::unique_ptr<Predictor> first)
      : env_(std::move(env)),
        description_(std::move(description)),
        inputs_(std::move(inputs)),
        pool_(std::move(first), env_->process().usable_cores,
              [served = std::move(served)] { return served->make_predictor(); }) {
    outputs_ = outputs_of(description_);
  }
  int64_t global_step() const override { return description_.global_step; }
  const std::vector<ExportedTensor>& inputs() const override { return inputs_.read; }
  const std::vector<ExportedTensor>& outputs() const override { return outputs_; }
  Result<data::TensorMap> try_predict(const data::TensorMap& features) override {
    SHOAL_TRY(const PredictorPool::Lease predictor, pool_.take());
    data::Batch batch{inputs_.of(features), {}};
    return predictor->predict(batch);
  }
  const std::vector<nn::ExportSignature>& signatures() const override { return description_.signatures; }
  Result<data::TensorMap> try_predict(const data::TensorMap& features, std::string_view signature) override;
  Result<backends::Profile> try_profile(const ProfileOptions& options) override;

 private:
  std::shared_ptr<Environment> env_;
  ExportDescription description_;
  const ReadInputs inputs_;
  std::vector<ExportedTensor> outputs_;
  PredictorPool pool_;
};

Result<data::TensorMap> LoadedExport::try_predict(const data::TensorMap& features, std::string_view signature) {
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

Result<backends::Profile> LoadedExport::try_profile(const ProfileOptions& options) {
  if (options.batch < 1) return invalid_argument("profile: batch must be at least 1, not " + std::to_string(options.batch));
  if (options.runs < 1) return invalid_argument("profile: runs must be at least 1, not " + std::to_string(options.runs));
  const data::TensorMap features = generated_features(inputs_.read, options.batch);
  SHOAL_TRY(const PredictorPool::Lease predictor, pool_.take());
  const auto run = [&](const StepRequest& request) -> Result<void> {
    data::Batch batch{features, {}};
    SHOAL_TRY(data::TensorMap unused, predictor->predict(batch, request));
    return {};
  };
  // The first runs compile, touch memory and fill caches, so they are not measured.
  for (int i = 0; i < 3; ++i) SHOAL_TRY_VOID(run({}));
  backends::Profiler profiler([this] { return env_->now(); });
  StepRequest request;
  request.observe(profiler);
  while (profiler.runs() < options.runs) SHOAL_TRY_VOID(run(request));
  return profiler.profile(backends::measure_machine_limits(predictor->model().numerics().threads));
}

Result<std::unique_ptr<ExportedModel>> serve(std::shared_ptr<Environment> env, OpenedExport opened, RunConfig config) {
  const int threads = config.compute_threads(env->process().usable_cores);
  auto served = std::make_shared<const ServedModel>(ServedModel{.config = std::move(config),
                                                                .threads = threads,
                                                                .graph = std::move(opened.graph),
                                                                .spec = std::move(opened.spec),
                                                                .types = std::move(opened.types),
                                                                .variables = std::move(opened.variables)});
  SHOAL_TRY(auto first, served->make_predictor());
  return std::unique_ptr<ExportedModel>(new LoadedExport(std::move(env), std::move(opened.description),
                                                         std::move(opened.inputs), std::move(served), std::move(first)));
}

/// Loads the export `folder` of `storage`. If `storage` is null, the export lies in the file system.
Result<std::unique_ptr<ExportedModel>> load(Storage* storage, const std::string& folder, RuntimeOptions runtime,
                                            std::vector<OpDef> ops) {
  auto catalogue = catalogue_of(std::move(ops));
  if (!catalogue) return std::move(catalogue).error().with_context("load_exported_model");
  RunConfig config({.runtime = std::move(runtime)});
  auto env = make_call_environment(config);
  Storage& files = storage ? *storage : env->storage();
  SHOAL_TRY(OpenedExport opened, open_export(*env, files, folder, std::move(catalogue).value()));
  return serve(std::move(env), std::move(opened), std::move(config));
}

/// Loads an export from memory. The names of the files may begin with "./", as names in archives do.
Result<std::unique_ptr<ExportedModel>> load(const ExportBytes& bytes, RuntimeOptions runtime, std::vector<OpDef> ops) {
  const std::string folder = kMemory;
  MemoryFiles files;
  bool described = false;
  std::string names;
  for (const auto& [given, contents] : bytes) {
    const std::string name = given.starts_with("./") ? given.substr(2) : given;
    described |= name == kExportFile;
    names += (names.empty() ? "" : ", ") + name;
    files.lend(join_path(folder, name), contents);
  }
  if (!described) {
    return not_found("load_exported_model: no file is called " + std::string(kExportFile) +
                     "; names are those in the folder of the export (graph.json, variables/checkpoint, ...); there are: " +
                     (names.empty() ? "none" : names));
  }
  return load(&files, folder, std::move(runtime), std::move(ops));
}

}  // namespace

std::unique_ptr<ExportedModel> load_exported_model(const std::string& folder, RuntimeOptions runtime,
                                                   std::vector<OpDef> ops) {
  return value_or_raise(load(nullptr, folder, std::move(runtime), std::move(ops)));
}

Result<std::unique_ptr<ExportedModel>> try_load_exported_model(const std::string& folder, RuntimeOptions runtime,
                                                               std::vector<OpDef> ops) {
  return load(nullptr, folder, std::move(runtime), std::move(ops));
}

std::unique_ptr<ExportedModel> load_exported_model(Storage& storage, const std::string& folder, RuntimeOptions runtime,
                                                   std::vector<OpDef> ops) {
  return value_or_raise(load(&storage, folder, std::move(runtime), std::move(ops)));
}

Result<std::unique_ptr<ExportedModel>> try_load_exported_model(Storage& storage, const std::string& folder,
                                                               RuntimeOptions runtime, std::vector<OpDef> ops) {
  return load(&storage, folder, std::move(runtime), std::move(ops));
}

std::unique_ptr<ExportedModel> load_exported_model(const ExportBytes& files, RuntimeOptions runtime,
                                                   std::vector<OpDef> ops) {
  return value_or_raise(load(files, std::move(runtime), std::move(ops)));
}

Result<std::unique_ptr<ExportedModel>> try_load_exported_model(const ExportBytes& files, RuntimeOptions runtime,
                                                               std::vector<OpDef> ops) {
  return load(files, std::move(runtime), std::move(ops));
}

data::TensorMap ExportedModel::predict(const data::TensorMap& features) { return value_or_raise(try_predict(features)); }
data::TensorMap ExportedModel::predict(const data::TensorMap& features, std::string_view signature) {
  return value_or_raise(try_predict(features, signature));
}
backends::Profile ExportedModel::profile(const ProfileOptions& options) { return value_or_raise(try_profile(options)); }

}  // namespace shoal
