// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The built-in ops as functions. Each adds one node to the graph of its operands. Layers with variables are in shoal::nn.
///
/// All raise InvalidArgument (shoal::Exception) while the graph is built if types do not fit, naming the node, or if the
/// operands belong to different graphs. `name` is the node's name within the current scope; the default is the name of the
/// op. Layouts: images [N,H,W,C], convolution kernels [O,I,KH,KW], dense kernels [O,I], all row-major. Sizes shown in lower
/// case (n, c, ...) may be symbols; the others are numbers.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/graph/labels_and.h"
#include "shoal/graph/ops_arrange.h"
#include "shoal/graph/ops_clipping.h"
#include "shoal/graph/ops_conv.h"
#include "shoal/graph/ops_elementwise.h"
#include "shoal/graph/ops_inputs.h"
#include "shoal/graph/ops_lookup.h"
#include "shoal/graph/ops_matmul.h"
#include "shoal/graph/ops_norm.h"
#include "shoal/graph/ops_reduce.h"
#include "shoal/graph/ops_sequence.h"
#include "shoal/graph/window.h"

namespace shoal::ops {

/// y = x kernel^T + bias, the fully connected layer, on the last axis.
///
///   x        [..., I]  float32, of rank 2 or more; every size but I may be a symbol
///   kernel   [O, I]    float32
///   bias     [O]       float32; an invalid Value means none
///   returns  [..., O]  float32
Value dense(Value x, Value kernel, Value bias = {}, std::string_view name = "");

struct Conv2dOptions {
  std::array<int64_t, 2> strides{1, 1};  ///< The strides down and right; each >= 1.
  Padding padding = Padding::valid();    ///< Pads with zeros.
  /// The distance between neighbouring elements of the kernel, down and right; each >= 1.
  std::array<int64_t, 2> dilations{1, 1};
  /// The channels and the filters are divided into this many groups; filters of group g use only channels of group g. With
  /// as many groups as channels (I) this is a depthwise convolution.
  int64_t groups = 1;
};
/// Two-dimensional cross-correlation, the convolution of neural networks.
///
///   x        [n, H, W, I]            float32
///   kernel   [O, I/groups, KH, KW]   float32; I and O are multiples of groups
///   bias     [O]                     float32; an invalid Value means none
///   returns  [n, OH, OW, O]          float32, OH = (H + top + bottom - window) / stride + 1, rounded down, where window =
///                                    (KH - 1) * dilation + 1; OW likewise
///
/// Source: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning" (2016).
Value conv2d(Value x, Value kernel, Value bias = {}, const Conv2dOptions& options = {}, std::string_view name = "");

struct PoolOptions {
  std::array<int64_t, 2> window{2, 2};   ///< The height and width of a window; at most 256 elements for max_pool.
  std::array<int64_t, 2> strides{0, 0};  ///< The strides down and right. 0: the window's size, so windows do not overlap.
  Padding padding = Padding::valid();    ///< Elements outside the image are ignored.
};
/// The largest element of each window, [n, H, W, C] to [n, OH, OW, C], float32. The gradient goes to the first maximum of
/// the window (row by row). A window that contains a NaN yields a NaN.
Value max_pool(Value x, const PoolOptions& options = {}, std::string_view name = "");
/// The mean of each window, [n, H, W, C] to [n, OH, OW, C], float32; padding is not counted.
Value avg_pool(Value x, const PoolOptions& options = {}, std::string_view name = "");

/// max(x, 0), element by element, float32. NaN stays NaN. The gradient at 0 is 0.
Value relu(Value x, std::string_view name = "");
/// a + b, element by element; float32. The operands broadcast (ops_elementwise.h), and so do the operands of sub (a -
/// b) and mul (a * b).
Value add(Value a, Value b, std::string_view name = "");
Value sub(Value a, Value b, std::string_view name = "");
Value mul(Value a, Value b, std::string_view name = "");
/// x * factor, float32. `factor` is rounded to float32.
Value scale(Value x, double factor, std::string_view name = "");
/// x * x, element by element, float32.
Value square(Value x, std::string_view name = "");

/// [d0, d1, ...] to [d0, d1 * ...]: keeps the first size, which may be a symbol; the others are numbers. Rank >= 1.
Value flatten(Value x, std::string_view name = "");
/// The same elements in the same order with another shape. All symbols of `shape` must occur in the shape of x. One size
/// may be -1, which stands for what the other sizes leave: [batch, 12] becomes [batch, 3, 4] with {batch, 3, -1}, and
/// [batch] becomes [batch, 1] with {-1, 1}. Raises InvalidArgument if that size is neither a number nor a symbol of x:
/// for [batch, 12] and {-1, 3} it would be four times the batch.
Value reshape(Value x, DimShape shape, std::string_view name = "");
/// The elements of x with the shape of `like`, whose contents are not used. Both have the same number of elements.
Value reshape_like(Value x, Value like, std::string_view name = "");
/// Returns x, bit for bit, as a constant for gradients(): the values that x is computed from get no gradient through
/// this op, and need none. Takes any type and shape, and costs nothing: the op is removed before the graph is computed.
///
///   x * stop_gradient(x)                           d/dx is x, and not 2 x
///   x + stop_gradient(round(x) - x)                the value of round(x), with the gradient of x ("straight through")
///   square(value - stop_gradient(target))          training moves `value` only, and not `target`
///
/// Optimizers do not update a variable that reaches the loss only through this op, just as they do not update a
/// variable without any effect on the loss.
Value stop_gradient(Value x, std::string_view name = "");
/// Returns x, bit for bit, at no cost; gradients pass to x unchanged. A node that reads the result is never merged with an
/// equal node that reads x, so both nodes are computed. gradients() uses this op to compute values a second time
/// (nn::recompute()).
Value recompute_from(Value x, std::string_view name = "");

/// Sets each element to zero with probability `rate` and divides the others by 1 - rate, which keeps the mean. For
/// training graphs.
///
///   x     any shape, float32
///   rate  in [0, 1)
///
/// The mask is a function of (graph seed, node name, trainer, batch ordinal): equal on every backend, after every restart.
/// Source: Srivastava et al., "Dropout" (JMLR 2014), in its inverted form.
Value dropout(Value x, double rate, std::string_view name = "");

/// exp(x) / sum(exp(x)) over the last axis, float32; the maximum is subtracted first. Rank >= 1.
Value softmax(Value x, std::string_view name = "");
/// log(softmax(x)) over the last axis, computed without the loss of precision of log after softmax. Rank >= 1.
Value log_softmax(Value x, std::string_view name = "");

struct CrossEntropy {
  Value loss;     ///< [n, ...], in nats, never negative.
  Value softmax;  ///< [n, ..., C], the predicted probabilities.
};
struct CrossEntropyOptions {
  /// The fraction, in [0, 1), of each label's probability that is spread evenly over all classes, the labelled one
  /// included. Source: Szegedy et al., "Rethinking the Inception architecture" (2016), section 7.
  double label_smoothing = 0;
};
/// Cross-entropy between softmax(logits) and the labelled class, one value per example.
///
///   labels   [n, ...]     int64, each in [0, C)
///   logits   [n, ..., C]  float32, rank >= 2, any scale (the maximum of each row is subtracted first)
///
/// A label out of range ends the step with InvalidArgument, naming row and value. The gradient for logits is
/// softmax(logits) - onehot(labels) (smoothed), times the gradient of the loss of that row.
/// Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.3.
CrossEntropy softmax_cross_entropy(const LabelsAndLogits& of, std::string_view name = "");
CrossEntropy softmax_cross_entropy(const LabelsAndLogits& of, const CrossEntropyOptions& options,
                                   std::string_view name = "");
/// Cross-entropy between the probability sigmoid(logit) and a label, element by element, in nats; computed without
/// overflow. Labels may be any numbers from 0 to 1.
///
///   labels, logits  float32 of one shape
///
/// The gradient for logits is sigmoid(logits) - labels, and the gradient for labels is -logits.
Value sigmoid_cross_entropy(const LabelsAndLogits& of, std::string_view name = "");

/// The sum of all elements, and their mean (NaN if there are no elements); float32 scalars.
Value reduce_sum(Value x, std::string_view name = "");
Value reduce_mean(Value x, std::string_view name = "");
/// A tensor with the shape of `like` (whose contents are not used) in which every element is the scalar `value`; float32.
Value fill_like(Value value, Value like, std::string_view name = "");

/// The position of the largest element along the last axis; of equal elements the first. float32 [..., C] to int64 [...].
/// NaN counts as the largest. Rank >= 1, C >= 1.
Value argmax(Value x, std::string_view name = "");
/// Like argmax() above, but along any axis; the result lacks that axis. An axis below 0 counts from the end.
Value argmax(Value x, int axis, std::string_view name = "");
/// 1 where a and b are equal, else 0, as float32. a and b are of one type: float32, int64, int32, uint8 or bool; they
/// broadcast (ops_elementwise.h). NaN equals nothing. No gradient flows through.
Value equal(Value a, Value b, std::string_view name = "");
Value equal(Value x, double number, std::string_view name = "");
/// Converts x to another type: float32, int32, int64, uint8 or bool. Conversion to an integer rounds towards zero and
/// clamps to the type's range; NaN gives 0. Conversion to bool gives true unless the element is 0. No gradient flows
/// through integers.
Value cast(Value x, DType dtype, std::string_view name = "");

}  // namespace shoal::ops

namespace shoal {

// These operators are in namespace shoal, so that argument-dependent lookup finds them and `x * y + z` works anywhere.
// Their operands broadcast.
Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator*(Value x, double factor);
Value operator*(double factor, Value x);
Value operator-(Value x);

/// x = x + y, and so on, where y is a Value or a number. x is another Value afterwards; the graph keeps the former one.
template <class Operand>
Value& operator+=(Value& x, Operand y) {
  return x = x + y;
}
template <class Operand>
Value& operator-=(Value& x, Operand y) {
  return x = x - y;
}
template <class Operand>
Value& operator*=(Value& x, Operand y) {
  return x = x * y;
}
template <class Operand>
Value& operator/=(Value& x, Operand y) {
  return x = x / y;
}

}  // namespace shoal
