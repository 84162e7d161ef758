// SPDX-License-Identifier: Apache-2.0
#include "allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHOAL_COUNT_ALLOCATIONS 0
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_COUNT_ALLOCATIONS 0
#endif
#ifndef SHOAL_COUNT_ALLOCATIONS
#define SHOAL_COUNT_ALLOCATIONS 1
#endif

namespace {
std::atomic<long> count{0};
}

#if SHOAL_COUNT_ALLOCATIONS
void* operator new(size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace shoal {

bool allocations_are_counted() { return SHOAL_COUNT_ALLOCATIONS; }
long allocation_count() { return count.load(std::memory_order_relaxed); }

}  // namespace shoal
