// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages between tasks. A message has a small head for its recipient, and a body: one complete FlatBuffer, shared
/// and immutable once it is sent, whose payload is 64-byte aligned. transport/messages.fbs defines the layout. Only
/// transport/ uses FlatBuffers; other code calls the makers and readers below.
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

/// The numbers are sent over the network and never change.
enum class MessageKind : uint8_t {
  kHello = 1,    ///< The first message of a trainer, or of a server to server 0, on a connection.
  kControl = 2,  ///< A verb, a JSON text and bytes, for everything that is neither large nor frequent.
  kPull = 3,     ///< Asks for weights; has no body.
  kWeights = 4,  ///< One version of a shard's weights, or of a part of them.
  /// A part of a push: the gradients of a range of the shard's weights. The chunk of the first range also has numbers such
  /// as the learning rate.
  kChunk = 5,
  kSnapshot = 6,  ///< A part of a shard's state, for checkpoints and restores.
  kError = 7,     ///< Says that a request failed, with the error's kind and sentence.
  kReport = 8,    ///< A shard tells the sequencer (on shard 0) which pushes it has received.
  kOrder = 9,     ///< The sequencer tells a shard what to do with pushes.
};
inline constexpr MessageKind kMessageKindLast = MessageKind::kOrder;

/// The part of a message that is individual for each recipient. Unused fields are 0.
struct MessageHead {
  MessageKind kind = MessageKind::kControl;
  uint8_t status = 0;        ///< The status of a reply; see cluster/protocol.h.
  uint64_t job = 0;          ///< Always 0 in Shoal, since the Hello message names the job. Transports send it unchanged.
  uint64_t epoch = 0;        ///< A new epoch begins at each restore. Messages of older epochs have no effect.
  uint64_t incarnation = 0;  ///< The random number that the sending process drew at its start.
  uint64_t sequence = 0;     ///< Counts the sender's requests on a shard, from 1.
  uint64_t reply_to = 0;     ///< The `sequence` of the request that this message answers; 0 if it is not a reply.
  uint64_t global_step = 0;  ///< In replies of a server: the global step of the job.
  friend bool operator==(const MessageHead&, const MessageHead&) = default;
};

/// One message. Copies share the body.
struct Message {
  MessageHead head;
  Ref<const Buffer> body;  ///< Null for kinds that have no body.

  /// The payload of the body (empty if it has none), aligned to 64 bytes. If a transport left the payload in the peer's
  /// memory, returns Buffer::rest() of the body: the payload's vector in the FlatBuffer is empty then.
  std::span<const std::byte> payload() const;
  size_t body_bytes() const { return body ? body->size() + body->rest().size() : 0; }
};

/// Returns `body` in one piece, for transports that send bytes: `body` itself or, if its payload lies outside of its buffer
/// (Buffer::rest()), a copy that contains both.
Ref<const Buffer> whole_body(BufferPool& pool, const Ref<const Buffer>& body);

/// Checks a received body: FlatBuffers verifier (bounded depth and tables), alignment, required fields, string lengths,
/// ranges. DataLoss names the mistake. Every transport calls it for each message that it receives.
Result<void> verify(const Message& message);

/// How a payload encodes an array of floats, such as all weights of a shard (layouts: modules/cluster, state/codec.h).
/// The numbers are sent over the network and never change.
enum class Encoding : uint8_t {
  kDense = 1,       ///< float32, in the order of the shard's memory.
  kSparseRows = 2,  ///< Only the rows of tables that changed, and everything else as kDense.
  kBfloat16 = 3,    ///< bfloat16: half the bytes.
  kFloat16 = 4,     ///< float16: half the bytes.
  kInt8 = 5,        ///< 8 bits for each number and a scale for each block: about a quarter of the bytes.
  kTopK = 6,        ///< The largest few numbers with their positions; for gradients only.
};

// --- kHello -------------------------------------------------------------------------------------------------------------
struct Hello {
  uint32_t protocol = kProtocolVersion;
  std::string job;   ///< The identity of the job, compared byte for byte.
  std::string role;  ///< "chief", "master", "worker" or "ps".
  int32_t index = 0;
  uint64_t incarnation = 0;
  std::string strategy;      ///< The canonical text of the update strategy.
  uint64_t fingerprint = 0;  ///< The fingerprint of the model; 0 if it is not known yet.
  std::string numerics;      ///< How the sender computes: backend, version, threads, data type.
  /// The variables of the model, one per line, so that a refusal can say what differs; empty if not known.
  std::string variables;
  /// What the model's ids and logits stand for (names of classes and the like), one subject per line, so that a refusal can
  /// say what differs.
  std::string meaning;
  Encoding weights = Encoding::kDense;  ///< The encoding in which the sender wants to receive weights.
  std::string run = {};                 ///< The id of the run; empty if the sender does not know it.
  std::string start = {};   ///< The launcher's or job scheduler's name for this start of the job; empty if it has none.
  std::string origin = {};  ///< The program and its model_dir in words, for refusals; empty if not known.
};
Message make_hello(BufferPool& pool, const Hello& hello);
Result<Hello> read_hello(const Message& message);

// --- kControl, kError ------------------------------------------------------------------------------------------------
struct Control {
  std::string_view verb;  ///< A view into the message, as are all views below.
  std::string_view text;  ///< JSON, or empty.
  std::span<const std::byte> payload;
};
Message make_control(BufferPool& pool, std::string_view verb, std::string_view text = {},
                     std::span<const std::byte> payload = {});
Result<Control> read_control(const Message& message);
Message make_error(BufferPool& pool, const Error& error);
/// The error that the message contains; InvalidArgument if the message is not a kError. Cancelled, DeadlineExceeded and
/// EndOfInput come as Unavailable (closing_reason() in channel.h), since they speak only of the process that sent them:
/// otherwise a caller would believe that its own job has ended, for example, and would end with success. (Not a
/// Result<Error>, whose value and error would have the same type.)
Error read_error(const Message& message);

// --- kWeights: built in place, once for each version, and shared by all recipients -----------------------------------
struct Weights {
  uint64_t version = 0;                  ///< The version of the shard.
  uint64_t global_step = 0;              ///< The job's global step when the version was made (shard 0 only; 0 for others).
  Encoding encoding = Encoding::kDense;  ///< Any but kTopK.
  uint64_t base_version = 0;             ///< For kSparseRows: the payload's rows turn this version into `version`.
  std::span<const std::byte> payload;    ///< All weights of the shard, encoded as `encoding` says.
};
/// Makes a message with room for a payload of `payload_bytes`. The caller then writes all of it, with zeros as padding.
Message make_weights(BufferPool& pool, size_t payload_bytes, Encoding encoding = Encoding::kDense);
/// mutable_payload() gives write access to the payload of a weights message, and set_weights_version() sets its versions
/// and its global step. The message must not be shared (SHOAL_CHECK: body->unique()).
std::span<std::byte> mutable_payload(Message& message);
void set_weights_version(Message& message, uint64_t version, uint64_t global_step, uint64_t base_version = 0);
Result<Weights> read_weights(const Message& message);

// --- kChunk ----------------------------------------------------------------------------------------------------------
/// Facts about the step of a push, for the job's metrics. They do not affect the weights.
struct StepMetrics {
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< The loss of the batch; NaN if it is not known.
  /// How long the trainer waited for the reply to its previous push.
  double waited_secs = 0;
  /// The share of the trainer's time, 0 to 1, that went by waiting for its input; NaN if it is not known.
  double input_wait = std::numeric_limits<double>::quiet_NaN();
};
struct Chunk {
  uint64_t base_version = 0;  ///< The version of the shard that the gradients were computed with.
  uint64_t ordinal = 0;       ///< The number of the batch in the trainer's input.
  Encoding encoding = Encoding::kDense;
  uint64_t range_begin = 0;  ///< Where the range of gradients begins: an offset in bytes among the shard's weights.
  uint64_t range_end = 0;
  uint32_t chunk_index = 0;
  uint32_t chunk_count = 1;  ///< The number of chunks of this push to this shard.
  /// True for the chunk of the first range, which is sent last. `scalars`, `position` and `metrics` of other chunks are
  /// ignored.
  bool closing = false;
  uint64_t push = 0;                ///< The number of the push in its trainer's process, from 1: the same on all shards.
  std::string_view position;        ///< Where the trainer's input continues after this batch: opaque bytes, at most 64 KiB.
  std::span<const double> scalars;  ///< Learning rates and the like, in the order of the shard's spec.
  StepMetrics metrics;              ///< Facts about the step. Only the push's last chunk (`closing`) has them.
  std::span<const std::byte> payload;
};
/// A chunk to send, whose contents the caller writes directly into `message`: through the two spans, and by set_metrics().
/// make_chunk() ignores the payload, the scalars and the metrics of its argument `fields`.
struct OutgoingChunk {
  Message message;
  std::span<std::byte> payload;
  std::span<double> scalars;
};
OutgoingChunk make_chunk(BufferPool& pool, const Chunk& fields, size_t payload_bytes, size_t scalar_count);
/// Sets the metrics of a push's last chunk (Chunk::closing). No copies of `message` may exist yet, as they share its body.
void set_metrics(Message& message, const StepMetrics& metrics);
Result<Chunk> read_chunk(const Message& message);

// --- kSnapshot -------------------------------------------------------------------------------------------------------
struct SnapshotPart {
  uint64_t version = 0;
  std::string_view name;     ///< The array that this is a part of: "weights", "slot/0" or "residual/2".
  uint64_t offset = 0;       ///< The offset of this part in the array `name`.
  uint64_t total_bytes = 0;  ///< The size of the array `name`.
  std::span<const std::byte> payload;
};
Message make_snapshot_part(BufferPool& pool, const SnapshotPart& part);
Result<SnapshotPart> read_snapshot_part(const Message& message);

// --- kReport, kOrder: between servers --------------------------------------------------------------------------------
/// Identifies one push, on all shards alike.
struct PushId {
  int32_t trainer = 0;       ///< The chief is 0.
  uint64_t incarnation = 0;  ///< The random number that the trainer's process drew at its start.
  uint64_t number = 0;       ///< The push's number: see Chunk::push.
  friend auto operator<=>(const PushId&, const PushId&) = default;
  bool of_process(int32_t of_trainer, uint64_t of_incarnation) const {
    return trainer == of_trainer && incarnation == of_incarnation;
  }
};

/// The numbers are sent over the network and never change.
enum class ReportKind : uint8_t {
  /// The first report on a connection, and the first after a restore of the model (which begins a new epoch): says which
  /// orders the shard has received so far.
  kInStep = 1,
  kHeld = 2,  ///< The shard has received the whole push.
};
struct Report {
  ReportKind kind = ReportKind::kInStep;
  uint64_t received = 0;      ///< Order::index of the newest order of this epoch that the shard has received; 0: none.
  PushId push;                ///< For kHeld: the push.
  uint64_t base_version = 0;  ///< For kHeld: the version of the shard that the push was computed with.
};
Message make_report(BufferPool& pool, const Report& report);
Result<Report> read_report(const Message& message);

/// The numbers are sent over the network and never change.
enum class OrderKind : uint8_t {
  kCommit = 1,  ///< Apply these pushes together, in this order.
  kDrop = 2,    ///< Drop these pushes, and answer that they do not count.
  /// Keep these pushes until the commit, and answer that they are kept: their trainers may compute another batch for the
  /// same commit.
  kAgain = 3,
  kFence = 4,  ///< Drop all pushes of these processes, and accept no more of them (PushId::number is ignored).
  /// Keep the state as it is now, for a checkpoint. `pushes` has one PushId, which names the chief's process; its `number`
  /// is 1 if the shard is to keep residuals, too.
  kHold = 5,
  kSeal = 6,  ///< Accept no push any more.
};
struct Order {
  OrderKind kind = OrderKind::kCommit;
  uint64_t index = 0;        ///< Counts the orders of an epoch, from 1.
  uint64_t number = 0;       ///< The version of every shard after this order.
  uint64_t global_step = 0;  ///< The job's global step after this order.
  std::vector<PushId> pushes;
  friend bool operator==(const Order&, const Order&) = default;
};
Message make_order(BufferPool& pool, const Order& order);
Result<Order> read_order(const Message& message);

}  // namespace shoal::transport
