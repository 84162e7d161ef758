// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/initializers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace shoal::nn {
namespace {

using Kind = Initializer::Kind;

/// The standard deviation of a standard normal truncated at two standard deviations.
constexpr double kTruncatedStddev = 0.87962566103423978;

/// The largest number of elements of an orthogonal matrix. It bounds the work that a message from outside can cause.
constexpr int64_t kMatrixElementsMax = int64_t(1) << 26;

template <class T>
Result<void> fill_constant(double value, MutableTensorView out) {
  const bool in_range = value >= double(std::numeric_limits<T>::lowest()) && value <= double(std::numeric_limits<T>::max());
  // For int64, in_range is true even for 2^63, which int64 cannot hold: the limit 2^63 - 1 above is rounded to 2^63 when it
  // becomes a double. So this line excludes 2^63.
  const bool fits = in_range && std::trunc(value) == value && !(sizeof(T) == 8 && value >= 0x1p63);
  if (!fits) {
    return invalid_argument("initializer: constant " + std::to_string(value) + " cannot be held by " +
                            std::string(to_string(out.dtype)));
  }
  std::ranges::fill(out.as<T>(), T(value));
  return {};
}

Result<void> initialize_constant(double value, MutableTensorView out) {
  switch (out.dtype) {
    case DType::kFloat32: std::ranges::fill(out.as<float>(), float(value)); return {};
    case DType::kInt32: return fill_constant<int32_t>(value, out);
    case DType::kInt64: return fill_constant<int64_t>(value, out);
    case DType::kUInt8: return fill_constant<uint8_t>(value, out);
    case DType::kBool: return fill_constant<bool>(value, out);
    default: break;
  }
  return invalid_argument("initializer: no constants of " + std::string(to_string(out.dtype)) +
                          "; use float32, int32, int64, uint8 or bool");
}

/// A sum of products, in an order that compilers can vectorise.
double dot(const double* a, const double* b, size_t count) {
  constexpr size_t kLanes = 8;
  double sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (double lane : sums) sum += lane;
  return sum;
}

/// Makes `count` vectors of `length` numbers orthonormal, each against those before it (modified Gram-Schmidt). If they
/// start as normal random numbers, the result is uniformly distributed: Mezzadri, "How to generate random matrices from the
/// classical compact groups" (2007).
void orthonormalize(std::vector<double>& vectors, size_t count, size_t length) {
  for (size_t i = 0; i < count; ++i) {
    double* own = &vectors[i * length];
    const double scale = 1 / std::sqrt(dot(own, own, length));
    for (size_t k = 0; k < length; ++k) own[k] *= scale;
    for (size_t j = i + 1; j < count; ++j) {
      double* other = &vectors[j * length];
      const double along = dot(own, other, length);
      for (size_t k = 0; k < length; ++k) other[k] -= along * own[k];
    }
  }
}

/// A process that needs some of the rows computes the whole matrix, and keeps those rows.
Result<void> initialize_orthogonal(const Initializer& initializer, RandomKey key, int64_t first_element,
                                   MutableTensorView out) {
  const auto rows = int64_t(initializer.b);
  if (out.elements() == 0) return {};
  const int64_t columns = out.shape.rank() == 0 ? 1 : out.elements() / out.shape[0];
  if (columns > kMatrixElementsMax / rows || first_element % columns != 0 || first_element / columns > rows ||
      out.elements() / columns > rows - first_element / columns) {
    return invalid_argument("initializer: " + to_string(out.shape) + " from element " + std::to_string(first_element) +
                            " is no part of an orthogonal matrix of " + std::to_string(rows) +
                            " rows, or that has more than 2^26 elements");
  }
  const auto count = size_t(std::min(rows, columns)), length = size_t(std::max(rows, columns));
  std::vector<float> normal(count * length);
  fill_normal(key, 0, normal, 0, 1);
  std::vector<double> vectors(normal.begin(), normal.end());
  orthonormalize(vectors, count, length);
  const auto values = out.as<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t element = size_t(first_element) + i, row = element / size_t(columns), column = element % size_t(columns);
    values[i] = float(initializer.a * (rows <= columns ? vectors[row * length + column] : vectors[column * length + row]));
  }
  return {};
}

}  // namespace

Fans fans_of(const Shape& kernel) {
  if (kernel.rank() < 2) return {double(kernel.elements()), double(kernel.elements())};
  double window = 1;
  for (int axis = 2; axis < kernel.rank(); ++axis) window *= double(kernel[axis]);
  return {double(kernel[1]) * window, double(kernel[0]) * window};
}

InitializerSpec::InitializerSpec(Initializer fixed) : fixed_(fixed) {}

InitializerSpec InitializerSpec::variance_scaling(double scale, Fan fan, Initializer::Kind kind) {
  if (kind != Kind::kUniform && kind != Kind::kNormal && kind != Kind::kTruncatedNormal) {
    raise(invalid_argument("variance_scaling: the distribution must be uniform, normal or truncated normal"));
  }
  if (!(scale > 0 && std::isfinite(scale))) {
    raise(invalid_argument("variance_scaling: scale is " + std::to_string(scale) + ", expected a finite number above 0"));
  }
  InitializerSpec spec(Initializer{kind, 0, 0});
  spec.scaled_ = true;
  spec.scale_ = scale;
  spec.fan_ = fan;
  return spec;
}

Initializer InitializerSpec::resolve(Fans fans, const Shape& shape) const {
  if (fixed_.kind == Kind::kOrthogonal) {
    if (shape.rank() < 2 || shape.elements() == 0) {
      raise(
          invalid_argument("orthogonal: needs a variable of two axes or more that has elements, not " + to_string(shape)));
    }
    return {Kind::kOrthogonal, fixed_.a, double(shape[0])};
  }
  if (!scaled_) return fixed_;
  const double fan = fan_ == Fan::kIn ? fans.in : fan_ == Fan::kOut ? fans.out : (fans.in + fans.out) / 2;
  const double variance = scale_ / std::max(1.0, fan);
  switch (fixed_.kind) {
    case Kind::kUniform: {
      const double limit = std::sqrt(3 * variance);
      return {Kind::kUniform, -limit, limit};
    }
    case Kind::kNormal: return {Kind::kNormal, 0, std::sqrt(variance)};
    default: return {Kind::kTruncatedNormal, 0, std::sqrt(variance) / kTruncatedStddev};
  }
}

InitializerSpec zeros() { return constant(0); }
InitializerSpec ones() { return constant(1); }
InitializerSpec constant(double value) { return Initializer{Kind::kConstant, value, 0}; }
InitializerSpec uniform(double low, double high) { return Initializer{Kind::kUniform, low, high}; }
InitializerSpec normal(double mean, double stddev) { return Initializer{Kind::kNormal, mean, stddev}; }
InitializerSpec truncated_normal(double mean, double stddev) { return Initializer{Kind::kTruncatedNormal, mean, stddev}; }
InitializerSpec glorot_uniform() {
  return InitializerSpec::variance_scaling(1, InitializerSpec::Fan::kAverage, Kind::kUniform);
}
InitializerSpec glorot_normal() {
  return InitializerSpec::variance_scaling(1, InitializerSpec::Fan::kAverage, Kind::kTruncatedNormal);
}
InitializerSpec he_uniform() { return InitializerSpec::variance_scaling(2, InitializerSpec::Fan::kIn, Kind::kUniform); }
InitializerSpec he_normal() {
  return InitializerSpec::variance_scaling(2, InitializerSpec::Fan::kIn, Kind::kTruncatedNormal);
}

InitializerSpec lecun_uniform() { return InitializerSpec::variance_scaling(1, InitializerSpec::Fan::kIn, Kind::kUniform); }
InitializerSpec lecun_normal() {
  return InitializerSpec::variance_scaling(1, InitializerSpec::Fan::kIn, Kind::kTruncatedNormal);
}

InitializerSpec orthogonal(double gain) { return Initializer{Kind::kOrthogonal, gain, 0}; }

Result<void> validate(const Initializer& initializer) {
  if (!std::isfinite(float(initializer.a)) || !std::isfinite(float(initializer.b))) {
    return invalid_argument("initializer: numbers " + std::to_string(initializer.a) + " and " +
                            std::to_string(initializer.b) + " must be finite in float32");
  }
  switch (initializer.kind) {
    case Kind::kConstant: return {};
    case Kind::kUniform:
      if (initializer.a <= initializer.b) return {};
      return invalid_argument("initializer: uniform from " + std::to_string(initializer.a) + " to " +
                              std::to_string(initializer.b) + ": low is above high");
    case Kind::kNormal:
    case Kind::kTruncatedNormal:
      if (initializer.b >= 0) return {};
      return invalid_argument("initializer: standard deviation is " + std::to_string(initializer.b) +
                              ", expected 0 or more");
    case Kind::kOrthogonal:
      if (initializer.b >= 1 && initializer.b <= double(kMatrixElementsMax) && std::trunc(initializer.b) == initializer.b)
        return {};
      return invalid_argument("initializer: orthogonal with " + std::to_string(initializer.b) +
                              " rows, expected a whole number from 1 to 2^26");
  }
  return invalid_argument("initializer of unknown kind " + std::to_string(int(initializer.kind)) +
                          "; it may come from a newer version of Shoal");
}

RandomKey variable_key(RandomKey seed, std::string_view variable_name) { return fold_in(seed, variable_name); }

Result<void> initialize(const Initializer& initializer, RandomKey key, int64_t first_element, MutableTensorView out) {
  SHOAL_TRY_VOID(validate(initializer));
  if (first_element < 0) {
    return invalid_argument("initializer: first element is " + std::to_string(first_element) + ", expected 0 or more");
  }
  if (initializer.kind == Kind::kConstant) return initialize_constant(initializer.a, out);
  if (out.dtype != DType::kFloat32) {
    return invalid_argument("initializer: random values are float32, the variable is " + std::string(to_string(out.dtype)) +
                            "; give it a constant");
  }
  const auto first = uint64_t(first_element);
  const auto a = float(initializer.a);
  const auto b = float(initializer.b);
  switch (initializer.kind) {
    case Kind::kOrthogonal: return initialize_orthogonal(initializer, key, first_element, out);
    case Kind::kUniform: fill_uniform(key, first, out.as<float>(), a, b); break;
    case Kind::kNormal: fill_normal(key, first, out.as<float>(), a, b); break;
    default: fill_truncated_normal(key, first, out.as<float>(), a, b); break;
  }
  return {};
}

}  // namespace shoal::nn
