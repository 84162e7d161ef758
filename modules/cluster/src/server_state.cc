#include "server_state.h"

#include <algorithm>
#include <cmath>

#include "codec.h"

namespace shoal::cluster {

std::string ServerState::position_of(int trainer) const {
  const auto found = positions_.find(trainer);
  return found == positions_.end() ? std::string() : found->second;
}

ServerStatus ServerState::status() const {
  ServerStatus status{.phase = phase_, .epoch = epoch_, .global_step = global_step_, .spec_hash = spec_hash_,
                      .fingerprint = fingerprint_, .counters = {}, .trainers = {}};
  if (shard_) status.counters = shard_->counters();
  for (const auto& [index, trainer] : trainers_) {
    status.trainers.push_back({index, trainer.connections > 0, trainer.done, trainer.pushes});
  }
  return status;
}

/// The number of the last push is kept per process, so an old process that came back would have its pushes counted anew.
Result<void> ServerState::admit(int trainer, uint64_t incarnation) {
  constexpr size_t kReplacedMax = 256;
  TrainerRecord& record = trainers_[trainer];
  if (record.incarnation == incarnation) return {};
  if (std::find(record.replaced.begin(), record.replaced.end(), incarnation) != record.replaced.end()) {
    return failed_precondition("a newer process has taken this task's place; is the task running twice?");
  }
  if (record.incarnation != 0) record.replaced.push_back(record.incarnation);
  if (record.replaced.size() > kReplacedMax) record.replaced.erase(record.replaced.begin());
  if (trainer == 0) stop_ = false;  // a stop belongs to the chief that asked for it, not to the one that resumes
  record.incarnation = incarnation;
  record.last_push = 0;
  record.keeps_back = record.done = false;
  residuals_.forget_parts(trainer);
  return {};
}

/// Told twice (by a chief that found its connection broken), the first word counts.
void ServerState::finish(JobEnd end) {
  if (phase_ != Phase::kFinished) end_ = std::move(end);
  phase_ = Phase::kFinished;
}

Result<void> ServerState::prepare(Prepare prepare) {
  if (phase_ == Phase::kFinished) return unavailable("the job that this server served has ended; the server is leaving");
  if (prepare.epoch <= epoch_) {
    return failed_precondition("epoch " + std::to_string(prepare.epoch) + " is not newer than " + std::to_string(epoch_));
  }
  phase_ = Phase::kLoading;
  epoch_ = prepare.epoch;
  fingerprint_ = prepare.fingerprint;
  spec_hash_ = spec_hash(prepare.spec);
  weights_ = {};
  encoded_.clear();
  shard_.emplace(std::move(prepare.spec), pool_);
  SHOAL_TRY_VOID(expect_rows());
  weights_ = transport::make_weights(pool_, arena_bytes());
  positions_.clear();
  residuals_.restart(arena_bytes());
  for (auto& [index, trainer] : trainers_) trainer.keeps_back = trainer.done = false;
  stop_ = false;
  return shard_->initialise(transport::mutable_payload(weights_));
}

/// Room for what pushes by rows need.
Result<void> ServerState::expect_rows() {
  const std::vector<Segment>& segments = spec().segments;
  row_sums_.clear();
  row_sums_.reserve(segments.size());  // the addresses stay
  sums_of_segment_.assign(segments.size(), nullptr);
  segment_rows_.assign(segments.size(), {});
  for (size_t i = 0; i < segments.size(); ++i) {
    if (!segments[i].variable.lazy_rows) continue;
    SHOAL_TRY(RowSums sums, RowSums::make(&segments[i].variable, segments[i].variable.name));
    row_sums_.push_back(std::move(sums));
    sums_of_segment_[i] = &row_sums_.back();
  }
  history_ = RowHistory(spec());
  return {};
}

Result<void> ServerState::restore(const transport::SnapshotPart& part) {
  if (phase_ != Phase::kLoading) return failed_precondition("restore outside of loading an epoch");
  SHOAL_TRY(const ArenaIndex arena, parse_arena_name(part.name));
  if (const int trainer = residual_trainer(arena); trainer >= 0) return residuals_.restore(trainer, part);
  if (arena > shard_->spec().slot_count) return invalid_argument("restore of " + std::string(part.name) + ": no such slot");
  std::span<std::byte> target = arena == 0 ? transport::mutable_payload(weights_) : shard_->mutable_slot(arena - 1);
  if (part.offset > target.size() || part.payload.size() > target.size() - part.offset) {
    return invalid_argument("restore of " + std::string(part.name) + ": beyond the end of the arena");
  }
  std::ranges::copy(part.payload, target.begin() + ptrdiff_t(part.offset));
  return {};
}

Result<void> ServerState::activate(StateText state) {
  if (phase_ != Phase::kLoading || state.epoch != epoch_) {
    return failed_precondition("epoch " + std::to_string(state.epoch) + " is not being loaded");
  }
  global_step_ = state.global_step;
  positions_ = std::move(state.positions);
  shard_->set_counters({1, state.counters.update_count});
  history_.restart(1);
  encoded_.clear();
  transport::set_weights_version(weights_, 1, global_step_);
  phase_ = Phase::kReady;
  return {};
}

/// What the payload must be is decode()'s business, where it is not the arena itself.
Result<void> ServerState::check_push(const transport::Chunk& chunk) const {
  const bool fits = chunk.encoding != transport::Encoding::kDense || chunk.payload.size() == arena_bytes();
  if (!fits || !chunk.closing || chunk.chunk_count != 1 || chunk.range_begin != 0 || chunk.range_end != arena_bytes()) {
    return invalid_argument("a push must be one chunk of the whole arena of " + std::to_string(arena_bytes()) + " bytes");
  }
  if (chunk.scalars.size() != size_t(shard_->spec().scalar_count)) {
    return invalid_argument("a push with " + std::to_string(chunk.scalars.size()) + " scalars; the shard takes " +
                            std::to_string(shard_->spec().scalar_count));
  }
  for (double scalar : chunk.scalars) {
    if (!std::isfinite(scalar)) return invalid_argument("a push's scalars must be finite numbers");
  }
  return {};
}

Result<bool> ServerState::push(int trainer, const transport::MessageHead& head, const transport::Chunk& chunk) {
  if (phase_ != Phase::kReady || head.epoch != epoch_) return false;
  TrainerRecord& record = trainers_[trainer];
  if (head.incarnation != record.incarnation) return false;  // of a process that a newer one has replaced
  if (head.sequence <= record.last_push) return true;        // applied already: its reply was lost
  SHOAL_TRY_VOID(check_push(chunk));
  SHOAL_TRY_VOID(apply(chunk));
  record.last_push = head.sequence;
  ++record.pushes;
  record.keeps_back = chunk.encoding == transport::Encoding::kTopK;
  residuals_.pushed(trainer, head.sequence);
  if (counts_steps_ && !chunk.position.empty()) positions_[trainer].assign(chunk.position);
  return true;
}

Result<void> ServerState::apply(const transport::Chunk& chunk) {
  if (chunk.encoding == transport::Encoding::kSparseRows) return apply_rows(chunk);
  if (chunk.encoding == transport::Encoding::kDense) {
    SHOAL_TRY_VOID(apply(chunk.payload, chunk.scalars));
  } else {
    const Ref<Buffer> gradient = pool_.get(arena_bytes());
    SHOAL_TRY_VOID(decode(spec(), chunk.encoding, chunk.payload, gradient->bytes()));
    SHOAL_TRY_VOID(apply(gradient->bytes(), chunk.scalars));
  }
  history_.restart(shard_->counters().version);
  return {};
}

Result<void> ServerState::apply_rows(const transport::Chunk& chunk) {
  const Ref<Buffer> gradient = pool_.get(arena_bytes());
  SHOAL_TRY_VOID(decode_rows(spec(), chunk.payload, gradient->bytes(), segment_rows_));
  auto sums = row_sums_.begin();
  for (size_t i = 0; i < segment_rows_.size(); ++i) {
    if (!sums_of_segment_[i]) continue;
    const SegmentRows& part = segment_rows_[i];
    const auto count = int64_t(part.rows.size());
    sums->clear();
    if (count > 0) {
      const TensorView ids{DType::kInt32, Shape{count}, reinterpret_cast<const std::byte*>(part.rows.data())};
      const TensorView rows{DType::kFloat32, Shape{count, row_width(spec().segments[i])},
                            reinterpret_cast<const std::byte*>(part.values.front())};
      SHOAL_TRY_VOID(sums->add(ids, rows));
    }
    ++sums;
  }
  SHOAL_TRY_VOID(apply(gradient->bytes(), chunk.scalars, sums_of_segment_));
  history_.add(shard_->counters().version, segment_rows_);
  return {};
}

Result<void> ServerState::apply(std::span<const std::byte> gradient, std::span<const double> scalars,
                                std::span<const RowSums* const> row_sums) {
  const std::span<const std::byte> pushes[] = {gradient};
  transport::Message next = weights_;
  weights_.body = {};  // so that unique() tells whether anyone else holds this version
  const std::span<const std::byte> current = next.payload();
  Ref<const Buffer> keep_alive;
  if (!next.body->unique()) {
    keep_alive = next.body;
    next = transport::make_weights(pool_, arena_bytes());
  }
  auto done = shard_->apply(current, transport::mutable_payload(next), pushes, scalars, row_sums);
  weights_ = std::move(next);
  for (auto& [encoding, message] : encoded_) message.body = {};
  SHOAL_TRY_VOID(std::move(done));
  if (counts_steps_) ++global_step_;
  transport::set_weights_version(weights_, shard_->counters().version, global_step_);
  return {};
}

transport::Message ServerState::weights_as(transport::Encoding encoding, uint64_t has) {
  const bool by_rows = encoding == transport::Encoding::kSparseRows;
  if (by_rows && history_.covers(has)) return rows_since(has);
  if (by_rows || encoding == transport::Encoding::kDense) return weights_;
  transport::Message& made = encoded_[encoding];
  if (made.body) return made;
  made = transport::make_weights(pool_, encoded_bytes(spec(), encoding), encoding);
  encode(spec(), encoding, weights_.payload(), transport::mutable_payload(made));
  transport::set_weights_version(made, shard_->counters().version, global_step_);
  return made;
}

transport::Message ServerState::rows_since(uint64_t version) {
  const std::span<const std::byte> arena = weights_.payload();
  for (size_t i = 0; i < segment_rows_.size(); ++i) {
    segment_rows_[i].clear();
    if (sums_of_segment_[i]) take_rows(spec().segments[i], history_.changed_since(version, i), arena, segment_rows_[i]);
  }
  transport::Message made =
      transport::make_weights(pool_, row_payload_bytes(spec(), segment_rows_), transport::Encoding::kSparseRows);
  encode_rows(spec(), arena, segment_rows_, transport::mutable_payload(made));
  transport::set_weights_version(made, shard_->counters().version, global_step_, version);
  return made;
}

Result<void> ServerState::take_residual(int trainer, const transport::MessageHead& head,
                                        const transport::SnapshotPart& part) {
  const TrainerRecord& record = trainers_[trainer];
  if (phase_ != Phase::kReady || head.epoch != epoch_ || head.incarnation != record.incarnation)
    return failed_precondition("a residual of an epoch, or of a process, that is over");
  if (part.name != arena_name(residual_arena(trainer)))
    return failed_precondition("trainer " + std::to_string(trainer) + " may send its own residual only");
  return residuals_.take(trainer, record, part);
}

bool ServerState::asks_residual(int trainer) const {
  const auto found = trainers_.find(trainer);
  return found != trainers_.end() && residuals_.asks(trainer, found->second);
}

Result<HeldState> ServerState::hold(bool residuals) {
  if (phase_ != Phase::kReady) return failed_precondition("the server holds no model");
  HeldState held;
  if (residuals) held.residuals = residuals_.hold(trainers_);
  held.text = {.epoch = epoch_, .global_step = global_step_, .counters = shard_->counters(), .positions = positions_};
  held.weights_body = weights_.body;
  held.weights = weights_.payload();
  for (const Ref<Buffer>& slot : shard_->slots()) held.slots.push_back(slot);
  return held;
}

}  // namespace shoal::cluster
