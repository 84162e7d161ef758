#include "state/server_state.h"

#include <algorithm>
#include <cmath>

namespace shoal::cluster {

std::string ServerState::position_of(int trainer) const {
  const auto found = positions_.find(trainer);
  return found == positions_.end() ? std::string() : found->second;
}

ServerStatus ServerState::status() const {
  ServerStatus status{.phase = phase_, .epoch = epoch_, .global_step = global_step_, .spec_hash = spec_hash_,
                      .fingerprint = fingerprint_, .counters = {}, .trainers = {}};
  if (!parts_.empty()) status.counters = parts_.front().counters();
  for (const auto& [index, trainer] : trainers_) {
    status.trainers.push_back({index, trainer.connections > 0, trainer.done, trainer.pushes});
  }
  return status;
}

/// The number of the last push is kept per process, so an old process that came back would have its pushes counted anew.
Result<void> ServerState::admit(int trainer, uint64_t incarnation, uint64_t connection) {
  constexpr size_t kReplacedMax = 256;
  TrainerRecord& record = trainers_[trainer];
  if (record.incarnation == incarnation) return {};
  // What a killed process had said may arrive after the hello of the one that follows it, but its connection is the older
  // one.
  const bool overtaken = record.incarnation != 0 && connection < record.first_connection;
  if (overtaken || std::find(record.replaced.begin(), record.replaced.end(), incarnation) != record.replaced.end()) {
    return failed_precondition("a newer process has taken this task's place; is the task running twice?");
  }
  if (record.incarnation != 0) record.replaced.push_back(record.incarnation);
  if (record.replaced.size() > kReplacedMax) record.replaced.erase(record.replaced.begin());
  if (trainer == 0) stop_ = sealed_ = false;  // they belong to the chief that asked for it, not to the one that resumes
  record.incarnation = incarnation;
  record.first_connection = connection;
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
  parts_.clear();  // before the new ones take memory
  spec_ = std::move(prepare.spec);
  positions_.clear();
  residuals_.restart(arena_bytes());
  for (auto& [index, trainer] : trainers_) trainer.keeps_back = trainer.done = false;
  stop_ = sealed_ = false;
  for (ShardPart& part : parts_of(spec_)) {
    parts_.emplace_back(std::move(part), pool_);
    if (Result<void> started = parts_.back().start(); !started) {
      parts_.clear();
      phase_ = Phase::kEmpty;
      return started;
    }
  }
  return {};
}

uint64_t ServerState::part_bytes() const {
  uint64_t largest = 0;
  for (const ServerPart& part : parts_) largest = std::max(largest, part.spec().arena_bytes);
  return largest;
}

/// Comes segment by segment, so it is of one part.
Result<void> ServerState::restore(const transport::SnapshotPart& part) {
  if (phase_ != Phase::kLoading) return failed_precondition("restore outside of loading an epoch");
  SHOAL_TRY(const ArenaIndex arena, parse_arena_name(part.name));
  if (const int trainer = residual_trainer(arena); trainer >= 0) return residuals_.restore(trainer, part);
  if (arena > spec_.slot_count) return invalid_argument("restore of " + std::string(part.name) + ": no such slot");
  for (ServerPart& of : parts_) {
    const uint64_t size = of.spec().arena_bytes;
    if (part.offset < of.begin() || part.offset - of.begin() > size ||
        part.payload.size() > size - (part.offset - of.begin()))
      continue;
    std::ranges::copy(part.payload, of.mutable_arena(arena).begin() + ptrdiff_t(part.offset - of.begin()));
    return {};
  }
  return invalid_argument("restore of " + std::string(part.name) + ": beyond the end of the arena, or of a part of it");
}

Result<void> ServerState::activate(StateText state) {
  if (phase_ != Phase::kLoading || state.epoch != epoch_) {
    return failed_precondition("epoch " + std::to_string(state.epoch) + " is not being loaded");
  }
  global_step_ = state.global_step;
  positions_ = std::move(state.positions);
  for (ServerPart& part : parts_) {
    part.activate(state.counters.update_count);
    part.set_global_step(global_step_);
  }
  phase_ = Phase::kReady;
  return {};
}

/// Of the whole push; the parts check what is theirs.
Result<void> ServerState::check_push(std::span<const transport::Chunk> chunks) const {
  bool whole = chunks.size() == parts_.size();
  for (size_t i = 0; i < chunks.size(); ++i) {
    whole &= chunks[i].chunk_index == i && chunks[i].chunk_count == parts_.size() &&
             chunks[i].encoding == chunks[0].encoding && chunks[i].closing == (i + 1 == parts_.size());
  }
  if (!whole) {
    return invalid_argument("a push must be the whole arena of " + std::to_string(arena_bytes()) + " bytes, in " +
                            std::to_string(parts_.size()) + (parts_.size() == 1 ? " chunk" : " chunks, in order"));
  }
  const std::span<const double> scalars = chunks.back().scalars;
  if (scalars.size() != size_t(spec_.scalar_count)) {
    return invalid_argument("a push with " + std::to_string(scalars.size()) + " scalars; the shard takes " +
                            std::to_string(spec_.scalar_count));
  }
  for (double scalar : scalars) {
    if (!std::isfinite(scalar)) return invalid_argument("a push's scalars must be finite numbers");
  }
  return {};
}

Result<bool> ServerState::push(int trainer, const transport::MessageHead& head, std::span<const transport::Chunk> chunks) {
  if (phase_ != Phase::kReady || head.epoch != epoch_) return false;
  TrainerRecord& record = trainers_[trainer];
  if (head.incarnation != record.incarnation) return false;  // of a process that a newer one has replaced
  if (head.sequence <= record.last_push) return true;        // applied already: its reply was lost
  SHOAL_TRY_VOID(check_push(chunks));
  SHOAL_TRY_VOID(apply(chunks));
  const transport::Chunk& closing = chunks.back();
  record.last_push = head.sequence;
  ++record.pushes;
  record.keeps_back = closing.encoding == transport::Encoding::kTopK;
  residuals_.pushed(trainer, head.sequence);
  if (counts_steps_ && !closing.position.empty()) positions_[trainer].assign(closing.position);
  return true;
}

/// All parts, or none.
Result<void> ServerState::apply(std::span<const transport::Chunk> chunks) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    Result<void> taken = parts_[i].take(chunks[i]);
    if (taken) continue;
    for (ServerPart& part : parts_) part.forget_push();
    return taken;
  }
  for (size_t i = 0; i < parts_.size(); ++i) SHOAL_TRY_VOID(parts_[i].apply(chunks[i], chunks.back().scalars));
  if (counts_steps_) ++global_step_;
  for (ServerPart& part : parts_) part.set_global_step(global_step_);
  return {};
}

std::vector<transport::Message> ServerState::weights_as(transport::Encoding encoding, uint64_t has) {
  std::vector<transport::Message> messages;
  messages.reserve(parts_.size());
  for (ServerPart& part : parts_) messages.push_back(part.weights_as(encoding, has, global_step_));
  return messages;
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
  held.text = {
      .epoch = epoch_, .global_step = global_step_, .counters = parts_.front().counters(), .positions = positions_};
  held.arenas.resize(size_t(1 + spec_.slot_count));
  for (const ServerPart& part : parts_) {
    held.arenas[0].add(part.weights().payload(), part.weights().body);
    for (size_t i = 0; i < part.slots().size(); ++i) held.arenas[1 + i].add(part.slots()[i]->bytes(), part.slots()[i]);
  }
  return held;
}

}  // namespace shoal::cluster
