// SPDX-License-Identifier: Apache-2.0
/// Shape rules of the ops that move elements, look them up, and multiply matrices.
#include <gtest/gtest.h>

#include "expect_refused.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

class Arranging : public ::testing::Test {
 protected:
  Value floats(DimShape shape) { return graph_.input("x" + std::to_string(count_++), DType::kFloat32, std::move(shape)); }
  Value integers(DimShape shape) { return graph_.input("x" + std::to_string(count_++), DType::kInt64, std::move(shape)); }
  static std::string shape(Value value) { return to_string(value.shape()); }

  Dim batch_ = Dim::symbol("batch");
  Dim time_ = Dim::symbol("time");
  Graph graph_;
  int count_ = 0;
};
using Lookups = Arranging;
using Products = Arranging;

TEST_F(Arranging, Transpose) {
  EXPECT_EQ(shape(ops::transpose(floats({batch_, time_, 4, 8}), {0, 2, 1, 3})), "[batch, 4, time, 8]");
  EXPECT_EQ(shape(ops::transpose(floats({batch_, time_, 4}), {-1, 0, 1})), "[4, batch, time]");
  EXPECT_EQ(shape(ops::matrix_transpose(floats({batch_, time_, 4}))), "[batch, 4, time]");
  EXPECT_REFUSED(ops::transpose(floats({batch_, 3}), {0, 0}, "t"),
                 "transpose \"t\": the permutation must name each axis of x [batch, 3] once");
  EXPECT_REFUSED(ops::transpose(floats({batch_, 3}), {1}, "t"),
                 "transpose \"t\": attribute \"permutation\" must have 2 integers, not 1");
  EXPECT_REFUSED(ops::transpose(floats({batch_, 3}), {0, 2}), "transpose: [batch, 3] has no axis 2");
  EXPECT_REFUSED(ops::matrix_transpose(floats({3})), "matrix_transpose: x [3] has no two axes to exchange");
}

TEST_F(Arranging, ConcatAndSplit) {
  EXPECT_EQ(shape(ops::concat({floats({batch_, 3}), floats({batch_, 5})}, 1)), "[batch, 8]");
  const auto pieces = ops::split(floats({batch_, 8}), -1, {3, 5});
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(shape(pieces[1]), "[batch, 5]");
  EXPECT_REFUSED(ops::concat({}, 0), "concat: no values were given");
  EXPECT_REFUSED(ops::concat({floats({batch_, 3}), floats({time_, 3})}, 1, "c"),
                 "concat \"c\": value 1 [time, 3] and value 0 [batch, 3] may differ in size 1 only");
  EXPECT_REFUSED(ops::concat({floats({batch_, 3}), floats({batch_, 3})}, 0, "c"),
                 "concat \"c\": value 0 [batch, 3]: size 0 must be a number, not a symbol");
  EXPECT_REFUSED(ops::concat({floats({2}), integers({2})}, 0, "c"),
                 "concat \"c\": value 1 is int64 [2]; it must be float32");
  EXPECT_REFUSED(ops::split(floats({batch_, 8}), 1, {3, 4}, "s"),
                 "split \"s\": the sizes of the pieces must not be negative and add up to the 8 of x [batch, 8] along "
                 "axis 1; at most 4096 pieces");
  EXPECT_REFUSED(ops::split(floats({batch_, 8}), 1, {9, -1}, "s"),
                 "split \"s\": the sizes of the pieces must not be negative and add up to the 8 of x [batch, 8] along "
                 "axis 1; at most 4096 pieces");
}

TEST_F(Arranging, SliceAndPad) {
  const Value x = floats({batch_, 5, 7});
  EXPECT_EQ(shape(ops::slice(x, {{}, {.begin = 3, .size = 1}})), "[batch, 1, 7]");
  EXPECT_EQ(shape(ops::slice(x, {{}, {.begin = -2}, {.begin = 1, .stride = 3}})), "[batch, 2, 2]");
  EXPECT_EQ(shape(ops::slice(x, {})), "[batch, 5, 7]");
  EXPECT_REFUSED(ops::slice(x, {{.begin = 1}}, "s"),
                 "slice \"s\": x [batch, 5, 7], axis 0: a size that is a symbol can only be taken whole");
  EXPECT_REFUSED(ops::slice(x, {{}, {.begin = 3, .size = 3}}, "s"),
                 "slice \"s\": x [batch, 5, 7], axis 1: 3 elements from 3 by steps of 1 do not lie in it");
  EXPECT_REFUSED(ops::slice(x, {{}, {.begin = -6}}, "s"),
                 "slice \"s\": x [batch, 5, 7], axis 1: begin, size or stride is out of range");
  EXPECT_REFUSED(ops::slice(x, {{}, {}, {}, {}}), "slice: 4 ranges for x [batch, 5, 7]");

  EXPECT_EQ(shape(ops::pad(x, {.ranges = {{}, {.before = 1, .after = 2}}})), "[batch, 8, 7]");
  EXPECT_REFUSED(ops::pad(x, {.ranges = {{.after = 1}}}, "p"),
                 "pad \"p\": x [batch, 5, 7], axis 0: cannot add 0 and 1 elements; only sizes that are numbers grow, and "
                 "only by 0 or more");
  EXPECT_REFUSED(ops::pad(x, {.ranges = {{}, {.before = -1}}}, "p"),
                 "pad \"p\": x [batch, 5, 7], axis 1: cannot add -1 and 0 elements; only sizes that are numbers grow, and "
                 "only by 0 or more");
}

TEST_F(Lookups, Gather) {
  EXPECT_EQ(shape(ops::embedding_lookup(floats({100, 16}), integers({batch_, time_}))), "[batch, time, 16]");
  EXPECT_EQ(shape(ops::gather(floats({batch_, 5, 3}), integers({2}), -1)), "[batch, 5, 2]");
  EXPECT_EQ(shape(ops::gather(floats({batch_, 5}), integers({}))), "[5]");
  EXPECT_REFUSED(ops::gather(floats({100, 16}), floats({batch_}), 0, "g"),
                 "gather \"g\": indices is float32 [batch]; it must be int64 or int32");
  EXPECT_REFUSED(ops::gather(floats({}), integers({batch_})), "gather: [] has no axis 0");
}

TEST_F(Lookups, BagsOfRows) {
  EXPECT_EQ(shape(ops::embedding_bag(floats({100, 16}), integers({batch_, 5}))), "[batch, 16]");
  EXPECT_EQ(shape(ops::embedding_bag(floats({100, 16}), integers({batch_, time_, 1}))), "[batch, time, 16]");
  EXPECT_REFUSED(ops::embedding_bag(floats({100}), integers({batch_, 5})),
                 "embedding_bag: table is float32 [100], expected [K, D]");
  EXPECT_REFUSED(ops::embedding_bag(floats({100, 16}), floats({batch_, 5}), {}, "b"),
                 "bag_rows \"b/bag_rows\": ids is float32 [batch, 5]; it must be int64 or int32");
  EXPECT_REFUSED(ops::embedding_bag(floats({100, 16}), integers({batch_, 5}), {.weights = floats({batch_, 4})}, "c"),
                 "bag_rows \"c/bag_rows\": ids [batch, 5] and weights [batch, 4] must have equal shapes");
}

TEST_F(Lookups, IdsOfIntervalsCrossesAndDefaults) {
  EXPECT_EQ(ops::bucketize(floats({batch_, 3}), floats({4})).type(), (ValueType{DType::kInt64, {batch_, 3}}));
  EXPECT_REFUSED(ops::bucketize(floats({batch_}), floats({4}), {.spacing = -1}, "b"),
                 "bucketize \"b\": spacing is -1, expected 0 or more");
  EXPECT_REFUSED(ops::bucketize(floats({batch_}), floats({4}), {.missing_id = -2}, "b"),
                 "bucketize \"b\": missing_id is -2, expected -1 or more");
  EXPECT_EQ(shape(ops::cross_ids({integers({batch_, 2}), integers({batch_, 3})}, 7)), "[batch, 6]");
  EXPECT_REFUSED(ops::cross_ids({integers({batch_, 2})}, 7, "c"), "cross_ids \"c\": takes 2 to 64 operands, not 1");
  EXPECT_REFUSED(ops::cross_ids({integers({batch_, 2}), integers({batch_, 3})}, 0, "c"),
                 "cross_ids \"c\": buckets is 0, expected 1 or more");
  EXPECT_REFUSED(ops::cross_ids({integers({batch_, 2}), integers({batch_, time_})}, 7, "c"),
                 "cross_ids \"c\": ids is int64 [batch, time]; its last size must be a number");
  EXPECT_REFUSED(ops::cross_ids({integers({batch_, 2}), integers({time_, 3})}, 7, "c"),
                 "cross_ids \"c\": ids is int64 [time, 3] and int64 [batch, 2]; only the last size may differ");
  EXPECT_REFUSED(ops::cross_ids({integers({batch_, 2000}), integers({batch_, 2000})}, 7, "c"),
                 "cross_ids \"c\": one row has more than 1048576 combinations");
  EXPECT_REFUSED(ops::default_ids(integers({batch_}), {.depth = 5, .otherwise = 5}, "d"),
                 "default_ids \"d\": otherwise is 5, expected a number in [-1, 5)");
  EXPECT_REFUSED(ops::default_ids(integers({batch_}), {.depth = 0, .otherwise = 0}, "d"),
                 "default_ids \"d\": depth is 0, expected 1 or more");
}

TEST_F(Lookups, OneHotTopKAndArgmax) {
  EXPECT_EQ(shape(ops::one_hot(integers({batch_, 3}), {.depth = 7})), "[batch, 3, 7]");
  EXPECT_REFUSED(ops::one_hot(integers({batch_}), {}, "o"), "one_hot \"o\": depth is 0, expected 1 or more");
  EXPECT_REFUSED(ops::one_hot(floats({batch_}), {.depth = 7}, "o"),
                 "one_hot \"o\": indices is float32 [batch]; it must be int64 or int32");
  const ops::TopK best = ops::top_k(floats({batch_, 10}), 3);
  EXPECT_EQ(shape(best.values), "[batch, 3]");
  EXPECT_EQ(best.indices.dtype(), DType::kInt64);
  EXPECT_REFUSED(ops::top_k(floats({batch_, 10}), 11, "t"),
                 "top_k \"t\": k is 11, expected 1 up to the last size of x [batch, 10], which must be a number");
  EXPECT_REFUSED(ops::top_k(floats({10, batch_}), 1, "t"),
                 "top_k \"t\": k is 1, expected 1 up to the last size of x [10, batch], which must be a number");
  EXPECT_EQ(shape(ops::argmax(floats({batch_, 4, 10}), 1)), "[batch, 10]");
  EXPECT_REFUSED(ops::argmax(floats({batch_, 4}), 2), "argmax: [batch, 4] has no axis 2");
}

TEST_F(Products, Matmul) {
  EXPECT_EQ(shape(ops::matmul(floats({batch_, 20}), floats({20, 10}))), "[batch, 10]");
  EXPECT_EQ(shape(ops::matmul(floats({20, batch_}), floats({10, 20}), {.transpose_a = true, .transpose_b = true})),
            "[batch, 10]");
  EXPECT_EQ(shape(ops::matmul(floats({batch_, 4, time_, 8}), floats({batch_, 4, time_, 8}), {.transpose_b = true})),
            "[batch, 4, time, time]");
  EXPECT_EQ(shape(ops::matmul(floats({batch_, time_, 8}), floats({8, 3}))), "[batch, time, 3]");
  EXPECT_EQ(shape(ops::matmul(floats({2, 8}), floats({batch_, 8, 3}))), "[batch, 2, 3]");
  EXPECT_REFUSED(ops::matmul(floats({batch_, 20}), floats({10, 20}), {}, "m"),
                 "matmul \"m\": a [batch, 20] has 20 columns and b [10, 20] 10 rows, after their transposition");
  EXPECT_REFUSED(ops::matmul(floats({2, 3, 4}), floats({5, 4, 3}), {}, "m"),
                 "matmul \"m\": a [2, 3, 4] and b [5, 4, 3] must have equal sizes before the last two, or one of them must "
                 "have no others");
  EXPECT_REFUSED(ops::matmul(floats({4}), floats({4, 3}), {}, "m"),
                 "matmul \"m\": a is float32 [4]; it must have at least 2 dimensions");
}

}  // namespace
}  // namespace shoal
