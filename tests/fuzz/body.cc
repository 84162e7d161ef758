// SPDX-License-Identifier: Apache-2.0
#include "body.h"

#include <algorithm>
#include <memory>
#include <new>

namespace shoal::fuzz {
namespace {

using transport::Message;
using transport::MessageKind;

BufferPool& pool() {
  static const std::shared_ptr<BufferPool> pool = BufferPool::create();
  return *pool;
}

// Memory of so many bytes and no more, aligned as bodies are. (A pool's is larger, and a read behind the end unseen.)
class Block {
 public:
  explicit Block(std::span<const std::byte> bytes)
      : memory_(static_cast<std::byte*>(::operator new(bytes.size(), kAlignment))), size_(bytes.size()) {
    std::ranges::copy(bytes, memory_.get());
  }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{kBufferAlignment};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t size_;
};

struct Received final : BufferOwner {
  Received(std::span<const std::byte> body, std::span<const std::byte> rest)
      : front(body), behind(rest), view(front.bytes(), behind.bytes(), *this) {}
  void take_back(Buffer*) override { given_back = true; }

  Block front, behind;
  Buffer view;
  bool given_back = false;
};

void read_again(const Message& message) {
  const Result<void> verified = transport::verify(message);
  SHOAL_CHECK(verified);
}

void use_hello(const Message& message) {
  const Result<transport::Hello> hello = transport::read_hello(message);
  SHOAL_CHECK(hello);
  for (const std::string& text :
       {hello->job, hello->role, hello->strategy, hello->numerics, hello->variables, hello->meaning})
    touch(text);
  read_again(transport::make_hello(pool(), *hello));
}

void use_control(const Message& message) {
  const Result<transport::Control> control = transport::read_control(message);
  SHOAL_CHECK(control);
  touch(control->verb);
  touch(control->text);
  touch(control->payload);
  read_again(transport::make_control(pool(), control->verb, control->text, control->payload));
}

void use_weights(const Message& message) {
  const Result<transport::Weights> weights = transport::read_weights(message);
  SHOAL_CHECK(weights);
  touch(weights->payload);
  Message again = transport::make_weights(pool(), weights->payload.size());
  std::ranges::copy(weights->payload, transport::mutable_payload(again).begin());
  transport::set_weights_version(again, weights->version, weights->global_step);
  read_again(again);
}

void use_chunk(const Message& message) {
  const Result<transport::Chunk> chunk = transport::read_chunk(message);
  SHOAL_CHECK(chunk);
  touch(chunk->position);
  touch(chunk->scalars);
  touch(chunk->payload);
  const transport::OutgoingChunk again =
      transport::make_chunk(pool(), *chunk, chunk->payload.size(), chunk->scalars.size());
  std::ranges::copy(chunk->payload, again.payload.begin());
  read_again(again.message);
}

void use_snapshot(const Message& message) {
  const Result<transport::SnapshotPart> part = transport::read_snapshot_part(message);
  SHOAL_CHECK(part);
  touch(part->name);
  touch(part->payload);
  read_again(transport::make_snapshot_part(pool(), *part));
}

void use_error(const Message& message) {
  const Error error = transport::read_error(message);
  touch(to_string(error.kind()));
  touch(error.message());
  read_again(transport::make_error(pool(), error));
}

void use_report(const Message& message) {
  const Result<transport::Report> report = transport::read_report(message);
  SHOAL_CHECK(report);
  read_again(transport::make_report(pool(), *report));
}

void use_order(const Message& message) {
  const Result<transport::Order> order = transport::read_order(message);
  SHOAL_CHECK(order);
  read_again(transport::make_order(pool(), *order));
}

// Sends a message on as a transport does that carries bytes: its payload, wherever that was, is the same.
void send_on(const Message& message) {
  const Message whole{message.head, transport::whole_body(pool(), message.body)};
  SHOAL_CHECK(std::ranges::equal(whole.payload(), message.payload()));
}

}  // namespace

void read_message(const Message& message) {
  switch (message.head.kind) {
    case MessageKind::kHello: use_hello(message); break;
    case MessageKind::kControl: use_control(message); break;
    case MessageKind::kPull: return;
    case MessageKind::kWeights: use_weights(message); break;
    case MessageKind::kChunk: use_chunk(message); break;
    case MessageKind::kSnapshot: use_snapshot(message); break;
    case MessageKind::kError: use_error(message); break;
    case MessageKind::kReport: use_report(message); break;
    case MessageKind::kOrder: use_order(message); break;
  }
  send_on(message);
}

void receive_body(MessageKind kind, const uint8_t* data, size_t size) {
  Input input(data, size);
  const auto rest_bytes = std::min<size_t>(input.take<uint32_t>(), input.size());
  const std::span<const std::byte> front = input.take_bytes(input.size() - rest_bytes);
  Received received(front, input.take_bytes(rest_bytes));
  {
    Message message;
    message.head.kind = kind;
    message.body = Ref<const Buffer>::adopt(&received.view);
    if (transport::verify(message)) read_message(message);
  }
  SHOAL_CHECK(received.given_back);
}

}  // namespace shoal::fuzz
