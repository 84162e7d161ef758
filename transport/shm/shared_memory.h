// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory of this process that peers may read: what the blocks of a task's BufferPool lie in once it uses shm, so that
/// messages are built where they are read.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "segment.h"
#include "shoal/base/buffer.h"

namespace shoal::transport::shm {

/// One segment of our own. Lives as long as blocks in it do.
struct OwnSegment {
  uint64_t id = 0;  ///< Never used again by its SharedMemory.
  Segment segment;
  size_t used_bytes = 0;    // Guarded by the mutex of its SharedMemory: blocks are handed out in order, once.
  int64_t block_count = 0;  // Guarded by the same: blocks in use.
};

/// A large block is a segment of its own; smaller ones share segments. Memory that is freed is never handed out again: a
/// peer may still read it. (Keeping buffers for their next use is the pool's business.) Thread-safe.
class SharedMemory final : public BlockSource {
 public:
  /// The one behind `pool`, installed with the first call. Null if the pool's blocks come from elsewhere.
  static std::shared_ptr<SharedMemory> of(BufferPool& pool);

  std::byte* allocate(size_t bytes) override;
  void free(std::byte* block, size_t bytes) override;

  struct Place {
    std::shared_ptr<const OwnSegment> segment;
    size_t offset = 0;
  };
  /// Where `bytes`, in blocks that the caller keeps, lie. None if they are not in shared memory.
  std::optional<Place> find(std::span<const std::byte> bytes) const;
  /// How many segments have ended. Who told peers of some looks whether theirs are among them when it changes.
  uint64_t ended_count() const;

 private:
  std::shared_ptr<OwnSegment> add_segment(size_t bytes);

  mutable std::mutex mutex_;
  // All guarded by mutex_:
  std::map<const std::byte*, std::shared_ptr<OwnSegment>> segments_;  // The segments by where they begin.
  std::shared_ptr<OwnSegment> filling_;                               // Small blocks come from here.
  uint64_t next_id_ = 1;
  uint64_t ended_count_ = 0;
};

}  // namespace shoal::transport::shm
