// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Macros for loops that compilers vectorise: one source is compiled for several instruction sets, and the program chooses
/// one when it starts. The choice does not change a bit of the results: nothing contracts a*b+c (shoal_flags), and sums are
/// taken in the order written.
#include <cstdlib>  // Defines __GLIBC__ where there is one.

// Choosing a version at the program's start needs ifunc, hence glibc, and happens before sanitizers are ready. So without
// glibc, and in sanitizer builds, loops are compiled only for the target's own instruction set. clang 14 has other names
// for the instruction sets.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SHOAL_SANITIZED 1
#endif
#endif

/// SHOAL_VECTOR_LOOP stands before a leaf function with plain pointers: the function is compiled once per instruction set,
/// and runs 1.3 to 1.5 times as fast on x86-64.
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

/// For functions that a SHOAL_VECTOR_LOOP calls: unless inlined, they stay compiled for the plain instruction set.
#define SHOAL_ALWAYS_INLINE inline __attribute__((always_inline))

/// SHOAL_INDEPENDENT stands before a loop whose iterations do not depend on each other, even if the array that it writes is
/// also an array that it reads. Without the macro, compilers use scalar code if the arrays are the same.
#if defined(__clang__)
#define SHOAL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SHOAL_INDEPENDENT _Pragma("GCC ivdep")
#endif
