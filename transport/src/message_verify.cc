// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

namespace shoal::transport {
namespace {

Error broken(const Message& message, std::string_view what) {
  return data_loss("message of kind " + std::to_string(int(message.head.kind)) + ", " +
                   std::to_string(message.body_bytes()) + " bytes: " + std::string(what));
}

bool within(const flatbuffers::String* text, size_t least, size_t most) {
  return text->size() >= least && text->size() <= most;
}

// FlatBuffers checks neither the alignment of vectors beyond 4 bytes nor force_align, but kernels rely on both.
bool aligned(const void* data, size_t alignment) { return reinterpret_cast<uintptr_t>(data) % alignment == 0; }

bool is_encoding(uint8_t number) { return number >= uint8_t(Encoding::kDense) && number <= uint8_t(Encoding::kTopK); }
bool is_encoding_of_weights(uint8_t number) { return is_encoding(number) && Encoding(number) != Encoding::kTopK; }

// Each function flaw() describes the first mistake in a message of one kind; it returns null if there is none.
const char* flaw(const wire::Hello& hello) {
  if (!within(hello.job(), 0, kCanonicalTextBytesMax)) return "job identity too long";
  if (!within(hello.role(), 1, kVerbBytesMax)) return "role of no or too many characters";
  if (!within(hello.strategy(), 0, kCanonicalTextBytesMax)) return "strategy too long";
  if (!within(hello.numerics(), 0, kCanonicalTextBytesMax)) return "numerics too long";
  if (hello.variables() && !within(hello.variables(), 0, kCanonicalTextBytesMax)) return "list of variables too long";
  if (hello.meaning() && !within(hello.meaning(), 0, kCanonicalTextBytesMax)) return "meaning of the model too long";
  if (hello.run() && !within(hello.run(), 0, kVerbBytesMax)) return "id of the run too long";
  if (hello.start() && !within(hello.start(), 0, kCanonicalTextBytesMax)) return "name of the start too long";
  if (hello.origin() && !within(hello.origin(), 0, kCanonicalTextBytesMax)) return "origin too long";
  if (hello.index() < 0 || hello.index() > 65535) return "task index out of range";
  if (!is_encoding_of_weights(hello.weights_encoding())) return "unknown encoding";
  return nullptr;
}

const char* flaw(const wire::Control& control) {
  if (!within(control.verb(), 1, kVerbBytesMax)) return "verb of no or too many characters";
  if (!within(control.text(), 0, kTextBytesMax)) return "text too long";
  if (!aligned(control.payload()->data(), kBufferAlignment)) return "payload not aligned";
  return nullptr;
}

const char* flaw(const wire::Weights& weights) {
  if (!is_encoding_of_weights(weights.encoding())) return "unknown encoding";
  if (!aligned(weights.payload()->data(), kBufferAlignment)) return "payload not aligned";
  return nullptr;
}

// `rest_bytes` is the size of the payload if that does not lie in the FlatBuffer, else 0.
const char* flaw(const wire::Chunk& chunk, size_t rest_bytes) {
  if (!is_encoding(chunk.encoding())) return "unknown encoding";
  if (chunk.range_begin() > chunk.range_end()) return "byte range ends before it begins";
  if (chunk.encoding() == uint8_t(Encoding::kDense) &&
      chunk.range_end() - chunk.range_begin() != chunk.payload()->size() + rest_bytes)
    return "payload and byte range differ in size";
  if (chunk.chunk_index() >= chunk.chunk_count()) return "chunk index not below chunk count";
  if (chunk.position()->size() > kPositionBytesMax) return "input position too long";
  if (chunk.scalars()->size() > kScalarCountMax) return "too many scalars";
  // FlatBuffers does not align the place where an empty vector's elements would begin.
  if (chunk.scalars()->size() > 0 && !aligned(chunk.scalars()->data(), alignof(double))) return "scalars not aligned";
  if (!aligned(chunk.payload()->data(), kBufferAlignment)) return "payload not aligned";
  return nullptr;
}

const char* flaw(const wire::Snapshot& part, size_t rest_bytes) {
  if (!within(part.name(), 1, kNameBytesMax)) return "name of no or too many characters";
  if (part.offset() > part.total_bytes() || part.payload()->size() + rest_bytes > part.total_bytes() - part.offset())
    return "part reaches beyond its arena";
  if (!aligned(part.payload()->data(), kBufferAlignment)) return "payload not aligned";
  return nullptr;
}

const char* flaw(const wire::Failure& failure) {
  if (failure.kind() < uint8_t(ErrorKind::kInvalidArgument) || failure.kind() > uint8_t(ErrorKind::kInternal))
    return "unknown kind of error";
  if (!within(failure.sentence(), 0, kSentenceBytesMax)) return "sentence too long";
  return nullptr;
}

const char* flaw(const wire::Report& report) {
  if (report.kind() < uint8_t(ReportKind::kInStep) || report.kind() > uint8_t(ReportKind::kHeld)) return "unknown report";
  if (!aligned(report.push(), alignof(uint64_t))) return "push not aligned";
  return nullptr;
}

const char* flaw(const wire::Order& order) {
  if (order.kind() < uint8_t(OrderKind::kCommit) || order.kind() > uint8_t(OrderKind::kSeal)) return "unknown order";
  if (order.pushes()->size() > kOrderPushesMax) return "too many pushes";
  // FlatBuffers does not align the place where an empty vector's elements would begin.
  if (order.pushes()->size() > 0 && !aligned(order.pushes()->Data(), alignof(uint64_t))) return "pushes not aligned";
  return nullptr;
}

const char* flaw(const wire::Body& body, size_t rest_bytes) {
  switch (body.message_type()) {
    case wire::Any::Hello: return flaw(*body.message_as_Hello());
    case wire::Any::Control: return flaw(*body.message_as_Control());
    case wire::Any::Weights: return flaw(*body.message_as_Weights());
    case wire::Any::Chunk: return flaw(*body.message_as_Chunk(), rest_bytes);
    case wire::Any::Snapshot: return flaw(*body.message_as_Snapshot(), rest_bytes);
    case wire::Any::Failure: return flaw(*body.message_as_Failure());
    case wire::Any::Report: return flaw(*body.message_as_Report());
    case wire::Any::Order: return flaw(*body.message_as_Order());
    case wire::Any::NONE: break;
  }
  return "no message inside";
}

// Checks a body whose payload lies outside of its FlatBuffer, in `buffer.rest()`. The FlatBuffer then has to end with an
// empty payload, so that whole_body() can append the real one.
const char* flaw_of_rest(const wire::Body& body, const Buffer& buffer) {
  const std::span<const std::byte> rest = buffer.rest();
  if (rest.empty()) return nullptr;
  const flatbuffers::Vector<uint8_t>* inside = nullptr;
  if (const auto* control = body.message_as_Control()) inside = control->payload();
  if (const auto* weights = body.message_as_Weights()) inside = weights->payload();
  if (const auto* chunk = body.message_as_Chunk()) inside = chunk->payload();
  if (const auto* part = body.message_as_Snapshot()) inside = part->payload();
  if (!inside || inside->size() != 0) return "more bytes than the message has room for";
  if (reinterpret_cast<const std::byte*>(inside->data()) != buffer.data() + buffer.size()) return "payload not at the end";
  return aligned(rest.data(), kBufferAlignment) ? nullptr : "payload not aligned";
}

}  // namespace

Result<void> verify(const Message& message) {
  if (message.head.kind == MessageKind::kPull) {
    if (message.body) return broken(message, "a pull has no body");
    return {};
  }
  const wire::Any expected = wire_type(message.head.kind);
  if (expected == wire::Any::NONE) return broken(message, "unknown kind");
  if (!message.body) return broken(message, "no body");
  // The verifier asserts a size below 2 GiB, so the size is checked first. It measures alignment from the body's start, so
  // the alignment of the start is checked, too.
  if (message.body_bytes() > kBodyBytesMax) return broken(message, "larger than any message may be");
  if (!aligned(message.body->data(), kBufferAlignment)) return broken(message, "body not aligned");
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(message.body->data()), message.body->size(),
                                 kVerifierDepthMax, kVerifierTablesMax);
  if (!wire::VerifyBodyBuffer(verifier)) return broken(message, "not a well-formed FlatBuffer");
  const wire::Body& body = *wire::GetBody(message.body->data());
  if (body.message_type() != expected) return broken(message, "head and body are of different kinds");
  if (const char* what = flaw(body, message.body->rest().size())) return broken(message, what);
  if (const char* what = flaw_of_rest(body, *message.body)) return broken(message, what);
  return {};
}

}  // namespace shoal::transport
