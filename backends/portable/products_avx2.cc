// SPDX-License-Identifier: Apache-2.0
// The inner loops of products for AVX2 with FMA. CMakeLists.txt sets the compiler's flags for this file.
#include "products_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsAvx2;
constexpr ProductCode kProductsAvx2 = product_code_of("avx2");

}  // namespace shoal::backends::portable
