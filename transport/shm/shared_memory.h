// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory of this process that peers on the same machine may read. Once a task uses the transport shm, its BufferPool takes
/// blocks from here. Peers then read messages in the memory in which this process made them, without a copy.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "segment.h"
#include "shoal/base/buffer.h"

namespace shoal::transport::shm {

/// One segment made by this process. It lives as long as blocks in it do.
struct OwnSegment {
  uint64_t id = 0;  ///< Unique in its SharedMemory for all time.
  Segment segment;
  size_t used_bytes = 0;    // Guarded by the mutex of its SharedMemory. allocate() uses the bytes in order, each once.
  int64_t block_count = 0;  // The number of blocks in use. Guarded by the mutex of its SharedMemory.
};

/// A large block gets a segment of its own; smaller blocks share segments. allocate() never returns freed memory again: a
/// peer may still read it. (Reusing buffers is the pool's task.) Thread-safe.
class SharedMemory final : public BlockSource {
 public:
  /// The SharedMemory behind `pool`, which the first call installs. Null if the pool's blocks come from elsewhere.
  static std::shared_ptr<SharedMemory> of(BufferPool& pool);

  std::byte* allocate(size_t bytes) override;
  void free(std::byte* block, size_t bytes) override;

  struct Place {
    std::shared_ptr<const OwnSegment> segment;
    size_t offset = 0;
  };
  /// Returns the segment that contains `bytes`, and their offset there; nothing if they are in no segment. The caller must
  /// have a reference to the blocks that contain `bytes`.
  std::optional<Place> find(std::span<const std::byte> bytes) const;
  /// How many segments were removed so far, because all blocks in them were freed. When the count changes, code that
  /// announced segments to peers checks whether one of these was removed.
  uint64_t ended_count() const;
  /// Internal if the system grants no segment now (see create_segment()). Does nothing while there are segments.
  Result<void> check() const;
  /// Why the last segment that could not be made could not; nothing if there was no such segment.
  std::optional<Error> last_failure() const;

 private:
  /// Null if the segment could not be made; last_failure_ then says why.
  std::shared_ptr<OwnSegment> add_segment(size_t bytes);

  mutable std::mutex mutex_;
  // mutex_ guards all members below.
  std::map<const std::byte*, std::shared_ptr<OwnSegment>> segments_;  // The keys: the address of each segment's first byte.
  std::shared_ptr<OwnSegment> filling_;                               // The segment that small blocks are taken from.
  uint64_t next_id_ = 1;
  uint64_t ended_count_ = 0;
  std::optional<Error> last_failure_;
};

}  // namespace shoal::transport::shm
