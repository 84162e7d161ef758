// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns features into the input of a deep part (a network of layers), or into the logits of a linear part.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/columns/column.h"
#include "shoal/nn/value_map.h"

namespace shoal::columns {

struct InputLayerOptions {
  std::string name = "input_layer";  ///< The scope (a prefix of names) of the layer's variables.
};
/// The values of all columns side by side, in the order of the columns' names: [batch, values] float32.
///
/// Raises InvalidArgument without columns, for two columns with one name, for a categorical column that is not wrapped by
/// indicator() or embedding(), and for a feature that is missing or has a type or shape that its column does not take. Data
/// that do not fit (an id out of range, NaN) end the step with InvalidArgument, which names the row.
Value input_layer(const nn::ValueMap& features, const std::vector<Column>& columns, const InputLayerOptions& options = {});

struct LinearLayerOptions {
  int64_t units = 1;                             ///< The number of outputs, >= 1.
  ops::Combiner combiner = ops::Combiner::kSum;  ///< How the weights of a column's ids in one example are combined.
  std::string name = "linear";                   ///< The scope of the layer's variables: "linear/bias", ...
};
/// The sum of the weights of all columns, plus a bias: [batch, units] float32. Adds variables "<name>/<column>/weights",
/// which are [ids, units] for categorical columns and [units, values] for others (for a column named "bias":
/// "<name>/bias_column/weights"), and "<name>/bias" [units]. All are 0 at first. Raises the errors of input_layer(), except
/// that categorical columns need no indicator() or embedding() here.
Value linear_layer(const nn::ValueMap& features, const std::vector<Column>& columns,
                   const LinearLayerOptions& options = {});

}  // namespace shoal::columns
