// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.h"

#include <sys/resource.h>

#include <algorithm>

#include "bounds.h"

namespace shoal::transport::shm {
namespace {

constexpr size_t kMiB = size_t(1) << 20;
constexpr size_t kSharedSegmentBytes = 4 * kMiB;
constexpr size_t kSmallBlockBytesMax = kMiB;

// Each segment needs a descriptor. Half of those that the process may have are left for files and sockets.
size_t segments_max() {
  static const size_t count = [] {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return kSegmentsMax;
    return std::min(kSegmentsMax, size_t(files.rlim_cur) / 2);
  }();
  return count;
}

Error too_many_segments() {
  return internal_error("this process has " + std::to_string(segments_max()) +
                        " segments of shared memory, as many as it may" +
                        (segments_max() < kSegmentsMax ? "; raise the limit of open files (ulimit -n)" : ""));
}

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::of(BufferPool& pool) {
  return std::dynamic_pointer_cast<SharedMemory>(pool.adopt_source(std::make_shared<SharedMemory>()));
}

std::shared_ptr<OwnSegment> SharedMemory::add_segment(size_t bytes) {
  Result<Segment> created =
      segments_.size() < segments_max() ? create_segment(bytes, PeersMay::kRead) : too_many_segments();
  if (!created) {
    last_failure_ = created.error();
    return nullptr;
  }
  auto segment = std::make_shared<OwnSegment>();
  segment->id = next_id_++;
  segment->segment = std::move(*created);
  segments_.emplace(segment->segment.memory.data(), segment);
  return segment;
}

std::byte* SharedMemory::allocate(size_t bytes) {
  bytes = align_up(bytes);
  std::lock_guard lock(mutex_);
  std::shared_ptr<OwnSegment> segment = filling_;
  if (bytes > kSmallBlockBytesMax) {
    segment = add_segment(bytes);
  } else if (!segment || segment->segment.memory.bytes() - segment->used_bytes < bytes) {
    segment = filling_ = add_segment(kSharedSegmentBytes);
  }
  if (!segment) return nullptr;
  std::byte* block = segment->segment.memory.data() + segment->used_bytes;
  segment->used_bytes += bytes;
  ++segment->block_count;
  return block;
}

void SharedMemory::free(std::byte* block, size_t) {
  // Set if the segment has no blocks any more. Declared before the lock, so that it is unmapped after the lock's release.
  std::shared_ptr<OwnSegment> ended;
  std::lock_guard lock(mutex_);
  const auto found = std::prev(segments_.upper_bound(block));
  if (--found->second->block_count > 0) return;
  ended = std::move(found->second);
  segments_.erase(found);
  if (filling_ == ended) filling_ = nullptr;
  ++ended_count_;
}

std::optional<SharedMemory::Place> SharedMemory::find(std::span<const std::byte> bytes) const {
  std::lock_guard lock(mutex_);
  auto found = segments_.upper_bound(bytes.data());
  if (found == segments_.begin()) return std::nullopt;
  --found;
  const Mapping& memory = found->second->segment.memory;
  const auto offset = size_t(bytes.data() - memory.data());
  if (offset >= memory.bytes() || bytes.size() > memory.bytes() - offset) return std::nullopt;
  return Place{found->second, offset};
}

uint64_t SharedMemory::ended_count() const {
  std::lock_guard lock(mutex_);
  return ended_count_;
}

Result<void> SharedMemory::check() const {
  std::lock_guard lock(mutex_);
  if (!segments_.empty()) return {};
  const Result<Segment> segment = create_segment(kSharedSegmentBytes, PeersMay::kRead);
  if (!segment) return segment.error();
  return {};
}

std::optional<Error> SharedMemory::last_failure() const {
  std::lock_guard lock(mutex_);
  return last_failure_;
}

}  // namespace shoal::transport::shm
