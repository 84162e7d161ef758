// SPDX-License-Identifier: Apache-2.0
#include "requests.h"

#include <algorithm>

namespace shoal::backends {

bool fused_relu(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return attributes.has("activation") && attributes.get_string("activation") == "relu";
}

bool all_float32(const KernelRequest& request) {
  auto is_float = [](const TensorType& type) { return type.dtype == DType::kFloat32; };
  return std::all_of(request.inputs.begin(), request.inputs.end(), is_float) &&
         std::all_of(request.outputs.begin(), request.outputs.end(), is_float);
}

bool none_empty(const KernelRequest& request) {
  auto has_elements = [](const TensorType& type) { return type.shape.elements() > 0; };
  return std::all_of(request.inputs.begin(), request.inputs.end(), has_elements) &&
         std::all_of(request.outputs.begin(), request.outputs.end(), has_elements);
}

}  // namespace shoal::backends
