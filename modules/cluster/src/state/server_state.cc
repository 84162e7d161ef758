// SPDX-License-Identifier: Apache-2.0
#include "state/server_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "shoal/base/forever.h"
#include "shoal/cluster/poison.h"

namespace shoal::cluster {

std::string ServerState::position_of(int trainer) const {
  const auto found = positions_.find(trainer);
  return found == positions_.end() ? std::string() : found->second;
}

bool ServerState::note_rest(int trainer, bool leaves) {
  TrainerRecord& record = trainers_[trainer];
  const bool known = record.done && record.left >= leaves;
  record.done = true;
  record.left |= leaves;
  if (!known) ++changes_;
  return !known;
}

bool ServerState::note_end_of_input(int trainer) { return keeps_positions_ && ended_.insert(trainer).second; }

ServerStatus ServerState::status() const {
  ServerStatus status{.phase = phase_,
                      .epoch = epoch_,
                      .global_step = global_step_,
                      .spec_hash = spec_hash_,
                      .fingerprint = fingerprint_,
                      .run = run_,
                      .changes = changes_,
                      .counters = {},
                      .trainers = {},
                      .failure = failure()};
  if (!parts_.empty()) status.counters = parts_.front().counters();
  for (const auto& [index, trainer] : trainers_) {
    status.trainers.push_back({index, trainer.connections > 0, trainer.done, ended_.contains(index), trainer.pushes});
  }
  return status;
}

/// Admits a process of a trainer. Refuses a process that was replaced: the number of the last push is stored for the newest
/// process only, so old pushes of a replaced process would be applied again.
Result<uint64_t> ServerState::admit(int trainer, uint64_t incarnation, uint64_t connection, const std::string& run) {
  TrainerRecord& record = trainers_[trainer];
  if (record.incarnation == incarnation) {
    record.newest_connection = std::max(record.newest_connection, connection);
    return uint64_t(0);
  }
  // A restarted server does not know which run it serves until the chief sends the model. Until then a process of one run
  // must not replace the trainer's process of another run.
  const bool undecided = trainer != 0 && record.incarnation != 0 && run_.id.empty() && !run.empty() && !record.run.empty();
  if (undecided && run != record.run) {
    return unavailable("two jobs at one address: a task of run " + record.run +
                       " has this task's place, and this one is of run " + run +
                       "; which of them this server is of shows when its chief comes");
  }
  // True if a newer process of this trainer has connected already. The first message of a killed process may arrive late,
  // over an older connection, which has a lower number.
  const bool overtaken = record.incarnation != 0 && connection < record.first_connection;
  if (overtaken || record.was_replaced(incarnation)) {
    return failed_precondition("a newer process has taken this task's place; is the task running twice?");
  }
  if (record.incarnation != 0) record.replace(record.incarnation);
  if (trainer == 0) take_back_stop();
  // Forgets a failure when the failed trainer is back, or when the chief has been started again.
  if (failure_ && (trainer == 0 || trainer == failure_->trainer)) failure_.reset();
  const uint64_t before = std::exchange(record.incarnation, incarnation);
  record.run = run;
  record.first_connection = record.newest_connection = connection;
  record.last_push = record.last_counted = 0;
  record.keeps_back = record.left = false;
  record.done = ended_.contains(trainer);  // True if the trainer's input ended in an earlier process.
  residuals_.forget_parts(trainer);
  return before;
}

/// Cancels the stop that a former chief requested: trainers count as active again unless they have left or their input has
/// ended. A trainer that has another reason to make no pushes says so again.
void ServerState::take_back_stop() {
  stop_ = false;
  for (auto& [index, record] : trainers_) record.done = record.left || ended_.contains(index);
}

void ServerState::note_failure(JobFailure failure) {
  if (failure_) return;
  failure_ = std::move(failure);
  note_change();
}

/// Records how the job ended. A chief whose connection broke announces this twice; only the first announcement is recorded.
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
  run_ = std::move(prepare.run);
  meaning_ = std::move(prepare.meaning);
  spec_hash_ = spec_hash(prepare.spec);
  spec_ = std::move(prepare.spec);
  positions_.clear();
  ended_.clear();
  kept_.clear();
  residuals_.restart(arena_bytes());
  for (auto& [index, trainer] : trainers_) {
    trainer.keeps_back = trainer.done = trainer.left = false;
    const bool of_another_run = !trainer.run.empty() && !run_.id.empty() && trainer.run != run_.id;
    if (index != 0 && of_another_run) trainer.incarnation = 0;  // Forgets it: a process of this run may connect.
  }
  stop_ = sealed_ = false;
  allow_non_finite_ = prepare.allow_non_finite;
  poison_.reset();
  part_count_ = part_bytes_ = 0;
  for (const ShardPart& part : parts_of(spec_)) {
    ++part_count_;
    part_bytes_ = std::max(part_bytes_, part.spec.arena_bytes);
  }
  return {};
}

void ServerState::build(const ParallelFor& parallel_for) {
  parts_.clear();  // Frees the old parts before the new ones take memory.
  built_ = {};
  for (ShardPart& part : parts_of(spec_)) {
    parts_.emplace_back(std::move(part), pool_);
    if (built_) built_ = parts_.back().start(parallel_for);
  }
}

Result<void> ServerState::built() {
  if (built_) return {};
  parts_.clear();
  phase_ = Phase::kEmpty;
  return std::exchange(built_, {});
}

/// Returns the memory into which to copy the bytes of `part`. They all lie within one ServerPart, because the bytes of
/// `part` belong to one segment (one variable or slot), and no segment is divided among ServerParts.
Result<std::span<std::byte>> ServerState::place_to_restore(const transport::SnapshotPart& part) {
  if (phase_ != Phase::kLoading) return failed_precondition("restore outside of loading an epoch");
  SHOAL_TRY(const ArenaIndex arena, parse_arena_name(part.name));
  if (const int trainer = residual_trainer(arena); trainer >= 0) return residuals_.place_to_restore(trainer, part);
  if (arena > spec_.slot_count) return invalid_argument("restore of " + std::string(part.name) + ": no such slot");
  for (ServerPart& of : parts_) {
    const uint64_t size = of.spec().arena_bytes;
    if (part.offset < of.begin() || part.offset - of.begin() > size ||
        part.payload.size() > size - (part.offset - of.begin()))
      continue;
    return of.mutable_arena(arena).subspan(part.offset - of.begin(), part.payload.size());
  }
  return invalid_argument("restore of " + std::string(part.name) + ": beyond the end of the arena, or of a part of it");
}

void ServerState::look_at_start() {
  if (phase_ != Phase::kLoading) return;
  for (ServerPart& part : parts_) part.look_at_start();
}

Result<void> ServerState::activate(StateText state) {
  if (phase_ != Phase::kLoading || state.epoch != epoch_) {
    return failed_precondition("epoch " + std::to_string(state.epoch) + " is not being loaded");
  }
  global_step_ = state.global_step;
  positions_ = std::move(state.positions);
  if (keeps_positions_) ended_ = std::move(state.ended);
  for (const int trainer : ended_) trainers_[trainer].done = true;
  for (ServerPart& part : parts_) {
    part.activate(state.counters.update_count);
    part.set_global_step(global_step_);
  }
  phase_ = Phase::kReady;
  return {};
}

/// Checks the push as a whole; ServerPart::decode() checks each chunk later.
Result<void> ServerState::check_push(std::span<const transport::Chunk> chunks) const {
  bool whole = chunks.size() == parts_.size();
  for (size_t i = 0; i < chunks.size(); ++i) {
    whole &= chunks[i].chunk_index == i && chunks[i].chunk_count == parts_.size() &&
             chunks[i].encoding == chunks[0].encoding && chunks[i].closing == (i == 0);
  }
  if (!whole) {
    return invalid_argument("a push must be the whole arena of " + std::to_string(arena_bytes()) + " bytes, in " +
                            std::to_string(parts_.size()) + (parts_.size() == 1 ? " chunk" : " chunks, in order"));
  }
  const std::span<const double> scalars = chunks.front().scalars;
  if (scalars.size() != size_t(spec_.scalar_count)) {
    return invalid_argument("a push with " + std::to_string(scalars.size()) + " scalars; the shard takes " +
                            std::to_string(spec_.scalar_count));
  }
  for (double scalar : scalars) {
    if (!std::isfinite(scalar)) return invalid_argument("a push's scalars must be finite numbers");
  }
  return {};
}

Result<ServerState::Push> ServerState::look_at(int trainer, const transport::MessageHead& head,
                                               std::span<const transport::Chunk> chunks) const {
  if (phase_ != Phase::kReady || head.epoch != epoch_) return Push::kFenced;
  const auto known = trainers_.find(trainer);
  static const auto& kNone = forever(TrainerRecord{});
  const TrainerRecord& record = known == trainers_.end() ? kNone : known->second;
  if (head.incarnation != record.incarnation) return Push::kFenced;  // A newer process replaced the sender.
  const transport::PushId id{trainer, head.incarnation, chunks.front().push};
  if (id.number == 0) return invalid_argument("a push without a number");
  if (id.number <= record.last_push) return Push::kDecided;
  if (kept_.contains(id)) return Push::kKept;
  SHOAL_TRY_VOID(check_push(chunks));
  return Push::kNew;
}

Result<void> ServerState::decode(HeldPush& push) const {
  push.parts.clear();
  for (size_t i = 0; i < parts_.size(); ++i) {
    SHOAL_TRY(PartGradient part, parts_[i].decode(push.chunks[i]));
    push.parts.push_back(std::move(part));
  }
  return {};
}

Result<void> ServerState::check_agreement(const HeldPush& push) const {
  for (const auto& [id, other] : kept_) {
    if (other.base_version() != push.base_version() || id.trainer == push.id.trainer) continue;
    for (const Segment& segment : spec_.segments) {
      const nn::UpdateRule& rule = segment.variable.rule;
      const auto scalar = size_t(rule.learning_rate_scalar);
      if (!nn::uses_learning_rate(rule) || scalar >= push.scalars().size()) continue;
      const double own = push.scalars()[scalar], others = other.scalars()[scalar];
      if (own == others) continue;
      return invalid_argument("trainer " + std::to_string(push.id.trainer) + " has learning rate " + std::to_string(own) +
                              " for " + segment.variable.name + ", and trainer " + std::to_string(id.trainer) + " has " +
                              std::to_string(others) + " for the same step; give all trainers the same program and flags");
    }
    return {};  // One comparison is enough: all earlier pushes of this step have equal learning rates.
  }
  return {};
}

void ServerState::keep(HeldPush push) {
  const transport::PushId id = push.id;
  TrainerRecord& record = trainers_[id.trainer];
  record.done = record.left;  // A trainer that pushes again is active, unless it has left.
  ended_.erase(id.trainer);
  kept_.insert_or_assign(id, std::move(push));
}

void ServerState::note_answered(const transport::PushId& id) {
  const auto found = kept_.find(id);
  if (found == kept_.end()) return;
  found->second.answered = true;
  found->second.credit = {};
}

bool ServerState::was_answered(const transport::PushId& id) const {
  const auto found = kept_.find(id);
  return found != kept_.end() && found->second.answered;
}

bool ServerState::counted(int trainer) const {
  const auto found = trainers_.find(trainer);
  return found != trainers_.end() && found->second.last_push == found->second.last_counted;
}

uint64_t ServerState::staleness_of(const HeldPush& push) const {
  return version() - std::min(version(), push.base_version());
}

/// Adds a push to `counts`, the statistics of its trainer. Called before the update that contains the push.
void ServerState::count(const HeldPush& push, PushCounts& counts) const {
  const uint64_t staleness = staleness_of(push);
  ++counts.applied;
  counts.staleness += staleness;
  counts.staleness_max = std::max(counts.staleness_max, staleness);
  const double loss = push.metrics().loss;
  if (std::abs(loss) <= double(std::numeric_limits<float>::max())) {  // Bounded, so that sums of losses stay finite.
    ++counts.losses;
    counts.loss += loss;
  }
  count_wait(push, counts);
}

/// Adds the time that the trainer waited for replies, unless the message has an absurd value, negative or above 1e6 s.
void ServerState::count_wait(const HeldPush& push, PushCounts& counts) {
  constexpr double kSecondsMax = 1e6;
  const double seconds = push.metrics().waited_secs;
  if (seconds >= 0 && seconds <= kSecondsMax) counts.waited_secs += seconds;
}

Result<void> ServerState::begin_commit(const transport::Order& order) {
  committing_.clear();
  for (const transport::PushId& id : order.pushes) {
    const auto found = kept_.find(id);
    if (found == kept_.end()) {
      return failed_precondition("commit " + std::to_string(order.number) + " names a push of trainer " +
                                 std::to_string(id.trainer) + " that is not here");
    }
    committing_.push_back(&found->second);
  }
  if (committing_.empty() || order.number != version() + 1) {
    return failed_precondition("commit " + std::to_string(order.number) + " of " + std::to_string(committing_.size()) +
                               " pushes does not follow version " + std::to_string(version()));
  }
  // Takes all memory before anything changes, since there may be none.
  for (ServerPart& part : parts_) part.reserve();
  save_follows_ = std::ranges::any_of(committing_, [](const HeldPush* push) { return push->save_follows; });
  for (const HeldPush* push : committing_) {
    TrainerRecord& record = trainers_[push->id.trainer];
    count(*push, record.pushes);
    if (record.incarnation == push->id.incarnation) {
      record.last_push = record.last_counted = push->id.number;
      const double share = push->metrics().input_wait;
      if (share >= 0 && share <= 1) record.input_wait = share;
      record.keeps_back = push->encoding() == transport::Encoding::kTopK;
      residuals_.pushed(push->id.trainer, push->id.number);
    }
    if (keeps_positions_ && !push->position().empty()) positions_[push->id.trainer].assign(push->position());
  }
  for (ServerPart& part : parts_) part.open();
  return {};
}

uint64_t ServerState::bytes_of_update() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < parts_.size(); ++i) bytes += parts_[i].bytes_of_update(committing_, i);
  return bytes;
}

void ServerState::apply(const ParallelFor& parallel_for) {
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i].apply(committing_, i, parallel_for);
}

void ServerState::end_commit(const transport::Order& order) {
  global_step_ = order.global_step;
  for (ServerPart& part : parts_) part.close(global_step_);
  committing_.clear();
  for (const transport::PushId& id : order.pushes) kept_.erase(id);
  for (size_t i = 0; i < parts_.size() && !poison_ && !allow_non_finite_; ++i) {
    const Segment* const segment = parts_[i].poisoned();
    if (!segment) continue;
    const Error why = poisoned(segment->variable.name, global_step_);
    poison_ = JobFailure{why.kind(), why.message(), -1};
    log_.error(why.message());
    note_change();
  }
}

void ServerState::drop(const transport::PushId& id) {
  TrainerRecord& record = trainers_[id.trainer];
  if (record.incarnation == id.incarnation) record.last_push = std::max(record.last_push, id.number);
  const auto found = kept_.find(id);
  if (found == kept_.end()) return;
  count_wait(found->second, record.pushes);
  ++record.pushes.dropped;
  kept_.erase(found);
}

std::vector<transport::PushId> ServerState::kept_before(const transport::PushId& id) const {
  std::vector<transport::PushId> before;
  for (auto at = kept_.lower_bound({id.trainer, id.incarnation, 0}); at != kept_.end() && at->first < id; ++at) {
    before.push_back(at->first);
  }
  return before;
}

std::vector<transport::PushId> ServerState::fence(const transport::PushId& process) {
  const auto of_process = [&process](const auto& entry) {
    return entry.first.of_process(process.trainer, process.incarnation);
  };
  std::vector<transport::PushId> gone;
  for (const auto& entry : kept_) {
    if (of_process(entry)) gone.push_back(entry.first);
  }
  std::erase_if(kept_, of_process);
  TrainerRecord& record = trainers_[process.trainer];
  record.replace(process.incarnation);
  // No successor of the process has connected yet: the trainer has no process now.
  if (record.incarnation == process.incarnation) record.incarnation = 0;
  return gone;
}

std::vector<transport::Message> ServerState::weights_at_hand(transport::Encoding encoding, uint64_t has) const {
  std::vector<transport::Message> messages;
  messages.reserve(parts_.size());
  for (const ServerPart& part : parts_) {
    messages.push_back(part.at_hand(encoding, has));
    if (!messages.back().body) return {};
  }
  return messages;
}

uint64_t ServerState::bytes_of_weights(transport::Encoding encoding, uint64_t has) const {
  uint64_t bytes = 0;
  for (const ServerPart& part : parts_) bytes += part.bytes_of(encoding, has);
  return bytes;
}

std::vector<transport::Message> ServerState::make_weights(transport::Encoding encoding, uint64_t has) {
  std::vector<transport::Message> messages;
  messages.reserve(parts_.size());
  for (ServerPart& part : parts_) messages.push_back(part.make(encoding, has, global_step_));
  return messages;
}

void ServerState::keep_weights(transport::Encoding encoding, const std::vector<transport::Message>& made) {
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i].keep(encoding, made[i]);
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
  SHOAL_CHECK(!poison_);
  HeldState held;
  if (residuals) held.residuals = residuals_.hold(trainers_);
  held.text = {.epoch = epoch_,
               .global_step = global_step_,
               .counters = parts_.front().counters(),
               .positions = positions_,
               .ended = ended_};
  held.arenas.resize(size_t(1 + spec_.slot_count));
  for (const ServerPart& part : parts_) {
    held.arenas[0].add(part.weights().payload(), part.weights().body);
    for (size_t i = 0; i < part.slots().size(); ++i) held.arenas[1 + i].add(part.slots()[i]->bytes(), part.slots()[i]);
  }
  return held;
}

}  // namespace shoal::cluster
