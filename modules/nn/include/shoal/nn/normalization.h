// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Normalizing layers.
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/mode.h"

namespace shoal::nn {

struct BatchNormOptions {
  double decay = 0.99;    ///< The decay of the moving averages, in [0, 1].
  double epsilon = 1e-3;  ///< Added to variances; > 0.
  Activation activation = Activation::kNone;
  /// False: the scale is 1. The layer that follows may scale its input instead.
  bool use_scale = true;
  bool use_shift = true;  ///< False: the shift is 0.
  /// Use zeros() in the last normalization of a residual branch, so that the block starts as the identity.
  InitializerSpec scale_initializer = ones();
  InitializerSpec shift_initializer = zeros();
  /// False: the layer is frozen. Scale, shift and moving averages do not change, and training also normalizes with the
  /// moving averages.
  bool trainable = true;
  std::string name = "batch_norm";  ///< The scope of the variables; a second layer gets "batch_norm_1".
};

/// activation((x - mean) / sqrt(variance + epsilon) * scale + shift) for each channel. Training uses mean and variance of
/// the batch, the other modes use moving averages of these. Optimizer::minimize() updates the averages in each step; a
/// train op made by hand has to add Graph::moving_averages() itself.
///
///   x        [batch, ..., channels]  float32, rank >= 2; channels is a number
///   returns  as x
///
/// Adds variables "<name>/scale", "<name>/shift" and, not trainable, "<name>/moving_mean" and "<name>/moving_variance",
/// each [channels]. The moving variance averages unbiased estimates. With several trainers, each normalizes its own
/// batches, and all contribute to the averages. Raises InvalidArgument if x is not float32 of rank >= 2, or an option is
/// out of range. Source: Ioffe, Szegedy, "Batch normalization" (ICML 2015); defaults as in TensorFlow.
Value batch_norm(Value x, Mode mode, const BatchNormOptions& options = {});

struct LayerNormOptions {
  double epsilon = 1e-5;  ///< Added to variances; > 0.
  bool use_scale = true;
  bool use_shift = true;
  InitializerSpec scale_initializer = ones();
  InitializerSpec shift_initializer = zeros();
  bool trainable = true;
  std::string name = "layer_norm";
};

/// Normalizes each row (last axis) to a mean of 0 and a variance of 1, multiplies by scale and adds shift; the same in
/// every mode.
///
///   x        [..., channels]  float32, rank >= 1; channels is a number >= 1
///   returns  as x
///
/// Adds variables "<name>/scale" and "<name>/shift", each [channels]. Raises InvalidArgument as batch_norm().
/// Source: Ba, Kiros, Hinton, "Layer normalization" (2016).
Value layer_norm(Value x, const LayerNormOptions& options = {});

struct GroupNormOptions {
  /// The number of groups that the channels are divided into. 1: all together; the number of channels: instance
  /// normalization.
  int64_t groups = 32;
  double epsilon = 1e-5;  ///< Added to variances; > 0.
  bool use_scale = true;
  bool use_shift = true;
  InitializerSpec scale_initializer = ones();
  InitializerSpec shift_initializer = zeros();
  bool trainable = true;
  std::string name = "group_norm";
};

/// Normalizes each example's groups of neighbouring channels, over all positions, to a mean of 0 and a variance of 1,
/// multiplies by scale and adds shift; the same in every mode and for every batch size.
///
///   x        [batch, ..., channels]  float32, rank >= 2; only batch may be a symbol
///   returns  as x
///
/// Adds variables "<name>/scale" and "<name>/shift", each [channels]. Raises InvalidArgument as batch_norm(), and if groups
/// does not divide channels. Source: Wu, He, "Group normalization" (ECCV 2018).
Value group_norm(Value x, const GroupNormOptions& options = {});

}  // namespace shoal::nn
