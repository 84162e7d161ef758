// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TensorProto: a constant of an ONNX file.
#include <string>

#include "onnx_model/wire.h"
#include "shoal/base/tensor.h"

namespace shoal::convert::onnx_model {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Reads a TensorProto. DataLoss if the number of elements contradicts the sizes. InvalidArgument if the reader does not
/// know the type of the elements, or the way in which they are stored.
Result<NamedTensor> read_tensor(const Message& message, int64_t elements_max);

}  // namespace shoal::convert::onnx_model
