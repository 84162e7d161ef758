// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "wire.h"

namespace shoal::transport {
namespace {

using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::Vector;

// The most bytes of a message beside its strings and payload: tables, vtables, lengths, padding, and the scratch space that
// FlatBufferBuilder uses at the other end of its block while it builds a table.
constexpr size_t kOverheadBytes = 512;

// Gives the builder a single block, which is always large enough, so the builder never grows and never copies.
class OneBlock final : public flatbuffers::Allocator {
 public:
  explicit OneBlock(std::span<std::byte> block) : block_(block) {}
  uint8_t* allocate(size_t bytes) override {
    SHOAL_CHECK(!used_ && bytes <= block_.size());
    used_ = true;
    return reinterpret_cast<uint8_t*>(block_.data());
  }
  void deallocate(uint8_t*, size_t) override { used_ = false; }

 private:
  std::span<std::byte> block_;
  bool used_ = false;
};

// One body, built in place inside of a pool buffer. A FlatBuffer grows from the end of the block towards its start, so an
// unused gap of some hundred bytes stays at the front. The root offset, which may point any distance ahead, is written
// before the gap. So the buffer is a complete FlatBuffer from its first byte on, and nothing has to be moved.
class Body {
 public:
  Body(BufferPool& pool, size_t variable_bytes, size_t payload_bytes)
      : buffer_(pool.get(align_up(payload_bytes) + align_up(variable_bytes) + kOverheadBytes)),
        block_(buffer_->bytes()),
        builder(buffer_->size(), &block_, false, kBufferAlignment) {
    SHOAL_CHECK(payload_bytes <= kPayloadBytesMax);
    builder.ForceDefaults(true);  // Zeros are stored too, since numbers are set in place later.
  }

  Offset<Vector<uint8_t>> payload(size_t bytes, std::span<std::byte>* where) {
    builder.ForceVectorAlignment(bytes, 1, kBufferAlignment);
    uint8_t* start = nullptr;
    auto vector = builder.CreateUninitializedVector<uint8_t>(bytes, &start);
    *where = {reinterpret_cast<std::byte*>(start), bytes};
    return vector;
  }
  Offset<Vector<uint8_t>> payload(std::span<const std::byte> bytes) {
    std::span<std::byte> where;
    auto vector = payload(bytes.size(), &where);
    if (!bytes.empty()) std::memcpy(where.data(), bytes.data(), bytes.size());
    return vector;
  }
  Offset<String> text(std::string_view text) { return builder.CreateString(text.data(), text.size()); }

  template <class T>
  Message finish(MessageKind kind, Offset<T> table) {
    builder.Finish(wire::CreateBody(builder, wire_type(kind), table.Union()), wire::BodyIdentifier());
    auto* const first = reinterpret_cast<uint8_t*>(buffer_->data());
    uint8_t* const built = builder.GetBufferPointer();
    if (const size_t gap = size_t(built - first); gap != 0) {
      const auto root = uint32_t(gap) + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(built);
      std::memset(first, 0, gap);  // Old contents of a pooled block must not be sent.
      flatbuffers::WriteScalar<flatbuffers::uoffset_t>(first, root);
      std::memcpy(first + sizeof(flatbuffers::uoffset_t), wire::BodyIdentifier(), flatbuffers::kFileIdentifierLength);
    }
    Message message;
    message.head.kind = kind;
    message.body = Ref<const Buffer>(std::move(buffer_));
    return message;
  }

 private:
  Ref<Buffer> buffer_;
  OneBlock block_;

 public:
  flatbuffers::FlatBufferBuilder builder;
};

template <class Table>
Table& mutable_table(Message& message, MessageKind kind) {
  SHOAL_CHECK(message.head.kind == kind && message.body && message.body->unique());
  auto* data = const_cast<std::byte*>(message.body->data());  // Only `message` refers to the body (checked above).
  return *static_cast<Table*>(wire::GetMutableBody(data)->mutable_message());
}
wire::Weights& mutable_weights(Message& message) { return mutable_table<wire::Weights>(message, MessageKind::kWeights); }

}  // namespace

Message make_hello(BufferPool& pool, const Hello& hello) {
  Body body(pool,
            hello.job.size() + hello.role.size() + hello.strategy.size() + hello.numerics.size() + hello.variables.size() +
                hello.meaning.size() + hello.run.size() + hello.start.size() + hello.origin.size(),
            0);
  const auto job = body.text(hello.job);
  const auto role = body.text(hello.role);
  const auto strategy = body.text(hello.strategy);
  const auto numerics = body.text(hello.numerics);
  const auto variables = body.text(hello.variables);
  const auto meaning = body.text(hello.meaning);
  const auto run = body.text(hello.run);
  const auto start = body.text(hello.start);
  const auto origin = body.text(hello.origin);
  return body.finish(MessageKind::kHello, wire::CreateHello(body.builder, hello.protocol, hello.index, hello.incarnation,
                                                            hello.fingerprint, job, role, strategy, numerics, variables,
                                                            uint8_t(hello.weights), meaning, run, start, origin));
}

Message make_control(BufferPool& pool, std::string_view verb, std::string_view text, std::span<const std::byte> payload) {
  SHOAL_CHECK(!verb.empty() && verb.size() <= kVerbBytesMax && text.size() <= kTextBytesMax);
  Body body(pool, verb.size() + text.size(), payload.size());
  const auto bytes = body.payload(payload);
  const auto words = body.text(text);
  const auto name = body.text(verb);
  return body.finish(MessageKind::kControl, wire::CreateControl(body.builder, name, words, bytes));
}

Message make_error(BufferPool& pool, const Error& error) {
  const std::string_view sentence = std::string_view(error.message()).substr(0, kSentenceBytesMax);
  Body body(pool, sentence.size(), 0);
  const auto words = body.text(sentence);
  return body.finish(MessageKind::kError, wire::CreateFailure(body.builder, uint8_t(error.kind()), words));
}

Message make_weights(BufferPool& pool, size_t payload_bytes, Encoding encoding) {
  Body body(pool, 0, payload_bytes);
  std::span<std::byte> where;
  const auto bytes = body.payload(payload_bytes, &where);
  return body.finish(MessageKind::kWeights, wire::CreateWeights(body.builder, 0, 0, bytes, uint8_t(encoding), 0));
}

std::span<std::byte> mutable_payload(Message& message) {
  auto* bytes = mutable_weights(message).mutable_payload();
  return {reinterpret_cast<std::byte*>(bytes->Data()), bytes->size()};
}

void set_weights_version(Message& message, uint64_t version, uint64_t global_step, uint64_t base_version) {
  wire::Weights& weights = mutable_weights(message);
  SHOAL_CHECK(weights.mutate_version(version) && weights.mutate_global_step(global_step) &&
              weights.mutate_base_version(base_version));
}

OutgoingChunk make_chunk(BufferPool& pool, const Chunk& fields, size_t payload_bytes, size_t scalar_count) {
  SHOAL_CHECK(fields.position.size() <= kPositionBytesMax && scalar_count <= kScalarCountMax);
  Body body(pool, fields.position.size() + scalar_count * sizeof(double), payload_bytes);
  OutgoingChunk chunk;
  const auto bytes = body.payload(payload_bytes, &chunk.payload);
  double* first_scalar = nullptr;
  const auto scalars = body.builder.CreateUninitializedVector<double>(scalar_count, &first_scalar);
  chunk.scalars = {first_scalar, scalar_count};
  constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
  const wire::StepMetrics none(kNotKnown, 0, kNotKnown);  // Reserves room for the metrics.
  const auto position =
      body.builder.CreateVector(reinterpret_cast<const uint8_t*>(fields.position.data()), fields.position.size());
  chunk.message =
      body.finish(MessageKind::kChunk,
                  wire::CreateChunk(body.builder, fields.base_version, fields.ordinal, fields.range_begin, fields.range_end,
                                    fields.chunk_index, fields.chunk_count, uint8_t(fields.encoding), fields.closing,
                                    position, scalars, bytes, fields.push, fields.closing ? &none : nullptr));
  return chunk;
}

void set_metrics(Message& message, const StepMetrics& metrics) {
  wire::StepMetrics* const own = mutable_table<wire::Chunk>(message, MessageKind::kChunk).mutable_metrics();
  SHOAL_CHECK(own);
  own->mutate_loss(metrics.loss);
  own->mutate_waited_secs(metrics.waited_secs);
  own->mutate_input_wait(metrics.input_wait);
}

Message make_snapshot_part(BufferPool& pool, const SnapshotPart& part) {
  SHOAL_CHECK(!part.name.empty() && part.name.size() <= kNameBytesMax);
  Body body(pool, part.name.size(), part.payload.size());
  const auto bytes = body.payload(part.payload);
  const auto name = body.text(part.name);
  return body.finish(MessageKind::kSnapshot,
                     wire::CreateSnapshot(body.builder, part.version, part.offset, part.total_bytes, name, bytes));
}

namespace {

wire::PushId to_wire(const PushId& push) { return {push.incarnation, push.number, push.trainer}; }

}  // namespace

Message make_report(BufferPool& pool, const Report& report) {
  Body body(pool, 0, 0);
  const wire::PushId push = to_wire(report.push);
  return body.finish(MessageKind::kReport,
                     wire::CreateReport(body.builder, uint8_t(report.kind), report.received, report.base_version, &push));
}

Message make_order(BufferPool& pool, const Order& order) {
  SHOAL_CHECK(order.pushes.size() <= kOrderPushesMax);
  Body body(pool, order.pushes.size() * sizeof(wire::PushId), 0);
  wire::PushId* push = nullptr;
  const auto pushes = body.builder.CreateUninitializedVectorOfStructs(order.pushes.size(), &push);
  std::ranges::transform(order.pushes, push, to_wire);
  return body.finish(MessageKind::kOrder, wire::CreateOrder(body.builder, uint8_t(order.kind), order.index, order.number,
                                                            order.global_step, pushes));
}

}  // namespace shoal::transport
