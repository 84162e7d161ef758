// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What goes between a trainer and one server, step by step: arenas as kernels see them, and the messages that carry them.
/// One part of a shard; server_traffic.h has them all.
#include <optional>
#include <span>
#include <string>

#include "shoal/cluster/compression.h"
#include "state/codec.h"
#include "state/row_codec.h"
#include "trainer/row_push.h"

namespace shoal::cluster {

/// Bytes of arenas, and of the payloads that stood for them.
struct TrafficBytes {
  uint64_t gradients = 0, gradients_sent = 0;
  uint64_t weights = 0, weights_received = 0;
  TrafficBytes& operator+=(const TrafficBytes& other);
};
/// "sent 1.9 MB of gradients instead of 97.0, received 48.5 MB of weights instead of 97.0".
std::string to_string(const TrafficBytes& bytes);

/// What has become of a push, for what top-k keeps back: one that was dropped returns there; where nobody knows, it is as it
/// was before, so that nothing is sent twice.
enum class PushEnd { kCounts, kDropped, kUnknown };

/// Without compression kernels read weights in the received message and write gradients into the outgoing one.
class ShardTraffic {
 public:
  /// The part `index` of `count` of a shard; `part` outlives it.
  ShardTraffic(BufferPool& pool, const ShardPart& part, uint32_t index, uint32_t count, const Compression& compression);

  // By rows, or with compression, take() and finish_push() have so much to do that they belong on the compute thread.

  /// Segments with lazy rows travel as rows from now on. Called before any weights come.
  void go_by_rows();

  /// Takes the weights of `message`. FailedPrecondition if the server holds another model; InvalidArgument if they are
  /// nonsense.
  Result<void> take(transport::Message message);
  bool has_weights() const { return bool(weights_.body); }
  /// Lets go of the weights, so that a server whose only reader we are updates in place.
  void drop_weights() { weights_.body = {}; }
  const std::byte* weights() const { return decoded_now_ ? decoded_->data() : weights_.payload().data(); }
  uint64_t version() const { return version_; }

  /// The arena that the gradients of a step go into. `fields` says which step it is, and on which weights.
  std::span<std::byte> begin_push(const transport::Chunk& fields);
  /// All gradients are written, or summed up in `rows`: makes the message. `scalars` and `metrics` go with the first part.
  void finish_push(std::span<const double> scalars, const transport::StepMetrics& metrics, const RowPush& rows);
  /// MessageHead::status of the push: kStatusSaveBit, or 0.
  void set_push_status(uint8_t status) { push_.message.head.status = status; }
  /// The push, which is kept until end_push() for a retry.
  const transport::Message& push() const { return push_.message; }
  void end_push(PushEnd end);

  const ShardSpec& spec() const { return spec_; }
  /// What top-k keeps back, as an arena. Null without top-k.
  Ref<const Buffer> kept_back() const { return top_k_ ? Ref<const Buffer>(top_k_->kept()) : Ref<const Buffer>(); }
  /// What is kept back, for a server: with the number of the newest push behind which it was. Null before the first.
  struct Residual {
    Ref<const Buffer> arena;
    uint64_t after = 0;  ///< The number of the push, as Chunk::push has it.
  };
  Residual residual() const;
  /// The residual as it was before the newest push.
  Residual residual_before() const;
  /// Goes on from what another process of this trainer had kept back. Not without top-k.
  void resume(std::span<const std::byte> residual) { top_k_->resume(residual); }

  /// The weights go on from another point: what was kept of earlier gradients is forgotten.
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
  Ref<Buffer> decoded_;  // Null until weights come encoded; by rows, what all versions so far add up to.
  bool decoded_now_ = false;

  transport::Chunk fields_;  // The fields of the push under way; its position is position_.
  std::string position_;
  Ref<Buffer> gradient_;  // Null if kernels write into the message.
  transport::OutgoingChunk push_;
  std::optional<TopK> top_k_;
  uint64_t newest_push_ = 0, push_before_ = 0;
  std::vector<SegmentRows> rows_;  // Rows by segment, of the message at hand.
  TrafficBytes bytes_;
};

}  // namespace shoal::cluster
