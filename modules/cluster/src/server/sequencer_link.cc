// SPDX-License-Identifier: Apache-2.0
#include "server/sequencer_link.h"

#include <algorithm>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::Order;
using transport::ReportKind;

// Short, since an attempt to connect cannot be cancelled, and a server that ends may have to wait for it.
constexpr auto kConnectTimeout = std::chrono::seconds(3);
constexpr auto kSequencerHelloTimeout = std::chrono::seconds(5);
constexpr auto kSequencerBackOffFirst = std::chrono::milliseconds(10);
constexpr auto kSequencerBackOffMax = std::chrono::seconds(1);
constexpr auto kSequencerNoteEvery = std::chrono::seconds(10);
constexpr auto kLasting = std::chrono::seconds(1);
constexpr uint64_t kOrderBytesMax = uint64_t(32) << 20;

}  // namespace

Task<Result<void>> SequencerLink::run() {
  Duration back_off = kSequencerBackOffFirst;
  SteadyTime next_note = env_.after(kSequencerNoteEvery);
  while (!closed_) {
    Result<void> followed = co_await meet();
    if (followed) {
      const SteadyTime met = env_.now();
      const uint64_t had = received_;
      tell_all();
      followed = co_await follow();
      if (!closed_) env_.sometimes("server.sequencer_lost");
      const bool was_of_use = received_ != had || env_.now() >= met + kLasting;
      if (was_of_use) back_off = kSequencerBackOffFirst;
    }
    welcomed_ = false;
    if (connection_ && !followed) connection_->close(followed.error());
    connection_.reset();
    if (closed_ || (!followed && followed.error().kind() == ErrorKind::kCancelled)) break;
    if (!followed && env_.now() >= next_note) {
      env_.log().info("waiting for " + to_string(options_.servers.front()) +
                      ", which has the sequencer of this job: " + followed.error().message());
      next_note = env_.after(kSequencerNoteEvery);
    }
    Result<void> woken = co_await closed_event_.wait("the next attempt", env_.after(back_off));
    if (!woken && woken.error().kind() == ErrorKind::kCancelled) break;
    back_off = std::min<Duration>(back_off * 2, kSequencerBackOffMax);
  }
  co_return Result<void>{};
}

Task<Result<void>> SequencerLink::meet() {
  const transport::Endpoint& sequencer = options_.servers.front();
  SHOAL_CO_TRY(transport::Transport * transport, env_.transport(sequencer.scheme));
  transport::LinkOptions link = options_.link;
  link.receive_bytes_max = kOrderBytesMax;
  link.expected_peer =
      transport::PeerIdentity{.role = std::string(kPsRole), .index = index_at(options_.identity.sparse.servers, 0)};
  SHOAL_CO_TRY(connection_, co_await transport->connect(sequencer, std::move(link), env_.after(kConnectTimeout)));
  if (closed_) co_return cancelled();
  const Deadline deadline = env_.after(kSequencerHelloTimeout);
  const TaskIdentity& own = options_.identity;
  const transport::Hello hello{.job = own.job,
                               .role = own.role,
                               .index = own.index,
                               .incarnation = own.incarnation,
                               .strategy = own.strategy,
                               .numerics = {},
                               .variables = {},
                               .start = own.start,
                               .origin = own.origin};
  Message message = transport::make_hello(env_.buffers(), hello);
  message.head.sequence = 1;
  SHOAL_CO_TRY_VOID(co_await connection_->send(std::move(message), deadline));
  SHOAL_CO_TRY(const Message answer, co_await connection_->receive(deadline));
  if (answer.head.kind == transport::MessageKind::kError) co_return transport::read_error(answer);
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(answer));
  if (control.verb != "welcome") co_return data_loss("expected a welcome, got " + std::string(control.verb));
  welcomed_ = true;
  co_return Result<void>{};
}

Task<Result<void>> SequencerLink::follow() {
  for (;;) {
    // No deadline: a missing heartbeat ends the connection, which ends this loop.
    SHOAL_CO_TRY(const Message message, co_await connection_->receive(kNoDeadline));
    SHOAL_CO_TRY(Order order, transport::read_order(message));
    SHOAL_CO_TRY(const bool next, is_next(message, order));
    if (next) SHOAL_CO_TRY_VOID(co_await obey_(std::move(order)));
  }
}

/// True if `order` is the one that this shard has to carry out next. False for an order that was received before, or that
/// belongs to another loading of the model (epoch). DataLoss if orders between it and the last one are missing.
Result<bool> SequencerLink::is_next(const Message& message, const Order& order) {
  if (message.head.epoch != state_.epoch() || epoch_ != state_.epoch() || order.index <= received_) return false;
  if (order.index != received_ + 1) {
    return data_loss("order " + std::to_string(order.index) + " came after order " + std::to_string(received_));
  }
  received_ = order.index;
  return true;
}

void SequencerLink::report(ReportKind kind, const transport::PushId& push, uint64_t base_version) {
  if (!welcomed_) return;
  Message message = transport::make_report(
      env_.buffers(), {.kind = kind, .received = received_, .push = push, .base_version = base_version});
  message.head.epoch = epoch_;
  if (!connection_->try_send(message)) connection_->close(unavailable("the connection takes no more reports"));
}

void SequencerLink::held(const HeldPush& push) { report(ReportKind::kHeld, push.id, push.base_version()); }

void SequencerLink::tell_all() {
  if (epoch_ != state_.epoch()) received_ = 0;
  epoch_ = state_.epoch();
  report(ReportKind::kInStep);
  for (const auto& [id, push] : state_.kept()) held(push);
}

void SequencerLink::close() {
  closed_ = true;
  if (connection_) connection_->close(Error(ErrorKind::kCancelled, "the server ends"));
  closed_event_.notify_all();
}

}  // namespace shoal::cluster
