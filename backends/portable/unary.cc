// SPDX-License-Identifier: Apache-2.0
// Functions of one operand, and their slopes. (oneDNN has most of them, but takes 0.4 us a call and gives other bits on
// every instruction set.)
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "shoal/base/forever.h"
#include "sources.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

enum class Function : uint8_t {
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kAbs,
  kErf,
  kSigmoid,
  kTanh,
  kSoftplus,
  kLeakyRelu,
  kElu,
  kGelu,
  kGeluTanh,
  kSilu,
};

constexpr float kRootHalf = 0.70710678118654752f;
constexpr float kRootTwoByPi = 0.79788456080286536f;
constexpr float kTanhCubic = 0.044715f;

// The second parameter of these functions is the node's alpha, which most functions do not use.

SHOAL_ALWAYS_INLINE float exponential(float x, float) { return vector_exp(x); }
SHOAL_ALWAYS_INLINE float logarithm(float x, float) { return vector_log(x); }
SHOAL_ALWAYS_INLINE float root(float x, float) { return std::sqrt(x); }
SHOAL_ALWAYS_INLINE float reciprocal_root(float x, float) { return 1.0f / std::sqrt(x); }
SHOAL_ALWAYS_INLINE float reciprocal(float x, float) { return 1.0f / x; }
SHOAL_ALWAYS_INLINE float magnitude(float x, float) { return std::fabs(x); }
SHOAL_ALWAYS_INLINE float erf(float x, float) { return vector_erf(x); }
SHOAL_ALWAYS_INLINE float sigmoid(float x, float) { return vector_sigmoid(x); }
SHOAL_ALWAYS_INLINE float tanh(float x, float) { return vector_tanh(x); }
SHOAL_ALWAYS_INLINE float softplus(float x, float) { return vector_softplus(x); }
SHOAL_ALWAYS_INLINE float leaky_relu(float x, float alpha) { return x > 0.0f ? x : alpha * x; }
SHOAL_ALWAYS_INLINE float elu(float x, float alpha) {
  const float below = alpha * vector_expm1_negative(x > 0.0f ? 0.0f : x);
  return x > 0.0f ? x : below;
}

/// x times `share`, which is 0 for x far below zero. The result for minus infinity is 0, not NaN.
SHOAL_ALWAYS_INLINE float weighed(float x, float share) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return (x < kLowest ? kLowest : x) * share;
}
/// The probability that a standard normal variable is below x.
SHOAL_ALWAYS_INLINE float normal_share(float x) { return 0.5f + 0.5f * vector_erf(x * kRootHalf); }
/// (1 + tanh(u)) / 2 is sigmoid(2 u).
SHOAL_ALWAYS_INLINE float tanh_share(float x) { return vector_sigmoid(2.0f * kRootTwoByPi * (x + kTanhCubic * x * x * x)); }
SHOAL_ALWAYS_INLINE float gelu(float x, float) { return weighed(x, normal_share(x)); }
SHOAL_ALWAYS_INLINE float gelu_tanh(float x, float) { return weighed(x, tanh_share(x)); }
SHOAL_ALWAYS_INLINE float silu(float x, float) { return weighed(x, vector_sigmoid(x)); }

/// y = kFunction(x, alpha); y may be x.
template <float (*kFunction)(float, float)>
SHOAL_ALWAYS_INLINE void each(const float* x, float alpha, float* y, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) y[i] = kFunction(x[i], alpha);
}

SHOAL_VECTOR_LOOP void run_function(Function function, float alpha, const float* x, float* y, int64_t count) {
  switch (function) {
    case Function::kExp: return each<exponential>(x, alpha, y, count);
    case Function::kLog: return each<logarithm>(x, alpha, y, count);
    case Function::kSqrt: return each<root>(x, alpha, y, count);
    case Function::kRsqrt: return each<reciprocal_root>(x, alpha, y, count);
    case Function::kReciprocal: return each<reciprocal>(x, alpha, y, count);
    case Function::kAbs: return each<magnitude>(x, alpha, y, count);
    case Function::kErf: return each<erf>(x, alpha, y, count);
    case Function::kSigmoid: return each<sigmoid>(x, alpha, y, count);
    case Function::kTanh: return each<tanh>(x, alpha, y, count);
    case Function::kSoftplus: return each<softplus>(x, alpha, y, count);
    case Function::kLeakyRelu: return each<leaky_relu>(x, alpha, y, count);
    case Function::kElu: return each<elu>(x, alpha, y, count);
    case Function::kGelu: return each<gelu>(x, alpha, y, count);
    case Function::kGeluTanh: return each<gelu_tanh>(x, alpha, y, count);
    case Function::kSilu: return each<silu>(x, alpha, y, count);
  }
}

// The derivatives (slopes) of the functions above, computed from x or, if the output y is sufficient, from y.

SHOAL_ALWAYS_INLINE float abs_slope(float x, float) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x); }
SHOAL_ALWAYS_INLINE float sigmoid_slope(float y, float) { return y * (1.0f - y); }
SHOAL_ALWAYS_INLINE float tanh_slope(float y, float) { return 1.0f - y * y; }
/// The derivative of y = log(1 + e^x) is sigmoid(x), which equals 1 - e^-y.
SHOAL_ALWAYS_INLINE float softplus_slope(float y, float) { return -vector_expm1_negative(-y); }
SHOAL_ALWAYS_INLINE float leaky_relu_slope(float y, float alpha) { return y > 0.0f ? 1.0f : alpha; }
SHOAL_ALWAYS_INLINE float elu_slope(float y, float alpha) { return y > 0.0f ? 1.0f : y + alpha; }

/// Beyond these bounds the slopes of gelu and silu are 0 or 1. Without the bounds, infinity might be multiplied by 0.
SHOAL_ALWAYS_INLINE float within_reach(float x) { return vector_clamp(x, -100.0f, 100.0f); }
SHOAL_ALWAYS_INLINE float gelu_slope(float unbounded, float) {
  const float x = within_reach(unbounded);
  const float density = vector_exp(-0.5f * x * x) * (0.5f * kRootTwoByPi);
  return normal_share(x) + x * density;
}
SHOAL_ALWAYS_INLINE float gelu_tanh_slope(float unbounded, float) {
  const float x = within_reach(unbounded);
  const float share = tanh_share(x);
  const float inner = 2.0f * kRootTwoByPi * (1.0f + 3.0f * kTanhCubic * x * x);
  return share + x * share * (1.0f - share) * inner;
}
SHOAL_ALWAYS_INLINE float silu_slope(float unbounded, float) {
  const float x = within_reach(unbounded);
  const float share = vector_sigmoid(x);
  return share + x * share * (1.0f - share);
}

/// dx = dy * kSlope(v, alpha); dx may be dy or v.
template <float (*kSlope)(float, float)>
SHOAL_ALWAYS_INLINE void times_slope(const float* dy, const float* v, float alpha, float* dx, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * kSlope(v[i], alpha);
}

SHOAL_VECTOR_LOOP void run_slope(Function function, float alpha, const float* dy, const float* v, float* dx,
                                 int64_t count) {
  switch (function) {
    case Function::kAbs: return times_slope<abs_slope>(dy, v, alpha, dx, count);
    case Function::kSigmoid: return times_slope<sigmoid_slope>(dy, v, alpha, dx, count);
    case Function::kTanh: return times_slope<tanh_slope>(dy, v, alpha, dx, count);
    case Function::kSoftplus: return times_slope<softplus_slope>(dy, v, alpha, dx, count);
    case Function::kLeakyRelu: return times_slope<leaky_relu_slope>(dy, v, alpha, dx, count);
    case Function::kElu: return times_slope<elu_slope>(dy, v, alpha, dx, count);
    case Function::kGelu: return times_slope<gelu_slope>(dy, v, alpha, dx, count);
    case Function::kGeluTanh: return times_slope<gelu_tanh_slope>(dy, v, alpha, dx, count);
    case Function::kSilu: return times_slope<silu_slope>(dy, v, alpha, dx, count);
    default: return;  // The gradients of exp, log, ... are made of other ops.
  }
}

struct Entry {
  Function function;
  int64_t element_bytes;  ///< The cost of an element, expressed as bytes moved.
};
using Table = std::map<std::string, Entry, std::less<>>;

const Table& function_ops() {
  static const auto& table = forever(Table{
      {"exp", {Function::kExp, 16}},
      {"log", {Function::kLog, 16}},
      {"sqrt", {Function::kSqrt, 12}},
      {"rsqrt", {Function::kRsqrt, 16}},
      {"reciprocal", {Function::kReciprocal, 8}},
      {"abs", {Function::kAbs, 8}},
      {"erf", {Function::kErf, 24}},
      {"sigmoid", {Function::kSigmoid, 24}},
      {"tanh", {Function::kTanh, 24}},
      {"softplus", {Function::kSoftplus, 32}},
      {"leaky_relu", {Function::kLeakyRelu, 8}},
      {"elu", {Function::kElu, 24}},
      {"gelu", {Function::kGelu, 32}},
      {"gelu_tanh", {Function::kGeluTanh, 32}},
      {"silu", {Function::kSilu, 24}},
  });
  return table;
}

const Table& slope_ops() {
  static const auto& table = forever(Table{
      {"abs_grad", {Function::kAbs, 12}},
      {"sigmoid_grad", {Function::kSigmoid, 12}},
      {"tanh_grad", {Function::kTanh, 12}},
      {"softplus_grad", {Function::kSoftplus, 24}},
      {"leaky_relu_grad", {Function::kLeakyRelu, 12}},
      {"elu_grad", {Function::kElu, 12}},
      {"gelu_grad", {Function::kGelu, 48}},
      {"gelu_tanh_grad", {Function::kGeluTanh, 48}},
      {"silu_grad", {Function::kSilu, 32}},
  });
  return table;
}

float alpha_of(const KernelRequest& request) {
  return request.node.attributes.has("alpha") ? float(request.node.attributes.get_real("alpha")) : 0.0f;
}

}  // namespace

std::unique_ptr<Kernel> make_function(const KernelRequest& request) {
  const auto found = function_ops().find(request.node.op);
  if (!all_float32(request) || found == function_ops().end()) return nullptr;
  const int64_t count = request.outputs[0].shape.elements();
  const float alpha = alpha_of(request);
  return make_loop([=, entry = found->second, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    parallel_for(threads, count, count * entry.element_bytes, [=](int64_t begin, int64_t end) {
      run_function(entry.function, alpha, x + begin, y + begin, end - begin);
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_slope(const KernelRequest& request) {
  const auto found = slope_ops().find(request.node.op);
  if (!all_float32(request) || found == slope_ops().end()) return nullptr;
  const int64_t count = request.outputs[0].shape.elements();
  const float alpha = alpha_of(request);
  return make_loop([=, entry = found->second, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float *dy = floats(call.inputs[0]), *v = floats(call.inputs[1]);
    float* dx = floats(call.outputs[0]);
    parallel_for(threads, count, count * entry.element_bytes, [=](int64_t begin, int64_t end) {
      run_slope(entry.function, alpha, dy + begin, v + begin, dx + begin, end - begin);
    });
    return {};
  });
}

}  // namespace shoal::backends::portable
