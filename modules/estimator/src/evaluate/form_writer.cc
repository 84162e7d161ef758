// SPDX-License-Identifier: Apache-2.0
#include "evaluate/form_writer.h"

#include "evaluate/batch_row.h"
#include "evaluate/export_proof.h"
#include "evaluate/opened_export.h"
#include "evaluate/write_together.h"
#include "model/export_files.h"
#include "model/signatures.h"
#include "shoal/estimator/task_host.h"
#include "shoal/graph/source.h"
#include "shoal/graph/text_ids.h"
#include "task/run_seed.h"
#include "task/task_network.h"

namespace shoal {
namespace {

constexpr uint64_t kFormBytesMax = uint64_t(1) << 31;
constexpr int64_t kCalibrationExamples = 128;

Result<std::vector<convert::TransformedInput>> write_onnx_of(const std::string& folder, const std::string& file,
                                                             const convert::OnnxOptions& options, const StopToken& stop) {
  const RunConfig config;
  const std::shared_ptr<Environment> env = make_call_environment(config);
  SHOAL_TRY(const OpenedExport opened, open_export(*env, env->storage(), folder, nullptr));
  const convert::TrainedModel model =
      trained_model_of(*opened.graph, opened.spec, opened.inputs.read, &opened.variables, opened.description.global_step);
  SHOAL_TRY(convert::OnnxFile onnx, convert::to_onnx(model, options));
  SHOAL_TRY_VOID(write_together(env->storage(), {{file, onnx.bytes}}, stop));
  return std::move(onnx.transformed);
}

/// Takes examples from the serving input, from which eight-bit arithmetic learns the ranges of numbers.
Result<convert::Calibration> calibration_of(Environment& env, const Estimator& estimator, const InputFn& input_fn) {
  SHOAL_TRY(const OpenedInput input,
            open_input(env, estimator, input_fn, Mode::kPredict,
                       seed_of_run(env, estimator.config(), estimator.model_dir()), stop_of_call(estimator.config())));
  convert::Calibration calibration;
  data::Batch batch;
  while (int64_t(calibration.examples.size()) < kCalibrationExamples) {
    SHOAL_TRY(const bool any, input.iterator->next(batch));
    if (!any) break;
    SHOAL_TRY(convert::Calibration rows, examples_of(batch.features));
    for (auto& example : rows.examples) calibration.examples.push_back(std::move(example));
  }
  if (calibration.examples.size() > size_t(kCalibrationExamples)) calibration.examples.resize(size_t(kCalibrationExamples));
  return calibration;
}

/// Converts the features of one example to the graph's inputs: keys become names of inputs, and texts become ids.
Result<std::map<std::string, Tensor>> fed_to(const Graph& graph, const std::map<std::string, Tensor>& features) {
  std::map<std::string, Tensor> fed;
  for (const auto& [name, tensor] : features) fed.emplace(input_name("features", name), tensor);
  for (const Node& node : graph.nodes()) {
    if (source_of(node.op) != Source::kInput) continue;
    SHOAL_TRY(const auto encoded, encoded_input(node));
    if (!encoded) continue;
    const auto text = fed.find(encoded->of);
    if (text == fed.end()) return invalid_argument("an example for int8 has no feature for the input " + encoded->of);
    SHOAL_TRY(Tensor ids, encoded->encoding.ids_of(text->second));
    fed.insert_or_assign(node.name, std::move(ids));
  }
  return fed;
}

Result<convert::Calibration> fed_to(const Graph& graph, const convert::Calibration& by_feature) {
  convert::Calibration calibration;
  for (const auto& example : by_feature.examples) {
    SHOAL_TRY(auto fed, fed_to(graph, example));
    calibration.examples.push_back(std::move(fed));
  }
  return calibration;
}

Result<convert::CppSource> write_cpp_of(const std::string& folder, const std::string& directory,
                                        const convert::CppOptions& options, const StopToken& stop) {
  const RunConfig config;
  const std::shared_ptr<Environment> env = make_call_environment(config);
  SHOAL_TRY(const OpenedExport opened, open_export(*env, env->storage(), folder, nullptr));
  const convert::TrainedModel model =
      trained_model_of(*opened.graph, opened.spec, opened.inputs.read, &opened.variables, opened.description.global_step);
  convert::CppOptions in_graph = options;
  if (options.int8) {
    SHOAL_TRY(in_graph.int8, fed_to(*opened.graph, *options.int8));
  }
  SHOAL_TRY(convert::CppSource source, convert::to_cpp(model, in_graph));
  const std::string path = join_path(directory, options.name);
  std::vector<WholeFile> files{{path + ".h", source.header}, {path + ".cc", source.source}};
  if (options.weights_apart) {
    const std::string_view weights(reinterpret_cast<const char*>(source.weights.data()), source.weights.size());
    files.push_back({path + ".weights", weights});
  }
  SHOAL_TRY_VOID(write_together_in(env->storage(), directory, files, stop));
  source.header.clear();
  source.source.clear();
  source.weights.clear();
  return source;
}

/// Writes the files of a format. If the options ask for a proof, checks that the files predict as the model does.
class FormWriter {
 public:
  FormWriter(const FormToWrite& to, std::unique_ptr<BuiltModel> model, LoadedVariables variables)
      : to_(to), model_(std::move(model)), variables_(std::move(variables)) {}

  Result<WrittenForm> write(const std::vector<ExportedTensor>& inputs, int64_t global_step) {
    const convert::TrainedModel trained =
        trained_model_of(model_->graph(), model_->spec(), inputs, &variables_, global_step);
    SHOAL_TRY(const Proof proof, to_.options.format == ExportFormat::kOnnx ? write_onnx(trained) : write_cpp(trained));
    written_.refusal = proof.refusal;
    if (!proof.evidence.empty()) SHOAL_TRY_VOID(put(kExportProof, proof.evidence));
    return std::move(written_);
  }

 private:
  Result<void> put(std::string_view name, const std::string& contents) {
    SHOAL_TRY_VOID(to_.env.storage().write_atomically(join_path(to_.folder, name), contents));
    written_.files.push_back(exported_file(std::string(name), contents));
    return {};
  }
  /// Reads a file of the export back from the disk. The proof checks that the file predicts what the model does, so it has
  /// to use the bytes that users get.
  Result<std::string> read_back(std::string_view name) {
    return to_.env.storage().read_all(join_path(to_.folder, name), kFormBytesMax);
  }
  bool proves() const { return static_cast<bool>(to_.options.proof.input); }

  Result<Proof> write_onnx(const convert::TrainedModel& trained) {
    SHOAL_TRY(convert::OnnxFile onnx, convert::to_onnx(trained));
    SHOAL_TRY_VOID(put(kExportOnnx, onnx.bytes));
    if (!proves()) return Proof();
    SHOAL_TRY(onnx.bytes, read_back(kExportOnnx));
    return prove_onnx(to_, onnx, std::move(model_), std::move(variables_));
  }

  Result<Proof> write_cpp(const convert::TrainedModel& trained) {
    convert::CppOptions options;
    if (to_.options.format == ExportFormat::kCppInt8) {
      SHOAL_TRY(const convert::Calibration examples, calibration_of(to_.env, to_.estimator, to_.serving_input));
      SHOAL_TRY(options.int8, fed_to(model_->graph(), examples));
    }
    SHOAL_TRY(convert::CppSource source, convert::to_cpp(trained, options));
    SHOAL_TRY_VOID(put(kExportCppHeader, source.header));
    SHOAL_TRY_VOID(put(kExportCppSource, source.source));
    if (!proves()) return Proof();
    SHOAL_TRY(source.header, read_back(kExportCppHeader));
    SHOAL_TRY(source.source, read_back(kExportCppSource));
    return prove_cpp(to_, source, std::move(model_), std::move(variables_));
  }

  const FormToWrite& to_;
  std::unique_ptr<BuiltModel> model_;
  LoadedVariables variables_;
  WrittenForm written_;
};

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
  if (!(proof.accuracy_loss >= 0 && proof.accuracy_loss <= 1)) {
    return invalid_argument("proof: accuracy_loss must be in [0, 1]");
  }
  if (!(proof.tolerance > 0)) return invalid_argument("proof: tolerance must be greater than 0");
  if (proof.examples <= 0) return invalid_argument("proof: examples must be greater than 0");
  return {};
}

Result<WrittenForm> write_form(const FormToWrite& to, std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                               const std::vector<ExportedTensor>& inputs, int64_t global_step) {
  if (to.options.format == ExportFormat::kShoal) return WrittenForm();
  return FormWriter(to, std::move(model), std::move(variables)).write(inputs, global_step);
}

std::vector<std::string> form_obstacles(ExportFormat format, const convert::TrainedModel& model) {
  switch (format) {
    case ExportFormat::kShoal: return {};
    case ExportFormat::kOnnx: return convert::onnx_obstacles(model);
    default: return convert::cpp_obstacles(model);
  }
}

std::vector<convert::TransformedInput> write_onnx(const std::string& folder, const std::string& file,
                                                  const convert::OnnxOptions& options) {
  return value_or_raise(write_onnx_of(folder, file, options, StopToken()));
}

Result<std::vector<convert::TransformedInput>> try_write_onnx(const std::string& folder, const std::string& file,
                                                              const convert::OnnxOptions& options, const StopToken& stop) {
  return write_onnx_of(folder, file, options, stop);
}

Result<convert::Calibration> examples_of(const data::TensorMap& features) {
  convert::Calibration calibration;
  for (const auto& [name, tensor] : features) {
    const std::string shown = "feature \"" + name + "\" is " + to_string(tensor.shape());
    if (tensor.shape().rank() == 0 || tensor.shape()[0] == 0) return invalid_argument(shown + ", and has no rows");
    const auto rows = size_t(tensor.shape()[0]);
    if (calibration.examples.empty()) calibration.examples.resize(rows);
    if (calibration.examples.size() != rows) {
      return invalid_argument(shown + ", and others have " + std::to_string(calibration.examples.size()) +
                              " rows; all features need as many");
    }
    for (size_t row = 0; row < rows; ++row)
      calibration.examples[row].emplace(name, batch_row(tensor, int64_t(row), BatchAxis::kKept));
  }
  return calibration;
}

convert::CppSource write_cpp(const std::string& folder, const std::string& directory, const convert::CppOptions& options) {
  return value_or_raise(write_cpp_of(folder, directory, options, StopToken()));
}

Result<convert::CppSource> try_write_cpp(const std::string& folder, const std::string& directory,
                                         const convert::CppOptions& options, const StopToken& stop) {
  return write_cpp_of(folder, directory, options, stop);
}

}  // namespace shoal
