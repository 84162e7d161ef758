// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Normalization: shifts and scales values so that they have a mean of 0 and a variance of 1 over some axes, then
/// multiplies by a scale and adds a shift. See ops.h.
#include <cstdint>
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

struct NormOptions {
  double epsilon = 1e-5;  ///< Added to variances, so that no division by 0 occurs; > 0.
};

struct BatchNorm {
  Value y;     ///< The normalized x, with the shape and type of x.
  Value mean;  ///< [C], the mean of this batch.
  /// [C], this batch's estimate of the variance of all data: the sum of squares / (count - 1), 0 for a count of 1.
  Value variance;
};
/// Batch normalization for training: (x - mean) / sqrt(var + epsilon) * scale + shift, with mean and variance (sum of
/// squares / count) of each channel over all other axes.
///
///   x             [n, ..., C]  float32, rank >= 2; means over nothing (n = 0) are NaN
///   scale, shift  [C]          float32
///
/// The outputs mean and variance are for moving averages and have no gradient: gradients() raises InvalidArgument for a
/// loss that depends on them.
/// Source: Ioffe, Szegedy, "Batch normalization" (ICML 2015), algorithms 1 and 2.
BatchNorm batch_norm(Value x, Value scale, Value shift, const NormOptions& options = {}, std::string_view name = "");

struct Moments {
  Value mean;      ///< [C]  float32
  Value variance;  ///< [C]  float32, >= 0
};
/// Batch normalization with given mean and variance, for evaluation and prediction. Gradients flow to x, scale and shift;
/// the moments are constants. Shapes as in batch_norm().
Value batch_norm_inference(Value x, Value scale, Value shift, const Moments& moments, const NormOptions& options = {},
                           std::string_view name = "");

/// Normalizes each row over the last axis.
///
///   x             [..., C]  float32, rank >= 1, C >= 1
///   scale, shift  [C]       float32
///   returns       the shape of x
///
/// Source: Ba, Kiros, Hinton, "Layer normalization" (2016).
Value layer_norm(Value x, Value scale, Value shift, const NormOptions& options = {}, std::string_view name = "");

struct GroupNormOptions {
  /// The number of groups that the channels are divided into. With 1, all channels form one group; with as many groups
  /// as channels, each channel is normalized alone (instance normalization).
  int64_t groups = 32;
  double epsilon = 1e-5;  ///< A number > 0.
};
/// Divides the channels of each example into groups of neighbours and normalizes each group over all positions.
///
///   x             [n, ..., C]  float32, rank >= 2; all sizes except n are numbers >= 1
///   scale, shift  [C]          float32
///   returns       the shape of x
///
/// Source: Wu, He, "Group normalization" (ECCV 2018).
Value group_norm(Value x, Value scale, Value shift, const GroupNormOptions& options = {}, std::string_view name = "");

}  // namespace shoal::ops
