// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Keeps pushes until an order of the sequencer commits or drops them: reports the pushes to the sequencer, carries out its
/// orders, and answers the trainers. On shard 0 the sequencer is part of this object; other shards have a connection to it.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "server/absences.h"
#include "server/core.h"
#include "server/peers.h"
#include "server/sequencer.h"
#include "server/sequencer_link.h"
#include "server/stragglers.h"

namespace shoal::cluster {

class Commits {
 public:
  explicit Commits(ServerCore& core);

  /// Receives the orders of shard 0's sequencer and carries them out, until close(). Returns at once on shard 0 itself.
  Task<Result<void>> follow();
  void close();

  /// Takes a complete push that came over `session`. The push is answered once an order of the sequencer commits or drops
  /// it, or lets its trainer make a further push. A push that was answered before is answered again at once. Not called
  /// after the session has ended.
  Task<Result<void>> take(Session& session, transport::MessageHead head, HeldPush push);
  /// Takes the report of another server, which says which orders and pushes that server has received.
  Task<Result<void>> take_report(Session& session, const transport::Message& message);
  Peers& peers() { return peers_; }
  /// True if a push of the session waits for its answer.
  bool is_awaited_by(const Session& session) const;
  /// Called when the session has ended: its waiting pushes get no answer.
  void forget(const Session& session);

  /// Excludes process `incarnation` of `trainer`, since a newer process has taken its place: its pushes have no effect any
  /// more, unless they are committed.
  Task<Result<void>> fence(int trainer, uint64_t incarnation);
  /// Called when a trainer's process starts over from its last committed push: drops the pushes of this process up to
  /// `newest` that are not committed.
  Task<Result<void>> abandon(transport::PushId newest);
  /// Called at the end of training: from now on no push is committed.
  Task<Result<void>> seal();
  /// Called when trainers are asked to stop: pushes that wait for other trainers' pushes are answered at once.
  Task<Result<void>> stop();
  /// Called when the trainer of `session` leaves: its process makes no more pushes.
  Task<Result<void>> leave(const Session& session);
  /// Called when a trainer's process makes no pushes for now: drops its pushes up to `newest` that are not committed.
  Task<Result<void>> rest(transport::PushId newest);
  /// Notes whether any process of `trainer` is connected.
  void set_connected(int trainer, bool connected);
  /// Looks for trainers that have been away for the grace period, and lets the other trainers go on without them. Logs
  /// which trainers a step waits for. Returns the time at which to call this function again.
  Task<Result<std::optional<SteadyTime>>> look_for_lost();
  /// Takes a snapshot of this shard for process `chief`. All shards take it at the same version of the weights: shard 0
  /// chooses its present version, and another shard waits some seconds until a commit brings its weights to `version`.
  /// Returns nothing if this does not happen in time. Unavailable if there is no model. FailedPrecondition if the model
  /// was loaded anew meanwhile.
  Task<Result<std::optional<HeldState>>> hold(uint64_t chief, bool residuals, uint64_t version);
  /// Drops the snapshot for the process `chief` if it was taken, but hold() has not returned it yet.
  void release(uint64_t chief);

  /// Called when the chief begins to load a model (a new epoch): pushes for the previous model have no effect any more.
  void restart();
  /// Called when the model of the new epoch is loaded: from now on trainers' pushes are applied.
  void begin();
  /// Called when the job has ended: waiting pushes are answered with the message that says so.
  void finish();

 private:
  /// A push that waits for its answer.
  struct Waiting {
    std::shared_ptr<Session> session;
    transport::MessageHead request;
    uint64_t has = 0;  // The version of the weights that the trainer already has.
  };
  /// A snapshot that was taken for a chief, until hold() returns it.
  struct PendingSnapshot {
    uint64_t chief = 0;
    HeldState state;
  };

  Task<Result<void>> decode(HeldPush& push);
  Task<Result<void>> answer_again(Session& session, transport::MessageHead head, uint64_t has, uint8_t status);
  Task<Result<void>> give_orders();
  Task<Result<void>> spread_orders();
  Task<Result<void>> obey_orders();
  Task<Result<void>> obey(transport::Order order);
  Task<Result<void>> commit(const transport::Order& order);
  Task<Result<void>> drop(transport::PushId id);
  Task<Result<void>> drop_before(transport::PushId id);
  Result<void> hold_state(const transport::Order& order);
  void fence_processes(const transport::Order& order);
  void out_of_step(const Error& why);
  void tell_observer(const transport::Order& order);
  void log_stragglers();
  void log_rest(int trainer);

  Task<Result<void>> answer(transport::PushId id, uint8_t status);
  uint8_t asking(int trainer, uint8_t status) const;
  void answer_without_weights(const transport::PushId& id, transport::Message message, uint8_t status);
  void answer_all_without_weights(const transport::Message& message, uint8_t status);

  ServerCore& core_;
  Environment& env_;
  ServerState& state_;
  Peers peers_;
  bool aggregates_ = false;  // True if one update adds up several pushes (synchronous).
  std::optional<Sequencer> sequencer_;
  Absences absences_;
  Stragglers stragglers_;
  std::optional<SequencerLink> link_;
  std::deque<transport::Order> orders_;  // The sequencer's orders for the present model that are still to be carried out.
  std::map<transport::PushId, Waiting> waiting_;
  std::optional<PendingSnapshot> pending_snapshot_;
};

}  // namespace shoal::cluster
