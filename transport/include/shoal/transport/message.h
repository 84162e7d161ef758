// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What travels: a small head, per recipient, and one complete FlatBuffer, shared and immutable once sent, whose payload
/// is 64-byte aligned. Layout: transport/messages.fbs. Only transport/ knows FlatBuffers; others use the makers and
/// readers below.
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/result.h"

namespace shoal::transport {

inline constexpr uint32_t kProtocolVersion = 6;

/// The numbers travel and never change.
enum class MessageKind : uint8_t {
  kHello = 1,     ///< The first message of a trainer, chief or evaluator on a connection.
  kControl = 2,   ///< A verb, a JSON text, bytes: everything that is neither large nor frequent.
  kPull = 3,      ///< Asks for weights; has no body.
  kWeights = 4,   ///< One version of a shard's weights, or of a part of it.
  kChunk = 5,     ///< Part of a push: gradients for a byte range of a shard's arena, and with the first range its scalars.
  kSnapshot = 6,  ///< Part of a shard's state, for checkpoints and restores.
  kError = 7,     ///< A request was not done: kind and sentence.
  kReport = 8,    ///< A shard tells the sequencer what it holds.
  kOrder = 9,     ///< The sequencer tells a shard what it has to do with that.
};
inline constexpr MessageKind kMessageKindLast = MessageKind::kOrder;

/// The part of a message that each recipient has for itself. Fields that a message does not use are 0.
struct MessageHead {
  MessageKind kind = MessageKind::kControl;
  uint8_t status = 0;        ///< Status of a reply; see cluster/protocol.h.
  uint64_t job = 0;          ///< Job id; a message of another job is dropped.
  uint64_t epoch = 0;        ///< A fence: what belongs to an older epoch has no effect.
  uint64_t incarnation = 0;  ///< Incarnation of the sending process.
  uint64_t sequence = 0;     ///< Counts the sender's requests on a shard, from 1.
  uint64_t reply_to = 0;     ///< The sequence that this answers; 0 if it is no reply.
  uint64_t global_step = 0;  ///< The global step as the sender knows it.
  friend bool operator==(const MessageHead&, const MessageHead&) = default;
};

/// One message. Copies share the body.
struct Message {
  MessageHead head;
  Ref<const Buffer> body;  ///< Null for kinds without one.

  /// The payload vector of the body (empty if it has none), aligned to 64 bytes. Where the body has a rest() (a transport
  /// left the payload in the peer's memory), it is that, and the vector inside the FlatBuffer is empty.
  std::span<const std::byte> payload() const;
  size_t body_bytes() const { return body ? body->size() + body->rest().size() : 0; }
};

/// `body` in one piece: itself, or where its payload lies beside it (Buffer::rest()) a copy of both with the payload in its
/// place. For transports that carry bytes.
Ref<const Buffer> whole_body(BufferPool& pool, const Ref<const Buffer>& body);

/// Checks a body from outside against its kind: FlatBuffers verifier (bounded depth and tables), then alignment, required
/// fields, string lengths, ranges. DataLoss says what is wrong. Every transport calls it on receipt.
Result<void> verify(const Message& message);

/// How a payload stands for the floats of an arena (the layouts: state/codec.h of cluster). The numbers travel and
/// never change.
enum class Encoding : uint8_t {
  kDense = 1,       ///< float32, as the arena lies in memory.
  kSparseRows = 2,  ///< The rows of tables that were touched, and all else as kDense.
  kBfloat16 = 3,    ///< Half the bytes.
  kFloat16 = 4,     ///< Half the bytes.
  kInt8 = 5,        ///< About a quarter: 8 bits each, and a scale per block.
  kTopK = 6,        ///< The largest few, with their places; of gradients only.
};

// --- kHello -------------------------------------------------------------------------------------------------------------
struct Hello {
  uint32_t protocol = kProtocolVersion;
  std::string job;   ///< Identity of the job, compared byte for byte.
  std::string role;  ///< "chief", "worker" or "evaluator".
  int32_t index = 0;
  uint64_t incarnation = 0;
  std::string strategy;      ///< The update strategy in its canonical text.
  uint64_t fingerprint = 0;  ///< Fingerprint of the model; 0 if it is not known yet.
  std::string numerics;      ///< The numerics in their canonical text.
  /// Variables of the model, one per line, for refusals that say what differs; empty if not known.
  std::string variables;
  /// What ids and logits of the model stand for, one subject per line, likewise.
  std::string meaning;
  Encoding weights = Encoding::kDense;  ///< The encoding in which the sender wants to be sent weights.
  std::string run = {};                 ///< The id of the run; empty if the sender does not know it.
  std::string start = {};   ///< What a launcher or engine calls the start that the sender is part of; empty: nothing.
  std::string origin = {};  ///< The program and its model_dir in words, for refusals; empty if not known.
};
Message make_hello(BufferPool& pool, const Hello& hello);
Result<Hello> read_hello(const Message& message);

// --- kControl, kError ------------------------------------------------------------------------------------------------
struct Control {
  std::string_view verb;  ///< Views into the message, here and below.
  std::string_view text;  ///< JSON, or empty.
  std::span<const std::byte> payload;
};
Message make_control(BufferPool& pool, std::string_view verb, std::string_view text = {},
                     std::span<const std::byte> payload = {});
Result<Control> read_control(const Message& message);
Message make_error(BufferPool& pool, const Error& error);
/// The error that the message carries; InvalidArgument if it is none. (No Result<Error>: both of its cases would be one
/// type.)
Error read_error(const Message& message);

// --- kWeights: built in place, one per version, shared by all who read it --------------------------------------------
struct Weights {
  uint64_t version = 0;                  ///< The shard's version.
  uint64_t global_step = 0;              ///< The job's step when the version was made (shard 0 only; others 0).
  Encoding encoding = Encoding::kDense;  ///< Any but kTopK.
  uint64_t base_version = 0;             ///< With kSparseRows, whoever has this version gets `version` by these rows.
  std::span<const std::byte> payload;    ///< The shard's arena.
};
/// A message whose payload of `payload_bytes` (zeroed padding is the caller's business) is then written in place.
Message make_weights(BufferPool& pool, size_t payload_bytes, Encoding encoding = Encoding::kDense);
/// The payload and numbers of a weights message that nobody else holds (SHOAL_CHECK: body->unique()).
std::span<std::byte> mutable_payload(Message& message);
void set_weights_version(Message& message, uint64_t version, uint64_t global_step, uint64_t base_version = 0);
Result<Weights> read_weights(const Message& message);

// --- kChunk ----------------------------------------------------------------------------------------------------------
/// What a push says of its step beside the gradients: for the job's metrics, and of no effect on the weights.
struct StepMetrics {
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< Loss of the batch; NaN if it is not known.
  double waited_secs = 0;                                  ///< How long it waited for the reply to the push before.
  /// The share of the trainer's time, 0 to 1, that went by waiting for its input; NaN if it is not known.
  double input_wait = std::numeric_limits<double>::quiet_NaN();
};
struct Chunk {
  uint64_t base_version = 0;  ///< Version of the shard that the gradients were computed on.
  uint64_t ordinal = 0;       ///< Number of the batch on its trainer.
  Encoding encoding = Encoding::kDense;
  uint64_t range_begin = 0;  ///< Where the range begins, in bytes of the shard's arena.
  uint64_t range_end = 0;
  uint32_t chunk_index = 0;
  uint32_t chunk_count = 1;         ///< How many chunks this push to this shard has.
  bool closing = false;             ///< True in the chunk of the first part, sent last: its scalars and position count.
  uint64_t push = 0;                ///< Which push of its trainer's process this is, from 1: the same on all shards.
  std::string_view position;        ///< Input position after this batch, opaque, at most 64 KiB.
  std::span<const double> scalars;  ///< Learning rates and the like, in the order of the shard's spec.
  StepMetrics metrics;              ///< What a closing chunk says of the step.
  std::span<const std::byte> payload;
};
/// The payload, scalars and metrics of `fields` are ignored: they are written in place, through the spans and
/// set_metrics().
struct OutgoingChunk {
  Message message;
  std::span<std::byte> payload;
  std::span<double> scalars;
};
OutgoingChunk make_chunk(BufferPool& pool, const Chunk& fields, size_t payload_bytes, size_t scalar_count);
/// Sets the metrics of a closing chunk that nobody else refers to.
void set_metrics(Message& message, const StepMetrics& metrics);
Result<Chunk> read_chunk(const Message& message);

// --- kSnapshot -------------------------------------------------------------------------------------------------------
struct SnapshotPart {
  uint64_t version = 0;
  std::string_view name;     ///< The arena: "weights", "slot/0", "residual/2".
  uint64_t offset = 0;       ///< Where this part lies in the named arena.
  uint64_t total_bytes = 0;  ///< Size of the named arena.
  std::span<const std::byte> payload;
};
Message make_snapshot_part(BufferPool& pool, const SnapshotPart& part);
Result<SnapshotPart> read_snapshot_part(const Message& message);

// --- kReport, kOrder: between servers --------------------------------------------------------------------------------
/// One push, the same on all shards.
struct PushId {
  int32_t trainer = 0;       ///< The chief is 0.
  uint64_t incarnation = 0;  ///< Incarnation of the trainer's process.
  uint64_t number = 0;       ///< Its Chunk::push.
  friend auto operator<=>(const PushId&, const PushId&) = default;
  bool of_process(int32_t of_trainer, uint64_t of_incarnation) const {
    return trainer == of_trainer && incarnation == of_incarnation;
  }
};

/// The numbers travel and never change.
enum class ReportKind : uint8_t {
  kInStep = 1,  ///< The first of a connection, and of an epoch: what the shard has received so far.
  kHeld = 2,    ///< It holds the whole push.
};
struct Report {
  ReportKind kind = ReportKind::kInStep;
  uint64_t received = 0;      ///< Order::index of the newest order that the shard has of this epoch; 0 if it has none.
  PushId push;                ///< The push, for kHeld.
  uint64_t base_version = 0;  ///< For kHeld, the version of the shard that the push was computed on.
};
Message make_report(BufferPool& pool, const Report& report);
Result<Report> read_report(const Message& message);

/// The numbers travel and never change.
enum class OrderKind : uint8_t {
  kCommit = 1,  ///< Apply these pushes together, in this order.
  kDrop = 2,    ///< Forget these pushes, and answer that they do not count.
  kAgain = 3,   ///< Answer these pushes, which are kept: their trainers may compute another batch for the same commit.
  kFence = 4,   ///< Forget all that these processes pushed, and take no more of them (numbers say nothing).
  kHold = 5,    ///< Hold the state for a snapshot of the chief of this process; number 1 asks for residuals.
  kSeal = 6,    ///< No push counts any more.
};
struct Order {
  OrderKind kind = OrderKind::kCommit;
  uint64_t index = 0;        ///< Counts the orders of an epoch, from 1.
  uint64_t number = 0;       ///< The version of every shard once this is done.
  uint64_t global_step = 0;  ///< The job's step by then.
  std::vector<PushId> pushes;
  friend bool operator==(const Order&, const Order&) = default;
};
Message make_order(BufferPool& pool, const Order& order);
Result<Order> read_order(const Message& message);

}  // namespace shoal::transport
