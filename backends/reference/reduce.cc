// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "loops.h"
#include "projection.h"
#include "shoal/graph/axes.h"

namespace shoal::backends::reference {
namespace {

/// Calls take(result, x) for every element x; `result` is the element of the output, in double, to which `place` maps x. In
/// the end divides all results by `divisor`, and rounds them to float.
template <class Take>
void reduce(const KernelCall& call, const Projection& place, double start, Take take, double divisor = 1) {
  const auto x = call.inputs[0].as<float>();
  const auto y = call.outputs[0].as<float>();
  const std::span results(reinterpret_cast<double*>(call.scratch), y.size());
  std::fill(results.begin(), results.end(), start);
  for (size_t i = 0; i < x.size(); ++i) take(results[place(i)], double(x[i]));
  for (size_t i = 0; i < y.size(); ++i) y[i] = float(results[i] / divisor);
}

void take_sum(double& result, double x) { result += x; }
void take_largest(double& result, double x) {
  if (x > result || std::isnan(x)) result = x;
}

size_t scratch_of(const KernelRequest& request) { return size_t(request.outputs[0].shape.elements()) * sizeof(double); }

Projection place_of(const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  return Projection::without(x, reduced_axes(request.node.attributes, x.rank()));
}

std::unique_ptr<Kernel> make_reduce_sum(const KernelRequest& request) {
  auto loop = [place = place_of(request)](const KernelCall& call) -> Result<void> {
    reduce(call, place, 0, take_sum);
    return {};
  };
  return make_loop(loop, scratch_of(request));
}

std::unique_ptr<Kernel> make_reduce_mean(const KernelRequest& request) {
  auto loop = [place = place_of(request)](const KernelCall& call) -> Result<void> {
    reduce(call, place, 0, take_sum, double(call.inputs[0].elements()) / double(call.outputs[0].elements()));
    return {};
  };
  return make_loop(loop, scratch_of(request));
}

std::unique_ptr<Kernel> make_reduce_max(const KernelRequest& request) {
  auto loop = [place = place_of(request)](const KernelCall& call) -> Result<void> {
    reduce(call, place, -std::numeric_limits<double>::infinity(), take_largest);
    return {};
  };
  return make_loop(loop, scratch_of(request));
}

std::unique_ptr<Kernel> make_sum_like(const KernelRequest& request) {
  auto loop = [](const KernelCall& call) -> Result<void> {
    reduce(call, Projection::broadcast(call.inputs[0].shape, call.outputs[0].shape), 0, take_sum);
    return {};
  };
  return make_loop(loop, scratch_of(request));
}

std::unique_ptr<Kernel> make_fill_like(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    const auto y = call.outputs[0].as<float>();
    std::fill(y.begin(), y.end(), call.inputs[0].as<float>()[0]);
    return {};
  });
}

/// y[i] = x[place(i)] / divisor: elements of x are repeated.
void repeat(const KernelCall& call, const Projection& place, float divisor) {
  const auto x = call.inputs[0].as<float>();
  const auto y = call.outputs[0].as<float>();
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[place(i)] / divisor;
}

Projection source_of(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  if (!request.node.attributes.has("axes")) return Projection::broadcast(y, request.inputs[0].shape);
  return Projection::without(y, request.node.attributes.get_ints("axes"));
}

std::unique_ptr<Kernel> make_broadcast_like(const KernelRequest& request) {
  return make_loop([place = source_of(request)](const KernelCall& call) -> Result<void> {
    repeat(call, place, 1.0f);
    return {};
  });
}

std::unique_ptr<Kernel> make_mean_grad(const KernelRequest& request) {
  return make_loop([place = source_of(request)](const KernelCall& call) -> Result<void> {
    repeat(call, place, float(double(call.outputs[0].elements()) / double(call.inputs[0].elements())));
    return {};
  });
}

}  // namespace

void add_reduce(const AddMaker& add) {
  add("reduce_sum", make_reduce_sum);
  add("reduce_mean", make_reduce_mean);
  add("reduce_max", make_reduce_max);
  add("sum_like", make_sum_like);
  add("fill_like", make_fill_like);
  add("broadcast_like", make_broadcast_like);
  add("mean_grad", make_mean_grad);
}

}  // namespace shoal::backends::reference
