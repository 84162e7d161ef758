// SPDX-License-Identifier: Apache-2.0
#include "outbox.h"

#include <cerrno>
#include <cstring>

#include "control.h"
#include "shoal/base/exhaustion.h"
#include "shoal/transport/message_queue.h"

namespace shoal::transport::shm {
namespace {

// message_build.cc puts fewer bytes of padding than this after a payload.
constexpr size_t kPaddingBytesMax = kBufferAlignment;

Descriptor describe(const Message& message, bool farewell) {
  Descriptor descriptor;
  const MessageHead& head = message.head;
  descriptor.kind = uint8_t(head.kind);
  descriptor.status = head.status;
  descriptor.farewell = farewell;
  descriptor.job = head.job;
  descriptor.epoch = head.epoch;
  descriptor.incarnation = head.incarnation;
  descriptor.sequence = head.sequence;
  descriptor.reply_to = head.reply_to;
  descriptor.global_step = head.global_step;
  return descriptor;
}

// Sets how many bytes of the body come before its payload, and how many the payload has.
void describe_body(const Message& message, Descriptor& descriptor) {
  const std::span<const std::byte> body = message.body->bytes();
  const std::span<const std::byte> payload = message.payload();
  descriptor.has_body = 1;
  descriptor.front_bytes = body.size();
  if (payload.empty()) return;
  const auto begin = size_t(payload.data() - body.data());
  // If kPaddingBytesMax or more bytes follow the payload, message_build.cc did not build this body. It is then described
  // as a body without a payload, so the receiver copies all of it.
  if (body.size() - begin - payload.size() >= kPaddingBytesMax) return;
  descriptor.front_bytes = begin;
  descriptor.payload_bytes = payload.size();
}

}  // namespace

Outbox::Outbox(std::shared_ptr<const Rings> rings, std::shared_ptr<Doorbell> bell, std::shared_ptr<SharedMemory> memory,
               int socket)
    : rings_(std::move(rings)), bell_(std::move(bell)), memory_(std::move(memory)), socket_(socket) {
  free_slots_.reserve(kSlots);
  for (uint32_t slot = kSlots; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

Outbox::~Outbox() {
  (void)take_back();
  for (const Ref<const Buffer>& buffer : out_) {
    if (buffer) buffer->retire();
  }
}

Result<bool> Outbox::take_back() {
  const Lane& lane = rings_->sent();
  const uint32_t given_back = lane.given_back.load();
  if (given_back - taken_back_ > kSlots) return data_loss("gave back more buffers than it had");
  const bool any = given_back != taken_back_;
  for (; taken_back_ != given_back; ++taken_back_) {
    const uint32_t slot = lane.returns[taken_back_ % kSlots].load(std::memory_order_relaxed);
    if (slot >= kSlots || !out_[slot]) return data_loss("gave back a buffer that it did not have");
    out_[slot] = {};
    free_slots_.push_back(slot);
  }
  return any;
}

Result<bool> Outbox::has_room() {
  const uint32_t read = rings_->sent().read.load();
  if (read - known_read_ > written_ - known_read_) return data_loss("read messages that were not sent yet");
  for (; known_read_ != read; ++known_read_) in_ring_bytes_ -= costs_[known_read_ % kDescriptors];
  return written_ - known_read_ < kDescriptors && in_ring_bytes_ < kInRingBytesMax && !free_slots_.empty();
}

bool Outbox::can_reach(const Message& message) const {
  return !message.body || (message.body->rest().empty() && memory_->find(message.body->bytes()));
}

Result<Outbox::Put> Outbox::put(const Message& message, bool farewell) {
  if (const Put told = forget_ended(); told != Put::kDone) return told;
  Descriptor descriptor = describe(message, farewell);
  if (message.body) {
    const auto place = memory_->find(message.body->bytes());
    SHOAL_CHECK(place);
    SHOAL_TRY(const Put told, announce(place->segment));
    if (told != Put::kDone) return told;
    describe_body(message, descriptor);
    descriptor.segment = place->segment->id;
    descriptor.offset = place->offset;
    descriptor.slot = free_slots_.back();
    free_slots_.pop_back();
    out_[descriptor.slot] = message.body;
  }
  Lane& lane = rings_->sent();
  std::memcpy(&lane.descriptors[written_ % kDescriptors], &descriptor, sizeof descriptor);
  costs_[written_ % kDescriptors] = MessageQueue::cost(message);
  in_ring_bytes_ += MessageQueue::cost(message);
  lane.written.store(++written_);
  bell_->notify(kMessages);
  return Put::kDone;
}

Result<Outbox::Put> Outbox::announce(const std::shared_ptr<const OwnSegment>& segment) {
  if (announced_.contains(segment->id)) return Put::kDone;
  const Notice notice{.kind = Notice::kSegment, .id = segment->id, .bytes = segment->segment.memory.bytes()};
  const Sent sent = send_datagram(socket_, std::as_bytes(std::span(&notice, 1)), segment->segment.file.get());
  if (sent == Sent::kSocketFull) return Put::kSocketFull;
  if (sent == Sent::kFailed && (errno == EPIPE || errno == ECONNRESET)) return Put::kGone;
  if (sent == Sent::kFailed) return unavailable(std::string("memory cannot be passed to it: ") + system_error_text(errno));
  announced_.emplace(segment->id, segment);
  return Put::kDone;
}

Outbox::Put Outbox::forget_ended() {
  const uint64_t ended = memory_->ended_count();
  if (ended == seen_ended_) return Put::kDone;
  for (auto entry = announced_.begin(); entry != announced_.end();) {
    if (!entry->second.expired()) {
      ++entry;
      continue;
    }
    const Notice notice{.kind = Notice::kForget, .id = entry->first};
    const Sent sent = send_datagram(socket_, std::as_bytes(std::span(&notice, 1)));
    if (sent != Sent::kDone) return sent == Sent::kSocketFull ? Put::kSocketFull : Put::kGone;
    entry = announced_.erase(entry);
  }
  seen_ended_ = ended;
  return Put::kDone;
}

}  // namespace shoal::transport::shm
