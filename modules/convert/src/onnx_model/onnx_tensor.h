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

/// DataLoss where the elements are not as many as the sizes say; InvalidArgument for a type or a place of elements that is not
/// known here.
Result<NamedTensor> read_tensor(const Message& message, int64_t elements_max);

}  // namespace shoal::convert::onnx_model
