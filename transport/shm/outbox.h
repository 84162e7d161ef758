// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sending side of a connection: descriptors into the ring, and the buffers that the peer may read meanwhile.
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "rings.h"
#include "shared_memory.h"

namespace shoal::transport::shm {

/// Lives on the strand. Every number that the peer wrote is checked; DataLoss says which was wrong.
class Outbox {
 public:
  Outbox(std::shared_ptr<const Rings> rings, std::shared_ptr<Doorbell> bell, std::shared_ptr<SharedMemory> memory,
         int socket);
  /// Drops the references to what is still out. The peer may go on reading that, so it is retired, not used again.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Buffers that the peer gave back go to whom they belong. Returns whether there were any.
  Result<bool> take_back();
  /// Whether put() finds a place in the ring, and a slot.
  Result<bool> has_room();

  enum class Put : uint8_t {
    kDone,
    kSocketFull,  ///< The peer must be told of new memory, and the control socket takes nothing now.
    kGone,        ///< There is nobody at its other end.
  };
  /// Publishes `message`, whose body (if any) lies in shared memory. has_room() was true. Unavailable if memory cannot be
  /// passed on.
  Result<Put> put(const Message& message, bool farewell);
  /// True if the body of `message` can be put.
  bool can_reach(const Message& message) const;

 private:
  Result<Put> announce(const std::shared_ptr<const OwnSegment>& segment);
  Put forget_ended();

  const std::shared_ptr<const Rings> rings_;
  const std::shared_ptr<Doorbell> bell_;
  const std::shared_ptr<SharedMemory> memory_;
  const int socket_;
  uint32_t written_ = 0;
  uint32_t taken_back_ = 0;
  uint32_t known_read_ = 0;  // What the peer has read of the ring, as last seen.
  uint64_t in_ring_bytes_ = 0;
  std::array<uint64_t, kDescriptors> costs_{};
  std::array<Ref<const Buffer>, kSlots> out_;  // The buffers that the peer may read, by slot.
  std::vector<uint32_t> free_slots_;
  std::map<uint64_t, std::weak_ptr<const OwnSegment>> announced_;
  uint64_t seen_ended_ = 0;
};

}  // namespace shoal::transport::shm
