// SPDX-License-Identifier: Apache-2.0
#include "state/server_part.h"

#include <algorithm>

#include "state/codec.h"

namespace shoal::cluster {

using transport::Encoding;

ServerPart::ServerPart(ShardPart part, BufferPool& pool)
    : begin_(part.begin), pool_(pool), shard_(std::move(part.spec), pool) {}

Result<void> ServerPart::start(const ParallelFor& parallel_for) {
  expect_rows();
  weights_ = transport::make_weights(pool_, spec().arena_bytes);
  return shard_.initialize(transport::mutable_payload(weights_), parallel_for);
}

/// Prepares the row numbers and the history of changes, which are needed if pushes and replies have single rows instead of
/// whole variables.
void ServerPart::expect_rows() {
  segment_rows_.assign(spec().segments.size(), {});
  history_ = RowHistory(spec());
}

std::span<std::byte> ServerPart::mutable_arena(ArenaIndex arena) {
  return arena == 0 ? transport::mutable_payload(weights_) : shard_.mutable_slot(arena - 1);
}

void ServerPart::activate(uint64_t update_count) {
  shard_.set_counters({1, update_count});
  history_.restart(1);
}

/// Decodes a part of a push. Checks only dense payloads itself; the decoders check the others.
Result<PartGradient> ServerPart::decode(const transport::Chunk& chunk) const {
  const bool dense = chunk.encoding == Encoding::kDense;
  if (chunk.range_begin != begin_ || chunk.range_end - chunk.range_begin != spec().arena_bytes ||
      (dense && chunk.payload.size() != spec().arena_bytes)) {
    return invalid_argument("a push's chunk must be the " + std::to_string(spec().arena_bytes) +
                            " bytes of the arena from " + std::to_string(begin_) + " on");
  }
  PartGradient gradient;
  gradient.arena = chunk.payload;
  if (dense) return gradient;
  gradient.decoded = pool_.get(spec().arena_bytes);
  gradient.arena = gradient.decoded->bytes();
  if (chunk.encoding != Encoding::kSparseRows) {
    SHOAL_TRY_VOID(cluster::decode(spec(), chunk.encoding, chunk.payload, gradient.decoded->bytes()));
    return gradient;
  }
  const std::vector<Segment>& segments = spec().segments;
  gradient.rows.resize(segments.size());
  SHOAL_TRY_VOID(decode_rows(spec(), chunk.payload, gradient.decoded->bytes(), gradient.rows));
  for (size_t i = 0; i < segments.size(); ++i) {
    gradient.lazy_rows.push_back(segments[i].variable.lazy_rows ? &gradient.rows[i] : nullptr);
  }
  return gradient;
}

void ServerPart::reserve() {
  if (!next_.body && !weights_.body->unique()) next_ = transport::make_weights(pool_, spec().arena_bytes);
}

void ServerPart::open() {
  if (!next_.body) next_ = std::exchange(weights_, {});
}

uint64_t ServerPart::bytes_of_update(std::span<const HeldPush* const> pushes, size_t part) const {
  uint64_t by_rows = 0;
  for (const HeldPush* push : pushes) {
    if (push->encoding() != Encoding::kSparseRows) return spec().arena_bytes * pushes.size();
    by_rows += push->chunks[part].payload.size();
  }
  const bool in_place = !weights_.body && shard_.slots_unheld();
  return in_place ? by_rows : spec().arena_bytes;
}

void ServerPart::apply(std::span<const HeldPush* const> pushes, size_t part, const ParallelFor& parallel_for) {
  contributions_.clear();
  for (const HeldPush* push : pushes) {
    const PartGradient& gradient = push->parts[part];
    contributions_.push_back({gradient.arena, push->scalars(), gradient.lazy_rows});
  }
  const std::span<const std::byte> current = (weights_.body ? weights_ : next_).payload();
  const Result<void> done = shard_.apply(current, transport::mutable_payload(next_), contributions_, parallel_for);
  SHOAL_CHECK(done);  // Cannot fail: decode() has checked the pushes.
  remember_rows(pushes, part);
}

/// Records which rows this update has changed: the rows that the pushes name or, if one of the pushes has whole variables,
/// all rows.
void ServerPart::remember_rows(std::span<const HeldPush* const> pushes, size_t part) {
  const auto by_rows = [](const HeldPush* push) { return push->encoding() == Encoding::kSparseRows; };
  if (!std::ranges::all_of(pushes, by_rows)) return history_.restart(counters().version);
  if (pushes.size() == 1) return history_.add(counters().version, pushes.front()->parts[part].rows);
  for (size_t i = 0; i < segment_rows_.size(); ++i) {
    std::vector<uint32_t>& rows = segment_rows_[i].rows;
    segment_rows_[i].clear();
    for (const HeldPush* push : pushes) {
      const std::vector<uint32_t>& more = push->parts[part].rows[i].rows;
      rows.insert(rows.end(), more.begin(), more.end());
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  }
  history_.add(counters().version, segment_rows_);
}

void ServerPart::close(uint64_t global_step) {
  weights_ = std::exchange(next_, {});
  for (auto& [encoding, message] : encoded_) message.body = {};
  set_global_step(global_step);
}

/// Returns the message to send, if it has been made already. Messages with changed rows are never stored, since each is
/// made for one trainer. But a trainer that has no version yet gets the dense message, which all trainers share.
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
    bytes += segment.variable.lazy_rows ? row_bytes * history_.changes_since(has, i) : segment.bytes;
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
  if (encoding != Encoding::kDense && encoding != Encoding::kSparseRows)
    encoded_.insert_or_assign(encoding, std::move(made));
}

transport::Message ServerPart::rows_since(uint64_t version, uint64_t global_step) {
  const std::span<const std::byte> arena = weights_.payload();
  for (size_t i = 0; i < segment_rows_.size(); ++i) {
    segment_rows_[i].clear();
    if (spec().segments[i].variable.lazy_rows)
      take_rows(spec().segments[i], history_.changed_since(version, i), arena, segment_rows_[i]);
  }
  transport::Message made = transport::make_weights(pool_, row_payload_bytes(spec(), segment_rows_), Encoding::kSparseRows);
  encode_rows(spec(), arena, segment_rows_, transport::mutable_payload(made));
  transport::set_weights_version(made, counters().version, global_step, version);
  return made;
}

}  // namespace shoal::cluster
