// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Aligned memory with an owner count, and the pool it returns to.
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

/// A counted reference to a T with add_ref() and release(). Like shared_ptr, one word, no control block.
template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref adopt(T* object) { return Ref(object); }  ///< Takes over one reference that the caller held.
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

/// Gets a buffer back when the last reference to it is dropped, on the thread that dropped it.
class BufferOwner {
 public:
  virtual void take_back(Buffer* buffer) = 0;

 protected:
  ~BufferOwner() = default;
};

/// Where the blocks of a pool lie, if not in ordinary memory. Thread-safe.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// A block aligned to 64 bytes. Null: there is none to be had, and the pool takes ordinary memory.
  virtual std::byte* allocate(size_t bytes) = 0;
  virtual void free(std::byte* block, size_t bytes) = 0;
};

/// One block of memory aligned to 64 bytes. Written by its maker, immutable once shared. Any thread may hold and drop
/// references; the last one returns the block to its pool (or frees it).
class Buffer {
 public:
  /// A buffer outside any pool. `bytes` may be 0. Contents are undefined. Raises Unavailable, or FailedPrecondition, if there
  /// is no such memory (no_memory() in exhaustion.h).
  static Ref<Buffer> allocate(size_t bytes);
  /// Lends memory that others may only read: a view of `bytes`, and of `rest` that belongs behind it, both of which
  /// stay until `owner` takes the buffer back. Never unique(). Begins with one reference.
  Buffer(std::span<const std::byte> bytes, std::span<const std::byte> rest, BufferOwner& owner);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }          ///< Bytes in use.
  size_t capacity() const { return capacity_; }  ///< Bytes available from data().
  std::span<std::byte> bytes();
  std::span<const std::byte> bytes() const;
  /// What belongs behind bytes() but lies elsewhere: the payload of a message that a transport left where the peer wrote
  /// it. Empty for all other buffers.
  std::span<const std::byte> rest() const { return rest_; }
  /// Changes the bytes in use, at most capacity(); keeps contents.
  void resize(size_t bytes) {
    SHOAL_CHECK(bytes <= capacity_);
    size_ = bytes;
  }
  /// True if the caller holds the only reference: it may write. An acquire load, so that everything other holders
  /// read is done before the write (shared_ptr::use_count() is relaxed and may not decide this).
  bool unique() const {
    return references_.load(std::memory_order_acquire) == 1 && !retired_.load(std::memory_order_relaxed);
  }
  /// A holder says that others, who hold no reference, may read this memory for as long as they like. It is never
  /// unique() again, and when the last reference is gone it is given back to the system instead of being used again.
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
  // Null if the block is freed directly. A pool outlives its buffers (they share in owning it, see buffer.cc).
  BufferOwner* owner_;
  // Where a pool's block came from. Null: header and data are one block of ordinary memory.
  BlockSource* source_ = nullptr;
  mutable std::atomic<uint32_t> references_{1};
  mutable std::atomic<bool> retired_{false};  // Set before the setter drops its reference, which orders it.
};

/// Recycles buffers by size, so that steady-state steps and messages allocate nothing. Thread-safe.
/// Blocks are rounded up to size classes (powers of two and their 3/4 points from 256 B; 1 MiB multiples from 4 MiB).
class BufferPool final : private BufferOwner {
 public:
  /// `retained_bytes_max` bounds what idle buffers may keep; more is freed on release. The bound grows by each buffer that
  /// was freed for it and is wanted again, up to what was in use at once: so the buffers of a larger model stay too, and
  /// those of one exception do not.
  static std::shared_ptr<BufferPool> create(size_t retained_bytes_max = size_t(1) << 30);
  ~BufferPool();

  /// A buffer with size() == bytes, contents undefined. Buffers keep the pool alive. Raises as Buffer::allocate() does.
  Ref<Buffer> get(size_t bytes);

  /// From now on new blocks come from `source`, unless the pool got one before. Returns the one in use. Blocks of ordinary
  /// memory are not kept any more when they come back.
  std::shared_ptr<BlockSource> adopt_source(std::shared_ptr<BlockSource> source);

  struct Stats {
    uint64_t allocated_bytes = 0;  ///< Got from the system, in use or idle.
    uint64_t in_use_bytes = 0;
    uint64_t peak_in_use_bytes = 0;
    uint64_t fresh_count = 0;  ///< The get() calls that had to allocate.
    uint64_t reused_count = 0;
  };
  Stats stats() const;

 private:
  BufferPool();
  void take_back(Buffer* buffer) override;
  /// Null: there is no memory.
  Buffer* make(size_t bytes, size_t capacity, BlockSource* source);
  void forget(size_t capacity);
  static void give_up(Buffer* buffer);
  struct State;
  Hidden<State> state_;
  std::weak_ptr<BufferPool> self_;
};

}  // namespace shoal
