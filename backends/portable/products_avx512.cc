// SPDX-License-Identifier: Apache-2.0
// The inner loops of products for AVX-512. CMakeLists.txt sets the compiler's flags for this file.
#include "products_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsAvx512;
constexpr ProductCode kProductsAvx512 = product_code_of("avx512");

}  // namespace shoal::backends::portable
