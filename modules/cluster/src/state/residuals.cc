// SPDX-License-Identifier: Apache-2.0
#include "state/residuals.h"

#include <algorithm>
#include <cstring>

namespace shoal::cluster {

void Residuals::restart(uint64_t arena_bytes) {
  arena_bytes_ = arena_bytes;
  coming_.clear();
  newest_.clear();
  held_.clear();
}

Result<std::span<std::byte>> Residuals::place_to_restore(int trainer, const transport::SnapshotPart& part) {
  if (part.offset > arena_bytes_ || part.payload.size() > arena_bytes_ - part.offset)
    return invalid_argument("restore of " + std::string(part.name) + ": beyond the end of the arena");
  auto known = newest_.find(trainer);
  if (known == newest_.end()) {
    // Inserted only now, since get() may find no memory. Zeroed, since a restore fills only the segments, not the gaps
    // between them.
    Ref<Buffer> arena = pool_.get(arena_bytes_);
    std::memset(arena->data(), 0, arena->size());
    known = newest_.emplace(trainer, std::move(arena)).first;
  }
  return known->second->bytes().subspan(part.offset, part.payload.size());
}

Residuals::Due* Residuals::due_of(int trainer, const TrainerRecord& record, uint64_t push) {
  const auto due = held_.find(trainer);
  const bool same = due != held_.end() && due->second.incarnation == record.incarnation && due->second.last_push == push;
  return same && !due->second.arena ? &due->second : nullptr;
}

Result<void> Residuals::take(int trainer, const TrainerRecord& record, const transport::SnapshotPart& part) {
  if (!record.keeps_back || (part.version != record.last_counted && !due_of(trainer, record, part.version)))
    return invalid_argument("nobody has asked for the residual after push " + std::to_string(part.version));
  const auto known = coming_.find(trainer);
  const bool begins = known == coming_.end() || known->second.after != part.version;
  const uint64_t filled = begins ? 0 : known->second.filled;
  if (part.total_bytes != arena_bytes_ || part.offset != filled || part.payload.empty() ||
      part.payload.size() > arena_bytes_ - filled) {
    return invalid_argument("the parts of a residual have to come in order, and to be " + std::to_string(arena_bytes_) +
                            " bytes together");
  }
  // get() may find no memory, so it is called before coming_ changes.
  if (begins) coming_.insert_or_assign(trainer, Coming{pool_.get(arena_bytes_), 0, part.version});
  Coming& coming = coming_[trainer];
  std::ranges::copy(part.payload, coming.arena->data() + filled);
  coming.filled += part.payload.size();
  bytes_taken_ += part.payload.size();
  if (coming.filled < arena_bytes_) return {};
  if (Due* const due = due_of(trainer, record, coming.after)) due->arena = coming.arena;
  if (record.last_counted == coming.after) newest_[trainer] = coming.arena;
  coming_.erase(trainer);
  return {};
}

void Residuals::pushed(int trainer, uint64_t sequence) {
  newest_.erase(trainer);
  const auto due = held_.find(trainer);
  if (due != held_.end() && due->second.next_push == 0) due->second.next_push = sequence;
}

Ref<const Buffer> Residuals::newest_of(int trainer) const {
  const auto found = newest_.find(trainer);
  return found == newest_.end() ? Ref<const Buffer>() : Ref<const Buffer>(found->second);
}

/// Begins a snapshot, for a checkpoint, of the residuals of all trainers but the chief (trainer 0). The chief does not
/// train while it saves, and saves its own residual itself.
uint64_t Residuals::hold(const TrainerRecords& trainers) {
  held_.clear();
  ++hold_;
  for (const auto& [trainer, arena] : newest_) held_[trainer].arena = arena;
  for (const auto& [trainer, record] : trainers) {
    if (!record.keeps_back && !held_.contains(trainer)) continue;
    Due& due = held_[trainer];
    due.incarnation = record.incarnation;
    due.last_push = record.last_counted;
  }
  held_.erase(0);
  return hold_;
}

void Residuals::release(uint64_t hold) {
  if (hold == hold_) held_.clear();
}

bool Residuals::is_asked(const Due& due, const TrainerRecord& record) {
  return !due.arena && due.incarnation == record.incarnation && due.next_push != 0 && due.next_push == record.last_counted;
}

bool Residuals::asks(int trainer, const TrainerRecord& record) const {
  const auto due = held_.find(trainer);
  return due != held_.end() && is_asked(due->second, record);
}

std::vector<int> Residuals::awaited(const TrainerRecords& trainers) const {
  std::vector<int> awaited;
  for (const auto& [trainer, due] : held_) {
    const auto found = trainers.find(trainer);
    if (found == trainers.end() || found->second.connections == 0 || found->second.done) continue;
    const TrainerRecord& record = found->second;
    const bool to_be_asked = !due.arena && due.incarnation == record.incarnation && due.next_push == 0;
    if (to_be_asked || is_asked(due, record)) awaited.push_back(trainer);
  }
  return awaited;
}

std::vector<int> Residuals::held() const {
  std::vector<int> trainers;
  for (const auto& [trainer, due] : held_) {
    if (due.arena) trainers.push_back(trainer);
  }
  return trainers;
}

Ref<const Buffer> Residuals::held_of(int trainer, uint64_t hold) const {
  const auto found = held_.find(trainer);
  return hold != hold_ || found == held_.end() ? Ref<const Buffer>() : found->second.arena;
}

}  // namespace shoal::cluster
