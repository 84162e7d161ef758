// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions of doubles that give the same bits on every processor. The functions of C libraries do not: their bits differ by version
/// and instruction set. Use these for numbers on which all others of a step depend, such as a learning rate.

namespace shoal {

/// The natural logarithm, within 2 units in the last place. Minus infinity for 0, no number below.
double double_log(double x);
/// e^x, within 2 units in the last place; 0 below -708, infinity above 709.78.
double double_exp(double x);
/// base^exponent = e^(exponent * log(base)) for a base of 0 or above: within 2 + 2 |exponent * log(base)| units in the last place. No
/// number for a base below 0.
double double_pow(double base, double exponent);
/// The cosine of an angle from 0 to pi, within 2 units in the last place of 1; exactly 1 and -1 at the ends.
double double_cos(double angle);

}  // namespace shoal
