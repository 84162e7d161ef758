// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The receiving side of a connection: descriptors out of the ring, the peer's memory, and the parts of it that are in use.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "rings.h"

namespace shoal::transport::shm {

/// Lives on the strand; messages may be dropped on any thread, also when the connection is long closed. Every number
/// that the peer wrote is checked; DataLoss and InvalidArgument say which was wrong.
class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  Inbox(std::shared_ptr<const Rings> rings, std::shared_ptr<Doorbell> bell);

  /// The peer's memory comes, and goes (what is in use of it stays).
  Result<void> add_segment(uint64_t id, uint64_t bytes, const File& file);
  void forget_segment(uint64_t id);
  void forget_all() { segments_.clear(); }
  bool knows_segment(uint64_t id) const { return segments_.contains(id); }

  /// The next descriptor, as it was when this was called, but leaves it where it is.
  Result<std::optional<Descriptor>> peek() const;
  /// The message that `next`, from peek(), describes; takes it out of the ring. The front of its body is a copy, so that
  /// nothing changes once it was checked; the payload is where the peer wrote it. Not yet verified.
  Result<Message> take(const Descriptor& next, uint64_t bytes_max, BufferPool& pool);

 private:
  /// A payload in use, by slot.
  struct Held final : BufferOwner {
    void take_back(Buffer* buffer) override;
    // All guarded by the mutex of `inbox`, which is null while the slot is with the peer:
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
