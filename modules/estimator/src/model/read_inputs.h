// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the inputs that the predictions of an exported model depend on. Callers may leave out all others.
#include <string>
#include <vector>

#include "shoal/estimator/estimator_spec.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// The inputs of an export in two groups: those that a caller has to give, and those that may be left out.
struct ReadInputs {
  /// The inputs that a caller has to give: those from which predictions are computed, and those without which the size of
  /// some axis is unknown. If predictions depend on no input, all inputs are in this list, because the size of the batch
  /// has to be known.
  std::vector<ExportedTensor> read;
  std::vector<std::string> unread;  ///< The names of the inputs that may be left out.

  /// Returns `features` without the inputs in `unread`.
  data::TensorMap of(const data::TensorMap& features) const;
};

Result<ReadInputs> read_inputs(const Graph& graph, const EstimatorSpec& spec, const std::vector<ExportedTensor>& inputs);

}  // namespace shoal
