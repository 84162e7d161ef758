#pragma once
/// SHOAL_CLONES before a function with plain loops: compiled for several x86 instruction sets, chosen when the program
/// is loaded. Bits do not depend on the choice, since nothing contracts a*b+c (-ffp-contract=off).
/// Left out where the loader's choice runs too early (sanitizers) or does not exist (other compilers and C libraries).

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHOAL_CLONES
#endif
#endif
#if !defined(SHOAL_CLONES) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <features.h>
#if defined(__GLIBC__)
#define SHOAL_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#endif
#endif
#ifndef SHOAL_CLONES
#define SHOAL_CLONES
#endif
#define SHOAL_ALWAYS_INLINE inline __attribute__((always_inline))
