// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "shoal/base/exhaustion.h"

#if defined(__SANITIZE_ADDRESS__)
#define SHOAL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHOAL_ASAN 1
#endif
#endif
#if defined(SHOAL_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(0)
#endif

namespace shoal {
namespace {

constexpr size_t kHeaderBytes = kBufferAlignment;
static_assert(sizeof(Buffer) <= kHeaderBytes);

/// Rounds up: to a power of two or 3/4 of one, at least 256 B; above 3 MiB to a multiple of 1 MiB.
size_t size_class(size_t bytes) {
  constexpr size_t kSmallest = 256, kMiB = size_t(1) << 20;
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > PTRDIFF_MAX / 2) return bytes;  // No allocation of this size can succeed.
  if (bytes > 3 * kMiB) return align_up(bytes, kMiB);
  const size_t power = std::bit_ceil(bytes);
  return bytes <= power / 4 * 3 ? power / 4 * 3 : power;
}

/// Asks for huge pages, which some systems give only on request (Documentation/admin-guide/mm/transhuge.rst): without them
/// each access to a row of a table of gigabytes costs a walk through page tables. A system without huge pages ignores the
/// request.
void ask_for_huge_pages(void* block, size_t bytes) {
  // Only blocks of kWorthIt or more ask: they exceed M_MMAP_THRESHOLD, so malloc() does not take them from its heap. In the
  // heap, madvise() would still apply to the block's addresses after the block is freed and other data lie there.
  constexpr size_t kHugeBytes = size_t(2) << 20, kWorthIt = 17 * kHugeBytes;
  if (bytes < kWorthIt) return;
  const auto begin = align_up(reinterpret_cast<uintptr_t>(block), kHugeBytes);
  const auto end = (reinterpret_cast<uintptr_t>(block) + bytes) / kHugeBytes * kHugeBytes;
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

/// Allocates header and data as one block: the header is the first cache line. Null when memory has run out.
std::byte* allocate_block(size_t capacity) {
  if (capacity > PTRDIFF_MAX - 2 * kHeaderBytes) return nullptr;
  void* block = std::aligned_alloc(kBufferAlignment, kHeaderBytes + align_up(capacity));
  if (block) ask_for_huge_pages(block, capacity);
  return static_cast<std::byte*>(block);
}

/// Allocates only the header of a buffer whose data come from a BlockSource. Other processes may have access to memory of
/// a BlockSource. The header lies in this process's own memory, so that they cannot change it. Null: memory has run out.
void* allocate_header() { return std::aligned_alloc(kBufferAlignment, kHeaderBytes); }

[[noreturn]] void raise_no_memory(size_t bytes) { raise_exhausted(no_memory(bytes, "a buffer of numbers")); }

void free_block(Buffer* buffer) { std::free(static_cast<void*>(buffer)); }

}  // namespace

Ref<Buffer> Buffer::allocate(size_t bytes) {
  std::byte* block = allocate_block(bytes);
  if (!block) raise_no_memory(bytes);
  return Ref<Buffer>::adopt(::new (block) Buffer(block + kHeaderBytes, bytes, align_up(bytes), nullptr));
}

Buffer::Buffer(std::span<const std::byte> bytes, std::span<const std::byte> rest, BufferOwner& owner)
    : data_(const_cast<std::byte*>(bytes.data())),
      size_(bytes.size()),
      capacity_(bytes.size()),
      rest_(rest),
      owner_(&owner),
      retired_(true) {}

std::span<std::byte> Buffer::bytes() { return {data_, size_}; }
std::span<const std::byte> Buffer::bytes() const { return {data_, size_}; }

void Buffer::release() const {
  // Release: what this thread did with the block is done before its reference is gone. Acquire: if this is the last
  // reference, all that other threads did with the block is done, too, so the block can be reused.
  const uint32_t before = references_.fetch_sub(1, std::memory_order_acq_rel);
  SHOAL_CHECK(before != 0);
  if (before != 1) return;
  auto* self = const_cast<Buffer*>(this);
  if (owner_) {
    owner_->take_back(self);
  } else {
    self->~Buffer();
    free_block(self);
  }
}

struct BufferPool::State {
  mutable std::mutex mutex;
  // `mutex` guards all members below.
  size_t retained_bytes_max = 0;
  size_t idle_bytes = 0;
  // The idle buffers, by capacity. get() takes the one that was released last, since it may still be in the processor's
  // cache.
  std::map<size_t, std::vector<Buffer*>> idle;
  // By capacity: how many buffers were freed because of retained_bytes_max. Each new allocation of this capacity subtracts
  // one.
  std::map<size_t, uint64_t> freed_count;
  std::shared_ptr<BlockSource> source;  // Set at most once.
  Stats stats;
  uint64_t in_use_count = 0;
  std::shared_ptr<BufferPool> while_in_use;  // Keeps the pool alive while any buffer is in use.
};

BufferPool::BufferPool() : state_(make_hidden<State>()) {}

BufferPool::~BufferPool() {
  SHOAL_CHECK(state_->in_use_count == 0);
  for (auto& [capacity, buffers] : state_->idle) {
    for (Buffer* buffer : buffers) give_up(buffer);
  }
}

void BufferPool::give_up(Buffer* buffer) {
  ASAN_UNPOISON_MEMORY_REGION(buffer->data_, buffer->capacity_);
  if (buffer->source_) buffer->source_->free(buffer->data_, buffer->capacity_);
  buffer->~Buffer();
  free_block(buffer);
}

std::shared_ptr<BufferPool> BufferPool::create(size_t retained_bytes_max) {
  std::shared_ptr<BufferPool> pool(new BufferPool);
  pool->state_->retained_bytes_max = retained_bytes_max;
  pool->self_ = pool;
  return pool;
}

std::shared_ptr<BlockSource> BufferPool::adopt_source(std::shared_ptr<BlockSource> source) {
  std::map<size_t, std::vector<Buffer*>> ordinary;
  std::shared_ptr<BlockSource> in_use;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    if (!state.source) {
      state.source = std::move(source);
      std::swap(ordinary, state.idle);
      state.stats.allocated_bytes -= std::exchange(state.idle_bytes, 0);
    }
    in_use = state.source;
  }
  for (auto& [capacity, buffers] : ordinary) {
    for (Buffer* buffer : buffers) give_up(buffer);
  }
  return in_use;
}

Buffer* BufferPool::make(size_t bytes, size_t capacity, BlockSource* source) {
  if (std::byte* block = source ? source->allocate(capacity) : nullptr) {
    if (void* header = allocate_header()) return ::new (header) Buffer(block, bytes, capacity, this, source);
    source->free(block, capacity);
    return nullptr;
  }
  std::byte* block = allocate_block(capacity);
  if (!block) return nullptr;
  return ::new (block) Buffer(block + kHeaderBytes, bytes, capacity, this);
}

Ref<Buffer> BufferPool::get(size_t bytes) {
  const size_t capacity = size_class(bytes);
  Buffer* buffer = nullptr;
  BlockSource* source = nullptr;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    auto found = state.idle.find(capacity);
    if (found != state.idle.end() && !found->second.empty()) {
      buffer = found->second.back();
      found->second.pop_back();
      state.idle_bytes -= capacity;
      ++state.stats.reused_count;
    } else {
      state.stats.allocated_bytes += capacity;
      ++state.stats.fresh_count;
      if (auto freed = state.freed_count.find(capacity); freed != state.freed_count.end()) {
        if (state.retained_bytes_max + capacity <= state.stats.peak_in_use_bytes) state.retained_bytes_max += capacity;
        if (--freed->second == 0) state.freed_count.erase(freed);
      }
    }
    state.stats.in_use_bytes += capacity;
    state.stats.peak_in_use_bytes = std::max(state.stats.peak_in_use_bytes, state.stats.in_use_bytes);
    if (state.in_use_count++ == 0) state.while_in_use = self_.lock();
    source = state.source.get();
  }
  if (buffer) {
    ASAN_UNPOISON_MEMORY_REGION(buffer->data_, capacity);
    buffer->size_ = bytes;
    buffer->references_.store(1, std::memory_order_relaxed);
  } else {
    struct ForgetUnlessMade {  // A destructor, since `source` may raise an exception.
      BufferPool& pool;
      const size_t capacity;
      bool made = false;
      ~ForgetUnlessMade() {
        if (!made) pool.forget(capacity);
      }
    } counted{*this, capacity};
    buffer = make(bytes, capacity, source);
    counted.made = buffer != nullptr;
  }
  if (!buffer) raise_no_memory(bytes);
  return Ref<Buffer>::adopt(buffer);
}

/// Corrects the statistics after a buffer could not be allocated.
void BufferPool::forget(size_t capacity) {
  // `last` may get the last reference to this pool, and then its destructor destroys the pool with its mutex. So `last` is
  // declared before the lock: the mutex is unlocked first.
  std::shared_ptr<BufferPool> last;
  std::lock_guard lock(state_->mutex);
  State& state = *state_;
  state.stats.in_use_bytes -= capacity;
  state.stats.allocated_bytes -= capacity;
  if (--state.in_use_count == 0) last = std::move(state.while_in_use);
}

void BufferPool::take_back(Buffer* buffer) {
  // `last` may get the last reference to this pool, and then its destructor destroys the pool with its mutex. So `last` is
  // declared before the lock: the mutex is unlocked first.
  std::shared_ptr<BufferPool> last;
  bool keep = false;
  {
    std::lock_guard lock(state_->mutex);
    State& state = *state_;
    const size_t capacity = buffer->capacity_;
    state.stats.in_use_bytes -= capacity;
    if (--state.in_use_count == 0) last = std::move(state.while_in_use);
    const bool fits = capacity <= state.retained_bytes_max && state.idle_bytes <= state.retained_bytes_max - capacity;
    const bool wanted = buffer->source_ == state.source.get() && !buffer->retired_.load(std::memory_order_relaxed);
    keep = fits && wanted;
    if (wanted && !fits) ++state.freed_count[capacity];
    if (keep) {
      ASAN_POISON_MEMORY_REGION(buffer->data_, capacity);
      state.idle[capacity].push_back(buffer);
      state.idle_bytes += capacity;
    } else {
      state.stats.allocated_bytes -= capacity;
    }
  }
  if (!keep) give_up(buffer);
}

BufferPool::Stats BufferPool::stats() const {
  std::lock_guard lock(state_->mutex);
  return state_->stats;
}

}  // namespace shoal
