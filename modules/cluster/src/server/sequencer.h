// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sequencer of a job, which runs on shard 0. It learns which shards hold which pushes, and decides in which order all
/// shards apply pushes, drop them, or take snapshots. It lets shards apply a push only when all shards hold it: so
/// no shard gets an update that another one cannot get, and a trainer that stops in the middle of a push delays nobody.
/// Orders have an index without gaps, and every shard carries them out in that order. The sequencer keeps an order until
/// all other shards have said that they received it, and sends it again if a connection has broken meanwhile. It never
/// stores many orders: while a shard is disconnected, that shard reports no pushes, so no push is committed. There may be
/// orders to drop pushes then, but a trainer that abandons a push waits long before it abandons another one.
/// The sequencer reads no clock, does no input or output, and uses one thread.
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

  /// True if trainers wait for each other (synchronous updates).
  bool paces() const { return strategy_->paces(); }

  /// Called when the chief begins to load a model (a new epoch): forgets the orders of the epoch before.
  void restart();
  /// Called when the new epoch's model is loaded, with weights of `version` at `global_step`. The trainers in `ended`
  /// are inactive until they push.
  void begin(uint64_t version, uint64_t global_step, const std::set<int>& ended = {});

  /// Notes that `shard` holds a whole push. Has no effect if the shard reports it again, or if an order has already
  /// committed or dropped the push.
  void held(size_t shard, const transport::Report& report);
  /// Notes that `shard` has received all orders up to this index.
  void received(size_t shard, uint64_t index);

  /// Called when the process that made the push `newest` starts over from its last committed push. Drops the process's
  /// uncommitted pushes up to `newest`, including those that no shard has reported yet.
  void abandon(const transport::PushId& newest);
  /// Makes the trainer of `newest` inactive until it pushes again, and drops its undecided pushes.
  void rest(const transport::PushId& newest);
  /// Makes `trainer` inactive until another process of this trainer pushes. Pushes of process `incarnation` that arrive
  /// later do not make the trainer active.
  void leave(int trainer, uint64_t incarnation);
  /// Notes that `trainer` has been away for the grace period, or that it is back.
  void set_lost(int trainer, bool lost);
  /// True until `trainer` has said that it makes no more pushes. A commit may wait for an active trainer.
  bool is_active(int trainer) const {
    return trainer >= 0 && size_t(trainer) < progress_.trainers.size() && progress_.trainers[size_t(trainer)].active;
  }
  /// Called when trainers are asked to stop. With synchronous updates, pushes that wait for the pushes of other trainers
  /// are dropped from now on, so that their trainers get an answer.
  void stop() { progress_.stopping = true; }
  void unstop() { progress_.stopping = false; }
  /// Excludes process `incarnation` of `trainer`. Its pushes that are not committed yet are dropped, and so are all pushes
  /// that arrive from it later.
  void fence(int trainer, uint64_t incarnation);
  /// Orders all shards to take a snapshot after the same commit. The order contains `asker`, which says which process asked
  /// for the snapshot.
  void hold(const transport::PushId& asker);
  /// From now on commits no push, until the model is loaded anew, or a new chief takes over (unseal()).
  void seal();
  void unseal() { sealed_ = false; }

  /// The trainers that the next commit waits for; empty before any trainer has pushed for it.
  std::vector<int> awaited() const;
  /// The version that the weights have after all commits so far.
  uint64_t version() const { return progress_.version; }
  /// Returns the next order to give; nothing if there is none.
  std::optional<transport::Order> next();
  /// The orders after `index`, for a shard that has all orders up to `index`.
  std::vector<transport::Order> after(uint64_t index) const;

 private:
  struct Pending {
    std::vector<bool> shards;
    size_t count = 0;
    uint64_t base_version = 0;
  };
  struct Decided {
    uint64_t incarnation = 0;  // Identifies the trainer's newest process.
    uint64_t number = 0;       // The newest push of this process that an order has committed or dropped.
  };
  bool is_over(const transport::PushId& id) const;
  void decide(const transport::PushId& id);
  std::optional<transport::Order> next_commit();
  std::optional<transport::Order> next_grant();
  Participant* participant(int trainer);
  void deactivate(int trainer);
  void ungrant(int trainer);
  void count_whole();
  transport::Order give(transport::Order order);

  const size_t shards_;
  const std::unique_ptr<UpdateStrategy> strategy_;
  Progress progress_;
  uint64_t global_step_ = 0;  // The global step of the newest commit.
  bool sealed_ = false;
  std::map<transport::PushId, Pending> pending_;
  std::vector<WholePush> whole_;  // Pushes that all shards hold, in the order in which the last shard reported each.
  std::map<int, Decided> decided_;
  std::map<int, std::deque<uint64_t>> fenced_;  // By trainer: its excluded processes, at most the newest 256.
  std::map<int, uint64_t> left_;                // By trainer: the newest process that left.
  std::deque<transport::Order> asked_;          // Orders that next() still has to return, other than commits.
  std::deque<transport::Order> given_;          // Orders that some shard may lack.
  uint64_t index_ = 0;                          // The index of the newest order.
  std::vector<uint64_t> received_;              // By shard: the index of the newest order that it has received.
};

}  // namespace shoal::cluster
