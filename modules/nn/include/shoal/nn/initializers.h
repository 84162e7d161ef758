// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Initial values of variables. A layer has an InitializerSpec ("Glorot uniform"). Together with the layer's fans it
/// becomes a shoal::Initializer (uniform between two numbers). That is plain data, so a server that holds a part of a
/// variable can compute this part itself.
#include <cstdint>
#include <string_view>

#include "shoal/base/random.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// The number of inputs that feed one unit of a layer, and the number of units that one input feeds.
struct Fans {
  double in = 1;
  double out = 1;
};
/// The fans of a dense kernel [out, in] are in and out. Those of a convolution kernel [out, in, height, width] are in and
/// out, each multiplied by height * width. For rank 0 or 1, both are the number of elements.
Fans fans_of(const Shape& kernel);

/// A choice of initializer that may depend on fans. A value type.
class InitializerSpec {
 public:
  /// Makes a spec that does not depend on fans.
  InitializerSpec(Initializer fixed);  // NOLINT: an Initializer converts to a spec

  /// A distribution with variance `scale` / n, where n is the fan-in, the fan-out or the mean of both, as `fan` says.
  /// `kind` is the distribution: uniform within +-sqrt(3 * variance), normal, or truncated normal (widened so that it has
  /// this variance after truncation). Raises InvalidArgument for a constant, or a scale that is not above 0.
  enum class Fan : uint8_t { kIn, kOut, kAverage };
  static InitializerSpec variance_scaling(double scale, Fan fan, Initializer::Kind kind);

  /// The initializer for a variable of this shape. Only orthogonal() uses the shape, and raises InvalidArgument if it is
  /// not a matrix.
  Initializer resolve(Fans fans, const Shape& shape = {}) const;
  friend bool operator==(const InitializerSpec&, const InitializerSpec&) = default;

 private:
  Initializer fixed_;
  bool scaled_ = false;
  double scale_ = 0;
  Fan fan_ = Fan::kIn;
};

InitializerSpec zeros();
InitializerSpec ones();
InitializerSpec constant(double value);
/// Uniform in [low, high).
InitializerSpec uniform(double low, double high);
InitializerSpec normal(double mean, double stddev);
/// Normal, redrawn until within two standard deviations.
InitializerSpec truncated_normal(double mean, double stddev);
/// glorot_uniform() is uniform within +-sqrt(6 / (fan_in + fan_out)). glorot_normal() is a truncated normal of standard
/// deviation sqrt(2 / (fan_in + fan_out)). Source: Glorot, Bengio, "Understanding the difficulty of training deep
/// feedforward neural networks" (AISTATS 2010).
InitializerSpec glorot_uniform();
InitializerSpec glorot_normal();
/// he_uniform() is uniform within +-sqrt(6 / fan_in). he_normal() is a truncated normal of standard deviation
/// sqrt(2 / fan_in). Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers" (ICCV 2015).
InitializerSpec he_uniform();
InitializerSpec he_normal();

/// lecun_uniform() is uniform within +-sqrt(3 / fan_in). lecun_normal() is a truncated normal of standard deviation
/// sqrt(1 / fan_in). Source: LeCun, Bottou, Orr, Müller, "Efficient backprop" (1998).
InitializerSpec lecun_uniform();
InitializerSpec lecun_normal();

/// `gain` times a matrix whose rows or columns, whichever are fewer, are orthonormal, drawn uniformly from all such
/// matrices. A variable with more than two axes counts as a matrix [first, all others]. Products with the matrix keep
/// lengths, so that gradients neither vanish nor explode in a recurrence: use it for recurrent kernels, with gain 1, or
/// with sqrt(2) before a relu. Costs rows * columns * min(rows, columns) multiply-adds (for 1024 x 1024 about a second),
/// for each process that computes a part. Source: Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of
/// learning in deep linear neural networks" (ICLR 2014).
InitializerSpec orthogonal(double gain = 1);

/// Returns InvalidArgument for an unknown kind, numbers that are not finite, low > high, or a negative standard deviation.
/// The check is needed because initializers also come from messages and files.
Result<void> validate(const Initializer& initializer);

/// The random key from which the initial values of this variable are drawn, in a job with this seed.
RandomKey variable_key(RandomKey seed, std::string_view variable_name);

/// Sets out[i] to element first_element + i of the variable. The value is a pure function of (initializer, key, element),
/// so any division of a variable among servers, rows or threads gives the same bits. A variable with an orthogonal
/// initializer can be divided by rows only; `out` then has the variable's shape except for the number of rows.
/// InvalidArgument: as in validate(); first_element < 0; a random initializer for a dtype other than float32; a constant
/// that the dtype (float32, int32, int64, uint8, bool) cannot hold; an orthogonal initializer for a part of the matrix that
/// is not made of whole rows, or for a matrix of more than 2^26 elements.
Result<void> initialize(const Initializer& initializer, RandomKey key, int64_t first_element, MutableTensorView out);

}  // namespace shoal::nn
