// SPDX-License-Identifier: Apache-2.0
// This file has the inner loops of products for AVX-512. CMakeLists.txt gives it its flags.
#include "products_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsAvx512;
constexpr ProductCode kProductsAvx512 = product_code_of("avx512");

}  // namespace shoal::backends::portable
