// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The receiving side of a connection: reads descriptions of messages from a ring buffer, maps the peer's shared memory,
/// and knows which buffers in that memory this process still uses.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "rings.h"

namespace shoal::transport::shm {

/// Used on the strand. Messages may be dropped on any thread, even long after the connection is closed. Every number that
/// the peer wrote is checked; DataLoss and InvalidArgument say which one was wrong.
class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  Inbox(std::shared_ptr<const Rings> rings, std::shared_ptr<Doorbell> bell);

  /// Adds or forgets memory of the peer. Forgotten memory stays mapped while parts of it are in use.
  Result<void> add_segment(uint64_t id, uint64_t bytes, const File& file);
  void forget_segment(uint64_t id);
  void forget_all() { segments_.clear(); }
  bool knows_segment(uint64_t id) const { return segments_.contains(id); }

  /// Returns a copy of the next descriptor, and leaves it in the ring.
  Result<std::optional<Descriptor>> peek() const;
  /// Removes the message that `next` (from peek()) describes from the ring, and returns it, not yet verified. The body,
  /// without its payload, is copied, so that the peer cannot change it after the check. The payload stays where it is.
  Result<Message> take(const Descriptor& next, uint64_t bytes_max, BufferPool& pool);

 private:
  /// The payload of a received message, in the peer's memory, while this process uses it. The peer knows it by `slot`.
  struct Held final : BufferOwner {
    void take_back(Buffer* buffer) override;
    // `inbox->mutex_` guards all members. `inbox` is null while this process does not use the slot.
    std::shared_ptr<Inbox> inbox;
    std::shared_ptr<const Mapping> memory;
    Ref<const Buffer> front;
    std::optional<Buffer> view;
    uint32_t slot = 0;
  };
  Result<Ref<const Buffer>> hold(const Descriptor& next, std::shared_ptr<const Mapping> memory, Ref<const Buffer> front);
  void end(Held& held);
  void give_back(uint32_t slot, uint64_t bytes);

  const std::shared_ptr<const Rings> rings_;
  const std::shared_ptr<Doorbell> bell_;
  std::map<uint64_t, std::shared_ptr<const Mapping>> segments_;
  uint64_t mapped_bytes_ = 0;
  uint32_t read_ = 0;
  mutable std::mutex mutex_;
  std::vector<Held> held_;   // Guarded by mutex_.
  uint32_t given_back_ = 0;  // Guarded by mutex_.
};

}  // namespace shoal::transport::shm
