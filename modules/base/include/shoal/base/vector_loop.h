// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Macros for loops that compilers turn into vectors: one source, compiled for several instruction sets, chosen when
/// the program starts. Bits do not depend on the choice: nothing contracts a*b+c (shoal_flags), and reductions are in a
/// written order.
#include <cstdlib>  // Defines __GLIBC__ where there is one.

// The choice needs ifunc, hence glibc, and is made before the sanitizers' own start-up, so not under those. Elsewhere the
// target's own vectors (or scalars) do. clang 14 spells the levels differently.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SHOAL_SANITIZED 1
#endif
#endif

/// Stands before a leaf function with plain pointers: one compilation per instruction set, 1.3 to 1.5 times the plain
/// one's speed on x86-64.
#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(SHOAL_SANITIZED)
#define SHOAL_VECTOR_LOOP
#elif defined(SHOAL_WITHOUT_AVX512) && defined(__clang__)
#define SHOAL_VECTOR_LOOP __attribute__((target_clones("avx2", "default")))
#elif defined(SHOAL_WITHOUT_AVX512)
#define SHOAL_VECTOR_LOOP __attribute__((target_clones("arch=x86-64-v3", "default")))
#elif defined(__clang__)
#define SHOAL_VECTOR_LOOP __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SHOAL_VECTOR_LOOP __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

/// What such a function calls must become part of it, or it stays compiled for the plain instruction set.
#define SHOAL_ALWAYS_INLINE inline __attribute__((always_inline))

/// Stands before a loop whose elements do not depend on each other, also where an output lies exactly over an input:
/// without it compilers take their scalar path for that case.
#if defined(__clang__)
#define SHOAL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SHOAL_INDEPENDENT _Pragma("GCC ivdep")
#endif
