// SPDX-License-Identifier: Apache-2.0
#include "evaluate/export_form.h"

#include "evaluate/export_proof.h"
#include "evaluate/opened_export.h"
#include "model/export_files.h"
#include "model/signatures.h"
#include "shoal/estimator/task_host.h"

namespace shoal {
namespace {

constexpr uint64_t kOnnxBytesMax = uint64_t(1) << 31;

Result<std::vector<convert::TransformedInput>> write_onnx_of(const std::string& folder, const std::string& file,
                                                             const convert::OnnxOptions& options) {
  const RunConfig config;
  const std::shared_ptr<Environment> env = make_call_environment(config);
  SHOAL_TRY(const OpenedExport opened, open_export(*env, env->storage(), folder, nullptr));
  const convert::TrainedModel model = trained_model_of(*opened.graph, opened.spec, opened.inputs.read, &opened.variables,
                                                       opened.description.global_step);
  SHOAL_TRY(convert::OnnxFile onnx, convert::to_onnx(model, options));
  SHOAL_TRY_VOID(env->storage().write_atomically(file, onnx.bytes));
  return std::move(onnx.transformed);
}

}  // namespace

convert::TrainedModel trained_model_of(Graph& graph, const EstimatorSpec& spec, const std::vector<ExportedTensor>& inputs,
                                       const LoadedVariables* variables, int64_t global_step) {
  convert::TrainedModel model;
  model.graph = &graph;
  for (const ExportedTensor& input : inputs) {
    const Value value = graph.find(input_name("features", input.name));
    if (value.valid()) model.inputs.push_back({input.name, value});
  }
  for (const auto& [name, value] : spec.predictions) model.outputs.push_back({name, value});
  model.texts = spec.text_predictions;
  model.signatures = signatures_of(spec);
  if (variables) {
    model.weights = [variables](const Variable& variable) { return variables->bytes_of(variable.name); };
  }
  model.global_step = global_step;
  return model;
}

Result<void> check_proof(ExportFormat format, const ExportProof& proof) {
  if (!proof.input) return {};
  if (format == ExportFormat::kShoal) {
    return invalid_argument("proof: there is no format to prove; set format, or leave the proof out");
  }
  if (!(proof.tolerance > 0)) return invalid_argument("proof: tolerance must be greater than 0");
  if (proof.examples <= 0) return invalid_argument("proof: examples must be greater than 0");
  return {};
}

Result<WrittenForm> write_form(const FormToWrite& to, std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                               const std::vector<ExportedTensor>& inputs, int64_t global_step) {
  WrittenForm written;
  if (to.options.format == ExportFormat::kShoal) return written;
  const auto write = [&](std::string_view name, const std::string& contents) -> Result<void> {
    SHOAL_TRY_VOID(to.env.storage().write_atomically(join_path(to.folder, name), contents));
    written.files.push_back(exported_file(std::string(name), contents));
    return {};
  };
  const convert::TrainedModel trained = trained_model_of(model->graph(), model->spec(), inputs, &variables, global_step);
  SHOAL_TRY(convert::OnnxFile onnx, convert::to_onnx(trained));
  SHOAL_TRY_VOID(write(kExportOnnx, onnx.bytes));
  if (!to.options.proof.input) return written;
  SHOAL_TRY(onnx.bytes, to.env.storage().read_all(join_path(to.folder, kExportOnnx), kOnnxBytesMax));
  SHOAL_TRY(Proof proof, prove_onnx(to, onnx, std::move(model), std::move(variables)));
  written.refusal = std::move(proof.refusal);
  SHOAL_TRY_VOID(write(kExportProof, proof.evidence));
  return written;
}

std::vector<convert::TransformedInput> write_onnx(const std::string& folder, const std::string& file,
                                                  const convert::OnnxOptions& options) {
  return value_or_raise(write_onnx_of(folder, file, options));
}

Result<std::vector<convert::TransformedInput>> try_write_onnx(const std::string& folder, const std::string& file,
                                                              const convert::OnnxOptions& options) {
  return write_onnx_of(folder, file, options);
}

}  // namespace shoal
