// SPDX-License-Identifier: Apache-2.0
#include "inbox.h"

#include <cstring>

namespace shoal::transport::shm {
namespace {

// When a buffer of at least this size is given back to the peer that owns it, that peer is woken at once.
constexpr uint64_t kLargeBytes = 64 * 1024;

MessageHead head_of(const Descriptor& descriptor) {
  return {.kind = MessageKind(descriptor.kind),
          .status = descriptor.status,
          .job = descriptor.job,
          .epoch = descriptor.epoch,
          .incarnation = descriptor.incarnation,
          .sequence = descriptor.sequence,
          .reply_to = descriptor.reply_to,
          .global_step = descriptor.global_step};
}

// `front` is a copy of the bytes of a FlatBuffer that precede its payload. The last of these is the payload's length. It is
// set to 0 in the copy, since the payload itself stays where the peer wrote it.
void end_with_empty_payload(Buffer& front) {
  constexpr uint32_t kNone = 0;
  std::memcpy(front.data() + front.size() - sizeof kNone, &kNone, sizeof kNone);
}

}  // namespace

Inbox::Inbox(std::shared_ptr<const Rings> rings, std::shared_ptr<Doorbell> bell)
    : rings_(std::move(rings)), bell_(std::move(bell)), held_(kSlots) {
  for (uint32_t slot = 0; slot < kSlots; ++slot) held_[slot].slot = slot;
}

Result<void> Inbox::add_segment(uint64_t id, uint64_t bytes, const File& file) {
  if (!file) return data_loss("announced memory but sent none");
  if (knows_segment(id)) return data_loss("announced the same memory twice");
  if (segments_.size() >= kSegmentsMax || bytes == 0 || bytes > kMappedBytesMax - mapped_bytes_)
    return invalid_argument("announced more memory than a peer may have mapped: it has " +
                            std::to_string(segments_.size()) + " segments of " + std::to_string(mapped_bytes_) +
                            " bytes, and announced " + std::to_string(bytes) + " bytes more");
  SHOAL_TRY(Mapping memory, map_segment(file, size_t(bytes), PeersMay::kRead));
  mapped_bytes_ += bytes;
  segments_.emplace(id, std::make_shared<const Mapping>(std::move(memory)));
  return {};
}

void Inbox::forget_segment(uint64_t id) {
  const auto found = segments_.find(id);
  if (found == segments_.end()) return;
  mapped_bytes_ -= found->second->bytes();
  segments_.erase(found);
}

Result<std::optional<Descriptor>> Inbox::peek() const {
  const Lane& lane = rings_->received();
  const uint32_t count = lane.written.load() - read_;
  if (count > kDescriptors) return data_loss("announced more messages than the ring has room for");
  if (count == 0) return std::optional<Descriptor>();
  Descriptor next;
  std::memcpy(&next, &lane.descriptors[read_ % kDescriptors], sizeof next);
  return std::optional<Descriptor>(next);
}

Result<Message> Inbox::take(const Descriptor& next, uint64_t bytes_max, BufferPool& pool) {
  Message message;
  message.head = head_of(next);
  if (next.has_body) {
    if (next.front_bytes > bytes_max || next.payload_bytes > bytes_max - next.front_bytes)
      return invalid_argument("announced a message of " + std::to_string(next.front_bytes) + " + " +
                              std::to_string(next.payload_bytes) + " bytes, but at most " + std::to_string(bytes_max) +
                              " bytes are accepted");
    const auto found = segments_.find(next.segment);
    if (found == segments_.end()) return data_loss("sent a message in memory that it did not share");
    const std::shared_ptr<const Mapping>& memory = found->second;
    if (next.offset > memory->bytes() || next.front_bytes + next.payload_bytes > memory->bytes() - next.offset)
      return data_loss("sent a message that reaches beyond its memory");
    if (next.slot >= kSlots) return data_loss("sent a message with a number out of range");
    if (next.front_bytes < sizeof(uint32_t)) return data_loss("sent a message that is too short");
    Ref<Buffer> front = pool.get(size_t(next.front_bytes));
    std::memcpy(front->data(), memory->data() + next.offset, front->size());
    if (next.payload_bytes == 0) {
      message.body = std::move(front);
      give_back(next.slot, next.front_bytes);
    } else {
      end_with_empty_payload(*front);
      SHOAL_TRY(message.body, hold(next, memory, std::move(front)));
    }
  }
  rings_->received().read.store(++read_);
  bell_->notify(kRoom);
  return message;
}

Result<Ref<const Buffer>> Inbox::hold(const Descriptor& next, std::shared_ptr<const Mapping> memory,
                                      Ref<const Buffer> front) {
  std::lock_guard lock(mutex_);
  Held& held = held_[next.slot];
  if (held.inbox) return data_loss("sent a buffer twice");
  const std::byte* payload = memory->data() + next.offset + next.front_bytes;
  held.view.emplace(front->bytes(), std::span(payload, size_t(next.payload_bytes)), held);
  held.inbox = shared_from_this();
  held.memory = std::move(memory);
  held.front = std::move(front);
  return Ref<const Buffer>::adopt(&*held.view);
}

void Inbox::Held::take_back(Buffer*) { inbox->end(*this); }

void Inbox::end(Held& held) {
  // The message may have been the last owner of this Inbox. `self` keeps the Inbox, and with it `held`, until this function
  // returns.
  std::shared_ptr<Inbox> self;
  std::shared_ptr<const Mapping> memory;
  Ref<const Buffer> front;
  uint64_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    self = std::move(held.inbox);
    memory = std::move(held.memory);
    front = std::move(held.front);
    bytes = held.view->rest().size();
    held.view.reset();
  }
  give_back(held.slot, bytes);
}

void Inbox::give_back(uint32_t slot, uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    Lane& lane = rings_->received();
    lane.returns[given_back_ % kSlots].store(slot, std::memory_order_relaxed);
    lane.given_back.store(++given_back_);
  }
  bell_->notify(kSlotsBack | (bytes >= kLargeBytes ? uint32_t(kMemory) : 0U));
}

}  // namespace shoal::transport::shm
