// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Convolutions (cross-correlations, as everywhere in this field).
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/regularizer.h"
#include "shoal/nn/window.h"

namespace shoal::nn {

struct Conv2dOptions {
  int64_t filters = 0;  ///< Output channels, >= 1. There is no default.
  Extent kernel = 3;
  Extent strides = 1;
  Padding padding = Padding::valid();  ///< Alternatively Padding::same(), which gives ceil(size / stride) outputs.
  Extent dilation = 1;                 ///< The distance between neighbouring elements of the kernel.
  /// The number of groups that channels and filters are divided into; filters of a group use only its channels.
  int64_t groups = 1;
  Activation activation = Activation::kNone;
  bool use_bias = true;
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  bool trainable = true;
  std::string name = "conv2d";  ///< The scope of the variables; a second layer gets "conv2d_1".
};

/// activation(convolution of x with the kernel, + bias).
///
///   x        [batch, H, W, channels]     float32; only batch may be a symbol
///   returns  [batch, OH, OW, filters]    float32, OH = (H + padding - window) / stride + 1, rounded down, where window =
///                                        (KH - 1) * dilation + 1
///
/// Adds variables "<name>/kernel" [filters, channels / groups, kernel height, kernel width] and, with use_bias,
/// "<name>/bias" [filters]. Raises InvalidArgument if x is not of rank 4, not float32, if filters, kernel, strides,
/// dilation or groups are < 1, if groups does not divide channels and filters, or if the kernel does not fit into the
/// padded image.
Value conv2d(Value x, const Conv2dOptions& options);

struct DepthwiseConv2dOptions {
  int64_t multiplier = 1;  ///< The number of filters for each channel, >= 1.
  Extent kernel = 3;
  Extent strides = 1;
  Padding padding = Padding::valid();
  Extent dilation = 1;
  Activation activation = Activation::kNone;
  bool use_bias = true;
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  bool trainable = true;
  std::string name = "depthwise_conv2d";
};

/// A convolution in which each filter uses one channel: conv2d() with as many groups as channels. Turns [batch, H, W,
/// channels] into [batch, OH, OW, channels * multiplier], where the filters of the same channel are neighbours. Variables
/// and errors as in conv2d().
Value depthwise_conv2d(Value x, const DepthwiseConv2dOptions& options = {});

struct Conv1dOptions {
  int64_t filters = 0;  ///< Output channels, >= 1. There is no default.
  int64_t kernel = 3;
  int64_t stride = 1;
  Padding padding = Padding::valid();  ///< Alternatively Padding::same(), which gives ceil(size / stride) outputs.
  int64_t dilation = 1;
  int64_t groups = 1;
  Activation activation = Activation::kNone;
  bool use_bias = true;
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  bool trainable = true;
  std::string name = "conv1d";
};

/// Convolution along one axis, for sequences.
///
///   x        [batch, W, channels]    float32; only batch may be a symbol
///   returns  [batch, OW, filters]    float32
///
/// Adds variables "<name>/kernel" [filters, channels / groups, kernel] and, with use_bias, "<name>/bias" [filters].
/// Raises InvalidArgument as conv2d() does, but requires an x of rank 3.
Value conv1d(Value x, const Conv1dOptions& options);

struct Conv2dTransposeOptions {
  int64_t filters = 0;  ///< Output channels, >= 1. There is no default.
  Extent kernel = 3;
  Extent strides = 1;
  Padding padding = Padding::valid();  ///< Alternatively Padding::same(), which gives size * stride outputs.
  /// Rows and columns added at the bottom and right, fewer than the stride. Not used with same padding.
  Extent output_padding = 0;
  Extent dilation = 1;
  int64_t groups = 1;
  Activation activation = Activation::kNone;
  bool use_bias = true;
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  bool trainable = true;
  std::string name = "conv2d_transpose";
};

/// activation(transposed convolution of x, + bias). Makes images larger, as decoders need.
///
///   x        [batch, H, W, channels]     float32; only batch may be a symbol
///   returns  [batch, OH, OW, filters]    float32, OH = (H - 1) * stride - padding + window + output_padding
///
/// Adds variables "<name>/kernel" [channels, filters / groups, kernel height, kernel width] and, with use_bias,
/// "<name>/bias" [filters]. Errors as in conv2d(), and InvalidArgument if the result would be empty.
Value conv2d_transpose(Value x, const Conv2dTransposeOptions& options);

}  // namespace shoal::nn
