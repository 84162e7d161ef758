// SPDX-License-Identifier: Apache-2.0
#include "link.h"

namespace shoal::transport::tcp {

void WriteBatch::add(Message message, bool checksum, bool farewell) {
  SHOAL_DCHECK(count_ < kFramesMax);
  Frame frame;
  frame.head = message.head;
  frame.farewell = farewell;
  frame.body_bytes = message.body_bytes();
  frame.checksummed = checksum && message.body;
  if (frame.checksummed) frame.checksum = checksum_of(message.body->bytes());
  encode(frame, heads_[count_]);
  bytes_ += kFrameBytes + frame.body_bytes;
  messages_[count_++] = std::move(message);
}

void WriteBatch::add_heartbeat() {
  SHOAL_DCHECK(empty());
  clear();
  Frame frame;
  frame.head.kind = MessageKind::kPull;  // A heartbeat's kind has no effect, but it has to be one without a body.
  frame.heartbeat = true;
  encode(frame, heads_[count_++]);
  bytes_ += kFrameBytes;
  heartbeat_ = true;
}

WriteBatch::Gather WriteBatch::rest() const {
  Gather gather;
  size_t skip = written_, room = kBytesMax;
  const auto add = [&](const std::byte* data, size_t bytes) {
    gather.parts[gather.count++] = asio::buffer(data, std::min(bytes, room));
    room -= std::min(bytes, room);
  };
  for (size_t i = first_; i < count_ && room > 0; ++i, skip = 0) {
    if (skip < kFrameBytes) add(heads_[i].data() + skip, kFrameBytes - skip);
    const size_t body_skip = skip > kFrameBytes ? skip - kFrameBytes : 0;
    if (messages_[i].body && room > 0) add(messages_[i].body->data() + body_skip, messages_[i].body->size() - body_skip);
  }
  return gather;
}

size_t WriteBatch::advance(size_t bytes) {
  size_t finished = 0;
  written_ += bytes;
  while (first_ < count_) {
    const size_t whole = kFrameBytes + messages_[first_].body_bytes();
    if (written_ < whole) break;
    written_ -= whole;
    messages_[first_++].body = {};
    ++finished;
  }
  return heartbeat_ ? 0 : finished;
}

void WriteBatch::clear() {
  for (size_t i = first_; i < count_; ++i) messages_[i].body = {};
  count_ = first_ = written_ = 0;
  bytes_ = 0;
  heartbeat_ = false;
}

}  // namespace shoal::transport::tcp
