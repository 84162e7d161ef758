// SPDX-License-Identifier: Apache-2.0
#include "server/commits.h"

#include <algorithm>

#include "shoal/cluster/strategy_text.h"

namespace shoal::cluster {

using transport::Message;
using transport::MessageHead;
using transport::Order;
using transport::OrderKind;
using transport::PushId;

namespace {

// The longest wait of hold() for a snapshot. Then hold() returns, so that the server can notice if the chief is gone.
constexpr auto kHoldParked = std::chrono::seconds(5);

size_t shard_count(const ParameterServerOptions& options) { return std::max<size_t>(1, options.servers.size()); }

}  // namespace

Commits::Commits(ServerCore& core)
    : core_(core),
      env_(core.env()),
      state_(core.state()),
      peers_(env_.buffers(), shard_count(core.options())),
      absences_(size_t(core.options().trainers), core.options().lost_grace, state_.trainers()) {
  const ParameterServerOptions& options = core.options();
  // Cannot fail: the strategy's text was checked with the configuration.
  aggregates_ = value_or_raise(parse_strategy(options.identity.strategy)).sync;
  if (core.shard() == 0) {
    Result<std::unique_ptr<UpdateStrategy>> strategy = make_strategy(options.identity.strategy, options.trainers);
    const auto trainers = size_t(options.trainers);
    sequencer_.emplace(shard_count(options), trainers, value_or_raise(std::move(strategy)));
  } else {
    link_.emplace(env_, options, state_, [this](Order order) {
      orders_.push_back(std::move(order));
      return obey_orders();
    });
  }
}

Task<Result<void>> Commits::follow() {
  if (!link_) co_return Result<void>{};
  Result<void> followed = co_await link_->run();
  co_return core_.whole(std::move(followed));  // After an error no more orders would come.
}

void Commits::close() {
  if (link_) link_->close();
}

Task<Result<void>> Commits::take(Session& session, MessageHead head, HeldPush push) {
  using Push = ServerState::Push;
  const uint64_t has = push.base_version();
  push.id = {session.trainer, head.incarnation, push.closing().push};
  SHOAL_CO_TRY(Push found, state_.look_at(session.trainer, head, push.chunks));
  if (found == Push::kNew && push.encoding() == transport::Encoding::kDense) {
    SHOAL_CO_TRY_VOID(state_.decode(push));
  } else if (found == Push::kNew) {
    SHOAL_CO_TRY_VOID(co_await core_.take_credit(session, push.credit, head.epoch, state_.arena_bytes(), true));
    // Looks again: the chief may have loaded another model (a new epoch) during the wait.
    SHOAL_CO_TRY(found, state_.look_at(session.trainer, head, push.chunks));
    if (found == Push::kNew) SHOAL_CO_TRY_VOID(co_await decode(push));
    SHOAL_CO_TRY(found,
                 // Looks again: a newer process of the trainer may have connected during the decoding.
                 state_.look_at(session.trainer, head, push.chunks));
    if (found != Push::kNew) env_.sometimes("server.push_of_process_replaced_meanwhile");
  }
  if (session.ended) co_return Result<void>{};
  if (found == Push::kFenced) {
    env_.sometimes("server.push_fenced");
    co_return co_await core_.reply(session, head, core_.control("fenced"), kStatusFenced);
  }
  if (found != Push::kNew) env_.sometimes("server.push_repeated");
  const PushId id = push.id;
  if (found == Push::kDecided) {
    co_return co_await answer_again(session, head, has, state_.counted(session.trainer) ? kStatusOk : kStatusStale);
  }
  if (found == Push::kKept && state_.was_answered(id)) co_return co_await answer_again(session, head, has, kStatusKept);
  waiting_.insert_or_assign(id, Waiting{session.shared_from_this(), head, has});
  if (found == Push::kKept) co_return Result<void>{};
  if (Result<void> agrees = aggregates_ ? state_.check_agreement(push) : Result<void>(); !agrees) {
    waiting_.erase(id);
    co_return agrees;
  }
  if (sequencer_) {
    sequencer_->held(0, {.kind = transport::ReportKind::kHeld, .push = id, .base_version = push.base_version()});
  } else {
    link_->held(push);
  }
  state_.keep(std::move(push));
  co_return co_await give_orders();
}

/// Decodes a push. Locks the state, so that no other model is loaded (no new epoch begins) meanwhile.
Task<Result<void>> Commits::decode(HeldPush& push) {
  SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
  if (state_.phase() != Phase::kReady) co_return Result<void>{};
  Result<void> decoded;
  ServerCore::Work work = [this, &push, &decoded](const ParallelFor&) { decoded = state_.decode(push); };
  SHOAL_CO_TRY_VOID(co_await core_.compute(state_.arena_bytes(), std::move(work)));
  co_return decoded;
}

/// Answers a push that was answered before: the trainer has sent it again, because the first answer was lost. The model may
/// be loaded anew while this function waits for the lock of the state; then the answer is "fenced" (the push is too old).
Task<Result<void>> Commits::answer_again(Session& session, MessageHead head, uint64_t has, uint8_t status) {
  Result<std::vector<Message>> weights = std::vector<Message>();
  bool fenced = false;
  {
    SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
    fenced = state_.phase() != Phase::kReady || head.epoch != state_.epoch();
    if (!fenced) weights = co_await core_.newest(session.hello.weights, has);
  }
  if (fenced) env_.sometimes("server.epoch_begun_before_an_answer_again");
  if (fenced && !session.ended) co_return co_await core_.reply(session, head, core_.control("fenced"), kStatusFenced);
  SHOAL_CO_TRY_VOID(weights);
  if (session.ended) co_return Result<void>{};
  co_return co_await core_.reply_parts(session, head, std::move(weights).value(), asking(session.trainer, status));
}

Task<Result<void>> Commits::take_report(Session& session, const Message& message) {
  SHOAL_CO_TRY(const transport::Report report, transport::read_report(message));
  const uint64_t epoch = state_.epoch();
  const auto shard = size_t(session.shard);
  if (!sequencer_ || message.head.epoch != epoch || epoch == 0) co_return Result<void>{};
  if (report.kind == transport::ReportKind::kInStep) {
    peers_.in_step(session, epoch);
    sequencer_->received(shard, report.received);
    for (const Order& order : sequencer_->after(report.received)) peers_.send_to(session, order, epoch);
    co_return Result<void>{};
  }
  if (!peers_.is_in_step(session, epoch)) co_return Result<void>{};
  sequencer_->received(shard, report.received);
  sequencer_->held(shard, report);
  co_return co_await give_orders();
}

bool Commits::is_awaited_by(const Session& session) const {
  const auto is_its = [&session](const auto& entry) { return entry.second.session.get() == &session; };
  return std::ranges::any_of(waiting_, is_its);
}

void Commits::forget(const Session& session) {
  std::erase_if(waiting_, [&session](const auto& entry) { return entry.second.session.get() == &session; });
}

void Commits::release(uint64_t chief) {
  if (!pending_snapshot_ || pending_snapshot_->chief != chief) return;
  state_.release(pending_snapshot_->state);
  pending_snapshot_.reset();
}

Task<Result<void>> Commits::fence(int trainer, uint64_t incarnation) {
  if (!sequencer_) co_return Result<void>{};  // Only shard 0 acts: its sequencer orders all shards to exclude the process.
  sequencer_->fence(trainer, incarnation);
  if (trainer == 0) sequencer_->unseal(), sequencer_->unstop();  // Cancels the former chief's requests to end or to stop.
  co_return co_await give_orders();
}

Task<Result<void>> Commits::abandon(PushId newest) {
  if (!sequencer_ || state_.phase() != Phase::kReady) co_return Result<void>{};
  sequencer_->abandon(newest);
  co_return co_await give_orders();
}

Task<Result<void>> Commits::seal() {
  if (!sequencer_) co_return Result<void>{};
  sequencer_->seal();
  co_return co_await give_orders();
}

Task<Result<void>> Commits::stop() {
  if (!sequencer_) co_return Result<void>{};
  sequencer_->stop();
  co_return co_await give_orders();
}

Task<Result<void>> Commits::leave(const Session& session) {
  if (!sequencer_) co_return Result<void>{};
  log_rest(session.trainer);
  sequencer_->leave(session.trainer, session.hello.incarnation);
  co_return co_await give_orders();
}

Task<Result<void>> Commits::rest(PushId newest) {
  if (!sequencer_) co_return Result<void>{};
  log_rest(newest.trainer);
  sequencer_->rest(newest);
  co_return co_await give_orders();
}

/// Logs once that a trainer makes no more pushes (rests), if the other trainers would have waited for it.
void Commits::log_rest(int trainer) {
  if (!sequencer_->paces() || state_.phase() != Phase::kReady || !sequencer_->is_active(trainer)) return;
  env_.log().info("trainer " + std::to_string(trainer) + " makes no more pushes: the others go on without it");
}

void Commits::set_connected(int trainer, bool connected) {
  if (!sequencer_) return;
  if (connected) {
    sequencer_->set_lost(trainer, false);
  } else {
    absences_.left(trainer, env_.now());
  }
}

Task<Result<std::optional<SteadyTime>>> Commits::look_for_lost() {
  if (!sequencer_ || !sequencer_->paces() || state_.phase() != Phase::kReady) co_return std::optional<SteadyTime>();
  const Absences::Lost lost = absences_.look(env_.now());
  for (const int trainer : lost.trainers) {
    sequencer_->set_lost(trainer, true);
    if (core_.options().observer) core_.options().observer->replaced(trainer);
    env_.sometimes("server.lost_trainer_replaced");
    env_.log().warning(
        "trainer " + std::to_string(trainer) + " has been away for " +
        std::to_string(int64_t(to_seconds(core_.options().lost_grace))) +
        " s: the others make its share of each step, and results depend on timing until the job is started again");
  }
  if (!lost.trainers.empty()) SHOAL_CO_TRY_VOID(co_await give_orders());
  log_stragglers();
  const SteadyTime next = env_.after(Stragglers::kLookEvery);
  co_return std::optional(std::min(lost.look_again.value_or(next), next));
}

/// Logs which trainers a step waits for. Their heartbeats still arrive, so nothing else shows why all trainers stand
/// still.
void Commits::log_stragglers() {
  const std::vector<int> told = stragglers_.look(sequencer_->version(), sequencer_->awaited(), env_.now());
  if (told.empty()) return;
  std::string names;
  for (const int trainer : told) {
    const auto known = state_.trainers().find(trainer);
    const bool connected = known != state_.trainers().end() && known->second.connections > 0;
    names +=
        (names.empty() ? "trainer " : ", trainer ") + std::to_string(trainer) + (connected ? " (connected)" : " (away)");
  }
  env_.log().info("step " + std::to_string(state_.global_step() + 1) + " has been waiting for " +
                  std::to_string(int64_t(to_seconds(Stragglers::kPatience))) + " s or more for " + names +
                  ", whose gradients have not come");
}

Task<Result<std::optional<HeldState>>> Commits::hold(uint64_t chief, bool residuals, uint64_t version) {
  const SteadyTime give_up = env_.after(kHoldParked);
  const uint64_t epoch = state_.epoch();
  if (sequencer_) {
    if (state_.phase() != Phase::kReady) co_return unavailable("the server holds no model");
    sequencer_->hold({.trainer = 0, .incarnation = chief, .number = residuals});
    SHOAL_CO_TRY_VOID(co_await give_orders());
  }
  // True if the snapshot is there. It may be returned even if a later update has made a weight NaN or infinite since.
  const auto here = [&] {
    return pending_snapshot_ && pending_snapshot_->chief == chief &&
           (sequencer_ || pending_snapshot_->state.text.counters.version == version);
  };
  while (!here()) {
    if (state_.poison()) {
      env_.sometimes("server.hold_refused");
      co_return state_.poison()->error();
    }
    Result<void> woken = co_await core_.changed()->wait("the order to hold the state", give_up);
    if (core_.closed()) co_return cancelled();
    if (state_.epoch() != epoch) co_return failed_precondition("another epoch has begun");
    if (!woken && woken.error().kind() == ErrorKind::kDeadlineExceeded && !here()) co_return std::optional<HeldState>();
    if (!woken && woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return std::move(woken).error();
  }
  std::optional<HeldState> held = std::move(pending_snapshot_->state);
  pending_snapshot_.reset();
  co_return held;
}

void Commits::restart() {
  answer_all_without_weights(core_.control("fenced"), kStatusFenced);
  orders_.clear();
  pending_snapshot_.reset();
  if (sequencer_) sequencer_->restart();
}

void Commits::begin() {
  if (sequencer_) sequencer_->begin(state_.version(), state_.global_step(), state_.ended());
  absences_.begin(env_.now());
  if (link_) link_->tell_all();
}

void Commits::finish() { answer_all_without_weights(core_.finished(), kStatusStopBit); }

/// Takes all orders that the sequencer has ready (such as to commit certain pushes), and sends them to the other shards.
/// Then locks the state, and carries the orders out on this shard.
Task<Result<void>> Commits::give_orders() {
  if (!sequencer_) co_return Result<void>{};
  // If memory runs out before an order is sent and queued, that order is lost, and this server has to end.
  Result<void> spread = co_await spread_orders();
  SHOAL_CO_TRY_VOID(core_.whole(std::move(spread)));
  co_return co_await obey_orders();
}

Task<Result<void>> Commits::spread_orders() {
  while (std::optional<Order> order = sequencer_->next()) {
    peers_.send(*order, state_.epoch());
    orders_.push_back(std::move(*order));
  }
  co_return Result<void>{};
}

/// Carries out the queued orders, oldest first. A second caller waits for the lock of the state, and may find the queue
/// empty.
Task<Result<void>> Commits::obey_orders() {
  while (!orders_.empty()) {
    SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
    if (orders_.empty()) break;
    Order order = std::move(orders_.front());
    orders_.pop_front();
    Result<void> obeyed = co_await obey(std::move(order));
    SHOAL_CO_TRY_VOID(core_.whole(std::move(obeyed)));
  }
  co_return Result<void>{};
}

/// Carries out one order of the sequencer. The caller has locked the state. An error ends this server.
Task<Result<void>> Commits::obey(Order order) {
  switch (order.kind) {
    case OrderKind::kCommit: SHOAL_CO_TRY_VOID(co_await commit(order)); break;
    case OrderKind::kDrop:
      for (const PushId& id : order.pushes) SHOAL_CO_TRY_VOID(co_await drop(id));
      for (const PushId& id : order.pushes) SHOAL_CO_TRY_VOID(co_await drop_before(id));
      break;
    case OrderKind::kAgain:
      for (const PushId& id : order.pushes) {
        state_.note_answered(id);
        SHOAL_CO_TRY_VOID(co_await answer(id, kStatusKept));
      }
      break;
    case OrderKind::kFence: fence_processes(order); break;
    case OrderKind::kSeal:
      state_.seal();
      answer_all_without_weights(core_.control("sealed"), kStatusStopBit);
      break;
    case OrderKind::kHold:
      if (Result<void> held = hold_state(order); !held) out_of_step(held.error());
      break;
  }
  core_.look_for_credit();
  co_return Result<void>{};
}

Task<Result<void>> Commits::commit(const Order& order) {
  if (Result<void> begun = state_.begin_commit(order); !begun) {
    out_of_step(begun.error());
    co_return Result<void>{};
  }
  if (core_.options().observer) tell_observer(order);
  ServerCore::Work apply = [this](const ParallelFor& each) { state_.apply(each); };
  SHOAL_CO_TRY_VOID(co_await core_.compute(state_.bytes_of_update(), std::move(apply)));
  const bool was_sound = !state_.poison();
  state_.end_commit(order);
  if (was_sound && state_.poison()) {
    env_.sometimes("server.update_not_finite");
    core_.changed()->notify_all();
  }
  for (const PushId& id : order.pushes) SHOAL_CO_TRY_VOID(co_await answer(id, kStatusOk));
  for (const PushId& id : order.pushes) SHOAL_CO_TRY_VOID(co_await drop_before(id));
  // Wakes the chief's request for the trainers' residuals, which no longer waits for a trainer that has pushed again.
  if (state_.residuals().wanted()) core_.changed()->notify_all();
  co_return Result<void>{};
}

Task<Result<void>> Commits::drop(PushId id) {
  state_.drop(id);
  co_return co_await answer(id, kStatusStale);
}

/// Drops the pushes that the same process of the trainer has made before push `id`, which an order of the sequencer lists:
/// the trainer has abandoned them.
Task<Result<void>> Commits::drop_before(PushId id) {
  for (const PushId& before : state_.kept_before(id)) SHOAL_CO_TRY_VOID(co_await drop(before));
  co_return Result<void>{};
}

Result<void> Commits::hold_state(const Order& order) {
  if (order.pushes.size() != 1) return failed_precondition("an order to hold the state names no chief");
  if (state_.poison()) {  // Wakes the chief's hold(), which then returns the error in poison().
    core_.changed()->notify_all();
    return {};
  }
  SHOAL_TRY(HeldState held, state_.hold(order.pushes.front().number != 0));
  if (pending_snapshot_) state_.release(pending_snapshot_->state);
  pending_snapshot_ = PendingSnapshot{order.pushes.front().incarnation, std::move(held)};
  core_.changed()->notify_all();
  return {};
}

void Commits::fence_processes(const Order& order) {
  for (const PushId& process : order.pushes) {
    for (const PushId& id : state_.fence(process)) answer_without_weights(id, core_.control("fenced"), kStatusFenced);
    if (process.trainer != 0) continue;
    state_.unseal();
    release(process.incarnation);  // Drops the snapshot of the replaced chief.
  }
}

/// Drops the model of a server that cannot follow the sequencer's orders any more: the chief then finds this server
/// without a model, and restores all servers. Does nothing after the job's end, when no task needs the model; a server
/// may learn of the end before it gets the last orders.
void Commits::out_of_step(const Error& why) {
  if (state_.phase() == Phase::kFinished) return;
  env_.log().error("this server is out of step with the others: " + why.message());
  state_.lose();
  restart();
  core_.changed()->notify_all();
}

void Commits::tell_observer(const Order& order) {
  UpdateObserver& observer = *core_.options().observer;
  const TaskIdentity& own = core_.options().identity;
  observer.holds(own.index, env_.buffers().stats().in_use_bytes, core_.memory().total());
  for (const PushId& id : order.pushes) {
    const HeldPush& push = state_.kept().at(id);
    observer.applied({.shard = own.index,
                      .server = own.incarnation,
                      .epoch = state_.epoch(),
                      .made_in_epoch = push.messages.front().head.epoch,
                      .trainer = id.trainer,
                      .process = id.incarnation,
                      .sequence = id.number,
                      .ordinal = push.ordinal(),
                      .commit = order.number,
                      .global_step = order.global_step,
                      .staleness = state_.staleness_of(push)});
  }
}

/// The status of a reply to a push: `status`, and the bits that ask the trainer for its residual.
uint8_t Commits::asking(int trainer, uint8_t status) const {
  const bool after = status == kStatusOk && trainer != 0 && state_.save_follows();
  const bool before = state_.asks_residual(trainer);
  return uint8_t(status | (after ? kStatusSaveBit : 0) | (before ? kStatusResidualBit : 0));
}

/// Answers a push with the newest weights. The caller has locked the state. The reply is sent while the next order is
/// carried out.
Task<Result<void>> Commits::answer(PushId id, uint8_t status) {
  auto found = waiting_.extract(id);
  if (!found) co_return Result<void>{};
  const Waiting waiting = std::move(found.mapped());
  Session& session = *waiting.session;
  SHOAL_CO_TRY(std::vector<Message> weights, co_await core_.newest(session.hello.weights, waiting.has));
  if (session.ended) co_return Result<void>{};
  session.replies.spawn(core_.reply_parts(session, waiting.request, std::move(weights), asking(session.trainer, status)));
  co_return Result<void>{};
}

void Commits::answer_without_weights(const PushId& id, Message message, uint8_t status) {
  auto found = waiting_.extract(id);
  if (!found) return;
  Session& session = *found.mapped().session;
  if (session.ended) return;
  std::vector<Message> parts;
  parts.push_back(std::move(message));
  session.replies.spawn(core_.reply_parts(session, found.mapped().request, std::move(parts), status));
}

void Commits::answer_all_without_weights(const Message& message, uint8_t status) {
  while (!waiting_.empty()) answer_without_weights(waiting_.begin()->first, message, status);
}

}  // namespace shoal::cluster
