// SPDX-License-Identifier: Apache-2.0
#pragma once
/// From features to the input of a deep part, or to the logits of a linear one.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/columns/column.h"
#include "shoal/nn/value_map.h"

namespace shoal::columns {

struct InputLayerOptions {
  std::string name = "input_layer";  ///< The scope of the variables.
};
/// All columns side by side, in the order of their names: [batch, values] float32.
///
/// Raises InvalidArgument without columns, for two of one name, a categorical column that is not wrapped by indicator() or
/// embedding(), and a feature that is missing or of a type or shape that its column does not take. Data that do not fit (an
/// id out of range, NaN) end the step with InvalidArgument, naming the row.
Value input_layer(const nn::ValueMap& features, const std::vector<Column>& columns, const InputLayerOptions& options = {});

struct LinearLayerOptions {
  int64_t units = 1;                             ///< Outputs, >= 1.
  ops::Combiner combiner = ops::Combiner::kSum;  ///< How the weights of several ids of one column are combined.
  std::string name = "linear";                   ///< The scope of the variables.
};
/// The sum over columns of their weights, plus a bias: [batch, units] float32. Variables "<name>/<column>/weights", [ids,
/// units] of categorical columns and [units, values] of the others (a column called "bias": "<name>/bias_column/weights"), and
/// "<name>/bias" [units]; all start at 0. Raises the errors of input_layer(), but takes categorical columns as they are.
Value linear_layer(const nn::ValueMap& features, const std::vector<Column>& columns,
                   const LinearLayerOptions& options = {});

}  // namespace shoal::columns
