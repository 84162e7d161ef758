// SPDX-License-Identifier: Apache-2.0
#include "state/parted_arena.h"

#include <algorithm>

namespace shoal::cluster {

uint64_t PartedArena::size() const {
  uint64_t size = 0;
  for (const Snapshot::Part& part : parts_) size += part.bytes.size();
  return size;
}

Snapshot::Part PartedArena::read(uint64_t offset, uint64_t bytes, BufferPool& pool) const {
  SHOAL_CHECK(offset <= size() && bytes <= size() - offset && !parts_.empty());
  auto part = parts_.begin();
  for (; part + 1 != parts_.end() && offset >= part->bytes.size(); ++part) offset -= part->bytes.size();
  if (bytes <= part->bytes.size() - offset) return {part->bytes.subspan(offset, bytes), part->holder};
  const Ref<Buffer> copy = pool.get(bytes);
  for (uint64_t done = 0; done < bytes; ++part) {
    const auto piece = part->bytes.subspan(offset, std::min(bytes - done, part->bytes.size() - offset));
    std::ranges::copy(piece, copy->data() + done);
    done += piece.size();
    offset = 0;
  }
  return {copy->bytes(), copy};
}

}  // namespace shoal::cluster
