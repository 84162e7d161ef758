// SPDX-License-Identifier: Apache-2.0
// Ops in which element i of the result depends only on elements i of the operands, or only on a scalar.
#include "sources.h"

namespace shoal::backends::portable {

std::unique_ptr<Kernel> make_unary(const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  const std::string& op = request.node.op;
  const int64_t count = request.outputs[0].shape.elements();
  const int threads = request.threads;
  if (op == "scale") {
    const float factor = float(request.node.attributes.get_real("factor"));
    return make_loop([=](const KernelCall& call) -> Result<void> {
      scale(threads, floats(call.inputs[0]), factor, floats(call.outputs[0]), count);
      return {};
    });
  }
  const auto loop = op == "relu" ? &relu : op == "square" ? &square : nullptr;
  if (!loop) return nullptr;
  return make_loop([=](const KernelCall& call) -> Result<void> {
    loop(threads, floats(call.inputs[0]), floats(call.outputs[0]), count);
    return {};
  });
}

std::unique_ptr<Kernel> make_fill(const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  const int64_t count = request.outputs[0].shape.elements();
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    fill(threads, *floats(call.inputs[0]), floats(call.outputs[0]), count);
    return {};
  });
}

std::unique_ptr<Kernel> make_cast(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kUInt8 || request.outputs[0].dtype != DType::kFloat32) return nullptr;
  const int64_t count = request.outputs[0].shape.elements();
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    bytes_to_floats(threads, reinterpret_cast<const uint8_t*>(call.inputs[0].data), floats(call.outputs[0]), count);
    return {};
  });
}

}  // namespace shoal::backends::portable
