// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes the file of an export's format beside the files that Shoal loads, and proves it.
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

/// A graph of predictions with its weights, as converters take it. All three outlive what is returned. `variables` null: without
/// weights, to ask for obstacles alone.
convert::TrainedModel trained_model_of(Graph& graph, const EstimatorSpec& spec, const std::vector<ExportedTensor>& inputs,
                                       const LoadedVariables* variables, int64_t global_step);

/// InvalidArgument if the proof has a number out of its range, or there is nothing to prove.
Result<void> check_proof(ExportFormat format, const ExportProof& proof);

/// Files of the export beside those that Shoal loads; or why the export is not published.
struct WrittenForm {
  std::vector<ExportedFile> files;
  std::string refusal;
};
/// Writes the files of the format, and the evidence. `model` and `variables` are those of the export;
/// the model computes Shoal's side of the proof, and cannot be used afterwards.
Result<WrittenForm> write_form(const FormToWrite& to, std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                               const std::vector<ExportedTensor>& inputs, int64_t global_step);

/// Why a format cannot say the model, naming each node.
std::vector<std::string> form_obstacles(ExportFormat format, const convert::TrainedModel& model);

/// The folder of an export, or why it was not published: it lacks the proof that was asked for.
struct ExportOutcome {
  std::string path;
  std::string refusal;
};
/// Estimator::try_export_model() of the checkpoint that `options` name.
Result<ExportOutcome> export_checkpoint(const Estimator& estimator, const std::string& base_dir,
                                        const InputFn& serving_input, const ExportOptions& options);

}  // namespace shoal
