// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Private to the transport module: the generated FlatBuffers code, and the limits for messages from outside.
#include <cstdint>

#include "messages_generated.h"
#include "shoal/transport/message.h"

namespace shoal::transport {

inline constexpr uint64_t kPayloadBytesMax = uint64_t(1) << 30;  // Longer arrays of floats are sent in several messages.
inline constexpr uint64_t kBodyBytesMax = kPayloadBytesMax + (uint64_t(64) << 20);
inline constexpr size_t kTextBytesMax = size_t(64) << 20;  // Limits JSON texts: shard specs, counters.
inline constexpr size_t kVerbBytesMax = 64;
inline constexpr size_t kNameBytesMax = 256;
// Limits each of these texts in a Hello message: job, strategy, numerics, variables, meaning.
inline constexpr size_t kCanonicalTextBytesMax = 4096;
inline constexpr size_t kSentenceBytesMax = 16 * 1024;
inline constexpr size_t kPositionBytesMax = 64 * 1024;
inline constexpr size_t kScalarCountMax = 65536;
inline constexpr size_t kOrderPushesMax = 1 << 20;
inline constexpr uint32_t kVerifierDepthMax = 8;
inline constexpr uint32_t kVerifierTablesMax = 8;  // The most FlatBuffers tables in one body (a valid one has two).

/// The union member for `kind`; NONE for a kind that has no body or does not exist.
inline wire::Any wire_type(MessageKind kind) {
  switch (kind) {
    case MessageKind::kHello: return wire::Any::Hello;
    case MessageKind::kControl: return wire::Any::Control;
    case MessageKind::kWeights: return wire::Any::Weights;
    case MessageKind::kChunk: return wire::Any::Chunk;
    case MessageKind::kSnapshot: return wire::Any::Snapshot;
    case MessageKind::kError: return wire::Any::Failure;
    case MessageKind::kReport: return wire::Any::Report;
    case MessageKind::kOrder: return wire::Any::Order;
    case MessageKind::kPull: break;
  }
  return wire::Any::NONE;
}

}  // namespace shoal::transport
