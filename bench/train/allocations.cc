// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

// glibc's own entry points, for those who stand in front of malloc.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<uint64_t> from_onednn{0}, from_others{0};

/// Where the code of libdnnl.so was loaded.
struct Range {
  uintptr_t begin = 0, end = 0;
};

int find_onednn(dl_phdr_info* object, size_t, void* out) {
  if (!std::strstr(object->dlpi_name, "libdnnl")) return 0;
  Range& range = *static_cast<Range*>(out);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    range.begin = object->dlpi_addr + segment.p_vaddr;
    range.end = range.begin + segment.p_memsz;
  }
  return 1;
}

Range onednn;  // Empty until main's statics are made: what is allocated before does not matter.
const bool found = dl_iterate_phdr(&find_onednn, &onednn) != 0;

void count(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  const bool inside = found && address >= onednn.begin && address < onednn.end;
  (inside ? from_onednn : from_others).fetch_add(1, std::memory_order_relaxed);
}

void* checked(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

#define COUNT() count(__builtin_return_address(0))

extern "C" {
void* malloc(size_t bytes) { return COUNT(), __libc_malloc(bytes); }
void* calloc(size_t number, size_t bytes) { return COUNT(), __libc_calloc(number, bytes); }
void* realloc(void* old, size_t bytes) { return COUNT(), __libc_realloc(old, bytes); }
void* memalign(size_t alignment, size_t bytes) { return COUNT(), __libc_memalign(alignment, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return COUNT(), __libc_memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  COUNT();
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
}

void* operator new(size_t bytes) { return COUNT(), checked(__libc_malloc(bytes)); }
void* operator new[](size_t bytes) { return COUNT(), checked(__libc_malloc(bytes)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return COUNT(), checked(__libc_memalign(size_t(alignment), bytes));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return COUNT(), checked(__libc_memalign(size_t(alignment), bytes));
}

shoal::bench::Allocations shoal::bench::allocations() {
  return {from_onednn.load(std::memory_order_relaxed), from_others.load(std::memory_order_relaxed)};
}
