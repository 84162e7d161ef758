#include "shoal/backends/denormals.h"

#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace shoal::backends {

void flush_denormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushResults = 0x8000;
  constexpr unsigned kFlushOperands = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushResults | kFlushOperands);
#elif defined(__aarch64__)
  constexpr uint64_t kFlush = uint64_t(1) << 24;
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | kFlush));
#elif defined(__arm__) && defined(__ARM_FP)
  constexpr uint32_t kFlush = uint32_t(1) << 24;
  uint32_t control;
  asm volatile("vmrs %0, fpscr" : "=r"(control));
  asm volatile("vmsr fpscr, %0" : : "r"(control | kFlush));
#endif
}

}  // namespace shoal::backends
