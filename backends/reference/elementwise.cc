// SPDX-License-Identifier: Apache-2.0
#include "loops.h"

namespace shoal::backends::reference {
namespace {

template <class Fn>
std::unique_ptr<Kernel> make_map(Fn fn) {
  return make_loop([fn](const KernelCall& call) -> Result<void> {
    const auto x = call.inputs[0].as<float>();
    const auto y = call.outputs[0].as<float>();
    for (size_t i = 0; i < y.size(); ++i) y[i] = fn(x[i]);
    return {};
  });
}

std::unique_ptr<Kernel> make_scale(const KernelRequest& request) {
  return make_map([factor = float(request.node.attributes.get_real("factor"))](float x) { return x * factor; });
}

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  const double rate = request.node.attributes.get_real("rate");
  const int64_t node_key = request.node.attributes.get_int("key");
  auto loop = [seed = request.graph_seed, node_key, threshold = dropout_threshold(rate),
               scale = dropout_scale(rate)](const KernelCall& call) -> Result<void> {
    const RandomKey sequence = random_sequence(seed, node_key, call.key.trainer, call.key.ordinal);
    const auto x = call.inputs[0].as<float>();
    const auto y = call.outputs[0].as<float>();
    for (size_t i = 0; i < y.size(); i += 4) {
      const auto numbers = philox(sequence, i / 4);
      for (size_t k = 0; k < 4 && i + k < y.size(); ++k) y[i + k] = numbers[k] >= threshold ? x[i + k] * scale : 0.0f;
    }
    return {};
  };
  return make_loop(loop);
}

}  // namespace

void add_elementwise(const AddMaker& add) {
  add("relu", [](const KernelRequest&) { return make_map(relu); });
  add("square", [](const KernelRequest&) { return make_map([](float x) { return x * x; }); });
  add("scale", make_scale);
  add("dropout", make_dropout);
}

}  // namespace shoal::backends::reference
