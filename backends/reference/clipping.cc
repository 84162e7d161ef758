// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

struct Limits {
  float low, high;
  explicit Limits(const KernelRequest& request)
      : low(float(request.node.attributes.get_real("low"))), high(float(request.node.attributes.get_real("high"))) {}
};

std::unique_ptr<Kernel> make_clip(const KernelRequest& request) {
  return make_loop([limits = Limits(request)](const KernelCall& call) -> Result<void> {
    const auto x = call.inputs[0].as<float>();
    const auto y = call.outputs[0].as<float>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] < limits.low ? limits.low : (x[i] > limits.high ? limits.high : x[i]);
    return {};
  });
}

std::unique_ptr<Kernel> make_clip_grad(const KernelRequest& request) {
  return make_loop([limits = Limits(request)](const KernelCall& call) -> Result<void> {
    const auto dy = call.inputs[0].as<float>(), x = call.inputs[1].as<float>();
    const auto dx = call.outputs[0].as<float>();
    for (size_t i = 0; i < x.size(); ++i) dx[i] = x[i] < limits.low || x[i] > limits.high ? 0.0f : dy[i];
    return {};
  });
}

std::unique_ptr<Kernel> make_global_norm(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    double sum = 0;
    for (const TensorView& input : call.inputs) {
      for (float value : input.as<float>()) sum += double(value) * double(value);
    }
    call.outputs[0].as<float>()[0] = float(std::sqrt(sum));
    return {};
  });
}

}  // namespace

void add_clipping(const AddMaker& add) {
  add("clip", make_clip);
  add("clip_grad", make_clip_grad);
  add("global_norm", make_global_norm);
}

}  // namespace shoal::backends::reference
