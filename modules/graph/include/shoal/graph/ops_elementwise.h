// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Further ops in which element i of the result depends only on elements i of the operands. See also ops.h.
///
/// The operands of ops with two or three operands broadcast, as in numpy. Shapes are compared from the last axis on; sizes
/// must be equal, or 1 in one operand, whose elements are then repeated; missing axes count as 1. A symbol equals only
/// itself. The gradient for an operand is summed over the axes along which it was repeated.
///
/// If the ranks differ, a symbol must not come to lie on two axes of the result: [batch, 1] and [batch] would give
/// [batch, batch], all pairs of two examples, and raise InvalidArgument. Give both the same rank by reshape(): {-1, 1} makes
/// [batch, 1] of [batch]; {1, -1} makes [1, batch], which together with [batch, 1] gives all pairs.
///
/// A number in place of an operand is a constant with one element, rounded to float32. Comparisons give it the type of x,
/// and raise InvalidArgument if this type does not have the number (0.5 as int64).
#include <cstdint>
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// a / b; float32. Division by zero gives infinity or NaN, as IEEE 754 says.
Value div(Value a, Value b, std::string_view name = "");
/// a to the power b; float32. Special values are those of C's pow (pow(x, 0) is 1). The gradient for b is 0 where a is 0
/// and b >= 0, and NaN where a is negative.
Value pow(Value a, Value b, std::string_view name = "");
Value pow(Value x, double exponent, std::string_view name = "");
Value pow(double base, Value x, std::string_view name = "");
/// The larger of a and b; float32. NaN if either is NaN. If both are equal, each receives half of the gradient. minimum()
/// likewise gives the smaller one.
Value maximum(Value a, Value b, std::string_view name = "");
Value minimum(Value a, Value b, std::string_view name = "");
Value maximum(Value x, double number, std::string_view name = "");
Value minimum(Value x, double number, std::string_view name = "");

/// 1 where a < b, else 0, as float32, so that the result can be multiplied and averaged. a and b have the same type:
/// float32, int64, int32, uint8 or bool. Comparisons with NaN give 0, except not_equal, which gives 1. No gradient flows
/// through. The functions below do the same for other comparisons; `equal` is in ops.h.
Value less(Value a, Value b, std::string_view name = "");
Value less_equal(Value a, Value b, std::string_view name = "");
Value greater(Value a, Value b, std::string_view name = "");
Value greater_equal(Value a, Value b, std::string_view name = "");
Value not_equal(Value a, Value b, std::string_view name = "");
Value less(Value x, double number, std::string_view name = "");
Value less_equal(Value x, double number, std::string_view name = "");
Value greater(Value x, double number, std::string_view name = "");
Value greater_equal(Value x, double number, std::string_view name = "");
Value not_equal(Value x, double number, std::string_view name = "");

/// a where the condition is not 0, else b. The element that is not chosen, even NaN or infinity, affects neither the value
/// nor the gradient.
///
///   condition  float32 (as comparisons return; NaN counts as not 0) or bool; no gradient flows into it
///   a, b       float32
Value select(Value condition, Value a, Value b, std::string_view name = "");

/// e^x, element by element, float32; infinity above 88.72. The gradient is e^x.
Value exp(Value x, std::string_view name = "");
/// The natural logarithm; minus infinity at 0, NaN below.
Value log(Value x, std::string_view name = "");
/// The square root; NaN below 0. The gradient at 0 is infinite.
Value sqrt(Value x, std::string_view name = "");
/// 1 / sqrt(x).
Value rsqrt(Value x, std::string_view name = "");
/// |x|. The gradient at 0 is 0.
Value abs(Value x, std::string_view name = "");
/// -x.
Value neg(Value x, std::string_view name = "");
/// 1 / x.
Value reciprocal(Value x, std::string_view name = "");
/// The error function, 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x.
Value erf(Value x, std::string_view name = "");
/// The sine of x radians; NaN for infinities. Positions may be encoded with it: Vaswani et al., "Attention is all you need"
/// (2017), 3.5.
Value sin(Value x, std::string_view name = "");
/// The cosine of x radians; NaN for infinities.
Value cos(Value x, std::string_view name = "");

// Activations, element by element, float32. NaN stays NaN.

/// 1 / (1 + e^-x).
Value sigmoid(Value x, std::string_view name = "");
Value tanh(Value x, std::string_view name = "");
/// log(1 + e^x), without overflow.
Value softplus(Value x, std::string_view name = "");
/// x for x above 0, else alpha * x; alpha is finite and >= 0. The gradient at 0 is alpha.
Value leaky_relu(Value x, double alpha = 0.01, std::string_view name = "");
/// x for x above 0, else alpha * (e^x - 1); alpha is finite and >= 0.
/// Source: Clevert, Unterthiner, Hochreiter, "Fast and accurate deep network learning by exponential linear units" (2016).
Value elu(Value x, double alpha = 1, std::string_view name = "");
enum class GeluForm : uint8_t {
  kErf = 0,  ///< x Phi(x), Phi the distribution function of the normal distribution.
  /// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the approximation that GPT-2 uses.
  kTanh = 1,
};
/// The Gaussian error linear unit. Source: Hendrycks, Gimpel, "Gaussian error linear units" (2016).
Value gelu(Value x, GeluForm form = GeluForm::kErf, std::string_view name = "");
/// x * sigmoid(x), also called swish. Source: Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units" (2018).
Value silu(Value x, std::string_view name = "");

}  // namespace shoal::ops

namespace shoal {

// Operators of Value are in namespace shoal, where the compiler finds them. A number is a constant with one element.
Value operator/(Value a, Value b);
Value operator/(Value x, double divisor);
Value operator/(double number, Value x);
Value operator+(Value x, double number);
Value operator+(double number, Value x);
Value operator-(Value x, double number);
Value operator-(double number, Value x);

}  // namespace shoal
