// SPDX-License-Identifier: Apache-2.0
// The guests' side of a rendezvous (all ranks but 0): guests join, wait, and join again if their connection breaks.
#include <algorithm>

#include "job/quote.h"
#include "job/rendezvous/part.h"
#include "shoal/base/compute.h"

namespace shoal::cluster {
namespace {

using transport::Connection;
using transport::Message;

constexpr auto kGuestAttemptTimeout = std::chrono::seconds(5);
constexpr auto kGuestBackOffFirst = std::chrono::milliseconds(10);
constexpr auto kGuestBackOffMax = std::chrono::seconds(1);
constexpr auto kMissingTimeout = std::chrono::seconds(2);  // The longest wait for rank 0's answer to "missing".
constexpr auto kGuestNoteEvery = std::chrono::seconds(10);
// After all ranks have met, only a restarted rank needs the rendezvous. So a broken connection to rank 0 is logged only if
// it could not be repaired for this time.
constexpr auto kLostNoteAfter = std::chrono::seconds(30);
constexpr auto kLostNoteEvery = std::chrono::seconds(600);

class RendezvousGuest final : public Rendezvous::Part {
 public:
  RendezvousGuest(Environment& env, RendezvousOptions options, uint64_t incarnation)
      : env_(env), options_(std::move(options)), incarnation_(incarnation), group_(env) {}

  Task<Result<Gathering>> meet() override;
  Task<Result<void>> close() override;

 private:
  const Place& place() const { return options_.place; }
  Task<bool> start_has_ended();
  Task<Result<void>> try_all(Deadline deadline);
  Task<Result<void>> attempt(std::string address, Deadline deadline);
  Task<Result<void>> converse(Deadline deadline);
  Task<Result<void>> take_assigned_port(std::string offer, Deadline deadline);
  Task<Result<void>> give_up();
  Task<Result<void>> say(std::string_view verb, std::string text);
  Result<void> accept_addresses(std::string_view text);
  Task<Result<void>> keep_connection();
  Task<Result<void>> reconnect();
  bool is_final(const Error& error) const;
  Duration answer_patience() const;
  std::string waiting_for() const;
  void disconnect(Error reason);

  Environment& env_;
  const RendezvousOptions options_;
  const uint64_t incarnation_;
  std::unique_ptr<Connection> connection_;
  OwnPort own_;
  std::optional<Gathering> gathering_;
  std::string missing_;       // The ranks for which rank 0 still waits, according to its last message.
  bool final_ = false;        // True if another attempt to join would fail in the same way.
  bool late_ = false;         // True if the time-out passed while this task waited for other ranks.
  bool interrupted_ = false;  // True if an interrupt came while this task waited for others.
  StopSource closing_;
  TaskGroup group_;
};

/// How long to wait for the host's answer. The three heartbeats leave time for the host to check first whether an older
/// process of this rank lives.
Duration RendezvousGuest::answer_patience() const { return kGuestAttemptTimeout + 3 * options_.link.heartbeat_interval; }

std::string RendezvousGuest::waiting_for() const {
  if (connection_ && !missing_.empty()) return "the rendezvous, where rank 0 waits for " + missing_;
  std::string where;
  for (const std::string& address : place().rendezvous) where += (where.empty() ? "" : " or ") + address;
  return rank_name(place().plan, 0) + " at the rendezvous " + where +
         (missing_.empty() ? "" : " (which waited for " + missing_ + " when it was last heard)");
}

/// True if no new attempt to join can help after `error`. If rank 0 has one address, only Unavailable and DeadlineExceeded
/// may be gone at the next attempt. If there are several addresses, any other error may come from another job that listens
/// at one of them, so the next address is tried.
bool RendezvousGuest::is_final(const Error& error) const {
  if (final_ || error.kind() == ErrorKind::kCancelled) return true;
  const bool passes = error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kDeadlineExceeded;
  return !passes && place().rendezvous.size() == 1;
}

Task<Result<Gathering>> RendezvousGuest::meet() {
  const Deadline deadline = env_.after(options_.timeout);
  // `on_interrupt` may run on any thread, and the function that it posts may run after meet() has ended. Both have only a
  // weak pointer to `here`, which is gone when meet() has ended.
  const auto here = std::make_shared<RendezvousGuest*>(this);
  const StopCallback on_interrupt(env_.interrupted(), [env = &env_, here = std::weak_ptr<RendezvousGuest*>(here)] {
    env->post([here] {
      const auto guest = here.lock();
      if (!guest) return;
      (*guest)->interrupted_ = true;
      if ((*guest)->connection_) (*guest)->connection_->close(cancelled());
    });
  });
  Duration back_off = kGuestBackOffFirst;
  SteadyTime next_note = env_.after(kGuestNoteEvery);
  for (;;) {
    const Result<void> met = co_await try_all(deadline);
    if (met) break;
    if (interrupted_) co_return cancelled();
    if (is_final(met.error())) co_return met.error();
    if (co_await start_has_ended()) co_return Gathering{.ended = true};
    if (late_) co_return met.error();
    if (env_.after(back_off) >= deadline) {
      co_return deadline_exceeded("waiting for " + waiting_for() + ": " + met.error().message());
    }
    if (env_.now() >= next_note) {
      env_.log().info("waiting for " + waiting_for() + ": " + met.error().message());
      next_note = env_.after(kGuestNoteEvery);
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, env_.interrupted()));
    back_off = std::min<Duration>(back_off * 2, kGuestBackOffMax);
  }
  own_.listener.reset();
  group_.spawn(keep_connection());
  co_return *gathering_;
}

Task<bool> RendezvousGuest::start_has_ended() {
  if (!options_.has_ended) co_return false;
  const Result<bool> ended = co_await compute(env_, options_.has_ended);
  co_return ended&&* ended;
}

/// Tries each address once. Returns the first error that is not Unavailable, else the last one.
Task<Result<void>> RendezvousGuest::try_all(Deadline deadline) {
  Result<void> outcome;
  for (const std::string& address : place().rendezvous) {
    const Result<void> met = co_await attempt(address, deadline);
    if (met || is_final(met.error())) co_return met;
    if (outcome || outcome.error().kind() == ErrorKind::kUnavailable) outcome = met;
    if (interrupted_ || closing_.stop_requested()) co_return cancelled();
  }
  co_return outcome;
}

Task<Result<void>> RendezvousGuest::attempt(std::string address, Deadline deadline) {
  final_ = false;
  SHOAL_CO_TRY(transport::Transport* const transport, env_.transport(options_.meeting_scheme));
  transport::LinkOptions link = options_.link;
  const bool certified = link.credential && std::holds_alternative<transport::Certificate>(*link.credential);
  if (certified) link.expected_peer = transport::PeerIdentity{.role = std::string(place().plan.chief_role()), .index = 0};
  const transport::Endpoint to{options_.meeting_scheme, address};
  auto connecting = transport->connect(to, std::move(link), std::min(deadline, env_.after(kGuestAttemptTimeout)));
  SHOAL_CO_TRY(connection_, co_await std::move(connecting));
  // An interrupt may have come before there was a connection to close.
  if (interrupted_ || closing_.stop_requested()) {
    disconnect(cancelled());
    co_return cancelled();
  }
  Result<void> met = co_await converse(deadline);
  if (met) co_return met;
  disconnect(met.error());
  co_return std::move(met).error().with_context("rendezvous at " + address);
}

Task<Result<void>> RendezvousGuest::converse(Deadline deadline) {
  const Join join{.rank = place().rank,
                  .size = place().size,
                  .plan = to_string(place().plan),
                  .run = place().run,
                  .own_host = place().own_host,
                  .host_name = env_.process().host_name,
                  .known = gathering_};
  SHOAL_CO_TRY_VOID(co_await say("join", to_json(join)));
  Deadline answer_by = std::min(deadline, env_.after(answer_patience()));
  SteadyTime next_note = env_.after(kGuestNoteEvery);
  bool assigned = false;
  for (;;) {
    Result<Message> message = co_await connection_->receive(answer_by);
    const bool late = !message && message.error().kind() == ErrorKind::kDeadlineExceeded && env_.now() >= deadline;
    if (late && assigned) co_return co_await give_up();
    if (!message) co_return std::move(message).error();
    if (message->head.kind == transport::MessageKind::kError) {
      final_ = message->head.status == kRefusalFinal;
      co_return transport::read_error(*message);
    }
    SHOAL_CO_TRY(const transport::Control word, transport::read_control(*message));
    if (word.verb == "cluster") co_return accept_addresses(word.text);
    if (word.verb == "seat") {
      SHOAL_CO_TRY_VOID(co_await take_assigned_port(std::string(word.text), deadline));
      assigned = true;
    } else if (word.verb == "waiting") {
      SHOAL_CO_TRY(const Missing missing, parse_missing(word.text));
      missing_ = missing_text(place().plan, missing);
      if (env_.now() >= next_note) {
        env_.log().info("waiting for " + waiting_for());
        next_note = env_.after(kGuestNoteEvery);
      }
    } else {
      co_return invalid_argument("the peer at this address is no rendezvous of Shoal: it sent " + in_quotes(word.verb));
    }
    answer_by = deadline;  // From here on heartbeats show that rank 0 is alive, so its next message may come late.
  }
}

/// Called when the time-out has passed before all tasks have joined: asks rank 0 which ranks are missing. If the last
/// rank has just joined, rank 0 may answer with the address list instead.
Task<Result<void>> RendezvousGuest::give_up() {
  SHOAL_CO_TRY_VOID(co_await say(kMissingVerb, {}));
  const Deadline until = env_.after(kMissingTimeout);
  for (bool answered = false; !answered;) {
    const Result<Message> message = co_await connection_->receive(until);
    const Result<transport::Control> word =
        message ? transport::read_control(*message) : Result<transport::Control>(message.error());
    if (!word) break;
    if (word->verb == "cluster") co_return accept_addresses(word->text);
    answered = word->verb == "waiting";
    if (!answered) continue;
    SHOAL_CO_TRY(const Missing missing, parse_missing(word->text));
    missing_ = missing_text(place().plan, missing);
  }
  late_ = true;
  co_return deadline_exceeded("waiting for " + (missing_.empty() ? std::string("the other ranks") : missing_) + " of " +
                              std::to_string(place().size) + " ranks: not there within " +
                              std::to_string(int64_t(to_seconds(options_.timeout))) + " s");
}

Task<Result<void>> RendezvousGuest::take_assigned_port(std::string text, Deadline deadline) {
  SHOAL_CO_TRY(const SeatOffer offer, parse_seat_offer(text));
  // True if the port that this process still reserves from an earlier attempt is the offered one.
  const bool fits =
      own_.listener && host_part(own_.address) == offer.host && (offer.address.empty() || offer.address == own_.address);
  if (!fits) {
    own_.listener.reset();
    final_ = true;  // If take_port() fails, this stays true: another attempt to join would fail, too.
    SHOAL_CO_TRY(own_, co_await take_port(env_, options_, offer, deadline));
    final_ = false;
  }
  const SeatTaken taken{own_.address};
  co_return co_await say("here", to_json(taken));
}

/// Takes the address list from rank 0.
Result<void> RendezvousGuest::accept_addresses(std::string_view text) {
  SHOAL_TRY(Gathering gathering, parse_gathering(text));
  if (gathering.addresses.size() != size_t(place().size)) return data_loss("the rendezvous gave a cluster of another size");
  if (gathering_ && gathering != *gathering_) return failed_precondition("the rendezvous has another cluster than before");
  if (!gathering_ && gathering.addresses[size_t(place().rank)] != own_.address) {
    return data_loss("the rendezvous gave this task another address than its own");
  }
  gathering_ = std::move(gathering);
  return {};
}

Task<Result<void>> RendezvousGuest::say(std::string_view verb, std::string text) {
  Message word = make_word(env_, incarnation_, verb, text);
  co_return co_await connection_->send(std::move(word), env_.after(kGuestAttemptTimeout));
}

/// Keeps a connection to rank 0 as long as the task lives: over it, a restarted rank 0 gets the address list.
Task<Result<void>> RendezvousGuest::keep_connection() {
  while (!closing_.stop_requested()) {
    while (connection_) {
      Result<Message> message = co_await connection_->receive(kNoDeadline);
      if (!message) disconnect(message.error());
    }
    const Result<void> back = co_await reconnect();
    if (back) continue;
    if (!closing_.stop_requested() && back.error().kind() != ErrorKind::kCancelled) {
      env_.log().warning("this task no longer takes part in the rendezvous, which only ranks that start again need: " +
                         back.error().message());
    }
    co_return Result<void>{};
  }
  co_return Result<void>{};
}

Task<Result<void>> RendezvousGuest::reconnect() {
  Duration back_off = kGuestBackOffFirst;
  SteadyTime next_note = env_.after(kLostNoteAfter);
  for (;;) {
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, closing_.token()));
    const Result<void> met = co_await try_all(kNoDeadline);
    if (met) co_return met;
    if (closing_.stop_requested() || met.error().kind() == ErrorKind::kCancelled) co_return cancelled();
    if (is_final(met.error())) co_return met;
    if (env_.now() >= next_note) {
      env_.log().info("waiting for " + waiting_for() + " to come back: " + met.error().message());
      next_note = env_.after(kLostNoteEvery);
    }
    back_off = std::min<Duration>(back_off * 2, kGuestBackOffMax);
  }
}

void RendezvousGuest::disconnect(Error reason) {
  if (connection_) connection_->close(std::move(reason));
  connection_.reset();
}

Task<Result<void>> RendezvousGuest::close() {
  closing_.request_stop();
  if (connection_) connection_->close(unavailable("this task has ended"));
  co_return co_await group_.join();
}

}  // namespace

std::unique_ptr<Rendezvous::Part> make_guest(Environment& env, const RendezvousOptions& options, uint64_t incarnation) {
  return std::make_unique<RendezvousGuest>(env, options, incarnation);
}

}  // namespace shoal::cluster
