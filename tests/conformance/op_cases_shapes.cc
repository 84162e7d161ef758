// SPDX-License-Identifier: Apache-2.0
/// Cases of the ops that move elements, look them up, and multiply matrices.
#include <cmath>

#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Cases = std::vector<OpCase>;
using Values = std::vector<Value>;
using Build = std::function<Values(CaseBuilder&)>;

void add(Cases& cases, std::string op, std::string detail, Build build, std::vector<std::string> differentiable = {"x"}) {
  cases.push_back({std::move(op), std::move(detail), std::move(build), std::move(differentiable)});
}

void add_reshapes(Cases& cases) {
  add(cases, "reshape", "inferred", [](CaseBuilder& b) -> Values {
    return {ops::reshape(ops::square(b.floats("x", {4, 6})), {2, -1, 4})};
  });
  add(cases, "reshape", "to_scalar", [](CaseBuilder& b) -> Values {
    return {ops::reshape(ops::square(b.floats("x", {1, 1})), DimShape())};
  });
}

/// Of its operand there is no gradient, so no finite differences either; another factor's is that of a constant.
void add_stopped(Cases& cases) {
  add(cases, "stop_gradient", "factor", [](CaseBuilder& b) -> Values {
    return {b.floats("x", {3, 5}) * ops::stop_gradient(ops::square(b.floats("y", {3, 5})))};
  });
  add(cases, "stop_gradient", "alone",
      [](CaseBuilder& b) -> Values {
        return {ops::stop_gradient(b.floats("x", {1, 1})), ops::stop_gradient(b.integers("i", DType::kInt64, {7}, 100))};
      },
      {});
}

/// Beside what is computed from the operand itself, which is no equal node.
void add_recomputed(Cases& cases) {
  add(cases, "recompute_from", "beside", [](CaseBuilder& b) -> Values {
    const Value x = b.floats("x", {3, 5});
    return {ops::tanh(x) * ops::tanh(ops::recompute_from(x))};
  });
  add(cases, "recompute_from", "alone",
      [](CaseBuilder& b) -> Values { return {ops::recompute_from(b.integers("i", DType::kInt64, {7}, 100))}; }, {});
}

void add_transposes(Cases& cases) {
  auto transposed = [&](std::string detail, Shape shape, std::vector<int> permutation, bool small = true) {
    add(
        cases, "transpose", std::move(detail),
        [=](CaseBuilder& b) -> Values { return {ops::transpose(b.floats("x", shape), permutation)}; },
        small ? std::vector<std::string>{"x"} : std::vector<std::string>{});
  };
  transposed("scalar", {}, {});
  transposed("one", {1, 1}, {1, 0});
  transposed("odd", {3, 7}, {1, 0});
  transposed("unchanged", {3, 5}, {0, 1});
  transposed("heads", {2, 5, 3, 4}, {0, 2, 1, 3});
  transposed("reversed", {2, 3, 4, 5}, {3, 2, 1, 0});
  transposed("rotated", {3, 1, 7, 2}, {2, 3, 0, 1});
  transposed("large", {259, 517}, {1, 0}, false);
  transposed("large_batch", {3, 65, 130, 9}, {0, 3, 2, 1}, false);
  transposed("tall", {70001, 3}, {1, 0}, false);
  transposed("empty", {0, 3}, {1, 0}, false);
  for (DType dtype : {DType::kUInt8, DType::kInt64}) {
    add(cases, "transpose", std::string(to_string(dtype)),
        [dtype](CaseBuilder& b) -> Values {
          return {ops::matrix_transpose(b.integers("x", dtype, {5, 33, 17}, 100))};
        },
        {});
  }
}

void add_pieces(Cases& cases) {
  struct Whole {
    std::string detail;
    int axis;
    std::vector<Shape> pieces;
  };
  const std::vector<Whole> wholes{{"single", 0, {{3}}},
                                  {"columns", 1, {{3, 2}, {3, 5}, {3, 1}}},
                                  {"rows", 0, {{1, 4}, {3, 4}}},
                                  {"last_of_three", -1, {{2, 3, 1}, {2, 3, 4}}},
                                  {"middle", 1, {{2, 1, 3}, {2, 2, 3}, {2, 1, 3}}},
                                  {"with_empty", 1, {{2, 0}, {2, 3}}},
                                  {"ones", 0, {{1}, {1}}}};
  for (const Whole& whole : wholes) {
    std::vector<std::string> names;
    for (size_t i = 0; i < whole.pieces.size(); ++i) {
      if (whole.pieces[i].elements() > 0) names.push_back("x" + std::to_string(i));
    }
    add(
        cases, "concat", whole.detail,
        [whole](CaseBuilder& b) -> Values {
          Values values;
          for (size_t i = 0; i < whole.pieces.size(); ++i)
            values.push_back(b.floats("x" + std::to_string(i), whole.pieces[i]));
          return {ops::concat(values, whole.axis)};
        },
        names);
    add(cases, "split", whole.detail, [whole](CaseBuilder& b) -> Values {
      const int rank = whole.pieces[0].rank();
      const int axis = whole.axis < 0 ? whole.axis + rank : whole.axis;
      std::vector<int64_t> sizes;
      int64_t sum = 0;
      for (const Shape& piece : whole.pieces) sizes.push_back(piece[axis]), sum += piece[axis];
      return ops::split(b.floats("x", whole.pieces[0].with(axis, sum)), whole.axis, sizes);
    });
  }
  add(cases, "split", "one_piece_used", [](CaseBuilder& b) -> Values {
    return {ops::square(ops::split(b.floats("x", {3, 6}), 1, {1, 3, 2})[1])};
  });
  add(cases, "concat", "int32",
      [](CaseBuilder& b) -> Values {
        return {ops::concat({b.integers("a", DType::kInt32, {7, 3}, 9), b.integers("b", DType::kInt32, {7, 1}, 9)}, 1)};
      },
      {});
  add(cases, "concat", "large",
      [](CaseBuilder& b) -> Values {
        return {ops::concat({b.floats("a", {1021, 67}), b.floats("b", {1021, 16})}, 1)};
      },
      {});
}

void add_slices(Cases& cases) {
  auto sliced = [&](std::string detail, Shape shape, std::vector<ops::SliceRange> ranges, bool small = true) {
    add(
        cases, "slice", std::move(detail),
        [=](CaseBuilder& b) -> Values { return {ops::slice(b.floats("x", shape), ranges)}; },
        small ? std::vector<std::string>{"x"} : std::vector<std::string>{});
  };
  sliced("all", {3, 5}, {});
  sliced("one_element", {3, 5}, {{.begin = 2, .size = 1}, {.begin = 4, .size = 1}});
  sliced("column", {4, 5}, {{}, {.begin = 3, .size = 1}});
  sliced("rows_from_the_end", {6, 2}, {{.begin = -2}});
  sliced("strided", {7, 9}, {{.begin = 1, .stride = 2}, {.begin = 0, .size = 3, .stride = 4}});
  sliced("middle_of_rank4", {2, 5, 3, 4}, {{}, {.begin = 1, .size = 3}, {}, {.begin = 2}});
  sliced("nothing", {4, 3}, {{.begin = 2, .size = 0}}, false);
  sliced("large", {301, 1031}, {{.begin = 1}, {.begin = 3, .size = 1000}}, false);
  sliced("large_strided", {301, 1031}, {{.begin = 1, .stride = 3}, {.begin = 3, .stride = 2}}, false);
  add(cases, "slice", "uint8",
      [](CaseBuilder& b) -> Values {
        return {ops::slice(b.integers("x", DType::kUInt8, {5, 6}, 200), {{}, {.begin = 1, .stride = 2}})};
      },
      {});

  auto padded = [&](std::string detail, Shape shape, std::vector<ops::PadRange> ranges, double value, bool small = true) {
    add(
        cases, "pad", std::move(detail),
        [=](CaseBuilder& b) -> Values { return {ops::pad(b.floats("x", shape), {.ranges = ranges, .value = value})}; },
        small ? std::vector<std::string>{"x"} : std::vector<std::string>{});
  };
  padded("none", {3, 2}, {}, 0);
  padded("rows", {3, 2}, {{.before = 1, .after = 2}}, 0);
  padded("columns", {3, 2}, {{}, {.before = 2}}, -1.5);
  padded("image", {2, 3, 4, 2}, {{}, {.before = 1, .after = 1}, {.before = 2}}, 0.25);
  padded("from_nothing", {0, 3}, {{.after = 2}}, 7, false);
  padded("large", {250, 301}, {{.before = 3}, {.before = 5, .after = 1}}, 1, false);
  for (DType dtype : {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool}) {
    add(cases, "pad", std::string(to_string(dtype)),
        [dtype](CaseBuilder& b) -> Values {
          return {ops::pad(b.integers("x", dtype, {3, 2}, 2), {.ranges = {{.before = 1}, {.after = 3}}, .value = 300.7})};
        },
        {});
  }
}

void add_lookups(Cases& cases) {
  auto gathered = [&](std::string detail, Shape shape, Shape indices, int axis, DType dtype, bool small = true) {
    add(
        cases, "gather", std::move(detail),
        [=](CaseBuilder& b) -> Values {
          const int64_t bound = shape[axis < 0 ? axis + shape.rank() : axis];
          return {ops::gather(b.weights("x", shape), b.integers("indices", dtype, indices, bound), axis)};
        },
        small ? std::vector<std::string>{"x"} : std::vector<std::string>{});
  };
  gathered("one_row", {1, 3}, {4}, 0, DType::kInt64);
  gathered("scalar_index", {5, 3}, {}, 0, DType::kInt64);
  gathered("table", {7, 4}, {9}, 0, DType::kInt64);
  gathered("sequences", {6, 3}, {2, 5}, 0, DType::kInt32);
  gathered("elements", {11}, {3, 2}, 0, DType::kInt64);
  gathered("columns", {3, 8}, {5}, -1, DType::kInt32);
  gathered("middle", {2, 4, 3}, {2, 2}, 1, DType::kInt64);
  gathered("no_indices", {4, 3}, {0}, 0, DType::kInt64, false);
  gathered("no_width", {4, 0}, {3}, 0, DType::kInt64, false);
  add(cases, "gather", "large",
      [](CaseBuilder& b) -> Values {
        const Value table = b.floats("x", {5003, 16});
        const Value y = ops::embedding_lookup(table, b.integers("ids", DType::kInt64, {4099}, 5003));
        return {y, gradients(ops::reduce_sum(ops::square(y)), {table})[0]};
      },
      {});
  add(cases, "gather", "bytes",
      [](CaseBuilder& b) -> Values {
        return {ops::gather(b.integers("x", DType::kUInt8, {5, 3}, 200), b.integers("indices", DType::kInt64, {4}, 5))};
      },
      {});

  for (DType dtype : {DType::kInt64, DType::kInt32}) {
    add(cases, "one_hot", std::string(to_string(dtype)),
        [dtype](CaseBuilder& b) -> Values {
          return {ops::one_hot(b.integers("indices", dtype, {3, 5}, 7), {.depth = 7, .on_value = 0.9, .off_value = -0.1})};
        },
        {});
  }
  add(cases, "one_hot", "scalar",
      [](CaseBuilder& b) -> Values { return {ops::one_hot(b.integers("indices", DType::kInt64, {}, 1), {.depth = 1})}; },
      {});

  auto top = [&](std::string detail, Shape shape, int64_t k, bool small = true) {
    add(
        cases, "top_k", std::move(detail),
        [=](CaseBuilder& b) -> Values {
          const ops::TopK best = ops::top_k(b.distinct_floats("x", shape), k);
          return {best.values, best.indices};
        },
        small ? std::vector<std::string>{"x"} : std::vector<std::string>{});
  };
  top("one", {1}, 1);
  top("some", {4, 9}, 3);
  top("all", {3, 2, 5}, 5);
  top("large", {17, 1031}, 10, false);
  top("no_rows", {0, 4}, 2, false);
  add(cases, "top_k", "ties_and_nan",
      [](CaseBuilder& b) -> Values {
        const float nan = std::nanf("");
        const ops::TopK best = ops::top_k(b.input("x", Tensor::of<float>({2, 5}, {1, 2, 2, 1, 2, 0, nan, 5, nan, 7})), 4);
        return {best.indices};
      },
      {});
  for (int axis : {0, 1, 2, -1}) {
    add(cases, "argmax", "axis" + std::to_string(axis + 1),
        [axis](CaseBuilder& b) -> Values {
          return {ops::argmax(b.distinct_floats("x", {3, 4, 5}), axis)};
        },
        {});
  }
  add(cases, "argmax", "nan",
      [](CaseBuilder& b) -> Values {
        const float nan = std::nanf("");
        return {ops::argmax(b.input("x", Tensor::of<float>({2, 3}, {1, nan, nan, 4, 9, nan})))};
      },
      {});
}

void add_products(Cases& cases) {
  auto product = [&](std::string detail, Shape a, Shape b_shape, ops::MatmulOptions options = {}, bool small = true) {
    add(
        cases, "matmul", std::move(detail),
        [=](CaseBuilder& b) -> Values { return {ops::matmul(b.floats("a", a), b.floats("b", b_shape), options)}; },
        small ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{});
  };
  product("one", {1, 1}, {1, 1});
  product("odd", {3, 7}, {7, 5});
  product("outer", {4, 1}, {1, 3});
  product("inner", {1, 9}, {9, 1});
  product("large", {131, 67}, {67, 129}, {}, false);
  product("nothing_to_sum", {3, 0}, {0, 2}, {}, false);
  product("no_rows", {0, 3}, {3, 2}, {}, false);
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      const std::string detail = std::string(a ? "at" : "a") + (b ? "_bt" : "_b");
      const ops::MatmulOptions flags{.transpose_a = a, .transpose_b = b};
      const Shape left = a ? Shape{3, 4} : Shape{4, 3}, right = b ? Shape{5, 3} : Shape{3, 5};
      auto batched = [](const Shape& s, std::vector<int64_t> lead) {
        lead.insert(lead.end(), s.dims().begin(), s.dims().end());
        return Shape(lead);
      };
      product(detail, left, right, flags);
      product(detail + "_batch", batched(left, {2}), batched(right, {2}), flags);
      product(detail + "_batch_of_one", batched(left, {1}), batched(right, {1}), flags);
      product(detail + "_heads", batched(left, {2, 3}), batched(right, {2, 3}), flags);
      product(detail + "_shared_b", batched(left, {2, 3}), right, flags);
      product(detail + "_shared_a", left, batched(right, {3}), flags);
      product(detail + "_large_batch", batched(a ? Shape{16, 65} : Shape{65, 16}, {2, 4}),
              batched(b ? Shape{33, 16} : Shape{16, 33}, {2, 4}), flags, false);
    }
  }
}

}  // namespace

void add_shapes_cases(std::vector<OpCase>& cases) {
  add_reshapes(cases);
  add_stopped(cases);
  add_recomputed(cases);
  add_transposes(cases);
  add_pieces(cases);
  add_slices(cases);
  add_lookups(cases);
  add_products(cases);
}

}  // namespace shoal::backends::testing
