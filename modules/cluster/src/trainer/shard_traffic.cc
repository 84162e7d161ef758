// SPDX-License-Identifier: Apache-2.0
#include "trainer/shard_traffic.h"

#include <algorithm>
#include <utility>

#include "shoal/base/format.h"
#include "shoal/cluster/shard.h"

namespace shoal::cluster {

using transport::Encoding;

TrafficBytes& TrafficBytes::operator+=(const TrafficBytes& other) {
  gradients += other.gradients;
  gradients_sent += other.gradients_sent;
  weights += other.weights;
  weights_received += other.weights_received;
  return *this;
}

std::string to_string(const TrafficBytes& bytes) {
  constexpr double kMB = 1e6;
  return formatted("sent %.1f MB of gradients instead of %.1f, received %.1f MB of weights instead of %.1f",
                   double(bytes.gradients_sent) / kMB, double(bytes.gradients) / kMB, double(bytes.weights_received) / kMB,
                   double(bytes.weights) / kMB);
}

ShardTraffic::ShardTraffic(BufferPool& pool, const ShardPart& part, uint32_t index, uint32_t count,
                           const Compression& compression)
    : pool_(pool), begin_(part.begin), spec_(part.spec), index_(index), count_(count), compression_(compression) {
  if (compression_.gradients != Encoding::kDense) gradient_ = pool_.get(spec_.arena_bytes);
  if (compression_.gradients == Encoding::kTopK) top_k_.emplace(spec_, compression_.fraction, pool_);
}

void ShardTraffic::go_by_rows() {
  by_rows_ = true;
  gradient_ = pool_.get(spec_.arena_bytes);
  rows_.resize(spec_.segments.size());
}

Result<void> ShardTraffic::take(transport::Message message) {
  SHOAL_TRY(const transport::Weights weights, transport::read_weights(message));
  const bool dense = weights.encoding == Encoding::kDense;
  const uint64_t expected = dense ? spec_.arena_bytes : encoded_bytes(spec_, weights.encoding);
  if (weights.encoding != Encoding::kSparseRows && weights.payload.size() != expected) {
    return failed_precondition("holds another model: " + std::to_string(weights.payload.size()) +
                               " bytes of weights, expected " + std::to_string(expected));
  }
  if (!dense || by_rows_) SHOAL_TRY_VOID(take_encoded(weights));
  decoded_now_ = !dense || by_rows_;
  version_ = weights.version;
  bytes_.weights += spec_.arena_bytes;
  bytes_.weights_received += weights.payload.size();
  weights_ = std::move(message);
  return {};
}

/// Decodes weights. If weights are sent as rows, the first message has all rows, later messages have the changed rows.
Result<void> ShardTraffic::take_encoded(const transport::Weights& weights) {
  if (!decoded_) decoded_ = pool_.get(spec_.arena_bytes);
  if (weights.encoding == Encoding::kDense) {
    std::ranges::copy(weights.payload, decoded_->data());
    return {};
  }
  if (weights.encoding != Encoding::kSparseRows) return decode(spec_, weights.encoding, weights.payload, decoded_->bytes());
  // The message has the rows that changed since base_version. If another part of the reply was lost, the server sends the
  // whole reply again, and base_version is less than version_. This does no harm: rows are new weights, not differences.
  if (!by_rows_ || version_ == 0 || weights.base_version > version_ || weights.version < version_) {
    return unavailable("sent the rows that changed since version " + std::to_string(weights.base_version) +
                       " to a trainer that has version " + std::to_string(version_));
  }
  SHOAL_TRY_VOID(decode_rows(spec_, weights.payload, decoded_->bytes(), rows_));
  store_rows(spec_, rows_, decoded_->bytes());
  return {};
}

std::span<std::byte> ShardTraffic::begin_push(const transport::Chunk& fields) {
  fields_ = fields;
  fields_.range_begin = begin_;
  fields_.range_end = begin_ + spec_.arena_bytes;
  fields_.chunk_index = index_;
  fields_.chunk_count = count_;
  fields_.closing = closing();
  fields_.encoding = by_rows_ ? Encoding::kSparseRows : compression_.gradients;
  position_.assign(closing() ? fields.position : std::string_view());
  fields_.position = position_;
  if (!gradient_) push_ = transport::make_chunk(pool_, fields_, spec_.arena_bytes, scalar_count());
  const std::span<std::byte> arena = gradient_ ? gradient_->bytes() : push_.payload;
  zero_padding(spec_, arena);
  return arena;
}

void ShardTraffic::finish_push(std::span<const double> scalars, const transport::StepMetrics& metrics,
                               const RowPush& rows) {
  for (size_t i = 0; by_rows_ && i < rows_.size(); ++i) {
    const Segment& segment = spec_.segments[i];
    rows_[i].clear();
    if (segment.variable.lazy_rows) take_rows(segment, *rows.sums_of(segment.variable.name), rows_[i]);
  }
  if (gradient_) {
    push_ = transport::make_chunk(pool_, fields_, encoded_size(), scalar_count());
    if (by_rows_) {
      encode_rows(spec_, gradient_->bytes(), rows_, push_.payload);
    } else if (top_k_) {
      top_k_->encode(gradient_->bytes(), push_.payload);
    } else {
      encode(spec_, compression_.gradients, gradient_->bytes(), push_.payload);
    }
  }
  bytes_.gradients += spec_.arena_bytes;
  bytes_.gradients_sent += push_.payload.size();
  if (!closing()) return;
  SHOAL_CHECK(scalars.size() == push_.scalars.size());
  std::copy(scalars.begin(), scalars.end(), push_.scalars.begin());
  transport::set_metrics(push_.message, metrics);
}

uint64_t ShardTraffic::encoded_size() const {
  if (by_rows_) return row_payload_bytes(spec_, rows_);
  return encoded_bytes(spec_, compression_.gradients, compression_.fraction);
}

void ShardTraffic::end_push(PushEnd end) {
  const bool kept_back = top_k_ && !push_.payload.empty();
  if (end == PushEnd::kCounts) push_before_ = std::exchange(newest_push_, fields_.push);
  if (end == PushEnd::kDropped && kept_back) top_k_->take_back(push_.payload);
  if (end == PushEnd::kUnknown && kept_back) top_k_->go_back();
  push_ = {};
}

ShardTraffic::Residual ShardTraffic::residual() const {
  if (!top_k_ || newest_push_ == 0) return {};
  return {top_k_->kept(), newest_push_};
}

ShardTraffic::Residual ShardTraffic::residual_before() const {
  if (!top_k_ || push_before_ == 0) return {};
  return {top_k_->kept_before(), push_before_};
}

void ShardTraffic::restart() {
  drop_weights();
  version_ = newest_push_ = push_before_ = 0;
  if (top_k_) top_k_->clear();
}

}  // namespace shoal::cluster
