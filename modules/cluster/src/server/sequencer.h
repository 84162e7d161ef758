// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one decider of a job (it runs on shard 0): learns which push is held by which shard, and says in what order all
/// shards apply, drop or hold what. A push that not all shards hold is never part of an order, so no shard ever has an
/// update that another cannot get (CONTRACT PSV-4), and a trainer that stops in mid-push holds up nobody (DI-2).
///
/// Orders have an index, without gaps, and every shard carries them out in that order. They are kept until all other
/// shards have said that they received them, so a connection that broke goes on where it was. That is few: a shard that
/// says nothing holds no more pushes either, so nothing more is committed, and who gives up a push waits for long
/// before it gives up another.
///
/// No clock, no input or output, one thread.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "server/strategy.h"

namespace shoal::cluster {

class Sequencer {
 public:
  Sequencer(size_t shards, size_t trainers, std::unique_ptr<UpdateStrategy> strategy);

  /// Whether trainers wait for each other.
  bool paces() const { return strategy_->paces(); }

  /// A new epoch is being loaded: there are no orders of it yet.
  void restart();
  /// It is ready, with weights of `version` at `global_step`.
  /// Trainers of `ended` make no more pushes, until they make one.
  void begin(uint64_t version, uint64_t global_step, const std::set<int>& ended = {});

  /// `shard` holds a whole push. Said twice, or of a push that an order was about, it means nothing.
  void held(size_t shard, const transport::Report& report);
  /// `shard` has all orders up to this index.
  void received(size_t shard, uint64_t index);

  /// The process of `newest` goes on from what has been committed: what it pushed since, `newest` and before, does not
  /// count. That may be more than was said to be held.
  void abandon(const transport::PushId& newest);
  /// The trainer of `newest` makes no more pushes, until it makes one; what it pushed and is not decided it gives up.
  void rest(const transport::PushId& newest);
  /// `trainer` makes no more pushes, unless another process of it does: what comes of this one was under way.
  void leave(int trainer, uint64_t incarnation);
  /// `trainer` is away for longer than others have to wait for it, or back.
  void set_lost(int trainer, bool lost);
  /// True until `trainer` has said that it makes no more pushes. A commit may wait for such a trainer.
  bool takes_part(int trainer) const {
    return trainer >= 0 && size_t(trainer) < progress_.trainers.size() && progress_.trainers[size_t(trainer)].takes_part;
  }
  /// Trainers are asked to stop: who waits is answered.
  void stop() { progress_.stopping = true; }
  void unstop() { progress_.stopping = false; }
  /// Nothing of this process counts any more, but for what has been committed.
  void fence(int trainer, uint64_t incarnation);
  /// All shards hold their state as it is after one and the same commit. `asker`: what the order names.
  void hold(const transport::PushId& asker);
  /// Nothing is committed any more, until a new epoch, or a new chief (unseal()).
  void seal();
  void unseal() { sealed_ = false; }

  /// Trainers that the next commit may wait for: they take part, are not lost, and have pushed nothing for it, while others
  /// have.
  std::vector<int> awaited() const;
  /// That of the weights once all commits so far are applied.
  uint64_t version() const { return progress_.version; }
  /// The next order, if there is one to give.
  std::optional<transport::Order> next();
  /// The orders after `index`, for a shard that has those up to it.
  std::vector<transport::Order> after(uint64_t index) const;

 private:
  struct Pending {
    std::vector<bool> shards;
    size_t count = 0;
    uint64_t base_version = 0;
  };
  struct Decided {
    uint64_t incarnation = 0;  // The process that pushes now.
    uint64_t number = 0;       // The number of its newest push that an order was about.
  };
  bool is_over(const transport::PushId& id) const;
  void decide(const transport::PushId& id);
  std::optional<transport::Order> next_commit();
  std::optional<transport::Order> next_grant();
  Participant* participant(int trainer);
  void takes_no_part(int trainer);
  void ungrant(int trainer);
  void count_whole();
  transport::Order give(transport::Order order);

  const size_t shards_;
  const std::unique_ptr<UpdateStrategy> strategy_;
  Progress progress_;
  uint64_t global_step_ = 0;  // The global step of the newest commit.
  bool sealed_ = false;
  std::map<transport::PushId, Pending> pending_;
  std::vector<WholePush> whole_;  // Whole pushes in the order in which they became that.
  std::map<int, Decided> decided_;
  std::map<int, std::deque<uint64_t>> fenced_;  // The newest fenced processes, by trainer.
  std::map<int, uint64_t> left_;                // The newest processes that left, by trainer.
  std::deque<transport::Order> asked_;          // Orders to come, beside commits.
  std::deque<transport::Order> given_;          // Orders that not all shards are known to have.
  uint64_t index_ = 0;                          // The index of the newest order.
  std::vector<uint64_t> received_;              // The index of the newest order that each shard is known to have.
};

}  // namespace shoal::cluster
