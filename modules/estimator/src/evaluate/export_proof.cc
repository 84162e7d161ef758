// SPDX-License-Identifier: Apache-2.0
#include "evaluate/export_proof.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "evaluate/compiled_model.h"
#include "evaluate/predictor.h"
#include "evaluate/proof_evidence.h"
#include "model/signatures.h"
#include "shoal/convert/onnx_model.h"
#include "task/run_seed.h"
#include "task/task_network.h"

namespace shoal {
namespace {

constexpr char kOnnxForm[] = "ONNX file", kCppForm[] = "C++ source";

using Tensors = std::map<std::string, Tensor>;

/// Computes the exported file's predictions for a batch, by key. Leaves out outputs that cannot be compared with Shoal's.
using ComputeExported =
    std::function<Result<Tensors>(Predictor& predictor, const data::Batch& batch, const data::TensorMap& expected)>;

/// The result for an export that is refused, because its predictions could not be computed or compared with the model's.
/// The cause `why` becomes a part of this result and not an error, since an error would end the training.
Proof unproved(const std::string& form, const Error& why) {
  return {"", "not published, since its " + form + " cannot be proved: " + why.message()};
}

Result<Proof> prove(const FormToWrite& to, std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                    ProofEvidence evidence, const ComputeExported& compute) {
  SHOAL_TRY_VOID(set_up_computation(to.env, to.estimator.config(), *model));
  SHOAL_TRY(const auto predictor, Predictor::make(std::move(model), std::move(variables), {}));
  const std::optional<int64_t> seed = seed_of_run(to.env, to.estimator.config(), to.estimator.model_dir());
  SHOAL_TRY(const OpenedInput input, open_input(to.env, to.estimator, to.options.proof.input, Mode::kPredict, seed,
                                                stop_of_call(to.estimator.config())));
  data::Batch batch;
  while (evidence.examples() < to.options.proof.examples) {
    SHOAL_TRY(const bool any, input.iterator->next(batch));
    if (!any) break;
    const data::TensorMap labels = batch.labels;
    SHOAL_TRY(const data::TensorMap expected, predictor->predict(batch));
    SHOAL_TRY(const int64_t rows, batch_size(batch));
    const Result<Tensors> computed = compute(*predictor, batch, expected);
    if (!computed) return unproved(evidence.form(), computed.error());
    evidence.add(expected, *computed, labels, rows);
  }
  if (evidence.examples() == 0) return invalid_argument("export: the input of the proof gave no batch");
  return Proof{evidence.json(), evidence.refusal()};
}

/// Computes a value of the model's graph for this batch, for example the ids of a text.
Result<Tensor> value_of(Predictor& predictor, const data::Batch& batch, const std::string& node, int output) {
  SHOAL_TRY(auto computed, predictor.compute_once({{node, predictor.model().graph().find(node, output)}}, batch));
  return std::move(computed[0].second);
}

/// Returns the inputs of the exported ONNX model for a batch: its features, and ids that Shoal computes from them.
Result<Tensors> inputs_of_file(const convert::OnnxModel& file, const convert::OnnxFile& onnx, Predictor& predictor,
                               const data::Batch& batch) {
  Tensors inputs;
  for (const convert::OnnxPort& input : file.inputs()) {
    const std::string& name = input.name;
    const Tensor* feature = batch.features.find(batch.features.is_single() && name == "features" ? "" : name);
    if (feature) {
      inputs.emplace(name, *feature);
      continue;
    }
    const auto ids = std::ranges::find(onnx.transformed, name, &convert::TransformedInput::name);
    if (ids == onnx.transformed.end())
      return data_loss("the exported file has an input \"" + name + "\" that is no feature");
    SHOAL_TRY(Tensor made, value_of(predictor, batch, ids->node, 0));
    inputs.emplace(name, std::move(made));
  }
  return inputs;
}

/// The key of the prediction that a signature returns as `output`.
const std::string& key_of(const std::vector<nn::ExportSignature>& signatures, const std::string& signature,
                          const std::string& output) {
  const auto of = std::ranges::find(signatures, signature, &nn::ExportSignature::name);
  return std::ranges::find(of->outputs, output, &std::pair<std::string, std::string>::first)->second;
}

/// The bytes of one function's inputs for all examples of a batch, one example after the other.
Result<std::string> input_bytes(const convert::CppFunction& function, Predictor& predictor, const data::Batch& batch,
                                int64_t rows) {
  std::vector<Tensor> tensors;
  for (const convert::CppPort& input : function.inputs) {
    SHOAL_TRY(Tensor tensor, value_of(predictor, batch, input.node, input.output));
    if (tensor.elements() != rows * input.elements) {
      return invalid_argument("proof: input \"" + input.title + "\" has " +
                              std::to_string(tensor.elements() / std::max<int64_t>(rows, 1)) +
                              " elements for an example where the exported function takes " +
                              std::to_string(input.elements) + "; give the proof examples of that size");
    }
    tensors.push_back(std::move(tensor));
  }
  std::string bytes;
  for (int64_t row = 0; row < rows; ++row) {
    for (const Tensor& tensor : tensors) {
      const size_t size = tensor.bytes() / size_t(rows);
      bytes.append(reinterpret_cast<const char*>(tensor.view().data) + size_t(row) * size, size);
    }
  }
  return bytes;
}

/// The names of ids, or the ids in digits if there are no names; "" for an id without a name.
Tensor names_of(const Tensor& ids, const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (int64_t id : ids.as<int64_t>()) {
    const bool named = id >= 0 && id < int64_t(names.size());
    texts.push_back(names.empty() ? std::to_string(id) : named ? names[size_t(id)] : "");
  }
  return Tensor::of_strings(ids.shape(), std::move(texts));
}

/// `bytes` has what a compiled function has computed for all examples. Divides it into one tensor per prediction, and adds
/// the tensors to `outputs`. Each gets the shape that the prediction has in `expected`; ids of classes become names.
Result<void> add_outputs(const convert::CppFunction& function, const std::string& bytes, int64_t rows,
                         const std::vector<nn::ExportSignature>& signatures, const data::TensorMap& expected,
                         Tensors& outputs) {
  size_t row_bytes = 0, begin = 0;
  for (const convert::CppPort& port : function.outputs) row_bytes += size_t(port.elements) * size_of(port.dtype);
  if (bytes.size() != row_bytes * size_t(rows)) {
    return data_loss("the compiled model wrote " + std::to_string(bytes.size()) + " bytes where " +
                     std::to_string(row_bytes * size_t(rows)) + " were expected");
  }
  for (const convert::CppPort& port : function.outputs) {
    const size_t size = size_t(port.elements) * size_of(port.dtype);
    const std::string& key = key_of(signatures, function.signature, port.title);
    const Tensor& like = expected[key];
    Tensor tensor(port.dtype, like.elements() == rows * port.elements ? like.shape() : Shape{rows, port.elements});
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(tensor.mutable_view().data + size_t(row) * size, bytes.data() + size_t(row) * row_bytes + begin, size);
    outputs.insert_or_assign(key, like.dtype() == DType::kString ? names_of(tensor, port.names) : std::move(tensor));
    begin += size;
  }
  return {};
}

}  // namespace

Result<Proof> prove_onnx(const FormToWrite& to, const convert::OnnxFile& onnx, std::unique_ptr<BuiltModel> model,
                         LoadedVariables variables) {
  const Result<convert::OnnxModel> parsed = convert::OnnxModel::parse(onnx.bytes);
  if (!parsed) return unproved(kOnnxForm, parsed.error());
  const convert::OnnxModel& file = *parsed;
  const auto compute = [&](Predictor& predictor, const data::Batch& batch,
                           const data::TensorMap& expected) -> Result<Tensors> {
    SHOAL_TRY(const Tensors inputs, inputs_of_file(file, onnx, predictor, batch));
    SHOAL_TRY(Tensors outputs, file.run(inputs));
    if (expected.is_single()) {
      auto lone = outputs.extract("predictions");
      if (!lone) return data_loss("the exported file has no output \"predictions\"");
      lone.key() = "";
      outputs.insert(std::move(lone));
    }
    for (const auto& [key, tensor] : expected) {
      if (!outputs.contains(key)) return data_loss("the exported file has no output \"" + key + "\"");
    }
    return outputs;
  };
  return prove(to, std::move(model), std::move(variables), {kOnnxForm, to.options.proof, ProofRule::kNumbers}, compute);
}

Result<Proof> prove_cpp(const FormToWrite& to, const convert::CppSource& source, std::unique_ptr<BuiltModel> model,
                        LoadedVariables variables) {
  const Result<CompiledModel> made = CompiledModel::make(source, to.env.process().temporary_folder);
  if (!made) return unproved(kCppForm, made.error());
  const CompiledModel& compiled = *made;
  const std::vector<nn::ExportSignature> signatures = signatures_of(model->spec());
  const auto compute = [&](Predictor& predictor, const data::Batch& batch,
                           const data::TensorMap& expected) -> Result<Tensors> {
    SHOAL_TRY(const int64_t rows, batch_size(batch));
    Tensors outputs;
    for (size_t i = 0; i < source.functions.size(); ++i) {
      SHOAL_TRY(const std::string inputs, input_bytes(source.functions[i], predictor, batch, rows));
      SHOAL_TRY(const std::string bytes, compiled.run(i, inputs));
      SHOAL_TRY_VOID(add_outputs(source.functions[i], bytes, rows, signatures, expected, outputs));
    }
    return outputs;
  };
  const ProofRule rule = to.options.format == ExportFormat::kCppInt8 ? ProofRule::kAccuracy : ProofRule::kNumbers;
  return prove(to, std::move(model), std::move(variables), {kCppForm, to.options.proof, rule}, compute);
}

}  // namespace shoal
