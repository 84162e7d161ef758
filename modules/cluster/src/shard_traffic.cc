#include "shard_traffic.h"

#include <algorithm>
#include <cstdio>

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
  char text[160];
  std::snprintf(text, sizeof text, "sent %.1f MB of gradients instead of %.1f, received %.1f MB of weights instead of %.1f",
                double(bytes.gradients_sent) / kMB, double(bytes.gradients) / kMB, double(bytes.weights_received) / kMB,
                double(bytes.weights) / kMB);
  return text;
}

ShardTraffic::ShardTraffic(BufferPool& pool, const ShardSpec& spec, const Compression& compression)
    : pool_(pool),
      spec_(spec),
      compression_(compression),
      compresses_(compression.gradients != Encoding::kDense || compression.weights != Encoding::kDense) {
  if (compression_.gradients != Encoding::kDense) gradient_ = pool_.get(spec_.arena_bytes);
  if (compression_.gradients == Encoding::kTopK) top_k_.emplace(spec_, compression_.fraction, pool_);
}

Result<void> ShardTraffic::take(transport::Message message) {
  SHOAL_TRY(const transport::Weights weights, transport::read_weights(message));
  const bool encoded = weights.encoding != Encoding::kDense;
  const uint64_t expected = encoded ? encoded_bytes(spec_, weights.encoding) : spec_.arena_bytes;
  if (weights.payload.size() != expected) {
    return failed_precondition("holds another model: " + std::to_string(weights.payload.size()) +
                               " bytes of weights, expected " + std::to_string(expected));
  }
  if (encoded) {
    if (!decoded_) decoded_ = pool_.get(spec_.arena_bytes);
    SHOAL_TRY_VOID(decode(spec_, weights.encoding, weights.payload, decoded_->bytes()));
  }
  decoded_now_ = encoded;
  version_ = weights.version;
  bytes_.weights += spec_.arena_bytes;
  bytes_.weights_received += weights.payload.size();
  weights_ = std::move(message);
  return {};
}

std::span<std::byte> ShardTraffic::begin_push(const transport::Chunk& fields) {
  fields_ = fields;
  fields_.base_version = version_;
  fields_.range_begin = 0;
  fields_.range_end = spec_.arena_bytes;
  fields_.closing = true;
  fields_.encoding = compression_.gradients;
  position_.assign(fields.position);
  fields_.position = position_;
  if (!gradient_) push_ = transport::make_chunk(pool_, fields_, spec_.arena_bytes, size_t(spec_.scalar_count));
  const std::span<std::byte> arena = gradient_ ? gradient_->bytes() : push_.payload;
  zero_padding(spec_, arena);
  return arena;
}

void ShardTraffic::finish_push(std::span<const double> scalars) {
  if (gradient_) {
    const uint64_t bytes = encoded_bytes(spec_, compression_.gradients, compression_.fraction);
    push_ = transport::make_chunk(pool_, fields_, bytes, size_t(spec_.scalar_count));
    if (top_k_) {
      top_k_->encode(gradient_->bytes(), push_.payload);
    } else {
      encode(spec_, compression_.gradients, gradient_->bytes(), push_.payload);
    }
  }
  bytes_.gradients += spec_.arena_bytes;
  bytes_.gradients_sent += push_.payload.size();
  SHOAL_CHECK(scalars.size() == push_.scalars.size());
  std::copy(scalars.begin(), scalars.end(), push_.scalars.begin());
}

void ShardTraffic::restart() {
  drop_weights();
  if (top_k_) top_k_->clear();
}

}  // namespace shoal::cluster
