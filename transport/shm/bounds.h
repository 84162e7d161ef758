// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a peer may make this process hold.
#include <cstddef>
#include <cstdint>

namespace shoal::transport::shm {

inline constexpr uint32_t kDescriptors = 128;  ///< Descriptors on their way in one direction.
inline constexpr uint32_t kSlots = 256;        ///< Buffers of one side that the other has not given back.
inline constexpr size_t kSegmentsMax = 4096;   ///< Segments of one peer that are mapped at a time.
/// Address space for the segments of one peer.
inline constexpr uint64_t kMappedBytesMax = sizeof(void*) == 8 ? uint64_t(64) << 30 : uint64_t(512) << 20;
/// What is in the ring and not taken yet: a message is put there only while it is less. The rest waits in the send queue.
inline constexpr uint64_t kInRingBytesMax = uint64_t(4) << 20;

}  // namespace shoal::transport::shm
