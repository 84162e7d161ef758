// SPDX-License-Identifier: Apache-2.0
/// What ops give for their operands, and the sentence for operands that do not fit.
#include <gtest/gtest.h>

#include "expect_refused.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

class ShapeRules : public ::testing::Test {
 protected:
  Value floats(DimShape shape) { return graph_.input("x" + std::to_string(count_++), DType::kFloat32, std::move(shape)); }
  Value integers(DimShape shape) { return graph_.input("x" + std::to_string(count_++), DType::kInt64, std::move(shape)); }
  static std::string shape(Value value) { return to_string(value.shape()); }

  Dim batch_ = Dim::symbol("batch");
  Graph graph_;
  int count_ = 0;
};

TEST_F(ShapeRules, Dense) {
  EXPECT_EQ(shape(ops::dense(floats({batch_, 20}), floats({10, 20}), floats({10}))), "[batch, 10]");
  EXPECT_REFUSED(ops::dense(floats({batch_, 30}), floats({10, 20})),
                 "dense \"dense_1\": kernel [10, 20] takes 20 features, x [batch, 30] has 30");
  EXPECT_EQ(shape(ops::dense(floats({batch_, Dim::symbol("time"), 20}), floats({10, 20}))), "[batch, time, 10]");
  EXPECT_REFUSED(ops::dense(floats({20}), floats({10, 20}), {}, "head"),
                 "dense \"head\": x is float32 [20]; it must have at least 2 dimensions");
  EXPECT_REFUSED(ops::dense(floats({batch_, 20}), floats({10, 20}), floats({11}), "head"),
                 "dense \"head\": bias [11] must have one element for each of the 10 outputs of kernel [10, 20]");
  EXPECT_REFUSED(ops::dense(integers({batch_, 20}), floats({10, 20}), {}, "head"),
                 "dense \"head\": x is int64 [batch, 20]; it must be float32");
}

TEST_F(ShapeRules, Recurrences) {
  const Dim time = Dim::symbol("time");
  const ops::Lstm lstm = ops::lstm(floats({batch_, time, 20}), floats({20, 5}));
  EXPECT_EQ(shape(lstm.sequence), "[batch, time, 5]");
  EXPECT_EQ(shape(lstm.last_cell), "[batch, 5]");
  EXPECT_EQ(shape(ops::gru(floats({batch_, 7, 15}), floats({15, 5})).sequence), "[batch, 7, 5]");
  const Value state = floats({batch_, 5});
  EXPECT_REFUSED(ops::lstm(floats({batch_, 7, 20}), floats({20, 4}), {}, "l"),
                 "lstm \"l\": recurrent_kernel [20, 4] must be [4 * units, units]");
  EXPECT_REFUSED(ops::lstm(floats({batch_, 7, 15}), floats({20, 5}), {}, "l"),
                 "lstm \"l\": projection [batch, 7, 15] must have the 20 features that recurrent_kernel [20, 5] has");
  EXPECT_REFUSED(ops::lstm(floats({batch_, 7, 20}), floats({20, 5}), {.initial_hidden = state}, "l"),
                 "lstm \"l\": initial_hidden and initial_cell belong together: give both or neither");
  EXPECT_REFUSED(ops::lstm(floats({3, 7, 20}), floats({20, 5}), {.initial_hidden = state, .initial_cell = state}, "l"),
                 "lstm \"l\": initial_hidden [batch, 5] must be [3, 5]");
  EXPECT_REFUSED(ops::gru(floats({batch_, 7, 15}), floats({15, 5}), {.lengths = integers({7})}, "g"),
                 "gru \"g\": lengths [7] must have one element for each of the batch sequences");
  EXPECT_REFUSED(ops::gru(floats({batch_, 7, 15}), floats({15, 5}), {.lengths = state}, "g"),
                 "gru \"g\": lengths is float32 [batch, 5]; it must be int64");
  EXPECT_REFUSED(ops::gru(floats({batch_, 7, 15}), Value(), {}, "g"), "gru \"g\": takes 2 to 5 operands, not 1");
}

TEST_F(ShapeRules, Attention) {
  const Value query = floats({batch_, 7, 12}), key = floats({batch_, 9, 12}), value = floats({batch_, 9, 30});
  const ops::Attention result = ops::attention(query, key, value, {.heads = 3});
  EXPECT_EQ(shape(result.result), "[batch, 7, 30]");
  EXPECT_EQ(shape(result.probabilities), "[batch, 3, 7, 9]");
  const Dim time = Dim::symbol("time");
  EXPECT_EQ(shape(ops::self_attention(floats({batch_, time, 24}), {.heads = 2, .causal = true}).probabilities),
            "[batch, 2, time, time]");
  EXPECT_REFUSED(ops::attention(query, key, value, {.heads = 5}, "a"),
                 "attention \"a\": query [batch, 7, 12]: the features must be a multiple of the 5 heads");
  const int64_t many = int64_t(1) << 62;  // Times three it overflows and is negative.
  EXPECT_REFUSED(ops::self_attention(floats({batch_, time, 24}), {.heads = many}, "a"),
                 "self_attention \"a\": projections [batch, time, 24]: the features must be a multiple of 3 times the " +
                     std::to_string(many) + " heads");
  EXPECT_REFUSED(ops::attention(query, key, value, {.heads = 0}, "a"),
                 "attention \"a\": heads is 0; it must be at least 1");
  EXPECT_REFUSED(ops::attention(query, floats({batch_, 9, 6}), value, {.heads = 3}, "a"),
                 "attention \"a\": query [batch, 7, 12] and key [batch, 9, 6] differ in their numbers of features");
  EXPECT_REFUSED(ops::attention(query, key, floats({batch_, 8, 30}), {.heads = 3}, "a"),
                 "attention \"a\": key [batch, 9, 12] and value [batch, 8, 30] differ in their numbers of positions");
  EXPECT_REFUSED(ops::attention(query, key, value, {.heads = 3, .causal = true}, "a"),
                 "attention \"a\": query [batch, 7, 12] and key [batch, 9, 12] differ in their numbers of positions, which "
                 "causal attention does not allow");
  EXPECT_REFUSED(ops::attention(query, key, value, {.heads = 3, .lengths = integers({4})}, "a"),
                 "attention \"a\": lengths [4] must have one element for each of the batch sequences");
  EXPECT_REFUSED(
      ops::self_attention(query, {.heads = 8}, "s"),
      "self_attention \"s\": projections [batch, 7, 12]: the features must be a multiple of 3 times the 8 heads");
}

TEST_F(ShapeRules, InputsThatMayBeMissingAreNamed) {
  const Value projection = floats({batch_, 7, 20}), kernel = floats({20, 5});
  auto lstm = [&](std::string names) { graph_.add("lstm", {projection, kernel}, {{"inputs", std::move(names)}}, "l"); };
  EXPECT_REFUSED(
      lstm("recurrent_kernel projection"),
      "lstm \"l\": attribute \"inputs\" is \"recurrent_kernel projection\" for 2 inputs; in the right order, each "
      "once, they are \"projection recurrent_kernel\"");
  EXPECT_REFUSED(
      lstm("projection recurrent_kernel lengths"),
      "lstm \"l\": attribute \"inputs\" is \"projection recurrent_kernel lengths\" for 2 inputs; in the right order, "
      "each once, they are \"projection recurrent_kernel lengths\"");
  EXPECT_REFUSED(graph_.add("lstm", {projection, kernel}, {}, "l"), "lstm \"l\": attribute \"inputs\" is missing");
}

TEST_F(ShapeRules, Clipping) {
  EXPECT_EQ(shape(ops::clip(floats({batch_, 3}), -1, 1)), "[batch, 3]");
  EXPECT_EQ(shape(ops::global_norm({floats({batch_, 3}), floats({}), floats({7})})), "[]");
  EXPECT_REFUSED(ops::clip(floats({3}), 1, -1, "c"),
                 "clip \"c\": low is 1.000000, high -1.000000; low must not be above high");
  EXPECT_REFUSED(ops::clip(integers({3}), 0, 1, "c"), "clip \"c\": x is int64 [3]; it must be float32");
  EXPECT_REFUSED(ops::global_norm({}), "global_norm: there are no values");
  EXPECT_REFUSED(ops::global_norm({floats({3}), integers({3})}, "n"),
                 "global_norm \"n\": a value is int64 [3]; it must be float32");
}

TEST_F(ShapeRules, Conv2d) {
  const Value x = floats({batch_, 28, 27, 3});
  const Value kernel = floats({8, 3, 5, 5});
  EXPECT_EQ(shape(ops::conv2d(x, kernel)), "[batch, 24, 23, 8]");
  EXPECT_EQ(shape(ops::conv2d(x, kernel, {}, {.padding = Padding::same()})), "[batch, 28, 27, 8]");
  EXPECT_EQ(shape(ops::conv2d(x, kernel, {}, {.strides = {2, 3}, .padding = Padding::same()})), "[batch, 14, 9, 8]");
  EXPECT_EQ(shape(ops::conv2d(x, kernel, {}, {.strides = {2, 2}, .padding = Padding::explicit_sizes(1, 2, 0, 4)})),
            "[batch, 14, 14, 8]");
  EXPECT_REFUSED(ops::conv2d(floats({batch_, 28, 28, 1}), kernel, {}, {}, "c"),
                 "conv2d \"c\": kernel [8, 3, 5, 5] takes 3 channels, x [batch, 28, 28, 1] has 1");
  EXPECT_REFUSED(ops::conv2d(floats({1, 4, 9, 3}), kernel, {}, {}, "c"),
                 "conv2d \"c\": x [1, 4, 9, 3], height: a window of 5 does not fit into 4 elements, padding included");
  EXPECT_REFUSED(ops::conv2d(x, kernel, {}, {.padding = Padding::explicit_sizes(0, 0, 5, 0)}, "c"),
                 "conv2d \"c\": x [batch, 28, 27, 3], width: padding 5, 0 is as large as a window of 5");
  EXPECT_REFUSED(
      ops::conv2d(x, kernel, {}, {.strides = {0, 1}}, "c"),
      "conv2d \"c\": x [batch, 28, 27, 3], height: window 5, stride 0 and padding 0, 0 must be at least 1, 1, 0, 0");
  EXPECT_REFUSED(
      ops::conv2d(floats({1, batch_, 9, 3}), kernel, {}, {.padding = Padding::same()}),
      "conv2d: same padding needs an image [N, H, W, C] whose height and width are numbers, not [1, batch, 9, 3]");
}

TEST_F(ShapeRules, DilatedAndGroupedConv2d) {
  const Value x = floats({batch_, 28, 27, 4});
  EXPECT_EQ(shape(ops::conv2d(x, floats({8, 4, 5, 3}), {}, {.dilations = {2, 3}})), "[batch, 20, 21, 8]");
  EXPECT_EQ(shape(ops::conv2d(x, floats({8, 2, 3, 3}), {}, {.padding = Padding::same(), .dilations = {9, 9}, .groups = 2})),
            "[batch, 28, 27, 8]");
  EXPECT_EQ(shape(ops::conv2d(x, floats({4, 1, 3, 3}), {}, {.groups = 4})), "[batch, 26, 25, 4]");
  EXPECT_REFUSED(ops::conv2d(x, floats({8, 4, 3, 3}), {}, {.groups = 2}, "c"),
                 "conv2d \"c\": kernel [8, 4, 3, 3] takes 8 channels, x [batch, 28, 27, 4] has 4");
  EXPECT_REFUSED(ops::conv2d(x, floats({7, 2, 3, 3}), {}, {.groups = 2}, "c"),
                 "conv2d \"c\": groups is 2, which does not divide the 7 filters of kernel [7, 2, 3, 3]");
  EXPECT_REFUSED(ops::conv2d(x, floats({8, 4, 3, 3}), {}, {.groups = 0}, "c"),
                 "conv2d \"c\": groups is 0, which does not divide the 8 filters of kernel [8, 4, 3, 3]");
  EXPECT_REFUSED(ops::conv2d(x, floats({8, 4, 3, 3}), {}, {.dilations = {1, 0}}, "c"),
                 "conv2d \"c\": dilations 1, 0 must be at least 1");
  EXPECT_REFUSED(
      ops::conv2d(x, floats({8, 4, 3, 3}), {}, {.dilations = {14, 1}}, "c"),
      "conv2d \"c\": x [batch, 28, 27, 4], height: a window of 29 does not fit into 28 elements, padding included");
}

/// Descriptions written before there were dilations and groups have neither; nor have those of models that do without.
TEST_F(ShapeRules, AConvolutionSaysOnlyWhatIsNotUsual) {
  const Value x = floats({batch_, 28, 27, 4});
  const Value usual = ops::conv2d(x, floats({8, 4, 3, 3}));
  EXPECT_FALSE(graph_.node(usual.node()).attributes.has("dilations"));
  EXPECT_FALSE(graph_.node(usual.node()).attributes.has("groups"));
  const Value unusual = ops::conv2d(x, floats({8, 2, 3, 3}), {}, {.dilations = {1, 2}, .groups = 2});
  EXPECT_EQ(graph_.node(unusual.node()).attributes.get_ints("dilations"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(graph_.node(unusual.node()).attributes.get_int("groups"), 2);
}

TEST_F(ShapeRules, Conv1d) {
  const Value x = floats({batch_, 20, 4});
  EXPECT_EQ(shape(ops::conv1d(x, floats({8, 4, 3}), floats({8}))), "[batch, 18, 8]");
  EXPECT_EQ(shape(ops::conv1d(x, floats({8, 2, 3}), {}, {.stride = 2, .padding = Padding::same(), .groups = 2})),
            "[batch, 10, 8]");
  EXPECT_EQ(shape(ops::conv1d(x, floats({8, 4, 3}), {}, {.padding = Padding::explicit_sizes(0, 0, 4, 0), .dilation = 2})),
            "[batch, 20, 8]");
  EXPECT_REFUSED(ops::conv1d(floats({batch_, 20}), floats({8, 4, 3})),
                 "conv1d: needs x [n, W, I] and a kernel [O, I, KW] in which all sizes but n are numbers, not [batch, 20] "
                 "and [8, 4, 3]");
  EXPECT_REFUSED(ops::conv1d(x, floats({8, 4, 3}), {}, {.padding = Padding::explicit_sizes(1, 0, 0, 0)}),
                 "conv1d: padding at the top and bottom must be 0, since rows are one pixel high");
}

TEST_F(ShapeRules, Conv2dTranspose) {
  const Value x = floats({batch_, 7, 5, 4});
  const Value kernel = floats({4, 3, 3, 3});
  EXPECT_EQ(shape(ops::conv2d_transpose(x, kernel, floats({3}))), "[batch, 9, 7, 3]");
  EXPECT_EQ(shape(ops::conv2d_transpose(x, kernel, {}, {.strides = {2, 3}, .padding = Padding::same()})),
            "[batch, 14, 15, 3]");
  EXPECT_EQ(
      shape(ops::conv2d_transpose(
          x, kernel, {}, {.strides = {2, 2}, .padding = Padding::explicit_sizes(1, 1, 1, 1), .output_padding = {1, 0}})),
      "[batch, 14, 9, 3]");
  EXPECT_EQ(shape(ops::conv2d_transpose(x, kernel, {}, {.dilations = {2, 2}, .groups = 2})), "[batch, 11, 9, 6]");
  EXPECT_REFUSED(ops::conv2d_transpose(floats({batch_, 7, 5, 3}), kernel, {}, {}, "c"),
                 "conv2d_transpose \"c\": kernel [4, 3, 3, 3] takes 4 channels, x [batch, 7, 5, 3] has 3");
  EXPECT_REFUSED(ops::conv2d_transpose(x, kernel, floats({4}), {}, "c"),
                 "conv2d_transpose \"c\": bias [4] must have one element for each of the 3 channels of the result "
                 "[batch, 9, 7, 3]");
  EXPECT_REFUSED(ops::conv2d_transpose(x, kernel, {}, {.strides = {2, 2}, .output_padding = {2, 0}}, "c"),
                 "conv2d_transpose \"c\": conv2d of the result [batch, 17, 11, 3] would give [batch, 8, 5, 4], not x "
                 "[batch, 7, 5, 4]; output_padding has to be below the stride");
  EXPECT_REFUSED(
      ops::conv2d_transpose(floats({batch_, 1, 5, 4}), kernel, {}, {.padding = Padding::explicit_sizes(2, 2, 0, 0)}, "c"),
      "conv2d_transpose \"c\": the result would have a height of -1 and a width of 7; the padding removes more "
      "than the image has");
  EXPECT_REFUSED(
      ops::conv2d_transpose(floats({batch_, 7, 4}), kernel),
      "conv2d_transpose: needs an image [N, H, W, C] whose height and width are numbers >= 1, not [batch, 7, 4]");
}

TEST_F(ShapeRules, GlobalPools) {
  EXPECT_EQ(shape(ops::global_avg_pool(floats({batch_, 7, 5, 4}))), "[batch, 4]");
  EXPECT_EQ(shape(ops::global_max_pool(floats({batch_, 700, 5, 4}))), "[batch, 4]");
  EXPECT_REFUSED(ops::global_max_pool(floats({batch_, 4})),
                 "global_max_pool: needs an image [N, H, W, C] whose height and width are numbers >= 1, not [batch, 4]");
}

TEST_F(ShapeRules, Pools) {
  const Value x = floats({batch_, 28, 27, 3});
  EXPECT_EQ(shape(ops::max_pool(x)), "[batch, 14, 13, 3]");
  EXPECT_EQ(shape(ops::avg_pool(x, {.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same()})),
            "[batch, 14, 14, 3]");
  EXPECT_EQ(shape(ops::max_pool(x, {.window = {16, 16}})), "[batch, 1, 1, 3]");
  EXPECT_REFUSED(ops::max_pool(x, {.window = {16, 17}}, "p"),
                 "max_pool \"p\": a window of 16 x 17 has more than 256 elements");
  EXPECT_REFUSED(ops::avg_pool(floats({batch_, 28}), {}, "p"),
                 "avg_pool \"p\": x is float32 [batch, 28]; it must have 4 dimensions");
}

TEST_F(ShapeRules, Norms) {
  const Value x = floats({batch_, 7, 5, 4}), four = floats({4}), three = floats({3});
  const ops::BatchNorm norm = ops::batch_norm(x, four, four);
  EXPECT_EQ(shape(norm.y), "[batch, 7, 5, 4]");
  EXPECT_EQ(shape(norm.mean), "[4]");
  EXPECT_EQ(shape(norm.variance), "[4]");
  EXPECT_EQ(shape(ops::batch_norm_inference(x, four, four, {.mean = four, .variance = four})), "[batch, 7, 5, 4]");
  EXPECT_EQ(shape(ops::layer_norm(floats({4}), four, four)), "[4]");
  EXPECT_EQ(shape(ops::group_norm(x, four, four, {.groups = 2})), "[batch, 7, 5, 4]");
  EXPECT_REFUSED(ops::batch_norm(x, three, four, {}, "b"),
                 "batch_norm \"b\": scale [3] must have one element for each channel of x [batch, 7, 5, 4]");
  EXPECT_REFUSED(ops::batch_norm(four, four, four, {}, "b"),
                 "batch_norm \"b\": x is float32 [4]; it must have at least 2 dimensions");
  EXPECT_REFUSED(ops::batch_norm(x, four, four, {.epsilon = 0}, "b"),
                 "batch_norm \"b\": epsilon is 0.000000; it must be a finite number above 0");
  EXPECT_REFUSED(ops::batch_norm_inference(x, four, four, {.mean = four, .variance = three}, {}, "b"),
                 "batch_norm_inference \"b\": variance [3] must have one element for each channel of x [batch, 7, 5, 4]");
  EXPECT_REFUSED(ops::layer_norm(floats({4, batch_}), four, four, {}, "l"),
                 "layer_norm \"l\": x [4, batch]: the number of channels must be a number, not a symbol");
  EXPECT_REFUSED(ops::layer_norm(floats({batch_, 0}), floats({0}), floats({0}), {}, "l"),
                 "layer_norm \"l\": x [batch, 0] has no element along the last axis");
  EXPECT_REFUSED(ops::group_norm(x, four, four, {.groups = 3}, "g"),
                 "group_norm \"g\": groups is 3, which does not divide the 4 channels of x [batch, 7, 5, 4]");
  EXPECT_REFUSED(ops::group_norm(floats({1, batch_, 4}), four, four, {.groups = 2}, "g"),
                 "group_norm \"g\": x [1, batch, 4]: all sizes but the first must be numbers >= 1");
}

TEST_F(ShapeRules, MomentsHaveNoGradient) {
  const Value x = floats({batch_, 4}), four = floats({4});
  const Value loss = ops::reduce_sum(ops::batch_norm(x, four, four, {}, "b").variance);
  EXPECT_REFUSED(gradients(loss, {x}),
                 "batch_norm \"b\": the loss depends on its mean or variance, which have no gradient");
}

TEST_F(ShapeRules, ShapesAndViews) {
  EXPECT_EQ(shape(ops::flatten(floats({batch_, 7, 7, 64}))), "[batch, 3136]");
  EXPECT_EQ(shape(ops::flatten(floats({batch_}))), "[batch, 1]");
  EXPECT_EQ(shape(ops::reshape(floats({batch_, 784}), {batch_, 28, 28, 1})), "[batch, 28, 28, 1]");
  EXPECT_EQ(shape(ops::reshape(floats({6, 4}), {3, 8})), "[3, 8]");
  EXPECT_EQ(shape(ops::reshape(floats({6, 4}), {2, -1, 3})), "[2, 4, 3]");
  const Dim time = Dim::symbol("time");
  EXPECT_EQ(shape(ops::reshape(floats({batch_, time, 12}), {batch_, time, 3, -1})), "[batch, time, 3, 4]");
  EXPECT_EQ(shape(ops::reshape(floats({3, batch_, 4}), {batch_, -1})), "[batch, 12]");
  EXPECT_EQ(shape(ops::reshape(floats({batch_}), {-1, 1})), "[batch, 1]");
  EXPECT_EQ(shape(ops::reshape(floats({batch_, 3, 4}), {-1, 12})), "[batch, 12]");
  EXPECT_EQ(shape(ops::reshape(floats({batch_, time, 12}), {-1, time, 12, 1})), "[batch, time, 12, 1]");
  EXPECT_EQ(shape(ops::reshape(floats({batch_, batch_, 2}), {batch_, 2, -1})), "[batch, 2, batch]");
  EXPECT_REFUSED(
      ops::reshape(floats({batch_, 12}), {-1, 3}),
      "reshape: the -1 in [-1, 3] would stand for a product with the symbol \"batch\" of x [batch, 12]; a size is "
      "one symbol or one number, so give the symbol its own place in the shape");
  EXPECT_REFUSED(
      ops::reshape(floats({batch_, time}), {-1}),
      "reshape: the -1 in [-1] would stand for a product with the symbol \"batch\" of x [batch, time]; a size is one "
      "symbol or one number, so give the symbol its own place in the shape");
  EXPECT_EQ(shape(ops::reshape_like(floats({batch_, 6}), floats({batch_, 2, 3}))), "[batch, 2, 3]");
  EXPECT_REFUSED(ops::reshape(floats({batch_, 784}), {batch_, 28, 27}, "r"),
                 "reshape \"r\": x [batch, 784] and [batch, 28, 27] differ in their numbers of elements");
  EXPECT_REFUSED(ops::reshape(floats({6, 4}), {batch_, 4}),
                 "reshape: the symbol \"batch\" of [batch, 4] must also occur in x [6, 4]");
  EXPECT_REFUSED(ops::reshape(floats({6, 4}), {5, -1}),
                 "reshape: no size in place of -1 in [5, -1] gives the elements of x [6, 4]");
  EXPECT_REFUSED(ops::reshape(floats({6, 4}), {-1, -1}), "reshape: [-1, -1] has a negative size, or -1 twice");
  EXPECT_REFUSED(ops::flatten(floats({3, batch_}), "f"),
                 "flatten \"f\": x [3, batch]: only the first size may be a symbol");
  EXPECT_REFUSED(ops::flatten(floats({}), "f"), "flatten \"f\": x is float32 []; it must have at least 1 dimension");
  EXPECT_REFUSED(ops::reshape_like(floats({batch_, 6}), floats({12}), "r"),
                 "reshape_like \"r\": x [batch, 6] and like [12] differ in their numbers of elements");
}

TEST_F(ShapeRules, LossesAndReductions) {
  const auto result = ops::softmax_cross_entropy({.labels = integers({batch_}), .logits = floats({batch_, 10})});
  EXPECT_EQ(shape(result.loss), "[batch]");
  EXPECT_EQ(shape(result.softmax), "[batch, 10]");
  EXPECT_EQ(shape(ops::reduce_mean(result.loss)), "[]");
  EXPECT_EQ(shape(ops::argmax(floats({batch_, 10}))), "[batch]");
  EXPECT_EQ(ops::argmax(floats({batch_, 10})).dtype(), DType::kInt64);
  EXPECT_REFUSED(ops::softmax_cross_entropy({.labels = integers({batch_, 1}), .logits = floats({batch_, 10})}, "loss"),
                 "softmax_cross_entropy \"loss\": labels is int64 [batch, 1]; it must have 1 dimension");
  EXPECT_REFUSED(ops::softmax_cross_entropy({.labels = integers({32}), .logits = floats({batch_, 10})}, "loss"),
                 "softmax_cross_entropy \"loss\": labels [32] must have one element for each row of logits [batch, 10]");
  EXPECT_REFUSED(ops::softmax_cross_entropy({.labels = floats({batch_}), .logits = floats({batch_, 10})}, "loss"),
                 "softmax_cross_entropy \"loss\": labels is float32 [batch]; it must be int64");
  EXPECT_EQ(shape(ops::softmax_cross_entropy({.labels = integers({batch_, 7}), .logits = floats({batch_, 7, 10})}).loss),
            "[batch, 7]");
  EXPECT_REFUSED(ops::softmax_cross_entropy({.labels = integers({}), .logits = floats({10})}, "loss"),
                 "softmax_cross_entropy \"loss\": logits is float32 [10]; it must have at least 2 dimensions");
  EXPECT_REFUSED(ops::softmax_cross_entropy({.labels = integers({batch_}), .logits = floats({batch_, 10})},
                                            {.label_smoothing = 1.0}, "loss"),
                 "softmax_cross_entropy \"loss\": label_smoothing 1.000000 is outside [0, 1)");
  EXPECT_REFUSED(ops::sigmoid_cross_entropy({.labels = floats({3}), .logits = floats({batch_, 3})}, "loss"),
                 "sigmoid_cross_entropy \"loss\": logits [batch, 3] and labels [3] must have equal shapes");
  EXPECT_REFUSED(ops::argmax(floats({3, 0}), "a"), "argmax \"a\": x [3, 0] has no element along axis 1");
  EXPECT_REFUSED(ops::fill_like(floats({1}), floats({3}), "f"),
                 "fill_like \"f\": value is float32 [1]; it must have 0 dimensions");
}

TEST_F(ShapeRules, ElementwiseIntegersAndDropout) {
  EXPECT_REFUSED(
      ops::mul(floats({batch_, 3}), floats({batch_, 4}), "m"),
      "mul \"m\": a [batch, 3] and b [batch, 4] do not broadcast: from the last axis on, sizes must be equal or 1");
  EXPECT_REFUSED(
      ops::equal(integers({3}), ops::cast(integers({3}), DType::kInt32), "e"),
      "equal \"e\": a is int64 [3], b is int32 [3]; both must be of one type: float32, int64, int32, uint8 or bool");
  EXPECT_REFUSED(ops::cast(floats({3}), DType::kString, "c"), "cast \"c\": cannot cast float32 [3] to \"string\"");
  EXPECT_REFUSED(ops::dropout(floats({3}), 1.0, "d"), "dropout \"d\": rate 1.000000 is outside [0, 1)");
  EXPECT_EQ(ops::cast(integers({3}), DType::kFloat32).dtype(), DType::kFloat32);
}

TEST_F(ShapeRules, Broadcasting) {
  EXPECT_EQ(shape(floats({batch_, 3}) + floats({3})), "[batch, 3]");
  EXPECT_EQ(shape(floats({3}) * floats({batch_, 1})), "[batch, 3]");
  EXPECT_EQ(shape(floats({batch_, 1}) / floats({1, 4})), "[batch, 4]");
  EXPECT_EQ(shape(floats({1}) - floats({batch_})), "[batch]") << "a symbol goes with 1";
  EXPECT_EQ(shape(floats({}) + floats({batch_, 2})), "[batch, 2]");
  EXPECT_EQ(shape(1.0 - floats({batch_, 2})), "[batch, 2]");
  EXPECT_EQ(shape(ops::less(integers({batch_, 2}), integers({2}))), "[batch, 2]");
  EXPECT_EQ(ops::less(integers({batch_, 2}), integers({2})).dtype(), DType::kFloat32);
  EXPECT_REFUSED(
      ops::add(floats({batch_, 3}), floats({Dim::symbol("time"), 3}), "a"),
      "add \"a\": a [batch, 3] and b [time, 3] do not broadcast: from the last axis on, sizes must be equal or 1");
  EXPECT_REFUSED(ops::add(floats({batch_}), floats({7}), "a"),
                 "add \"a\": a [batch] and b [7] do not broadcast: from the last axis on, sizes must be equal or 1");
  EXPECT_REFUSED(ops::div(integers({3}), floats({3}), "d"), "div \"d\": a is int64 [3]; it must be float32");
  EXPECT_EQ(shape(ops::select(floats({4, 1}), floats({}), floats({3}))), "[4, 3]");
  EXPECT_REFUSED(ops::select(integers({3}), floats({3}), floats({3}), "s"),
                 "select \"s\": condition is int64 [3]; it must be float32 or bool");
  EXPECT_REFUSED(
      ops::select(floats({4}), floats({3}), floats({}), "s"),
      "select \"s\": condition [4] and a or b [3] do not broadcast: from the last axis on, sizes must be equal or 1");
}

TEST_F(ShapeRules, BroadcastingRefusesASymbolOnTwoAxes) {
  const Dim time = Dim::symbol("time");
  const std::string advice =
      "Reshape one so that both have the same rank: ops::reshape(x, {-1, 1}) makes [batch, 1] of [batch]; if a matrix of "
      "all pairs is wanted, ops::reshape(x, {1, -1}) makes [1, batch]";
  EXPECT_REFUSED(
      ops::sub(floats({batch_, 1}), floats({batch_}), "s"),
      "sub \"s\": a [batch, 1] and b [batch] would broadcast to [batch, batch], with batch on two axes. " + advice);
  EXPECT_REFUSED(
      ops::less(integers({batch_}), integers({batch_, 1}), "l"),
      "less \"l\": a [batch] and b [batch, 1] would broadcast to [batch, batch], with batch on two axes. " + advice);
  EXPECT_REFUSED(ops::select(floats({batch_}), floats({batch_, 1}), floats({}), "s"),
                 "select \"s\": condition [batch] and a or b [batch, 1] would broadcast to [batch, batch], with batch on "
                 "two axes. " +
                     advice);
  EXPECT_THROW(floats({batch_, time, 1}) * floats({batch_, time}), Exception);
  // With equal ranks all pairs are meant.
  const Value pairs = floats({batch_, 1}) - floats({1, batch_});
  EXPECT_EQ(shape(pairs), "[batch, batch]");
  EXPECT_EQ(shape(pairs + floats({batch_})), "[batch, batch]");
  EXPECT_EQ(shape(ops::reshape(floats({batch_}), {-1, 1}) - floats({batch_, 1})), "[batch, 1]");
  EXPECT_EQ(shape(floats({batch_, 1}) * ops::reshape(floats({batch_}), {1, -1})), "[batch, batch]");
  EXPECT_EQ(shape(floats({batch_, 1}) + floats({time})), "[batch, time]");
  EXPECT_EQ(shape(floats({batch_, 1, time}) * floats({time})), "[batch, 1, time]");
  EXPECT_EQ(shape(floats({batch_, time, 3}) + floats({time, 1})), "[batch, time, 3]");
}

TEST_F(ShapeRules, ComparisonsWithANumberGiveItTheOtherType) {
  for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool, DType::kFloat32}) {
    const Value x = graph_.input("x_" + std::string(to_string(dtype)), dtype, {batch_, 2});
    for (const Value compared : {ops::equal(x, 1), ops::not_equal(x, 1), ops::less(x, 1), ops::less_equal(x, 1),
                                 ops::greater(x, 1), ops::greater_equal(x, 1)}) {
      EXPECT_EQ(shape(compared), "[batch, 2]");
      EXPECT_EQ(compared.dtype(), DType::kFloat32);
    }
    EXPECT_EQ(graph_.nodes().back().inputs[1].dtype(), dtype);
  }
  EXPECT_REFUSED(ops::greater(integers({3}), 0.5),
                 "greater: x is int64 [3], which is never 0.500000; compare it with another number, or cast x to float32");
  EXPECT_THROW(ops::less(integers({3}), 9223372036854775808.0), Exception) << "2^63";
  EXPECT_EQ(shape(ops::less(integers({3}), -9223372036854775808.0)), "[3]");
  EXPECT_THROW(ops::equal(ops::cast(integers({3}), DType::kUInt8), 256), Exception);
  EXPECT_THROW(ops::equal(ops::cast(integers({3}), DType::kUInt8), -1), Exception);
  EXPECT_REFUSED(ops::maximum(integers({3}), 1, "m"), "maximum \"m\": a is int64 [3]; it must be float32");
  EXPECT_THROW(ops::greater(Value(), 0.5), Exception);
}

TEST_F(ShapeRules, ReductionsAlongAxes) {
  const Value x = floats({batch_, 5, 3});
  EXPECT_EQ(shape(ops::reduce_sum(x, {.axes = {1}})), "[batch, 3]");
  EXPECT_EQ(shape(ops::reduce_mean(x, {.axes = {-1, 0}})), "[5]");
  EXPECT_EQ(shape(ops::reduce_max(x, {.axes = {1}, .keep_dims = true})), "[batch, 1, 3]");
  EXPECT_EQ(shape(ops::reduce_sum(x, {.keep_dims = true})), "[1, 1, 1]");
  EXPECT_EQ(shape(ops::reduce_max(x)), "[]");
  EXPECT_REFUSED(ops::reduce_sum(x, {.axes = {3}}), "reduce_sum: x [batch, 5, 3] has no axis 3");
  EXPECT_REFUSED(ops::reduce_mean(x, {.axes = {-4}}), "reduce_mean: x [batch, 5, 3] has no axis -4");
  EXPECT_REFUSED(ops::reduce_sum(x, {.axes = {2, -1}}), "reduce_sum: an axis of x [batch, 5, 3] is named twice");
  EXPECT_REFUSED(graph_.add("reduce_sum", {x}, {{"axes", std::vector<int64_t>{1, 0}}}, "r"),
                 "reduce_sum \"r\": attribute \"axes\" must name axes of [batch, 5, 3] in ascending order");
  EXPECT_REFUSED(graph_.add("reduce_sum", {x}, {{"keep_dims", int64_t{1}}}, "r"),
                 "reduce_sum \"r\": attribute \"keep_dims\" must be true or false");
  EXPECT_EQ(shape(ops::sum_like(x, floats({5, 1}))), "[5, 1]");
  EXPECT_EQ(shape(ops::broadcast_like(floats({5, 1}), x)), "[batch, 5, 3]");
  EXPECT_REFUSED(ops::sum_like(x, floats({4, 1}), "s"),
                 "sum_like \"s\": like [4, 1] does not broadcast to x [batch, 5, 3]");
  EXPECT_REFUSED(ops::broadcast_like(floats({4, 1}), x, "b"),
                 "broadcast_like \"b\": x [4, 1] does not broadcast to like [batch, 5, 3]");
  EXPECT_REFUSED(ops::broadcast_like(x, floats({3}), "b"),
                 "broadcast_like \"b\": x [batch, 5, 3] does not broadcast to like [3]");
}

TEST(Window, SamePaddingGivesCeilOfSizeByStride) {
  for (int64_t size = 1; size <= 12; ++size) {
    for (int64_t window = 1; window <= 5; ++window) {
      for (int64_t stride = 1; stride <= 4; ++stride) {
        const AxisPadding padding = same_padding(size, window, stride);
        EXPECT_LE(padding.before, padding.after);
        EXPECT_LE(padding.after, padding.before + 1);
        EXPECT_EQ(window_count(size, window, stride, padding).value(), (size + stride - 1) / stride)
            << size << " " << window << " " << stride;
      }
    }
  }
}

TEST(OpCatalogue, RefusesAnOpThatIsNotWhole) {
  OpCatalogue catalogue;
  const ShapeRule rule = [](auto inputs, const Attributes&) -> Result<std::vector<ValueType>> {
    return std::vector<ValueType>(inputs.begin(), inputs.end());
  };
  const OpKernel kernel = [](const OpCall&) -> Result<void> { return {}; };
  auto sentence = [&](OpDef op) {
    const auto added = catalogue.add(std::move(op));
    return added ? std::string("accepted") : added.error().message();
  };
  EXPECT_EQ(sentence({.name = "", .inputs_max = 1, .shape_rule = rule, .kernel = kernel}), "op \"\": the op has no name");
  EXPECT_EQ(sentence({.name = "a", .inputs_max = 1, .kernel = kernel}), "op \"a\": the op has no shape rule");
  EXPECT_EQ(sentence({.name = "a", .inputs_max = 1, .shape_rule = rule}),
            "op \"a\": the op has no kernel; a user's own op brings one");
  EXPECT_EQ(sentence({.name = "a", .inputs_min = 2, .inputs_max = 1, .shape_rule = rule, .kernel = kernel}),
            "op \"a\": inputs_min and inputs_max contradict each other");
  EXPECT_EQ(sentence({.name = "a", .inputs_max = 1, .shape_rule = rule, .shape_only = {1}, .kernel = kernel}),
            "op \"a\": shape_only names input 1, which the op does not have");
  EXPECT_EQ(sentence({.name = "a", .inputs_max = 1, .shape_rule = rule, .in_place = {{0, 2}}, .kernel = kernel}),
            "op \"a\": in_place names an output or input that the op does not have");
  EXPECT_EQ(sentence({.name = "relu", .inputs_max = 1, .shape_rule = rule, .kernel = kernel}),
            "op \"relu\": Shoal has an op of this name; choose another one, for example with a prefix of your own");
  EXPECT_EQ(sentence({.name = "input", .inputs_max = 1, .shape_rule = rule, .kernel = kernel}),
            "op \"input\": Shoal has an op of this name; choose another one, for example with a prefix of your own");
  EXPECT_EQ(sentence({.name = "a", .inputs_max = 1, .shape_rule = rule, .kernel = kernel}), "accepted");
  EXPECT_EQ(OpCatalogue::built_in().find("a"), nullptr);
}

}  // namespace
}  // namespace shoal
