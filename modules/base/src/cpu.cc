// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/cpu.h"

#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#elif !defined(__aarch64__) && !(defined(__arm__) && defined(__ARM_FP))
#include <cfenv>
#endif

namespace shoal {
namespace {

/// Each architecture has one control word. Its rounding bits are 0 for rounding to the nearest; the bits of `kFlush` turn
/// denormals into zero. x86 also has one mask bit for each trap. 32-bit ARM has the exception flags in the same word,
/// 64-bit ARM has them in a word of their own.
#if defined(__SSE2__)
constexpr uint64_t kKeep = 0x1f80, kFlush = kKeep | 0x8000 | 0x0040;  // MXCSR: masks all traps; kFlush sets FTZ and DAZ.
uint64_t floating_point_mode() { return _mm_getcsr(); }
void set_floating_point_mode(uint64_t mode) { _mm_setcsr(unsigned(mode)); }
#elif defined(__aarch64__)
constexpr uint64_t kKeep = 0, kFlush = uint64_t(1) << 24;  // Bit FZ: denormal operands and results become 0.
uint64_t floating_point_mode() {
  uint64_t mode = 0, flags = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
  return mode | flags << 32;
}
void set_floating_point_mode(uint64_t mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode & UINT32_MAX));
  __asm__ volatile("msr fpsr, %0" : : "r"(mode >> 32));
}
#elif defined(__arm__) && defined(__ARM_FP)
constexpr uint64_t kKeep = 0, kFlush = uint64_t(1) << 24;  // Bit FZ: denormals become 0.
uint64_t floating_point_mode() {
  uint32_t mode = 0;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(mode));
  return mode;
}
void set_floating_point_mode(uint64_t mode) { __asm__ volatile("vmsr fpscr, %0" : : "r"(uint32_t(mode))); }
#else
constexpr uint64_t kKeep = 0, kFlush = 0;
uint64_t floating_point_mode() { return uint64_t(std::fegetround()); }
void set_floating_point_mode(uint64_t mode) { std::fesetround(int(mode)); }
static_assert(FE_TONEAREST == 0);
#endif

}  // namespace

Denormals denormals_of_thread() {
  constexpr uint64_t kBits = kFlush & ~kKeep;
  return (floating_point_mode() & kBits) == kBits && kBits != 0 ? Denormals::kZero : Denormals::kKept;
}

void flush_denormals() { set_floating_point_mode(kFlush); }

ComputeMode::ComputeMode(Denormals denormals) : before_(floating_point_mode()) {
  set_floating_point_mode(denormals == Denormals::kZero ? kFlush : kKeep);
}
ComputeMode::~ComputeMode() { set_floating_point_mode(before_); }

}  // namespace shoal
