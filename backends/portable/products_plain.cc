// SPDX-License-Identifier: Apache-2.0
// The inner loops of products, with only those instructions that every processor of the target architecture has.
#include "products_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsPlain;
constexpr ProductCode kProductsPlain = product_code_of("plain");

}  // namespace shoal::backends::portable
