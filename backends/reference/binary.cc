// SPDX-License-Identifier: Apache-2.0
// Ops of two or three operands that broadcast.
#include <cmath>

#include "loops.h"
#include "projection.h"

namespace shoal::backends::reference {
namespace {

template <class T, class Fn>
void run_binary(const KernelCall& call, Fn fn) {
  const auto a = call.inputs[0].as<T>();
  const auto b = call.inputs[1].as<T>();
  const auto y = call.outputs[0].as<float>();
  if (a.size() == y.size() && b.size() == y.size()) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = fn(a[i], b[i]);
    return;
  }
  const auto to_a = Projection::broadcast(call.outputs[0].shape, call.inputs[0].shape);
  const auto to_b = Projection::broadcast(call.outputs[0].shape, call.inputs[1].shape);
  for (size_t i = 0; i < y.size(); ++i) y[i] = fn(a[to_a(i)], b[to_b(i)]);
}

template <class Fn>
std::unique_ptr<Kernel> make_binary(Fn fn) {
  return make_loop([fn](const KernelCall& call) -> Result<void> {
    run_binary<float>(call, fn);
    return {};
  });
}

/// Makes a kernel that calls `compare` with elements of both operands. Both have the same type, which may be any type.
template <class Compare>
std::unique_ptr<Kernel> make_comparison(Compare compare) {
  return make_loop([compare](const KernelCall& call) -> Result<void> {
    auto as_float = [compare](auto a, auto b) { return compare(a, b) ? 1.0f : 0.0f; };
    switch (call.inputs[0].dtype) {
      case DType::kFloat32: run_binary<float>(call, as_float); break;
      case DType::kInt64: run_binary<int64_t>(call, as_float); break;
      case DType::kInt32: run_binary<int32_t>(call, as_float); break;
      case DType::kUInt8: run_binary<uint8_t>(call, as_float); break;
      case DType::kBool: run_binary<bool>(call, as_float); break;
      default: SHOAL_CHECK(false);
    }
    return {};
  });
}

/// Unlike std::max, gives NaN if either operand is NaN.
float maximum(float a, float b) { return a > b || std::isnan(a) ? a : b; }
float minimum(float a, float b) { return a < b || std::isnan(a) ? a : b; }

float pow_base_grad(float a, float b) { return b == 0 ? 0.0f : float(double(b) * std::pow(double(a), double(b) - 1)); }

float pow_exponent_grad(float a, float b) {
  return a == 0 && b >= 0 ? 0.0f : float(std::pow(double(a), double(b)) * std::log(double(a)));
}

/// log(1 + e^x) - x label, without overflow.
float sigmoid_cross_entropy(float logit, float label) {
  const double x = logit;
  return float(std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))) - x * double(label));
}

template <class T>
void run_select(const KernelCall& call) {
  const auto condition = call.inputs[0].as<T>();
  const auto a = call.inputs[1].as<float>();
  const auto b = call.inputs[2].as<float>();
  const auto y = call.outputs[0].as<float>();
  const auto to_condition = Projection::broadcast(call.outputs[0].shape, call.inputs[0].shape);
  const auto to_a = Projection::broadcast(call.outputs[0].shape, call.inputs[1].shape);
  const auto to_b = Projection::broadcast(call.outputs[0].shape, call.inputs[2].shape);
  for (size_t i = 0; i < y.size(); ++i) y[i] = condition[to_condition(i)] != T(0) ? a[to_a(i)] : b[to_b(i)];
}

std::unique_ptr<Kernel> make_select(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    call.inputs[0].dtype == DType::kBool ? run_select<bool>(call) : run_select<float>(call);
    return {};
  });
}

}  // namespace

void add_binary(const AddMaker& add) {
  add("add", [](const KernelRequest&) { return make_binary([](float a, float b) { return a + b; }); });
  add("sub", [](const KernelRequest&) { return make_binary([](float a, float b) { return a - b; }); });
  add("mul", [](const KernelRequest&) { return make_binary([](float a, float b) { return a * b; }); });
  add("div", [](const KernelRequest&) { return make_binary([](float a, float b) { return a / b; }); });
  add("pow", [](const KernelRequest&) {
    return make_binary([](float a, float b) { return float(std::pow(double(a), double(b))); });
  });
  add("pow_base_grad", [](const KernelRequest&) { return make_binary(pow_base_grad); });
  add("pow_exponent_grad", [](const KernelRequest&) { return make_binary(pow_exponent_grad); });
  add("maximum", [](const KernelRequest&) { return make_binary(maximum); });
  add("minimum", [](const KernelRequest&) { return make_binary(minimum); });
  add("maximum_grad", [](const KernelRequest&) {
    return make_binary([](float a, float b) { return a > b ? 1.0f : a == b ? 0.5f : 0.0f; });
  });
  add("relu_grad", [](const KernelRequest&) { return make_binary([](float dy, float y) { return y > 0 ? dy : 0.0f; }); });
  add("sigmoid_cross_entropy", [](const KernelRequest&) { return make_binary(sigmoid_cross_entropy); });
  add("sigmoid_cross_entropy_grad", [](const KernelRequest&) {
    return make_binary([](float logit, float label) { return float(1 / (1 + std::exp(-double(logit))) - double(label)); });
  });
  add("equal", [](const KernelRequest&) { return make_comparison([](auto a, auto b) { return a == b; }); });
  add("not_equal", [](const KernelRequest&) { return make_comparison([](auto a, auto b) { return a != b; }); });
  add("less", [](const KernelRequest&) { return make_comparison([](auto a, auto b) { return a < b; }); });
  add("less_equal", [](const KernelRequest&) { return make_comparison([](auto a, auto b) { return a <= b; }); });
  add("greater", [](const KernelRequest&) { return make_comparison([](auto a, auto b) { return a > b; }); });
  add("greater_equal", [](const KernelRequest&) { return make_comparison([](auto a, auto b) { return a >= b; }); });
  add("select", make_select);
}

}  // namespace shoal::backends::reference
