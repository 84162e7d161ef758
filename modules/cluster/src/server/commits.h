// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What becomes of pushes: keeps them, tells the sequencer, carries out its orders, and answers who waits. On shard 0 the
/// sequencer is here; the others have a line to it.
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

  /// Follows the sequencer until close(), on a shard that does not decide itself. Returns at once on the one that does.
  Task<Result<void>> follow();
  void close();

  /// Takes a whole push of `session`, which has not ended: it is answered when an order is about it, or at once where
  /// there was one.
  Task<Result<void>> take(Session& session, transport::MessageHead head, HeldPush push);
  /// Takes a report from another server.
  Task<Result<void>> take_report(Session& session, const transport::Message& message);
  Peers& peers() { return peers_; }
  /// Whether a push of the session waits for an answer.
  bool is_awaited_by(const Session& session) const;
  /// The session has ended: what it waits for is answered to nobody.
  void forget(const Session& session);

  /// A newer process has taken the place of `incarnation`.
  Task<Result<void>> fence(int trainer, uint64_t incarnation);
  /// The process of `newest` goes on from what has been committed: what it pushed since does not count.
  Task<Result<void>> abandon(transport::PushId newest);
  /// No push counts any more.
  Task<Result<void>> seal();
  /// Trainers are asked to stop: who waits for others is answered.
  Task<Result<void>> stop();
  /// This process of the session's trainer makes no more pushes.
  Task<Result<void>> leave(const Session& session);
  /// The process of `newest` makes no more pushes for now; what it pushed and is not committed, it gives up.
  Task<Result<void>> rest(transport::PushId newest);
  /// Whether any process of `trainer` is connected.
  void set_connected(int trainer, bool connected);
  /// Whom others need not wait for any longer (CONTRACT SY-9), and when to look again. Tells of who is waited for.
  Task<Result<std::optional<SteadyTime>>> look_for_lost();
  /// The state of this shard at the commit at which all hold theirs, for the chief of this process. On shard 0 that
  /// commit is the newest; on others it is the one of `version`, which is waited for, some seconds. Nothing: it has not
  /// come yet. Unavailable: there is no model. FailedPrecondition: another epoch has begun.
  Task<Result<std::optional<HeldState>>> hold(uint64_t chief, bool residuals, uint64_t version);
  /// What is held for the chief of this process, and hold() has not given, is not wanted.
  void release(uint64_t chief);

  /// A new epoch is being loaded: what was pushed in the one before does not count.
  void restart();
  /// The epoch is ready.
  void begin();
  /// The job has ended: so are those told who wait.
  void finish();

 private:
  /// Who has to be told what becomes of a push.
  struct Waiting {
    std::shared_ptr<Session> session;
    transport::MessageHead request;
    uint64_t has = 0;  // The version of the weights that the trainer has.
  };
  /// The state that was held last for a snapshot, until the chief that asked for it takes it over.
  struct Mark {
    uint64_t chief = 0;
    HeldState state;
  };

  Task<Result<void>> decode(HeldPush& push);
  Task<Result<void>> answer_again(Session& session, transport::MessageHead head, uint64_t has, uint8_t status);
  Task<Result<void>> give_orders();
  Task<Result<void>> obey_orders();
  Task<Result<void>> obey(transport::Order order);
  Task<Result<void>> commit(const transport::Order& order);
  Task<Result<void>> drop(transport::PushId id);
  Task<Result<void>> drop_before(transport::PushId id);
  Result<void> hold_state(const transport::Order& order);
  void fence_processes(const transport::Order& order);
  void out_of_step(const Error& why);
  void tell_observer(const transport::Order& order);
  void tell_of_stragglers();
  void tell_of_rest(int trainer);

  Task<Result<void>> answer(transport::PushId id, uint8_t status);
  uint8_t asking(int trainer, uint8_t status) const;
  void answer_without_weights(const transport::PushId& id, transport::Message message, uint8_t status);
  void answer_all_without_weights(const transport::Message& message, uint8_t status);

  ServerCore& core_;
  Environment& env_;
  ServerState& state_;
  Peers peers_;
  bool aggregates_ = false;  // True if several pushes make one update.
  std::optional<Sequencer> sequencer_;
  Absences absences_;
  Stragglers stragglers_;
  std::optional<SequencerLink> link_;
  std::deque<transport::Order> orders_;  // Orders of the present epoch, to be obeyed.
  std::map<transport::PushId, Waiting> waiting_;
  std::optional<Mark> mark_;
};

}  // namespace shoal::cluster
