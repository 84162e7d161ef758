// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Adds the files of another format, such as ONNX, to an export, and proves that they give the same predictions as Shoal.
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "evaluate/form_request.h"
#include "model/export_format.h"
#include "model/model.h"
#include "model/read_inputs.h"
#include "shoal/base/environment.h"
#include "shoal/convert/trained_model.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/export_form.h"

namespace shoal {

/// Describes a model to the converters of other formats: its graph of predictions and its weights. The arguments outlive
/// the result. If `variables` is null, the result has no weights, which is enough for export_obstacles().
convert::TrainedModel trained_model_of(Graph& graph, const EstimatorSpec& spec, const std::vector<ExportedTensor>& inputs,
                                       const LoadedVariables* variables, int64_t global_step);

/// InvalidArgument if a number in `proof` is out of range, or if a proof is requested for kShoal: Shoal's own format
/// needs no proof.
Result<void> check_proof(ExportFormat format, const ExportProof& proof);

/// What write_form() makes: the files of the requested format, or the reason why the export is not published.
struct WrittenForm {
  std::vector<ExportedFile> files;
  std::string refusal;
};
/// Writes the files of the format that `to` asks for and, if it asks for a proof, the results of the proof. `model` and
/// `variables` are the exported model and its weights. The proof computes Shoal's predictions with them, so `model` cannot
/// be used afterwards.
Result<WrittenForm> write_form(const FormToWrite& to, std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                               const std::vector<ExportedTensor>& inputs, int64_t global_step);

/// The reasons why a format cannot express the model, each naming a node.
std::vector<std::string> form_obstacles(ExportFormat format, const convert::TrainedModel& model);

/// The folder of an export, or the reason why the export was not published: the requested proof failed.
struct ExportOutcome {
  std::string path;
  std::string refusal;
};
/// Implements Estimator::try_export_model() for the checkpoint that `options` name.
Result<ExportOutcome> export_checkpoint(const Estimator& estimator, const std::string& base_dir,
                                        const InputFn& serving_input, const ExportOptions& options);

}  // namespace shoal
