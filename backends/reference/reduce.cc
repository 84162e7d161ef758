#include <algorithm>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

double sum_of(TensorView x) {
  double sum = 0;
  for (float value : x.as<float>()) sum += double(value);
  return sum;
}

std::unique_ptr<Kernel> make_reduce_sum(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    call.outputs[0].as<float>()[0] = float(sum_of(call.inputs[0]));
    return {};
  });
}

std::unique_ptr<Kernel> make_reduce_mean(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    call.outputs[0].as<float>()[0] = float(sum_of(call.inputs[0]) / double(call.inputs[0].elements()));
    return {};
  });
}

std::unique_ptr<Kernel> make_fill_like(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    const auto y = call.outputs[0].as<float>();
    std::fill(y.begin(), y.end(), call.inputs[0].as<float>()[0]);
    return {};
  });
}

std::unique_ptr<Kernel> make_mean_grad(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    const auto dx = call.outputs[0].as<float>();
    std::fill(dx.begin(), dx.end(), call.inputs[0].as<float>()[0] / float(dx.size()));
    return {};
  });
}

}  // namespace

void add_reduce(const AddMaker& add) {
  add("reduce_sum", make_reduce_sum);
  add("reduce_mean", make_reduce_mean);
  add("fill_like", make_fill_like);
  add("mean_grad", make_mean_grad);
}

}  // namespace shoal::backends::reference
