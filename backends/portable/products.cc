// SPDX-License-Identifier: Apache-2.0
#include "products.h"

#include "threads.h"

namespace shoal::backends::portable {

void pack_together(int threads, const Strided& b, int64_t depth, int64_t columns, float* packed) {
  parallel_for(threads, panel_count(columns), 2 * depth * columns * int64_t(sizeof(float)),
               [&](int64_t first, int64_t last) { pack(b, depth, columns, 1.0f, packed, first, last); });
}

void TransposedProduct::run(const float* a, const float* packed, float* c, float* scratch) const {
  const PanelProduct product{
      .a = {a, 1, rows}, .packed = packed, .c = c, .c_stride = columns, .rows = rows, .depth = depth, .columns = columns};
  // Divides rows into as many ranges as threads, so that each range has its own block of scratch memory. parallel_for()
  // takes the cost in bytes of memory traffic: four multiplications take as long as moving one byte.
  parallel_for(threads, threads, rows * depth * columns / 4, [&](int64_t begin, int64_t end) {
    multiply_transposed(product, rows * begin / threads, rows * end / threads, scratch + begin * kLeftBlockFloats);
  });
}

}  // namespace shoal::backends::portable
