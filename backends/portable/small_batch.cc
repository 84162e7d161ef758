// SPDX-License-Identifier: Apache-2.0
#include "small_batch.h"

#include "product_code.h"

namespace shoal::backends::portable {

void small_batch_dense(const SmallBatch& product, int64_t first, int64_t last) {
  product_code().small_batch_dense(product, first, last);
}

}  // namespace shoal::backends::portable
