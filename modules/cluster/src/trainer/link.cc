// SPDX-License-Identifier: Apache-2.0
#include "trainer/link.h"

#include <algorithm>

#include "shoal/base/compute.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::MessageKind;

constexpr auto kAttemptTimeout = std::chrono::seconds(5);
constexpr auto kBackOffFirst = std::chrono::milliseconds(10);
constexpr auto kBackOffMax = std::chrono::seconds(1);
constexpr auto kNoteEvery = std::chrono::seconds(10);
constexpr auto kOverEvery = std::chrono::seconds(1);  // How often a wait calls `over`, the function that can end the wait.

}  // namespace

bool ServerLink::may_retry(const Error& error) const {
  if (final_) return false;
  return error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kDeadlineExceeded;
}

/// How long to wait for the answer to a hello. A server answers a second chief only when it knows whether the first one
/// is alive: after three heartbeats at the latest.
Duration ServerLink::hello_patience() const {
  const bool leads = identity_.trainer_index == 0;
  return kAttemptTimeout + (leads ? 3 * options_.heartbeat_interval : Duration{});
}

Task<Result<void>> ServerLink::connect(Deadline deadline, std::function<bool()> give_up) {
  Duration back_off = kBackOffFirst;
  SteadyTime next_note = env_.after(kNoteEvery);
  for (;;) {
    if (job_ended_) co_return cancelled();
    Result<void> connected = co_await attempt(deadline);
    if (connected) co_return connected;
    if (!may_retry(connected.error())) co_return connected;
    if (give_up) {
      const auto ask = [&give_up] { return give_up(); };
      SHOAL_CO_TRY(const bool ended, co_await compute(env_, ask));
      if (ended) co_return cancelled();
    }
    if (env_.after(back_off) >= deadline) {
      co_return deadline_exceeded("waiting for parameter server " + to_string(server_) + ": " +
                                  connected.error().message() +
                                  "; does it run there, with the same --transport as this task?");
    }
    if (env_.now() >= next_note) {
      env_.log().info("waiting for parameter server " + to_string(server_) + ": " + connected.error().message());
      next_note = env_.after(kNoteEvery);
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, env_.interrupted()));
    back_off = std::min<Duration>(back_off * 2, kBackOffMax);
  }
}

Task<Result<void>> ServerLink::attempt(Deadline deadline) {
  SHOAL_CO_TRY(transport::Transport * transport, env_.transport(server_.scheme));
  transport::LinkOptions options = options_;
  options.receive_bytes_max = receive_limit_;
  final_ = false;
  const Deadline met_by = std::min(deadline, env_.after(kAttemptTimeout));
  SHOAL_CO_TRY(connection_, co_await transport->connect(server_, std::move(options), met_by));
  Result<void> introduced = co_await introduce(std::min(deadline, env_.after(hello_patience())));
  if (introduced) co_return introduced;
  close(introduced.error());
  if (may_retry(introduced.error())) co_return introduced;
  // Adds the server's address to the error, since the server's refusal does not name it.
  co_return std::move(introduced).error().with_context(to_string(server_));
}

Task<Result<void>> ServerLink::introduce(Deadline deadline) {
  transport::Hello hello{.job = identity_.job,
                         .role = identity_.role,
                         .index = identity_.index,
                         .incarnation = identity_.incarnation,
                         .strategy = identity_.strategy,
                         .fingerprint = identity_.fingerprint,
                         .numerics = identity_.numerics,
                         .variables = identity_.variables,
                         .meaning = identity_.meaning,
                         .weights = weights_,
                         .run = identity_.run.id,
                         .start = identity_.start,
                         .origin = identity_.origin};
  Message message = transport::make_hello(env_.buffers(), hello);
  message.head.sequence = next_sequence();
  SHOAL_CO_TRY(const Message answer, co_await request(std::move(message), 0, deadline));
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(answer));
  if (control.verb != "welcome") co_return data_loss("expected a welcome, got " + std::string(control.verb));
  SHOAL_CO_TRY(welcome_, parse_welcome(control.text));
  if (welcome_.phase == Phase::kFinished) job_end_ = welcome_.end;
  server_incarnation_ = answer.head.incarnation;
  co_return Result<void>{};
}

void ServerLink::set_receive_limit(uint64_t bytes) {
  receive_limit_ = bytes;
  if (connection_) connection_->set_receive_limit(bytes);
}

void ServerLink::close(Error reason) {
  if (connection_) connection_->close(std::move(reason));
  connection_.reset();
  late_.reset();
  asks_to_save_ = false;
}

/// Records how the job ended, if the message is "finished".
void ServerLink::note_end(const Message& message) {
  if (message.head.kind != MessageKind::kControl) return;
  const auto control = transport::read_control(message);
  if (!control || control->verb != "finished") return;
  auto end = parse_job_end(control->text);
  job_end_ = end ? std::move(end).value() : JobEnd{};
}

/// True if the message is "finished" and answers no request: a server that leaves sends it unasked.
bool ServerLink::is_last_word(const Message& message) {
  const bool leads = identity_.trainer_index == 0;  // The chief ends the job itself: no server need tell it.
  if (leads || message.head.kind != MessageKind::kControl || message.head.reply_to != 0) return false;
  const auto control = transport::read_control(message);
  if (control && control->verb == "finished") job_ended_ = true;
  if (job_ended_) note_end(message);
  return job_ended_;
}

/// Closes the connection after a failed request, so that the next attempt starts afresh. First reads messages that had
/// arrived before the failure: a "finished" among them explains the failure.
Task<Error> ServerLink::lost(Error error) {
  constexpr int kUnreadMax = 64;
  for (int i = 0; i < kUnreadMax && !job_ended_; ++i) {
    auto unread = co_await connection_->receive(env_.now());
    if (!unread || is_last_word(*unread)) break;
  }
  close(error);
  if (job_ended_) co_return cancelled();
  co_return error.kind() == ErrorKind::kDeadlineExceeded ? unavailable(error.message()) : std::move(error);
}

Task<Result<void>> ServerLink::send(Message message, uint64_t epoch, Deadline deadline) {
  if (!connection_) co_return unavailable("not connected to " + to_string(server_));
  message.head.epoch = epoch;
  message.head.incarnation = identity_.incarnation;
  sent_at_ = env_.now();
  Result<void> sent = co_await connection_->send(std::move(message), deadline);
  if (!sent) co_return co_await lost(std::move(sent).error());
  co_return sent;
}

/// Receives the next message, whichever request it answers. Cancelled soon after `over` returns true.
Task<Result<Message>> ServerLink::receive_next(std::function<bool()> over, Deadline deadline) {
  SteadyTime note = env_.after(kNoteEvery);
  for (;;) {
    if (!connection_) co_return unavailable("not connected to " + to_string(server_));
    const SteadyTime look = over ? std::min(note, env_.after(kOverEvery)) : note;
    auto message = co_await connection_->receive(std::min<Deadline>(deadline, look));
    const bool early = !message && message.error().kind() == ErrorKind::kDeadlineExceeded && env_.now() < deadline;
    if (early && over && over()) co_return cancelled();
    if (early && env_.now() < note) continue;
    if (early) {
      env_.log().info("waiting for parameter server " + to_string(server_) + " to answer");
      note = env_.after(kNoteEvery);
      continue;
    }
    if (!message) co_return co_await lost(std::move(message).error());
    if (is_last_word(*message)) co_return co_await lost(cancelled());
    asks_to_save_ = (message->head.status & kStatusLeaveBit) != 0;
    co_return message;
  }
}

/// Receives the answer to request `reply_to`. Late messages (further parts of an earlier answer) may come before it or, if
/// the server's queue was full, after it. They have a time limit of their own, so the time that they take extends
/// `deadline`.
Task<Result<Message>> ServerLink::receive_unless(std::function<bool()> over, uint64_t reply_to, Deadline deadline) {
  for (;;) {
    const SteadyTime asked_at = env_.now();
    const Deadline until = late_ ? std::max<Deadline>(deadline, env_.after(late_->patience)) : deadline;
    SHOAL_CO_TRY(Message message, co_await receive_next(over, until));
    if (is_late(message)) {
      SHOAL_CO_TRY_VOID(take_late(std::move(message)));
      if (deadline != kNoDeadline) deadline += env_.now() - asked_at;
      continue;
    }
    if (message.head.reply_to != reply_to) continue;  // This message answers an older, abandoned request.
    if (message.head.kind == MessageKind::kError) {
      final_ = (message.head.status & kStatusStateMask) == kStatusFinal;
      co_return transport::read_error(message);
    }
    note_end(message);
    co_return message;
  }
}

Result<void> ServerLink::take_late(Message message) {
  Result<void> taken = late_->take(std::move(message));
  if (!taken || --late_->count == 0) late_.reset();
  return taken;
}

Task<Result<void>> ServerLink::receive_late(std::function<bool()> over) {
  while (late_) {
    SHOAL_CO_TRY(Message message, co_await receive_next(over, env_.after(late_->patience)));
    if (is_late(message)) SHOAL_CO_TRY_VOID(take_late(std::move(message)));
  }
  co_return Result<void>{};
}

Task<Result<void>> ServerLink::receive_late_so_far() {
  while (late_ && connection_) {
    auto message = co_await connection_->receive(env_.now());
    if (!message && message.error().kind() == ErrorKind::kDeadlineExceeded) break;
    if (!message) co_return co_await lost(std::move(message).error());
    if (is_last_word(*message)) co_return co_await lost(cancelled());
    if (is_late(*message)) SHOAL_CO_TRY_VOID(take_late(std::move(*message)));
  }
  co_return Result<void>{};
}

Task<Result<Message>> ServerLink::request(Message message, uint64_t epoch, Deadline deadline) {
  const uint64_t sequence = message.head.sequence;
  SHOAL_CO_TRY_VOID(co_await send(std::move(message), epoch, deadline));
  co_return co_await receive(sequence, deadline);
}

}  // namespace shoal::cluster
