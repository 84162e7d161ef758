// SPDX-License-Identifier: Apache-2.0
// This file has the inner loops of products for AVX2 with FMA. CMakeLists.txt gives it its flags.
#include "products_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsAvx2;
constexpr ProductCode kProductsAvx2 = product_code_of("avx2");

}  // namespace shoal::backends::portable
