// SPDX-License-Identifier: Apache-2.0
#include "cpp/int8_layers.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/finite.h"

namespace shoal::convert::cpp {
namespace {

std::vector<float> floats_of(const WeightArrays& values, const Value& value) {
  const auto bytes = values.bytes_of(value);
  const auto* const data = reinterpret_cast<const float*>(bytes.data());
  return {data, data + bytes.size() / sizeof(float)};
}

/// The weights [out][taps][in] and biases of a layer in double, after the normalization has been folded into them.
struct Folded {
  std::vector<double> weights, bias;
};

Folded folded(const Graph& graph, const Int8Layer& layer, const WeightArrays& values) {
  const Node& node = graph.node(layer.head);
  const std::vector<float> plain = floats_of(values, node.inputs[1]);
  const Shape shape = node.inputs[1].shape().resolve({}).value();
  const int64_t out = shape[0], in = shape[1], taps = shape.elements() / (out * in);
  Folded result{std::vector<double>(plain.size()), std::vector<double>(size_t(out))};
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t t = 0; t < taps; ++t)
        result.weights[size_t((o * taps + t) * in + i)] = double(plain[size_t((o * in + i) * taps + t)]);
    }
  }
  if (node.inputs.size() > 2) {
    const std::vector<float> bias = floats_of(values, node.inputs[2]);
    for (size_t o = 0; o < bias.size(); ++o) result.bias[o] = double(bias[o]);
  }
  if (!layer.norm) return result;
  const Node& norm = graph.node(*layer.norm);
  const double epsilon = norm.attributes.get_real("epsilon");
  const auto scale = floats_of(values, norm.inputs[1]), shift = floats_of(values, norm.inputs[2]),
             mean = floats_of(values, norm.inputs[3]), variance = floats_of(values, norm.inputs[4]);
  for (size_t o = 0; o < size_t(out); ++o) {
    const double factor = double(scale[o]) / std::sqrt(double(variance[o]) + epsilon);
    for (size_t i = 0; i < size_t(in * taps); ++i) result.weights[o * size_t(in * taps) + i] *= factor;
    result.bias[o] = (result.bias[o] - double(mean[o])) * factor + double(shift[o]);
  }
  return result;
}

int32_t rounded_int32(double number) {
  constexpr double kMax = 1073741824.0;  // 2^30 leaves room to add products to the bias in 32 bits.
  return std::isnan(number) ? 0 : int32_t(std::lround(std::clamp(number, -kMax, kMax)));
}

}  // namespace

Result<Int8Weights> int8_weights(const Graph& graph, const Int8Layer& layer, const WeightArrays& values, const Int8Scale& x,
                                 const Int8Scale& result) {
  const Folded all = folded(graph, layer, values);
  const size_t out = all.bias.size(), each = all.weights.size() / out;
  Int8Weights made;
  for (size_t o = 0; o < out; ++o) {
    double largest = 0;
    for (size_t i = 0; i < each; ++i) largest = std::max(largest, std::fabs(all.weights[o * each + i]));
    const double scale = largest > 0 && std::isfinite(largest) ? largest / 127 : 1.0;
    int64_t sum = 0;
    for (size_t i = 0; i < each; ++i) {
      const double steps = std::round(all.weights[o * each + i] / scale);
      made.weights.push_back(std::isnan(steps) ? int8_t(0) : int8_t(std::clamp(steps, -127.0, 127.0)));
      sum += made.weights.back();
    }
    const double factor = double(x.scale) * scale;
    made.factors.push_back(float(factor));
    if (!is_finite(made.factors.back())) {
      return invalid_argument("int8: weights and operand of \"" + graph.node(layer.head).name +
                              "\" are too large: their scales, multiplied, are beyond float32");
    }
    made.bias.push_back(rounded_int32(all.bias[o] / factor - double(x.zero) * double(sum)));
    // factor / result.scale = fraction * 2^exponent, with a fraction in [1/2, 1).
    int exponent = 0;
    const double fraction = std::frexp(factor / double(result.scale), &exponent);
    const int shift = 30 - exponent;  // A shift right by more than 62 bits makes every sum 0.
    made.multipliers.push_back(shift > 62 ? 0 : int32_t(std::lround(std::ldexp(fraction, 30))));
    made.shifts.push_back(uint8_t(std::clamp(shift, 1, 62)));
  }
  return made;
}

}  // namespace shoal::convert::cpp
