// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes a table of all inner loops of matrix products. Each source file that includes this header compiles these loops for
/// another instruction set.
#include "few_rows_code.h"
#include "panels_code.h"
#include "small_batch_code.h"

namespace shoal::backends::portable {
namespace {

constexpr ProductCode product_code_of(const char* instruction_set) {
  return {.name = instruction_set,
          .panels_together = kTilePanelsMax,
          .multiply_rows = &multiply_rows,
          .pack_left = &pack_left,
          .few_rows_dense = &run_few_rows_dense,
          .few_rows_grad_input = &run_few_rows_grad_input,
          .few_rows_grad_kernel = &run_few_rows_grad_kernel,
          .add_products = &add_products,
          .small_batch_dense = &run_small_batch_dense};
}

}  // namespace
}  // namespace shoal::backends::portable
