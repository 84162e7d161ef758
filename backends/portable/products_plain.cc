// SPDX-License-Identifier: Apache-2.0
// The inner loops of products for every processor of the target.
#include "products_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsPlain;
constexpr ProductCode kProductsPlain = product_code_of("plain");

}  // namespace shoal::backends::portable
