// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inputs of a model: their names, their types, and the sizes that a batch gives their axes.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/data/element.h"
#include "shoal/estimator/estimator.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// The types of named tensors; the name of a lone tensor is empty.
using NamedTypes = std::vector<std::pair<std::string, ValueType>>;
/// The types of a dataset's elements. The first dimension of each tensor is the batch.
struct InputTypes {
  NamedTypes features, labels;
};
/// The symbol for the first axis of every input.
inline constexpr char kBatchAxis[] = "batch";

/// The types of the tensors in `batch`; axes that `varying` names become symbols. InvalidArgument if a tensor has no batch
/// dimension, sizes differ that have to be equal, or `varying` names an input or axes that do not exist.
Result<InputTypes> input_types(const data::Batch& batch, const VaryingAxes& varying);
/// The size of the first axis, which all tensors of `batch` share.
Result<int64_t> batch_size(const data::Batch& batch);
/// The size of each symbol of `types` in `batch`. InvalidArgument if a symbol has two sizes, or if the batch's tensors have
/// other names than the inputs.
Result<SymbolSizes> sizes_in(const data::Batch& batch, const InputTypes& types);
/// The error for a tensor that is given to the graph input `input`, which takes `dtype` and `shape`.
Error wrong_type(const std::string& input, const Tensor& tensor, DType dtype, const std::string& shape);

/// The name of a graph input: "features" for a lone tensor, "features/<name>" in a map.
std::string input_name(std::string_view part, std::string_view name);
/// The names of all inputs of one part, "features/a, features/b"; "nothing" if there are none.
std::string input_names(const NamedTypes& types, std::string_view part);

}  // namespace shoal
