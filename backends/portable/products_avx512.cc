// SPDX-License-Identifier: Apache-2.0
// The inner loops of products for AVX-512; CMakeLists.txt gives this file its flags.
#if defined(__x86_64__)
#include "few_rows_code.h"
#include "panels_code.h"
#include "small_batch_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsAvx512;
const ProductCode kProductsAvx512{.name = "avx512",
                                  .panels_together = kTilePanelsMax,
                                  .multiply_rows = &multiply_rows,
                                  .pack_left = &pack_left,
                                  .few_rows_dense = &run_few_rows_dense,
                                  .few_rows_grad_input = &run_few_rows_grad_input,
                                  .few_rows_grad_kernel = &run_few_rows_grad_kernel,
                                  .add_products = &add_products,
                                  .small_batch_dense = &run_small_batch_dense};

}  // namespace shoal::backends::portable
#endif
