#include "state/server_part.h"

#include "state/codec.h"

namespace shoal::cluster {

using transport::Encoding;

ServerPart::ServerPart(ShardPart part, BufferPool& pool)
    : begin_(part.begin), pool_(pool), shard_(std::move(part.spec), pool) {}

Result<void> ServerPart::start(const ParallelFor& parallel_for) {
  expect_rows();
  weights_ = transport::make_weights(pool_, spec().arena_bytes);
  return shard_.initialise(transport::mutable_payload(weights_), parallel_for);
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

void ServerPart::open() {
  next_ = std::exchange(weights_, {});  // so that unique() tells whether anyone else holds this version
  if (next_.body->unique()) return;
  weights_ = std::exchange(next_, transport::make_weights(pool_, spec().arena_bytes));
}

uint64_t ServerPart::bytes_of(const transport::Chunk& chunk) const {
  const bool in_place = !weights_.body && shard_.slots_unheld();
  return in_place && chunk.encoding == Encoding::kSparseRows ? chunk.payload.size() : spec().arena_bytes;
}

void ServerPart::apply(const transport::Chunk& chunk, std::span<const double> scalars, const ParallelFor& parallel_for) {
  const bool by_rows = chunk.encoding == Encoding::kSparseRows;
  const Ref<Buffer> gradient = std::exchange(gradient_, {});
  const std::span<const std::byte> pushes[] = {gradient ? std::span<const std::byte>(gradient->bytes()) : chunk.payload};
  const std::span<const std::byte> current = (weights_.body ? weights_ : next_).payload();
  const std::span<const SegmentRows* const> rows = by_rows ? lazy_rows_ : std::span<const SegmentRows* const>();
  const Result<void> done =
      shard_.apply(current, transport::mutable_payload(next_), pushes, scalars, rows, parallel_for);
  SHOAL_CHECK(done);  // what was taken fits
  if (by_rows) {
    history_.add(counters().version, segment_rows_);
  } else {
    history_.restart(counters().version);
  }
}

void ServerPart::close(uint64_t global_step) {
  weights_ = std::exchange(next_, {});
  for (auto& [encoding, message] : encoded_) message.body = {};
  set_global_step(global_step);
}

/// Rows are made for each trainer: only one that has nothing gets what all others of its kind do.
transport::Message ServerPart::at_hand(Encoding encoding, uint64_t has) const {
  if (!weights_.body || encoding == Encoding::kDense || (encoding == Encoding::kSparseRows && has == 0)) return weights_;
  const auto made = encoded_.find(encoding);
  return made == encoded_.end() ? transport::Message() : made->second;
}

uint64_t ServerPart::bytes_of(Encoding encoding, uint64_t has) const {
  if (encoding != Encoding::kSparseRows) return spec().arena_bytes;
  if (!history_.covers(has)) return 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < segment_rows_.size(); ++i) {
    const Segment& segment = spec().segments[i];
    const uint64_t row_bytes = uint64_t(row_width(segment)) * size_of(segment.variable.dtype);
    bytes += lazy_rows_[i] ? row_bytes * history_.changes_since(has, i) : segment.bytes;
  }
  return bytes;
}

transport::Message ServerPart::make(Encoding encoding, uint64_t has, uint64_t global_step) {
  const bool by_rows = encoding == Encoding::kSparseRows;
  if (by_rows && history_.covers(has)) return rows_since(has, global_step);
  if (by_rows || encoding == Encoding::kDense) return weights_;
  transport::Message made = transport::make_weights(pool_, encoded_bytes(spec(), encoding), encoding);
  encode(spec(), encoding, weights_.payload(), transport::mutable_payload(made));
  transport::set_weights_version(made, counters().version, global_step);
  return made;
}

void ServerPart::keep(Encoding encoding, transport::Message made) {
  if (encoding != Encoding::kDense && encoding != Encoding::kSparseRows) encoded_.insert_or_assign(encoding, std::move(made));
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
