// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An export that was read and checked: its graph, the specification of its inputs and outputs, and its weights.
#include <memory>
#include <string>

#include "evaluate/evaluation.h"
#include "model/export_format.h"
#include "model/model.h"
#include "model/read_inputs.h"
#include "shoal/base/environment.h"
#include "shoal/base/storage.h"

namespace shoal {

struct OpenedExport {
  ExportDescription description;
  std::shared_ptr<Graph> graph;
  EstimatorSpec spec;  ///< The model's specification, which names the predictions in `graph`.
  InputTypes types;    ///< The types of the inputs that predictions depend on.
  ReadInputs inputs;
  LoadedVariables variables;
};

/// Opens the export `folder` of `storage`. `ops` null: only Shoal's ops. Errors: those of load_exported_model().
Result<OpenedExport> open_export(Environment& env, Storage& storage, const std::string& folder,
                                 std::shared_ptr<const OpCatalogue> ops);

}  // namespace shoal
