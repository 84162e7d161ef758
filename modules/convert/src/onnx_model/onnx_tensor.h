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

/// DataLoss if the number of elements contradicts the sizes; InvalidArgument for a type, or a way to store elements,
/// that the reader does not know.
Result<NamedTensor> read_tensor(const Message& message, int64_t elements_max);

}  // namespace shoal::convert::onnx_model
