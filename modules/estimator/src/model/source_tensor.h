// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes what a SourceTensor says: first the type, so that mistakes are found before anything is read, then the value.
#include <functional>
#include <set>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/estimator/source_tensor.h"

namespace shoal {

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
};

/// The names of all tensors that `source` takes.
std::set<std::string> names_in(const SourceTensor& source);
/// "fc1.weight.transposed({1, 0})"
std::string to_string(const SourceTensor& source);

/// The type of the result, where `type_of` knows those of the tensors by name. InvalidArgument, naming tensor, step and shapes,
/// for a step that does not fit; also the errors of `type_of`.
Result<TensorType> source_type(const SourceTensor& source,
                               const std::function<Result<TensorType>(const std::string&)>& type_of);
/// The value. Its type has been computed before, without an error. The errors are those of `read`.
Result<Tensor> source_value(const SourceTensor& source, const std::function<Result<Tensor>(const std::string&)>& read);

}  // namespace shoal
