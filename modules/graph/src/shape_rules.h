// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks that are shared by the shape rules of several op families. Users read their error messages.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/op.h"
#include "shoal/graph/window.h"

namespace shoal::rules {

using Types = std::span<const ValueType>;
using Outputs = Result<std::vector<ValueType>>;

inline ValueType float_type(DimShape shape) { return {DType::kFloat32, std::move(shape)}; }
std::string describe(const ValueType& type);  ///< Returns "int64 [batch]".

bool is_integer(DType dtype);  ///< True for int64, int32, uint8 and bool.
inline bool is_number(DType dtype) { return dtype == DType::kFloat32 || is_integer(dtype); }

/// The largest number of operands or results of one node.
inline constexpr int kOperandsMax = 4096;

Result<void> expect_dtype(const ValueType& type, DType dtype, std::string_view what);
inline Result<void> expect_float(const ValueType& type, std::string_view what) {
  return expect_dtype(type, DType::kFloat32, what);
}
Result<void> expect_rank(const ValueType& type, int rank, std::string_view what);
Result<void> expect_rank_min(const ValueType& type, int rank, std::string_view what);
/// Checks that `type` is float32 with this rank.
Result<void> expect_float_rank(const ValueType& type, int rank, std::string_view what);
Result<void> expect_equal_shapes(const ValueType& a, std::string_view a_name, const ValueType& b, std::string_view b_name);
/// The shape that two operands broadcast to (ops_elementwise.h). InvalidArgument if they do not fit, and if operands of
/// different ranks would put a symbol on two axes.
Result<DimShape> broadcast_shape(const ValueType& a, std::string_view a_name, const ValueType& b, std::string_view b_name);
/// Whether `from` broadcasts to exactly `to`, so that a gradient of shape `to` can be summed back to `from`.
bool broadcasts_to(const DimShape& from, const DimShape& to);
/// True if both have the same number of elements whatever the sizes of the symbols.
bool same_elements(const DimShape& a, const DimShape& b);

// The next six functions read an attribute of a node. The node may come from a graph's description in a file, so a missing
// attribute, or one of another type, is returned as an error.
Result<std::vector<int64_t>> ints_attribute(const Attributes& attributes, std::string_view name, size_t count);
Result<std::vector<int64_t>> ints_attribute(const Attributes& attributes, std::string_view name);  ///< Any number.
Result<int64_t> int_attribute(const Attributes& attributes, std::string_view name);
Result<double> real_attribute(const Attributes& attributes, std::string_view name);
Result<std::string> string_attribute(const Attributes& attributes, std::string_view name);
Result<bool> bool_attribute(const Attributes& attributes, std::string_view name);

/// The type of the output of two float32 operands: float32 with the shape that they broadcast to.
Outputs broadcast_types(Types inputs, const Attributes& attributes);
/// A rule for element-wise ops: float32 operands with these names and equal shapes; the output has the type of input 0.
ShapeRule elementwise_rule(std::vector<std::string> names);

/// Inputs by name, for ops with optional inputs (named_inputs.h). An invalid Value is an input that was left out.
using NamedInputs = std::vector<std::pair<std::string_view, Value>>;
/// Adds a node whose inputs are the valid ones among `inputs`. Its attribute "inputs" lists their names.
std::vector<Value> add_named(Graph& graph, std::string_view op, const NamedInputs& inputs, Attributes attributes = {},
                             std::string_view name = "");
/// Checks that the attribute "inputs" lists `count` names: first all of `required`, then some of `optional`, in order.
Result<void> expect_named_inputs(const Attributes& attributes, size_t count,
                                 std::initializer_list<std::string_view> required,
                                 std::initializer_list<std::string_view> optional);
/// Checks that `lengths` is int64 [n], the length of each of n sequences.
Result<void> expect_lengths(const ValueType& lengths, const Dim& n);

/// The height and width of the result of an op with sliding windows, such as a pool. slide() computes them from the image,
/// the window, and the attributes strides and padding.
struct Sliding {
  int64_t out_height;
  int64_t out_width;
};
Result<Sliding> slide(const ValueType& image, int64_t window_height, int64_t window_width, const Attributes& attributes);
/// Padding as [top, bottom, left, right]. For same padding, InvalidArgument if height or width of the image is a symbol.
std::vector<int64_t> resolve_padding(std::string_view op, Value image, std::array<int64_t, 2> window,
                                     std::array<int64_t, 2> strides, const Padding& padding);

/// Returns how many pixels a kernel spans along one axis: (kernel - 1) * dilation + 1. If an argument is out of range,
/// returns a number above the largest window that is allowed.
int64_t dilated_window(int64_t kernel, int64_t dilation);
/// The shape of the result of conv2d for this image and kernel, with the attributes strides, padding, dilations and groups.
Result<DimShape> conv2d_shape(const ValueType& x, const ValueType& kernel, const Attributes& attributes);
/// Returns the attributes of a convolution. It omits those with default values, so that a graph has the same
/// description as in older versions, which lacked some attributes.
Attributes conv2d_attributes(std::array<int64_t, 2> strides, std::vector<int64_t> padding, std::array<int64_t, 2> dilations,
                             int64_t groups);

// The next two functions check what dense and conv2d have in common: the bias and the activation.
Result<void> expect_bias(const ValueType& bias, const ValueType& kernel);
Result<void> expect_activation(const Attributes& attributes);
/// For a dense, conv2d or batch_norm node with or without an activation: turns the gradient of the node's result
/// into the gradient of the value before the activation.
Value before_activation(const GradientRequest& request);

// Helpers that count multiply-adds (OpDef::multiply_adds).
using Operands = std::span<const TensorView>;
/// Returns the multiply-adds of a dense layer or a convolution: elements(x) * (elements of one filter of `kernel`),
/// where x is the result of the forward op or its gradient.
double per_filter(const TensorView& x, const TensorView& kernel);
/// Returns the size of one axis of `operand`. `axis` counts from the end: 1 is the last axis.
inline double size_from_end(const TensorView& operand, int axis) {
  return double(operand.shape[operand.shape.rank() - axis]);
}

/// Turns a gradient with the shape of an op's result into one for its operand, by summing where the operand was repeated.
Value sum_to(Value gradient, Value operand);

/// Returns the graph of x, the first operand of the op that is being added. Raises InvalidArgument for an invalid Value.
Graph& graph_of(std::string_view op, Value x);

/// Returns `axis` counted from 0; an axis below 0 counts from the end. Raises InvalidArgument if x has no such axis.
int64_t resolve_axis(std::string_view op, Value x, int axis);

/// Each add_..._ops() below passes all ops of one family to `add`, which puts one op into the catalogue.
using AddOp = std::function<void(OpDef)>;
void add_dense_ops(const AddOp& add);
void add_conv2d_ops(const AddOp& add);
void add_conv2d_transpose_ops(const AddOp& add);
void add_pool_ops(const AddOp& add);
void add_elementwise_ops(const AddOp& add);
void add_binary_ops(const AddOp& add);
void add_unary_ops(const AddOp& add);
void add_shape_ops(const AddOp& add);
void add_dropout_ops(const AddOp& add);
void add_softmax_ops(const AddOp& add);
void add_reduce_ops(const AddOp& add);
void add_integer_ops(const AddOp& add);
void add_recurrent_ops(const AddOp& add);
void add_attention_ops(const AddOp& add);
void add_arrange_ops(const AddOp& add);
void add_lookup_ops(const AddOp& add);
void add_input_ops(const AddOp& add);
void add_matmul_ops(const AddOp& add);
void add_norm_ops(const AddOp& add);
void add_clipping_ops(const AddOp& add);

}  // namespace shoal::rules
