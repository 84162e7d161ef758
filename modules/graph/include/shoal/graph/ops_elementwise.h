#pragma once
/// Ops whose element i depends on elements i of the operands only, beside those of ops.h.
///
/// Operands of two or three broadcast: shapes are compared from the last axis on, and sizes must be equal or 1 in one of
/// them, where that operand's elements are repeated; missing axes count as 1. A symbol equals only itself. The gradient
/// for an operand is summed over the axes along which it was repeated. (The rules are numpy's.)
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// a / b; float32. Division by zero gives infinity or NaN, as IEEE 754 says.
Value div(Value a, Value b, std::string_view name = "");
/// a to the power b; float32. Special values are those of C's pow (pow(x, 0) is 1). The gradient for b is 0 where a is 0
/// and b >= 0, and NaN where a is negative.
Value pow(Value a, Value b, std::string_view name = "");
/// The larger of a and b; float32. NaN if either is. Where they are equal, each receives half of the gradient. Likewise
/// the smaller.
Value maximum(Value a, Value b, std::string_view name = "");
Value minimum(Value a, Value b, std::string_view name = "");

/// 1 where a < b, else 0, as float32, so that it can be multiplied and averaged. a and b are of one type: float32, int64,
/// int32, uint8 or bool. NaN compares false, but for not_equal. No gradient flows through. Likewise the others; `equal` is
/// in ops.h.
Value less(Value a, Value b, std::string_view name = "");
Value less_equal(Value a, Value b, std::string_view name = "");
Value greater(Value a, Value b, std::string_view name = "");
Value greater_equal(Value a, Value b, std::string_view name = "");
Value not_equal(Value a, Value b, std::string_view name = "");

/// a where the condition is not 0, else b. What is not chosen leaves no trace, NaN and infinity included, neither in the
/// value nor in the gradient.
///
///   condition  float32 (what comparisons give; NaN is not 0) or bool; no gradient flows into it
///   a, b       float32
Value select(Value condition, Value a, Value b, std::string_view name = "");

}  // namespace shoal::ops

namespace shoal {

// Found by argument, as those of ops.h. A number is a constant of one element.
Value operator/(Value a, Value b);
Value operator/(Value x, double divisor);
Value operator+(Value x, double number);
Value operator+(double number, Value x);
Value operator-(Value x, double number);
Value operator-(double number, Value x);

}  // namespace shoal
