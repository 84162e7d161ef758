// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions of doubles that give the same bits on every processor. The C library's functions do not: their results depend
/// on its version and on the instruction set. Use these for numbers that affect a whole step, such as the learning rate.

namespace shoal {

/// The natural logarithm, within 2 units in the last place. Minus infinity for 0, NaN below 0.
double double_log(double x);
/// e^x, within 2 units in the last place; 0 below -708, infinity above 709.78.
double double_exp(double x);
/// base^exponent = e^(exponent * log(base)) for a base of at least 0, within 2 + 2 |exponent * log(base)| units in the last
/// place. NaN for a negative base.
double double_pow(double base, double exponent);
/// The cosine of an angle from 0 to pi, with an error of at most 2 units in the last place of 1; exactly 1 and -1 at the
/// ends.
double double_cos(double angle);

}  // namespace shoal
