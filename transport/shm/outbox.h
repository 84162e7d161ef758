// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sending side of a connection: writes a description of each message into a ring in shared memory, and keeps the
/// buffers that the peer may still read.
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "rings.h"
#include "shared_memory.h"

namespace shoal::transport::shm {

/// Used on the strand. Every number that the peer wrote is checked; DataLoss says which one was wrong.
class Outbox {
 public:
  Outbox(std::shared_ptr<const Rings> rings, std::shared_ptr<Doorbell> bell, std::shared_ptr<SharedMemory> memory,
         int socket);
  /// Drops the references to buffers that the peer has not given back. The peer may still read these buffers, so their
  /// memory is never reused.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Gives buffers that the peer does not use any more back to their owners. The result is true if there were any.
  Result<bool> take_back();
  /// True if a message can be put into the ring buffer, and the peer uses fewer than kSlots buffers of this process.
  Result<bool> has_room();

  enum class Put : uint8_t {
    kDone,
    kSocketFull,  ///< The peer must be told of new memory, but the control socket is full.
    kGone,        ///< The peer has closed the control socket.
  };
  /// Publishes `message`, whose body (if any) lies in shared memory. has_room() has to be true. Unavailable if new shared
  /// memory cannot be passed on to the peer.
  Result<Put> put(const Message& message, bool farewell);
  /// True if the body of `message` lies in shared memory.
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
  uint32_t known_read_ = 0;  // How many messages' descriptors the peer has read, as last seen.
  uint64_t in_ring_bytes_ = 0;
  std::array<uint64_t, kDescriptors> costs_{};
  std::array<Ref<const Buffer>, kSlots> out_;  // The buffers that the peer may read. It knows each by its index here.
  std::vector<uint32_t> free_slots_;
  std::map<uint64_t, std::weak_ptr<const OwnSegment>> announced_;
  uint64_t seen_ended_ = 0;
};

}  // namespace shoal::transport::shm
