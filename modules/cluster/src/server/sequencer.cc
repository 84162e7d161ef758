// SPDX-License-Identifier: Apache-2.0
#include "server/sequencer.h"

#include <algorithm>

#include "shoal/base/check.h"

namespace shoal::cluster {

using transport::Order;
using transport::OrderKind;
using transport::PushId;

Sequencer::Sequencer(size_t shards, size_t trainers, std::unique_ptr<UpdateStrategy> strategy)
    : shards_(shards), strategy_(std::move(strategy)), received_(shards) {
  SHOAL_CHECK(shards_ > 0 && strategy_);
  progress_.trainers.resize(trainers);
}

/// Resets the state when the model is loaded anew. Keeps two things: for each trainer, the number of the newest push that
/// an order has committed or dropped; and the processes that were excluded.
void Sequencer::restart() {
  progress_ = {.trainers = std::vector<Participant>(progress_.trainers.size())};
  global_step_ = 0;
  sealed_ = false;
  pending_.clear();
  whole_.clear();
  asked_.clear();
  given_.clear();
  index_ = 0;
  std::ranges::fill(received_, 0);
}

void Sequencer::begin(uint64_t version, uint64_t global_step, const std::set<int>& ended) {
  progress_.version = version;
  global_step_ = global_step;
  for (const int trainer : ended) deactivate(trainer);
}

/// Null if this job has no such trainer.
Participant* Sequencer::participant(int trainer) {
  const bool known = trainer >= 0 && size_t(trainer) < progress_.trainers.size();
  return known ? &progress_.trainers[size_t(trainer)] : nullptr;
}

/// Takes back the permissions for extra pushes that next_grant() gave the trainer.
void Sequencer::ungrant(int trainer) {
  if (Participant* const own = participant(trainer)) own->granted = 0;
}

void Sequencer::count_whole() {
  for (Participant& trainer : progress_.trainers) trainer.whole = 0;
  for (const WholePush& push : whole_) {
    if (Participant* const trainer = participant(push.id.trainer)) ++trainer->whole;
  }
}

void Sequencer::abandon(const PushId& newest) {
  if (newest.number == 0 || is_over(newest)) return;
  decide(newest);
  ungrant(newest.trainer);
  // On this order, shards also drop the older pushes of the process that made the push `newest`.
  asked_.push_back({.kind = OrderKind::kDrop, .pushes = {newest}});
}

void Sequencer::deactivate(int trainer) {
  if (Participant* const resting = participant(trainer)) resting->active = false;
}

/// Deactivates the trainer, which makes no more pushes for now, so that no commit waits for it. Drops its pushes first:
/// otherwise the report of the last shard that receives one of them would make the trainer active again.
void Sequencer::rest(const PushId& newest) {
  abandon(newest);
  deactivate(newest.trainer);
}

void Sequencer::leave(int trainer, uint64_t incarnation) {
  left_[trainer] = incarnation;
  deactivate(trainer);
}

void Sequencer::set_lost(int trainer, bool lost) {
  if (Participant* const away = participant(trainer)) away->lost = lost;
}

bool Sequencer::is_over(const PushId& id) const {
  const auto fenced = fenced_.find(id.trainer);
  if (fenced != fenced_.end() && std::ranges::find(fenced->second, id.incarnation) != fenced->second.end()) return true;
  const auto decided = decided_.find(id.trainer);
  return decided != decided_.end() && decided->second.incarnation == id.incarnation && id.number <= decided->second.number;
}

void Sequencer::held(size_t shard, const transport::Report& report) {
  if (shard >= shards_ || is_over(report.push)) return;
  Pending& pending = pending_[report.push];
  if (pending.shards.empty()) {
    pending.shards.resize(shards_);
    pending.base_version = report.base_version;
  }
  if (pending.shards[shard]) return;
  pending.shards[shard] = true;
  pending.base_version = std::min(pending.base_version, report.base_version);
  if (++pending.count < shards_) return;
  whole_.push_back({report.push, pending.base_version});
  // A shard that was disconnected may report a push after its trainer has left: the trainer stays inactive, so that no
  // commit waits for it.
  const auto left = left_.find(report.push.trainer);
  if (left != left_.end() && left->second == report.push.incarnation) return;
  if (Participant* const trainer = participant(report.push.trainer)) trainer->active = true;
}

void Sequencer::received(size_t shard, uint64_t index) {
  if (shard >= shards_) return;
  received_[shard] = std::max(received_[shard], std::min(index, index_));
  uint64_t all = index_;
  for (size_t i = 1; i < shards_; ++i) all = std::min(all, received_[i]);  // Begins at 1, since shard 0 is this process.
  while (!given_.empty() && given_.front().index <= all) given_.pop_front();
}

void Sequencer::fence(int trainer, uint64_t incarnation) {
  constexpr size_t kFencedMax = 256;
  std::deque<uint64_t>& fenced = fenced_[trainer];
  fenced.push_back(incarnation);
  if (fenced.size() > kFencedMax) fenced.pop_front();
  std::erase_if(pending_, [=](const auto& entry) { return entry.first.of_process(trainer, incarnation); });
  std::erase_if(whole_, [=](const WholePush& push) { return push.id.of_process(trainer, incarnation); });
  ungrant(trainer);
  asked_.push_back({.kind = OrderKind::kFence, .pushes = {{trainer, incarnation, 0}}});
}

void Sequencer::hold(const PushId& asker) { asked_.push_back({.kind = OrderKind::kHold, .pushes = {asker}}); }

/// From now on no push is committed. Drops all pushes that wait for an order: their trainers are told that the job has
/// ended, so these pushes must not be applied if the job continues later. Shards remember the dropped pushes, and recognise
/// a push that a trainer sends again because it got no reply.
void Sequencer::seal() {
  sealed_ = true;
  std::vector<PushId> left_over;
  while (!pending_.empty()) {
    left_over.push_back(pending_.begin()->first);
    decide(left_over.back());
    ungrant(left_over.back().trainer);
  }
  asked_.push_back({.kind = OrderKind::kSeal, .pushes = {}});
  if (!left_over.empty()) asked_.push_back({.kind = OrderKind::kDrop, .pushes = std::move(left_over)});
}

/// Notes that an order commits or drops the push `id`. Neither this push nor an older one of the same process waits for an
/// order any more.
void Sequencer::decide(const PushId& id) {
  pending_.erase(pending_.lower_bound({id.trainer, id.incarnation, 0}), pending_.upper_bound(id));
  std::erase_if(whole_, [&id](const WholePush& push) {
    return push.id.of_process(id.trainer, id.incarnation) && push.id.number <= id.number;
  });
  Decided& newest = decided_[id.trainer];
  if (newest.incarnation != id.incarnation) newest = {id.incarnation, 0};
  newest.number = std::max(newest.number, id.number);
}

std::optional<Order> Sequencer::next() {
  if (!asked_.empty()) {
    Order order = std::move(asked_.front());
    asked_.pop_front();
    return give(std::move(order));
  }
  if (sealed_) return std::nullopt;
  const auto is_late = [this](const WholePush& push) { return !strategy_->takes(push, progress_); };
  if (const auto late = std::ranges::find_if(whole_, is_late); late != whole_.end()) {
    const PushId id = late->id;
    decide(id);
    ungrant(id.trainer);
    return give({.kind = OrderKind::kDrop, .pushes = {id}});
  }
  return next_commit();
}

std::optional<Order> Sequencer::next_commit() {
  count_whole();
  const std::vector<size_t> contributors = strategy_->next(whole_, progress_);
  if (contributors.empty()) return next_grant();
  Order order{.kind = OrderKind::kCommit, .pushes = {}};
  for (const size_t i : contributors) order.pushes.push_back(whole_[i].id);
  for (const PushId& id : order.pushes) decide(id);
  ++progress_.version;
  ++global_step_;
  for (Participant& trainer : progress_.trainers) trainer.granted = 0;
  return give(std::move(order));
}

/// Permits one more push for the next commit. The permission goes to the first trainer that has delivered all the pushes
/// that it was permitted to make before.
std::optional<Order> Sequencer::next_grant() {
  for (const WholePush& push : whole_) {
    Participant* const trainer = participant(push.id.trainer);
    if (!trainer || trainer->whole != 1 + trainer->granted) continue;
    if (!strategy_->grants(size_t(push.id.trainer), progress_)) continue;
    ++trainer->granted;
    PushId newest = push.id;
    for (const WholePush& other : whole_) {
      if (other.id.trainer == push.id.trainer) newest = std::max(newest, other.id);
    }
    return give({.kind = OrderKind::kAgain, .pushes = {newest}});
  }
  return std::nullopt;
}

Order Sequencer::give(Order order) {
  order.index = ++index_;
  order.number = progress_.version;
  order.global_step = global_step_;
  if (shards_ > 1) given_.push_back(order);
  return order;
}

std::vector<int> Sequencer::awaited() const {
  std::vector<int> trainers;
  if (whole_.empty() || sealed_ || !paces()) return trainers;
  for (size_t i = 0; i < progress_.trainers.size(); ++i) {
    const auto is_its = [i](const WholePush& push) { return size_t(push.id.trainer) == i; };
    const Participant& trainer = progress_.trainers[i];
    if (trainer.active && !trainer.lost && std::ranges::none_of(whole_, is_its)) trainers.push_back(int(i));
  }
  return trainers;
}

std::vector<Order> Sequencer::after(uint64_t index) const {
  std::vector<Order> orders;
  for (const Order& order : given_) {
    if (order.index > index) orders.push_back(order);
  }
  return orders;
}

}  // namespace shoal::cluster
