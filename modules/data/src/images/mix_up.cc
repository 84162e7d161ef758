// SPDX-License-Identifier: Apache-2.0
// Mixes examples of a batch (mixup).
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/double_math.h"
#include "shoal/data/augment.h"

namespace shoal::data {
namespace {

/// Draws a number uniformly from (0, 1), with 32 bits.
double open_uniform(RandomStream& random) { return (double(random.next_u32()) + 0.5) * 0x1p-32; }

/// Draws Beta(alpha, alpha) by Johnk's method, in logarithms, so that nothing becomes 0 for small alpha. At least half of
/// the tries succeed for alpha up to 1.
double beta_of_small_alpha(double alpha, RandomStream& random) {
  for (;;) {
    const double log_x = double_log(open_uniform(random)) / alpha, log_y = double_log(open_uniform(random)) / alpha;
    const double larger = log_x > log_y ? log_x : log_y;
    const double x = double_exp(log_x - larger), y = double_exp(log_y - larger);
    // Accepts the draw if x + y was at most 1 before both numbers were divided by e^larger.
    if (larger + double_log(x + y) <= 0) return x / (x + y);
  }
}

/// Draws by Cheng's algorithm BB for two equal parameters, without its quick tests, which would only save time.
double beta_of_large_alpha(double alpha, RandomStream& random) {
  const double beta = 1 / std::sqrt(alpha), gamma = alpha + std::sqrt(alpha);
  const double log_four = 1.3862943611198906;
  for (;;) {
    const double u = open_uniform(random), v = open_uniform(random);
    const double logit = beta * (double_log(u) - double_log(1 - u));
    const double w = alpha * double_exp(logit);
    const double bound = gamma * logit - log_four + 2 * alpha * double_log(2 * alpha / (alpha + w));
    if (bound >= double_log(u * u * v)) return w / (alpha + w);
  }
}

/// Returns the numbers 0 to count - 1 in a random order, drawn uniformly. Source: Durstenfeld, algorithm 235 (1964).
std::vector<size_t> random_order(size_t count, RandomStream& random) {
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

Tensor mixed(const Tensor& tensor, const std::vector<size_t>& order, float lambda) {
  Tensor result(DType::kFloat32, tensor.shape());
  const size_t row = order.empty() ? 0 : size_t(tensor.elements()) / order.size();
  const float* const from = tensor.as<float>().data();
  float* to = result.mutable_as<float>().data();
  const float rest = 1 - lambda;
  for (size_t i = 0; i < order.size(); ++i) {
    const float *const a = from + i * row, *const b = from + order[i] * row;
    for (size_t k = 0; k < row; ++k) *to++ = lambda * a[k] + rest * b[k];
  }
  return result;
}

const Tensor& batched(const TensorMap& tensors, const char* what) {
  const Tensor& tensor = tensors.single();
  if (tensor.dtype() == DType::kFloat32 && tensor.shape().rank() >= 1) return tensor;
  raise(invalid_argument("mix_up: the " + std::string(what) + " are " + std::string(to_string(tensor.dtype())) + " " +
                         to_string(tensor.shape()) + "; give a batch of float32 (normalize(), one_hot())"));
}

}  // namespace

Element mix_up(const Element& batch, MixUpOptions options, RandomStream& random) {
  if (!(options.alpha >= 1e-6 && options.alpha <= 1e6)) {
    raise(invalid_argument("mix_up: alpha is " + std::to_string(options.alpha) + "; give 1e-6 to 1e6"));
  }
  const Tensor &features = batched(batch.features, "features"), &labels = batched(batch.labels, "labels");
  if (features.shape()[0] != labels.shape()[0]) {
    raise(invalid_argument("mix_up: the features are " + to_string(features.shape()) + " and the labels are " +
                           to_string(labels.shape()) + "; give as many of both"));
  }
  const auto lambda =
      float(options.alpha <= 1 ? beta_of_small_alpha(options.alpha, random) : beta_of_large_alpha(options.alpha, random));
  const std::vector<size_t> order = random_order(size_t(features.shape()[0]), random);
  return {mixed(features, order, lambda), mixed(labels, order, lambda)};
}

}  // namespace shoal::data
