// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How variables start. A layer is given an InitializerSpec ("Glorot uniform"); with the layer's fans it becomes a
/// shoal::Initializer (uniform between two numbers), which is data: whoever owns a part of a variable makes that part.
#include <cstdint>
#include <string_view>

#include "shoal/base/random.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// How many inputs feed one unit of a layer, and how many units one input feeds.
struct Fans {
  double in = 1;
  double out = 1;
};
/// The fans of a dense kernel [out, in] or a convolution kernel [out, in, height, width] (channels times window). Of
/// rank 0 or 1: the number of elements, both ways.
Fans fans_of(const Shape& kernel);

/// A choice of initializer that may depend on fans. A value.
class InitializerSpec {
 public:
  /// One that does not depend on fans.
  InitializerSpec(Initializer fixed);  // NOLINT: an initializer is one

  /// Variance `scale` / fan, where fan is the chosen one. `kind` says the distribution: uniform within
  /// +-sqrt(3 * variance), normal, or truncated normal (widened so that its variance after truncation is as stated).
  /// Raises InvalidArgument for a constant or a scale that is not above 0.
  enum class Fan : uint8_t { kIn, kOut, kAverage };
  static InitializerSpec variance_scaling(double scale, Fan fan, Initializer::Kind kind);

  /// The initializer for a variable of this shape; only orthogonal() looks at it, and raises InvalidArgument if it is
  /// no matrix.
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
/// Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks" (AISTATS 2010).
/// Uniform within +-sqrt(6 / (fan_in + fan_out)); truncated normal of standard deviation sqrt(2 / (fan_in + fan_out)).
InitializerSpec glorot_uniform();
InitializerSpec glorot_normal();
/// Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers" (ICCV 2015). Uniform within +-sqrt(6 / fan_in); truncated
/// normal of standard deviation sqrt(2 / fan_in).
InitializerSpec he_uniform();
InitializerSpec he_normal();

/// Source: LeCun, Bottou, Orr, Müller, "Efficient backprop" (1998). Uniform within +-sqrt(3 / fan_in); truncated normal of
/// standard deviation sqrt(1 / fan_in).
InitializerSpec lecun_uniform();
InitializerSpec lecun_normal();

/// `gain` times a matrix whose rows or columns, whichever are fewer, are orthonormal, drawn evenly from all there are. A
/// variable of more than two axes is seen as a matrix [first, all others]. Keeps lengths where it multiplies, so that
/// gradients neither fade nor grow through a recurrence: for recurrent kernels, with gain 1; sqrt(2) before a relu. Takes
/// rows * columns * min(rows, columns) multiply-adds (of 1024 x 1024 about a second), on whoever makes a part of it.
/// Source: Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural
/// networks" (ICLR 2014).
InitializerSpec orthogonal(double gain = 1);

/// InvalidArgument for an unknown kind, numbers that are not finite, low > high, a negative standard deviation:
/// initializers also come from messages and files.
Result<void> validate(const Initializer& initializer);

/// The key of a variable's starting values in a job of this seed.
RandomKey variable_key(RandomKey seed, std::string_view variable_name);

/// out[i] is element first_element + i of the variable: a pure function of (initializer, key, element), so any split of a
/// variable over servers, rows or threads gives the same bits. (Of an orthogonal one: a split by rows, and `out` has the
/// variable's shape but for the rows.)
/// InvalidArgument as validate(), if first_element < 0, if a random initializer meets a dtype other than float32, if
/// a constant cannot be held by the dtype (float32, int32, int64, uint8, bool), or if an orthogonal one meets something
/// else than rows of its matrix, or a matrix of more than 2^26 elements.
Result<void> initialize(const Initializer& initializer, RandomKey key, int64_t first_element, MutableTensorView out);

}  // namespace shoal::nn
