#pragma once
/// Which inputs of an exported model its predictions read: no others are asked of a caller.
#include <string>
#include <vector>

#include "shoal/estimator/estimator_spec.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// What a caller has to give of an export's inputs, and what may be given too.
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
