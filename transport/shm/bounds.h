// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits of the resources that a peer may make this process use.
#include <cstddef>
#include <cstdint>

namespace shoal::transport::shm {

inline constexpr uint32_t kDescriptors = 128;  ///< How many messages fit into the ring buffer of one direction.
inline constexpr uint32_t kSlots = 256;        ///< How many of one side's buffers the other side may use at a time.
inline constexpr size_t kSegmentsMax = 4096;   ///< How many segments of one peer are mapped at a time.
/// The largest total size of the segments of one peer that are mapped at a time.
inline constexpr uint64_t kMappedBytesMax = sizeof(void*) == 8 ? uint64_t(64) << 30 : uint64_t(512) << 20;
/// A message is put into the ring only while the messages that wait in the ring have fewer bytes than this. Until then it
/// stays in the send queue.
inline constexpr uint64_t kInRingBytesMax = uint64_t(4) << 20;

}  // namespace shoal::transport::shm
