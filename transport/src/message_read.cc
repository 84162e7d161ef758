// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "shoal/transport/channel.h"
#include "wire.h"

namespace shoal::transport {
namespace {

std::string_view view_of(const flatbuffers::String* text) { return {text->c_str(), text->size()}; }

std::span<const std::byte> bytes_of(const flatbuffers::Vector<uint8_t>* bytes) {
  return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
}

// If a transport left the payload in the peer's memory, the vector in the FlatBuffer is empty and the payload is the body's
// rest().
std::span<const std::byte> payload_of(const Message& message, const flatbuffers::Vector<uint8_t>* vector) {
  const std::span<const std::byte> rest = message.body->rest();
  return rest.empty() ? bytes_of(vector) : rest;
}

// Returns the FlatBuffers table in a message's body, or an error if the message is of another kind than `kind`.
template <class T>
Result<const T*> table_of(const Message& message, MessageKind kind, std::string_view name) {
  if (message.head.kind != kind || !message.body)
    return invalid_argument("expected a " + std::string(name) + " message, but got kind " +
                            std::to_string(int(message.head.kind)));
  const T* table = wire::GetBody(message.body->data())->message_as<T>();
  if (!table) return data_loss(std::string(name) + " message: head and body are of different kinds");
  return table;
}

PushId push_of(const wire::PushId& push) { return {push.trainer(), push.incarnation(), push.number()}; }

}  // namespace

std::span<const std::byte> Message::payload() const {
  if (!body) return {};
  const wire::Body* root = wire::GetBody(body->data());
  switch (root->message_type()) {
    case wire::Any::Control: return payload_of(*this, root->message_as_Control()->payload());
    case wire::Any::Weights: return payload_of(*this, root->message_as_Weights()->payload());
    case wire::Any::Chunk: return payload_of(*this, root->message_as_Chunk()->payload());
    case wire::Any::Snapshot: return payload_of(*this, root->message_as_Snapshot()->payload());
    default: return {};
  }
}

Ref<const Buffer> whole_body(BufferPool& pool, const Ref<const Buffer>& body) {
  if (!body || body->rest().empty()) return body;
  const std::span<const std::byte> front = body->bytes(), rest = body->rest();
  Ref<Buffer> whole = pool.get(front.size() + rest.size());
  std::memcpy(whole->data(), front.data(), front.size());
  // In a FlatBuffer, the length of the payload stands directly before it: in the last bytes of `front`.
  const auto length = uint32_t(rest.size());
  std::memcpy(whole->data() + front.size() - sizeof length, &length, sizeof length);
  std::memcpy(whole->data() + front.size(), rest.data(), rest.size());
  return whole;
}

Result<Hello> read_hello(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Hello>(message, MessageKind::kHello, "hello"));
  Hello hello;
  hello.protocol = table->protocol();
  hello.job = view_of(table->job());
  hello.role = view_of(table->role());
  hello.index = table->index();
  hello.incarnation = table->incarnation();
  hello.strategy = view_of(table->strategy());
  hello.fingerprint = table->fingerprint();
  hello.numerics = view_of(table->numerics());
  if (table->variables()) hello.variables = view_of(table->variables());
  if (table->meaning()) hello.meaning = view_of(table->meaning());
  hello.weights = Encoding(table->weights_encoding());
  if (table->run()) hello.run = view_of(table->run());
  if (table->start()) hello.start = view_of(table->start());
  if (table->origin()) hello.origin = view_of(table->origin());
  return hello;
}

Result<Control> read_control(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Control>(message, MessageKind::kControl, "control"));
  return Control{view_of(table->verb()), view_of(table->text()), payload_of(message, table->payload())};
}

Error read_error(const Message& message) {
  const auto table = table_of<wire::Failure>(message, MessageKind::kError, "error");
  if (!table) return table.error();
  return closing_reason(Error(ErrorKind((*table)->kind()), std::string(view_of((*table)->sentence()))));
}

Result<Weights> read_weights(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Weights>(message, MessageKind::kWeights, "weights"));
  return Weights{table->version(), table->global_step(), Encoding(table->encoding()), table->base_version(),
                 payload_of(message, table->payload())};
}

Result<Chunk> read_chunk(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Chunk>(message, MessageKind::kChunk, "chunk"));
  Chunk chunk;
  chunk.base_version = table->base_version();
  chunk.ordinal = table->ordinal();
  chunk.encoding = Encoding(table->encoding());
  chunk.range_begin = table->range_begin();
  chunk.range_end = table->range_end();
  chunk.chunk_index = table->chunk_index();
  chunk.chunk_count = table->chunk_count();
  chunk.closing = table->closing();
  chunk.push = table->push();
  const auto position = bytes_of(table->position());
  chunk.position = {reinterpret_cast<const char*>(position.data()), position.size()};
  chunk.scalars = {table->scalars()->data(), table->scalars()->size()};
  if (const wire::StepMetrics* metrics = table->metrics()) {
    chunk.metrics = {metrics->loss(), metrics->waited_secs(), metrics->input_wait()};
  }
  chunk.payload = payload_of(message, table->payload());
  return chunk;
}

Result<SnapshotPart> read_snapshot_part(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Snapshot>(message, MessageKind::kSnapshot, "snapshot"));
  SnapshotPart part;
  part.version = table->version();
  part.name = view_of(table->name());
  part.offset = table->offset();
  part.total_bytes = table->total_bytes();
  part.payload = payload_of(message, table->payload());
  return part;
}

Result<Report> read_report(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Report>(message, MessageKind::kReport, "report"));
  return Report{ReportKind(table->kind()), table->received(), push_of(*table->push()), table->base_version()};
}

Result<Order> read_order(const Message& message) {
  SHOAL_TRY(const auto* table, table_of<wire::Order>(message, MessageKind::kOrder, "order"));
  Order order{OrderKind(table->kind()), table->index(), table->number(), table->global_step(), {}};
  order.pushes.reserve(table->pushes()->size());
  for (const wire::PushId* push : *table->pushes()) order.pushes.push_back(push_of(*push));
  return order;
}

}  // namespace shoal::transport
