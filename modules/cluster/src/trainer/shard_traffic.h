// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's exchange with one server for one part of a shard (server_traffic.h combines all parts). Kernels read
/// weights and write gradients in arenas: an arena is one block of memory with a value for each weight of the part.
/// ShardTraffic turns received messages into arenas, and arenas into messages to send.
#include <optional>
#include <span>
#include <string>

#include "shoal/cluster/compression.h"
#include "state/codec.h"
#include "state/row_codec.h"
#include "trainer/row_push.h"

namespace shoal::cluster {

/// Counts the bytes of gradients and weights in the trainer's memory, and of the messages that carried them.
struct TrafficBytes {
  uint64_t gradients = 0, gradients_sent = 0;
  uint64_t weights = 0, weights_received = 0;
  TrafficBytes& operator+=(const TrafficBytes& other);
};
/// Returns a text such as "sent 1.9 MB of gradients instead of 97.0, received 48.5 MB of weights instead of 97.0".
std::string to_string(const TrafficBytes& bytes);

/// The fate of a push, which decides what happens to the residual of top-k: the values of a dropped push are added
/// back; if the fate is unknown, the residual becomes what it was before the push, so that no value is sent twice.
enum class PushEnd { kCounts, kDropped, kUnknown };

/// Weights and gradients of one part of a shard. Without compression, kernels read and write the memory of the messages.
class ShardTraffic {
 public:
  /// For part `index` of the `count` parts of a shard; `part` outlives this object.
  ShardTraffic(BufferPool& pool, const ShardPart& part, uint32_t index, uint32_t count, const Compression& compression);

  // With compression, or if messages contain rows (go_by_rows()), take() and finish_push() belong on the compute thread,
  // since they take long.

  /// For variables with VariableSpec::lazy_rows, messages contain only changed rows from now on. Called before any weights
  /// arrive.
  void go_by_rows();

  /// Takes the weights of `message`. FailedPrecondition if the server holds another model; InvalidArgument if the
  /// payload is malformed.
  Result<void> take(transport::Message message);
  bool has_weights() const { return bool(weights_.body); }
  /// Releases the weights. The server can then update them in place, if no other trainer still reads them.
  void drop_weights() { weights_.body = {}; }
  const std::byte* weights() const { return decoded_now_ ? decoded_->data() : weights_.payload().data(); }
  uint64_t version() const { return version_; }

  /// Begins a push: returns the memory into which the gradients of a step are to be written. `fields` describes the step
  /// and its weights.
  std::span<std::byte> begin_push(const transport::Chunk& fields);
  /// Makes the message to send. Call it once all gradients are written into the memory from begin_push(), or are summed
  /// up in `rows`. The message for the first part of a shard also carries `scalars` and `metrics`.
  void finish_push(std::span<const double> scalars, const transport::StepMetrics& metrics, const RowPush& rows);
  /// Sets the status in the push's head: kStatusSaveBit, or 0.
  void set_push_status(uint8_t status) { push_.message.head.status = status; }
  /// The push, kept until end_push() in case it has to be sent again.
  const transport::Message& push() const { return push_.message; }
  void end_push(PushEnd end);

  const ShardSpec& spec() const { return spec_; }
  /// The residual of top-k: for each weight, the gradient that earlier pushes have not sent. Null without top-k.
  Ref<const Buffer> kept_back() const { return top_k_ ? Ref<const Buffer>(top_k_->kept()) : Ref<const Buffer>(); }
  /// A residual (see kept_back()) that is sent to a server for a checkpoint. Its memory, `arena`, is null before the first
  /// push.
  struct Residual {
    Ref<const Buffer> arena;
    uint64_t after = 0;  ///< The newest push (Chunk::push) whose gradient the residual includes.
  };
  Residual residual() const;
  /// The residual as it was before the newest push.
  Residual residual_before() const;
  /// Continues from the residual that another process of this trainer had. For top-k only.
  void resume(std::span<const std::byte> residual) { top_k_->resume(residual); }

  /// Forgets the residual, since the weights were replaced.
  void restart();
  const TrafficBytes& bytes() const { return bytes_; }

 private:
  Result<void> take_encoded(const transport::Weights& weights);
  uint64_t encoded_size() const;

  size_t scalar_count() const { return closing() ? size_t(spec_.scalar_count) : 0; }
  bool closing() const { return index_ == 0; }

  BufferPool& pool_;
  const uint64_t begin_;
  const ShardSpec& spec_;
  const uint32_t index_, count_;
  const Compression compression_;
  bool by_rows_ = false;

  transport::Message weights_;
  uint64_t version_ = 0;
  Ref<Buffer> decoded_;  // The decoded weights, into which rows that arrive are copied. Null until encoded weights arrive.
  bool decoded_now_ = false;

  transport::Chunk fields_;  // The fields of the push in progress; fields_.position refers to position_.
  std::string position_;
  Ref<Buffer> gradient_;  // Null if kernels write gradients into the message.
  transport::OutgoingChunk push_;
  std::optional<TopK> top_k_;
  uint64_t newest_push_ = 0, push_before_ = 0;
  std::vector<SegmentRows> rows_;  // For each segment, its rows in the message in progress.
  TrafficBytes bytes_;
};

}  // namespace shoal::cluster
