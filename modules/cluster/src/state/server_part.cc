#include "state/server_part.h"

#include "state/codec.h"

namespace shoal::cluster {

using transport::Encoding;

ServerPart::ServerPart(ShardPart part, BufferPool& pool)
    : begin_(part.begin), pool_(pool), shard_(std::move(part.spec), pool) {}

Result<void> ServerPart::start() {
  expect_rows();
  weights_ = transport::make_weights(pool_, spec().arena_bytes);
  return shard_.initialise(transport::mutable_payload(weights_));
}

/// Room for what pushes by rows need.
void ServerPart::expect_rows() {
  const std::vector<Segment>& segments = spec().segments;
  segment_rows_.assign(segments.size(), {});  // the addresses stay
  for (size_t i = 0; i < segments.size(); ++i) {
    lazy_rows_.push_back(segments[i].variable.lazy_rows ? &segment_rows_[i] : nullptr);
  }
  history_ = RowHistory(spec());
}

std::span<std::byte> ServerPart::mutable_arena(ArenaIndex arena) {
  return arena == 0 ? transport::mutable_payload(weights_) : shard_.mutable_slot(arena - 1);
}

void ServerPart::activate(uint64_t update_count) {
  shard_.set_counters({1, update_count});
  history_.restart(1);
}

/// What an encoded payload must be is decode()'s business.
Result<void> ServerPart::take(const transport::Chunk& chunk) {
  const bool dense = chunk.encoding == Encoding::kDense;
  gradient_ = {};
  if (chunk.range_begin != begin_ || chunk.range_end - chunk.range_begin != spec().arena_bytes ||
      (dense && chunk.payload.size() != spec().arena_bytes)) {
    return invalid_argument("a push's chunk must be the " + std::to_string(spec().arena_bytes) +
                            " bytes of the arena from " + std::to_string(begin_) + " on");
  }
  if (dense) return {};
  gradient_ = pool_.get(spec().arena_bytes);
  if (chunk.encoding == Encoding::kSparseRows) {
    return decode_rows(spec(), chunk.payload, gradient_->bytes(), segment_rows_);  // until apply() they lie in the chunk
  }
  return decode(spec(), chunk.encoding, chunk.payload, gradient_->bytes());
}

Result<void> ServerPart::apply(const transport::Chunk& chunk, std::span<const double> scalars) {
  const bool by_rows = chunk.encoding == Encoding::kSparseRows;
  const Ref<Buffer> gradient = std::exchange(gradient_, {});
  const std::span<const std::byte> pushes[] = {gradient ? std::span<const std::byte>(gradient->bytes()) : chunk.payload};
  transport::Message next = weights_;
  weights_.body = {};  // so that unique() tells whether anyone else holds this version
  const std::span<const std::byte> current = next.payload();
  Ref<const Buffer> keep_alive;
  if (!next.body->unique()) {
    keep_alive = next.body;
    next = transport::make_weights(pool_, spec().arena_bytes);
  }
  auto done = shard_.apply(current, transport::mutable_payload(next), pushes, scalars,
                           by_rows ? lazy_rows_ : std::span<const SegmentRows* const>());
  weights_ = std::move(next);
  for (auto& [encoding, message] : encoded_) message.body = {};
  SHOAL_TRY_VOID(std::move(done));
  if (by_rows) {
    history_.add(counters().version, segment_rows_);
  } else {
    history_.restart(counters().version);
  }
  return {};
}

transport::Message ServerPart::weights_as(Encoding encoding, uint64_t has, uint64_t global_step) {
  const bool by_rows = encoding == Encoding::kSparseRows;
  if (by_rows && history_.covers(has)) return rows_since(has, global_step);
  if (by_rows || encoding == Encoding::kDense) return weights_;
  transport::Message& made = encoded_[encoding];
  if (made.body) return made;
  made = transport::make_weights(pool_, encoded_bytes(spec(), encoding), encoding);
  encode(spec(), encoding, weights_.payload(), transport::mutable_payload(made));
  transport::set_weights_version(made, counters().version, global_step);
  return made;
}

transport::Message ServerPart::rows_since(uint64_t version, uint64_t global_step) {
  const std::span<const std::byte> arena = weights_.payload();
  for (size_t i = 0; i < segment_rows_.size(); ++i) {
    segment_rows_[i].clear();
    if (lazy_rows_[i]) take_rows(spec().segments[i], history_.changed_since(version, i), arena, segment_rows_[i]);
  }
  transport::Message made = transport::make_weights(pool_, row_payload_bytes(spec(), segment_rows_), Encoding::kSparseRows);
  encode_rows(spec(), arena, segment_rows_, transport::mutable_payload(made));
  transport::set_weights_version(made, counters().version, global_step, version);
  return made;
}

}  // namespace shoal::cluster
