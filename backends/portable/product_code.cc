// SPDX-License-Identifier: Apache-2.0
#include "product_code.h"

namespace shoal::backends::portable {

extern const ProductCode kProductsPlain;
#if defined(SHOAL_PRODUCTS_AVX2)
extern const ProductCode kProductsAvx2;
#endif
#if defined(SHOAL_PRODUCTS_AVX512)
extern const ProductCode kProductsAvx512;
#endif

namespace {

struct Codes {
  const ProductCode* all[3];
  size_t count = 0;
};

Codes codes_of_processor() {
  Codes codes{};
#if defined(SHOAL_PRODUCTS_AVX2)
  // The program's start calls this, too, but it may run static constructors first, and one of these may call Shoal.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#if defined(SHOAL_PRODUCTS_AVX512)
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    codes.all[codes.count++] = &kProductsAvx512;
#endif
  if (avx2) codes.all[codes.count++] = &kProductsAvx2;
#endif
  codes.all[codes.count++] = &kProductsPlain;
  return codes;
}

}  // namespace

std::span<const ProductCode* const> product_codes() {
  static const Codes codes = codes_of_processor();
  return {codes.all, codes.count};
}

}  // namespace shoal::backends::portable
