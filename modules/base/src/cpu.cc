#include "shoal/base/cpu.h"

#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace shoal {

void flush_denormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  control |= uint64_t(1) << 24;  // The bit FZ: operands and results.
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
#elif defined(__arm__) && defined(__ARM_FP)
  uint32_t control = 0;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(control));
  control |= uint32_t(1) << 24;  // The bit FZ.
  __asm__ volatile("vmsr fpscr, %0" : : "r"(control));
#endif
}

}  // namespace shoal
