// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reference-counted, aligned memory, and the pool that recycles it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/hidden.h"

namespace shoal {

inline constexpr size_t kBufferAlignment = 64;
inline constexpr size_t align_up(size_t bytes, size_t alignment = kBufferAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A counted reference to a T that has add_ref() and release(). Unlike shared_ptr it is one word and needs no control
/// block.
template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref adopt(T* object) { return Ref(object); }  ///< Takes over a reference that the caller has counted already.
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->add_ref();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  requires(std::is_convertible_v<U*, T*>) Ref(const Ref<U>& other) : object_(other.get()) {
    if (object_) object_->add_ref();
  }
  template <class U>
  requires(std::is_convertible_v<U*, T*>) Ref(Ref<U>&& other)
  noexcept : object_(other.leak()) {}
  Ref& operator=(Ref other) noexcept { return std::swap(object_, other.object_), *this; }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* leak() { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(T* object) : object_(object) {}
  T* object_ = nullptr;
};

class Buffer;

/// Receives a buffer when its last reference is dropped, on the thread that dropped the reference.
class BufferOwner {
 public:
  virtual void take_back(Buffer* buffer) = 0;

 protected:
  ~BufferOwner() = default;
};

/// Supplies the memory blocks of a pool, for pools that do not use ordinary memory. Thread-safe.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Returns a block aligned to 64 bytes, or null if there is no room; the pool then uses ordinary memory. May raise what
  /// BufferPool::get() raises: get() passes it on.
  virtual std::byte* allocate(size_t bytes) = 0;
  virtual void free(std::byte* block, size_t bytes) = 0;
};

/// One block of memory aligned to 64 bytes. The maker of a buffer writes to it; once the buffer is shared, nobody does. Any
/// thread may hold and drop references; dropping the last one returns the block to its pool, or frees it.
class Buffer {
 public:
  /// Makes a buffer outside of any pool. `bytes` may be 0. The contents are undefined. Raises Unavailable or
  /// FailedPrecondition if there is not enough memory (no_memory() in exhaustion.h).
  static Ref<Buffer> allocate(size_t bytes);
  /// Lends memory for reading only: a view of `bytes`, and of `rest`, which logically follows them (see rest()). Both stay
  /// valid until `owner` takes the buffer back. Such a buffer is never unique(). The caller gets the first reference.
  Buffer(std::span<const std::byte> bytes, std::span<const std::byte> rest, BufferOwner& owner);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }          ///< Bytes in use.
  size_t capacity() const { return capacity_; }  ///< Bytes available from data().
  std::span<std::byte> bytes();
  std::span<const std::byte> bytes() const;
  /// The second part of a received message that lies in two places in memory. A transport leaves the payload of such a
  /// message where the peer wrote it (in shared memory), and bytes() has what comes before it. Empty for all other buffers.
  std::span<const std::byte> rest() const { return rest_; }
  /// Changes the number of bytes in use, to at most capacity(). Keeps the contents.
  void resize(size_t bytes) {
    SHOAL_CHECK(bytes <= capacity_);
    size_ = bytes;
  }
  /// True if the caller has the only reference, so that it may write. The load is an acquire: reads by threads that have
  /// dropped their references happen before the caller's writes. (shared_ptr::use_count() is relaxed and would not ensure
  /// this.)
  bool unique() const {
    return references_.load(std::memory_order_acquire) == 1 && !retired_.load(std::memory_order_relaxed);
  }
  /// Declares that somebody who holds no counted reference, such as another process that shares the memory, may read it for
  /// an unlimited time. From then on the buffer is never unique(), and when the last reference is dropped, its memory is
  /// freed and not recycled.
  void retire() const { retired_.store(true, std::memory_order_relaxed); }

  void add_ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const;

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  friend class BufferPool;
  Buffer(std::byte* data, size_t size, size_t capacity, BufferOwner* owner, BlockSource* source = nullptr)
      : data_(data), size_(size), capacity_(capacity), owner_(owner), source_(source) {}

  std::byte* data_;
  size_t size_;
  size_t capacity_;
  std::span<const std::byte> rest_;
  // Null if the block is freed directly. A pool outlives its buffers, since they share ownership of it (see buffer.cc).
  BufferOwner* owner_;
  // The source of a pool's block. Null: header and data are one block of ordinary memory.
  BlockSource* source_ = nullptr;
  mutable std::atomic<uint32_t> references_{1};
  // Relaxed memory order is enough: the caller of retire() has a reference, which it drops later. Its call of release()
  // makes the change visible to the thread that drops the last reference and reads this flag.
  mutable std::atomic<bool> retired_{false};
};

/// Recycles buffers by size, so that steady-state steps and messages allocate nothing. Thread-safe.
/// Blocks are rounded up to size classes (powers of two and their 3/4 points from 256 B; 1 MiB multiples from 4 MiB).
class BufferPool final : private BufferOwner {
 public:
  /// `retained_bytes_max` bounds the memory of idle buffers; a buffer beyond the bound is freed on release. If a buffer of
  /// the same size is needed later, the bound grows by this size, at most to the largest memory ever in use. So the buffers
  /// of a larger model are kept, and a buffer that was needed only once is not.
  static std::shared_ptr<BufferPool> create(size_t retained_bytes_max = size_t(1) << 30);
  ~BufferPool();

  /// Returns a buffer with size() == bytes and undefined contents. Buffers keep the pool alive. Raises as
  /// Buffer::allocate() does.
  Ref<Buffer> get(size_t bytes);

  /// Makes the pool allocate new blocks from `source`, unless it got a source before. Returns the source in use. The pool
  /// no longer recycles blocks of ordinary memory that it allocated before: it frees them once they are released.
  std::shared_ptr<BlockSource> adopt_source(std::shared_ptr<BlockSource> source);

  struct Stats {
    uint64_t allocated_bytes = 0;  ///< The bytes taken from the system, for buffers in use and idle ones.
    uint64_t in_use_bytes = 0;
    uint64_t peak_in_use_bytes = 0;
    uint64_t fresh_count = 0;  ///< The number of get() calls that had to allocate.
    uint64_t reused_count = 0;
  };
  Stats stats() const;

 private:
  BufferPool();
  void take_back(Buffer* buffer) override;
  /// Null if memory has run out.
  Buffer* make(size_t bytes, size_t capacity, BlockSource* source);
  void forget(size_t capacity);
  static void give_up(Buffer* buffer);
  struct State;
  Hidden<State> state_;
  std::weak_ptr<BufferPool> self_;
};

}  // namespace shoal
