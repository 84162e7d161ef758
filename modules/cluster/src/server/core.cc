// SPDX-License-Identifier: Apache-2.0
#include "server/core.h"

#include "shoal/base/resident_bytes.h"
#include "shoal/cluster/strategy_text.h"

namespace shoal::cluster {
namespace {

constexpr auto kCreditNoteEvery = std::chrono::seconds(10);

}  // namespace

ServerCore::ServerCore(Environment& env, const ParameterServerOptions& options)
    : env_(env),
      options_(options),
      shard_(size_t(position_in(options.identity.sparse.servers, options.identity.index).value_or(0))),
      state_(shard_ == 0, env.buffers(), env.log()),
      state_lock_(env),
      changed_(std::make_shared<Event>(env)),
      held_bytes_(options.memory_limit ? resident_bytes() : 0) {}

Result<void> ServerCore::check_memory(const ShardSpec& spec, transport::Encoding gradients) const {
  SHOAL_TRY_VOID(fits_into_memory(spec, env_.process().memory_bytes));
  if (!options_.memory_limit) return {};
  return fits_into_limit(memory_of(spec, gradients), held_bytes_, *options_.memory_limit);
}

ServerMemory ServerCore::memory_of(const ShardSpec& spec, transport::Encoding gradients) const {
  const StrategyText strategy =
      value_or_raise(parse_strategy(options_.identity.strategy));  // Cannot fail: the configuration was checked.
  const int aggregated = strategy.sync ? strategy.replicas_to_aggregate.value_or(options_.trainers) : 1;
  return server_memory(spec, options_.trainers, aggregated, gradients);
}

void ServerCore::plan_memory(transport::Encoding gradients) {
  memory_ = memory_of(state_.spec(), gradients);
  state_.credits().set_limit(push_limit(state_.spec()));
}

bool ServerCore::is_silent(const Session& session) const {
  const Duration silence_max = 3 * options_.link.heartbeat_interval;
  return silence_max > Duration::zero() && env_.now() - session.connection->heard() >= silence_max;
}

/// While a session waits here, nobody reads from its connection. So the loop below checks whether the peer is silent.
Task<Result<void>> ServerCore::take_credit(Session& session, PushCredit& credit, uint64_t epoch, uint64_t bytes,
                                           bool encoded) {
  const SteadyTime give_up = env_.after(options_.ready_timeout);
  const Duration heartbeat = options_.link.heartbeat_interval;
  SteadyTime note = env_.after(kCreditNoteEvery);
  for (;;) {
    const bool newest = state_.trainers()[session.trainer].newest_connection == session.number;
    // If this connection is not the trainer's newest one, the trainer sends the push again over the newest one.
    if (closed_ || session.replaced || !newest) co_return cancelled();
    if (state_.phase() != Phase::kReady || state_.epoch() != epoch || state_.sealed()) co_return Result<void>{};
    if (state_.credits().grow(credit, session.trainer, bytes, encoded)) co_return Result<void>{};
    env_.sometimes("server.push_waits_for_credit");
    if (is_silent(session)) {
      co_return unavailable(name_of(session.hello) + " has been silent while its push waited");
    }
    if (env_.now() >= note) {
      env_.log().info("waiting for a decision about earlier pushes of " + name_of(session.hello) +
                      ": until then this server reads no more of it, since they take all the memory that they may take");
      note = env_.after(kCreditNoteEvery);
    }
    const SteadyTime look = std::min(give_up, note);
    const SteadyTime next = heartbeat > Duration::zero() ? std::min(look, env_.after(heartbeat)) : look;
    ++wait_for_credit_;
    Result<void> woken = co_await changed_->wait("an order about an earlier push of " + name_of(session.hello), next);
    --wait_for_credit_;
    const bool late = !woken && woken.error().kind() == ErrorKind::kDeadlineExceeded;
    if (!woken && (!late || env_.now() >= give_up)) co_return woken;
  }
}

void ServerCore::close() {
  closed_ = true;
  changed_->notify_all();
}

Task<Result<void>> ServerCore::compute(uint64_t bytes, Work work) {
  if (bytes <= options_.bytes_on_strand) {
    Result<void> done = co_await on_strand(work);
    co_return whole(std::move(done));
  }
  env_.sometimes("server.computes_beside_strand");
  shoal::Work beside = [this, &work] {
    work([this](int64_t count, const UniqueFunction<void(int64_t, int64_t)>& body) { env_.parallel_for(count, 1, body); });
  };
  Result<void> done = co_await env_.offload(std::move(beside));
  co_return whole(std::move(done));
}

/// A coroutine, since an allocation that fails in `work` then becomes this coroutine's error. `work` outlives it.
Task<Result<void>> ServerCore::on_strand(Work& work) {
  work(nullptr);
  co_return Result<void>{};
}

void ServerCore::fail(const Error& why) {
  state_lock_.break_off(why);
  changed_->notify_all();
}

Result<void> ServerCore::whole(Result<void> change) {
  if (!change) fail(change.error());
  return change;
}

Task<Result<std::vector<transport::Message>>> ServerCore::newest(transport::Encoding encoding, uint64_t has) {
  std::vector<transport::Message> weights = state_.weights_at_hand(encoding, has);
  if (!weights.empty()) co_return weights;
  Work make = [this, encoding, has, &weights](const ParallelFor&) { weights = state_.make_weights(encoding, has); };
  SHOAL_CO_TRY_VOID(co_await compute(state_.bytes_of_weights(encoding, has), std::move(make)));
  state_.keep_weights(encoding, weights);
  co_return weights;
}

Task<Result<void>> ServerCore::reply(Session& session, const transport::MessageHead& request, transport::Message answer,
                                     uint8_t status) {
  const int asks = (state_.stop_requested() ? kStatusStopBit : 0) | (asks_to_save_ ? kStatusLeaveBit : 0) |
                   (state_.poison() ? kStatusPoisonBit : 0);
  answer.head.status = uint8_t(status | asks);
  answer.head.job = request.job;
  answer.head.epoch = state_.epoch();
  answer.head.incarnation = options_.identity.incarnation;
  answer.head.reply_to = request.sequence;
  answer.head.global_step = state_.global_step();
  return session.connection->send(std::move(answer), env_.after(transfer_patience(state_.arena_bytes())));
}

Task<Result<void>> ServerCore::reply_parts(Session& session, transport::MessageHead request,
                                           std::vector<transport::Message> parts, uint8_t status) {
  for (transport::Message& part : parts) {
    Result<void> sent = co_await reply(session, request, std::move(part), status);
    if (sent) continue;
    session.connection->close(sent.error());
    co_return sent;
  }
  co_return Result<void>{};
}

}  // namespace shoal::cluster
