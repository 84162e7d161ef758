// SPDX-License-Identifier: Apache-2.0
// Functions of one operand and their slopes. Each is computed in double, and only the result is rounded to float.
#include <algorithm>
#include <cmath>
#include <limits>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

const double kPi = std::acos(-1.0);

template <class Fn>
std::unique_ptr<Kernel> make_unary(Fn fn) {
  return make_loop([fn](const KernelCall& call) -> Result<void> {
    const auto x = call.inputs[0].as<float>();
    const auto y = call.outputs[0].as<float>();
    for (size_t i = 0; i < y.size(); ++i) y[i] = float(fn(double(x[i])));
    return {};
  });
}

/// dx = dy * slope(v), where v is the output or the input, whichever the gradient rule passes.
template <class Fn>
std::unique_ptr<Kernel> make_slope(Fn slope) {
  return make_loop([slope](const KernelCall& call) -> Result<void> {
    const auto dy = call.inputs[0].as<float>();
    const auto v = call.inputs[1].as<float>();
    const auto dx = call.outputs[0].as<float>();
    for (size_t i = 0; i < dx.size(); ++i) dx[i] = float(double(dy[i]) * slope(double(v[i])));
    return {};
  });
}

double softplus(double x) { return (x > 0 ? x : 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

/// x times `share`; 0 if `share` is 0, even if x is minus infinity.
double weighed(double x, double share) { return share == 0 ? 0.0 : x * share; }

double normal_share(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
double gelu(double x) { return weighed(x, normal_share(x)); }
double gelu_slope(double x) { return normal_share(x) + weighed(x, std::exp(-x * x / 2) / std::sqrt(2 * kPi)); }

/// (1 + tanh(u)) / 2 is sigmoid(2 u).
double tanh_share(double x) { return sigmoid(2 * std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x)); }
double gelu_tanh(double x) { return weighed(x, tanh_share(x)); }
double gelu_tanh_slope(double x) {
  const double share = tanh_share(x);
  const double change = share * (1 - share);
  return share + (change == 0 ? 0.0 : x * change * 2 * std::sqrt(2 / kPi) * (1 + 3 * 0.044715 * x * x));
}

double silu(double x) { return weighed(x, sigmoid(x)); }
double silu_slope(double x) { return sigmoid(x) + weighed(x, sigmoid(x) * (1 - sigmoid(x))); }

double alpha_of(const KernelRequest& request) { return request.node.attributes.get_real("alpha"); }

}  // namespace

void add_unary(const AddMaker& add) {
  add("exp", [](const KernelRequest&) { return make_unary([](double x) { return std::exp(x); }); });
  add("log", [](const KernelRequest&) { return make_unary([](double x) { return std::log(x); }); });
  add("sqrt", [](const KernelRequest&) { return make_unary([](double x) { return std::sqrt(x); }); });
  add("rsqrt", [](const KernelRequest&) { return make_unary([](double x) { return 1 / std::sqrt(x); }); });
  add("reciprocal", [](const KernelRequest&) { return make_unary([](double x) { return 1 / x; }); });
  add("erf", [](const KernelRequest&) { return make_unary([](double x) { return std::erf(x); }); });
  add("sin", [](const KernelRequest&) { return make_unary([](double x) { return std::sin(x); }); });
  add("cos", [](const KernelRequest&) { return make_unary([](double x) { return std::cos(x); }); });
  add("abs", [](const KernelRequest&) { return make_unary([](double x) { return std::fabs(x); }); });
  add("abs_grad", [](const KernelRequest&) { return make_slope(sign); });
  add("sigmoid", [](const KernelRequest&) { return make_unary(sigmoid); });
  add("sigmoid_grad", [](const KernelRequest&) { return make_slope([](double y) { return y * (1 - y); }); });
  add("tanh", [](const KernelRequest&) { return make_unary([](double x) { return std::tanh(x); }); });
  add("tanh_grad", [](const KernelRequest&) { return make_slope([](double y) { return 1 - y * y; }); });
  add("softplus", [](const KernelRequest&) { return make_unary(softplus); });
  // The slope of softplus is sigmoid(x). It is computed from the result y = softplus(x) = log(1 + e^x).
  add("softplus_grad", [](const KernelRequest&) { return make_slope([](double y) { return -std::expm1(-y); }); });
  add("leaky_relu", [](const KernelRequest& request) {
    return make_unary([alpha = alpha_of(request)](double x) { return x > 0 ? x : alpha * x; });
  });
  add("leaky_relu_grad", [](const KernelRequest& request) {
    return make_slope([alpha = alpha_of(request)](double y) { return y > 0 ? 1.0 : alpha; });
  });
  add("elu", [](const KernelRequest& request) {
    return make_unary([alpha = alpha_of(request)](double x) { return x > 0 ? x : alpha * std::expm1(x); });
  });
  add("elu_grad", [](const KernelRequest& request) {
    return make_slope([alpha = alpha_of(request)](double y) { return y > 0 ? 1.0 : y + alpha; });
  });
  add("gelu", [](const KernelRequest&) { return make_unary(gelu); });
  add("gelu_grad", [](const KernelRequest&) { return make_slope(gelu_slope); });
  add("gelu_tanh", [](const KernelRequest&) { return make_unary(gelu_tanh); });
  add("gelu_tanh_grad", [](const KernelRequest&) { return make_slope(gelu_tanh_slope); });
  add("silu", [](const KernelRequest&) { return make_unary(silu); });
  add("silu_grad", [](const KernelRequest&) { return make_slope(silu_slope); });
}

}  // namespace shoal::backends::reference
