// SPDX-License-Identifier: Apache-2.0
#include "few_rows.h"

#include "product_code.h"

namespace shoal::backends::portable {

void few_rows_dense(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y, int64_t first,
                    int64_t last) {
  product_code().few_rows_dense(sizes, x, w, bias, y, first, last);
}

void few_rows_grad_input(const FewRows& sizes, const float* dy, const float* w, float* partial, int64_t first,
                         int64_t last) {
  product_code().few_rows_grad_input(sizes, dy, w, partial, first, last);
}

void few_rows_grad_kernel(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first, int64_t last) {
  product_code().few_rows_grad_kernel(sizes, dy, x, dw, first, last);
}

}  // namespace shoal::backends::portable
