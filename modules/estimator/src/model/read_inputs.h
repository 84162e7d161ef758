// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the inputs that the predictions of an exported model depend on. A caller has to give no others.
#include <string>
#include <vector>

#include "shoal/estimator/estimator_spec.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// The inputs of an export, divided into those that a caller has to give and those that may be left out.
struct ReadInputs {
  /// The inputs whose values predictions are computed from, and those that alone tell the size of an axis. All, if
  /// predictions are computed from none: the size of the batch has to come from something.
  std::vector<ExportedTensor> read;
  std::vector<std::string> unread;  ///< The names of the others.

  /// `features` without those that are not read.
  data::TensorMap of(const data::TensorMap& features) const;
};

Result<ReadInputs> read_inputs(const Graph& graph, const EstimatorSpec& spec, const std::vector<ExportedTensor>& inputs);

}  // namespace shoal
