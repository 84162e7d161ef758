// SPDX-License-Identifier: Apache-2.0
/// Ops that broadcast, and reductions along axes.
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Values = std::vector<Value>;
using Names = std::vector<std::string>;

struct Pair {
  std::string detail;
  Shape a, b;
};

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> pairs{{"scalars", {}, {}},
                                       {"one_and_scalar", {1}, {}},
                                       {"equal", {3, 5}, {3, 5}},
                                       {"number_right", {3, 5}, {}},
                                       {"number_left", {}, {7}},
                                       {"row", {3, 5}, {5}},
                                       {"column", {3, 1}, {3, 5}},
                                       {"outer_product", {4, 1}, {1, 3}},
                                       {"middle", {2, 3, 1, 5}, {2, 1, 4, 5}},
                                       {"alternating", {2, 1, 3, 1, 2}, {3, 1, 4, 1}},
                                       {"rank8", {1, 2, 1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1, 2, 1}},
                                       {"empty", {0, 3}, {3}},
                                       {"long_rows", {70, 1031}, {1031}},
                                       {"long_columns", {1031, 67}, {1031, 1}}};
  return pairs;
}

bool is_small(const Pair& pair) { return std::max(pair.a.elements(), pair.b.elements()) < 100; }

struct Binary {
  const char* op;
  Value (*make)(CaseBuilder& b, const Shape& p, const Shape& q);
};

/// Numbers in [1, 3]: away from poles, where finite differences are good.
Value positive(CaseBuilder& b, const char* name, const Shape& shape) { return b.floats(name, shape) + 2.0; }

/// Two operands of which no elements are closer than the steps of finite differences are wide.
Values apart(CaseBuilder& b, const Shape& p, const Shape& q) {
  // distinct_floats() are odd multiples of 9/128 for odd counts, else even ones.
  const bool collide = p.elements() % 2 == q.elements() % 2;
  const Value first = b.distinct_floats("a", p);
  return {first, b.distinct_floats("b", q) + (collide ? 9.0 / 128 : 0.0)};
}

template <Value (*kCompare)(Value, Value, std::string_view)>
Value compared(CaseBuilder& b, const Shape& p, const Shape& q) {
  const Values operands = apart(b, p, q);
  return ops::add(ops::mul(operands[0], kCompare(operands[0], operands[1], "")), operands[1]);
}

const std::vector<Binary>& binary_ops() {
  static const std::vector<Binary> ops{
      {"add", [](CaseBuilder& b, const Shape& p, const Shape& q) { return b.floats("a", p) + b.floats("b", q); }},
      {"sub", [](CaseBuilder& b, const Shape& p, const Shape& q) { return b.floats("a", p) - b.floats("b", q); }},
      {"mul", [](CaseBuilder& b, const Shape& p, const Shape& q) { return b.floats("a", p) * b.floats("b", q); }},
      {"div", [](CaseBuilder& b, const Shape& p, const Shape& q) { return b.floats("a", p) / positive(b, "b", q); }},
      {"pow",
       [](CaseBuilder& b, const Shape& p, const Shape& q) { return ops::pow(positive(b, "a", p), b.floats("b", q)); }},
      {"maximum",
       [](CaseBuilder& b, const Shape& p, const Shape& q) {
         const Values operands = apart(b, p, q);
         return ops::maximum(operands[0], operands[1]);
       }},
      {"minimum",
       [](CaseBuilder& b, const Shape& p, const Shape& q) {
         const Values operands = apart(b, p, q);
         return ops::minimum(operands[0], operands[1]);
       }},
      {"equal", compared<ops::equal>},
      {"not_equal", compared<ops::not_equal>},
      {"less", compared<ops::less>},
      {"less_equal", compared<ops::less_equal>},
      {"greater", compared<ops::greater>},
      {"greater_equal", compared<ops::greater_equal>},
      {"select", [](CaseBuilder& b, const Shape& p, const Shape& q) {
         return ops::select(b.integers("condition", DType::kBool, q, 2), b.floats("a", p), b.floats("b", q));
       }}};
  return ops;
}

/// Numbers of which many are equal.
Value few(CaseBuilder& b, const char* name, const Shape& shape) {
  const Value drawn = b.integers(std::string(name) + "_of_three", DType::kInt32, shape, 3);
  return ops::cast(drawn, DType::kFloat32) + b.input(name, Tensor::zeros(DType::kFloat32, shape));
}

void add_comparisons_of_equals(std::vector<OpCase>& cases) {
  struct Comparison {
    const char* op;
    Value (*make)(Value, Value, std::string_view);
    Names differentiable;
  };
  // Half of the gradient of an extreme is what central differences see at a tie, too.
  for (const auto& [op, make, differentiable] : {Comparison{"equal", ops::equal, {}},
                                                 {"not_equal", ops::not_equal, {}},
                                                 {"less", ops::less, {}},
                                                 {"less_equal", ops::less_equal, {}},
                                                 {"greater", ops::greater, {}},
                                                 {"greater_equal", ops::greater_equal, {}},
                                                 {"maximum", ops::maximum, {"a", "b"}},
                                                 {"minimum", ops::minimum, {"a", "b"}}}) {
    cases.push_back({op, "ties",
                     [make = make](CaseBuilder& b) -> Values {
                       return {make(few(b, "a", {5, 9}), few(b, "b", {9}), "")};
                     },
                     differentiable});
  }
  for (DType dtype : {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool}) {
    cases.push_back({"less",
                     std::string(to_string(dtype)),
                     [dtype](CaseBuilder& b) -> Values {
                       const Value p = b.integers("a", dtype, {4, 5}, 2), q = b.integers("b", dtype, {4, 1}, 2);
                       return {ops::less(p, q), ops::greater_equal(p, q), ops::equal(p, q), ops::not_equal(p, q)};
                     },
                     {}});
  }
}

void add_select_cases(std::vector<OpCase>& cases) {
  struct Sizes {
    std::string detail;
    Shape condition, a, b;
  };
  for (const auto& [detail, condition, p, q] : {Sizes{"numbers", {4, 5}, {}, {}},
                                                {"condition_of_rows", {4, 1}, {4, 5}, {5}},
                                                {"one_condition", {}, {3}, {2, 3}},
                                                {"condition_of_columns", {5}, {4, 1}, {4, 5}},
                                                {"long", {65, 67}, {67}, {65, 1}},
                                                {"widest", {3, 1}, {4}, {}}}) {
    auto build = [condition = condition, p = p, q = q](CaseBuilder& b) -> Values {
      const Value floats = ops::cast(b.integers("condition", DType::kInt32, condition, 2), DType::kFloat32);
      return {ops::select(floats, b.floats("a", p), b.floats("b", q))};
    };
    cases.push_back({"select", "floats_" + detail, build, detail == "long" ? Names{} : Names{"a", "b"}});
  }
}

}  // namespace

void add_binary_cases(std::vector<OpCase>& cases) {
  for (const Binary& op : binary_ops()) {
    for (const Pair& pair : pairs()) {
      cases.push_back({op.op, "broadcast_" + pair.detail,
                       [make = op.make, pair](CaseBuilder& b) -> Values { return {make(b, pair.a, pair.b)}; },
                       is_small(pair) ? Names{"a", "b"} : Names{}});
    }
  }
  add_comparisons_of_equals(cases);
  add_select_cases(cases);
}

void add_reduction_cases(std::vector<OpCase>& cases) {
  struct Axes {
    std::string detail;
    Shape shape;
    std::vector<int64_t> axes;
  };
  const std::vector<Axes> all{{"last", {3, 7}, {-1}},
                              {"first", {3, 7}, {0}},
                              {"all", {3, 7}, {0, 1}},
                              {"middle", {2, 5, 3}, {1}},
                              {"outer_two", {2, 3, 2, 3}, {0, 1}},
                              {"every_other", {2, 3, 2, 3}, {0, 2}},
                              {"every_other_from_the_end", {2, 3, 2, 3}, {-1, 1}},
                              {"sizes_of_one", {1, 5, 1, 3}, {0, 2}},
                              {"one_element", {1, 1}, {1}},
                              {"long_rows", {5, 4099}, {1}},
                              {"rows_of_100", {37, 100}, {1}},
                              {"long_columns", {2055, 19}, {0}},
                              {"long_middle", {3, 1030, 17}, {1}},
                              {"long_images", {5, 33, 31, 18}, {0, 1, 2}},
                              {"long_ends", {41, 5, 53}, {0, 2}}};
  struct Reduction {
    const char* op;
    Value (*make)(Value, const ops::ReduceOptions&);
  };
  const std::vector<Reduction> reductions{
      {"reduce_sum", [](Value x, const ops::ReduceOptions& options) { return ops::reduce_sum(x, options); }},
      {"reduce_mean", [](Value x, const ops::ReduceOptions& options) { return ops::reduce_mean(x, options); }},
      {"reduce_max", [](Value x, const ops::ReduceOptions& options) { return ops::reduce_max(x, options); }}};
  for (const auto& [op, make] : reductions) {
    for (const auto& [detail, shape, axes] : all) {
      for (const bool keep : {false, true}) {
        const bool small = shape.elements() < 100;
        if (keep && !small) continue;
        cases.push_back({op, "axes_" + detail + (keep ? "_kept" : ""),
                         [make = make, shape = shape, axes = axes, keep](CaseBuilder& b) -> Values {
                           return {make(b.distinct_floats("x", shape), {.axes = axes, .keep_dims = keep})};
                         },
                         small ? Names{"x"} : Names{}});
      }
    }
    cases.push_back({op,
                     "axes_empty_batch",
                     [make = make](CaseBuilder& b) -> Values {
                       return {make(b.floats("x", {0, 3}), {.axes = {1}})};
                     },
                     {}});
  }
  cases.push_back({"reduce_sum",
                   "of_nothing",
                   [](CaseBuilder& b) -> Values {
                     return {ops::reduce_sum(b.floats("x", {0, 3}), {.axes = {0}})};
                   },
                   {}});
  cases.push_back({"reduce_max",
                   "ties",  // Finite differences have no say where three are equal; tests/torch compares the gradient.
                   [](CaseBuilder& b) -> Values {
                     return {ops::reduce_max(few(b, "x", {6, 11}), {.axes = {1}})};
                   },
                   {}});
  const std::vector<Pair> likes{{"scalar", {3, 5}, {}},
                                {"row", {3, 5}, {5}},
                                {"column", {3, 5}, {3, 1}},
                                {"equal", {3, 5}, {3, 5}},
                                {"ends", {2, 3, 4, 2}, {3, 1, 2}},
                                {"one", {1, 1}, {}},
                                {"long", {700, 33}, {1, 33}},
                                {"empty", {0, 3}, {1, 3}}};
  for (const Pair& pair : likes) {
    const bool small = pair.a.elements() < 100;
    cases.push_back(
        {"sum_like", pair.detail,
         [pair](CaseBuilder& b) -> Values { return {ops::sum_like(b.floats("x", pair.a), b.floats("like", pair.b))}; },
         small ? Names{"x"} : Names{}});
    cases.push_back({"broadcast_like", pair.detail,
                     [pair](CaseBuilder& b) -> Values {
                       return {ops::broadcast_like(b.floats("x", pair.b), b.floats("like", pair.a))};
                     },
                     small ? Names{"x"} : Names{}});
  }
}

}  // namespace shoal::backends::testing
