// SPDX-License-Identifier: Apache-2.0
// Rank 0's side of a rendezvous: the host, which listens at the address that all ranks know.
#include <algorithm>
#include <optional>

#include "job/bounded_lines.h"
#include "job/rendezvous/part.h"
#include "shoal/base/compute.h"
#include "shoal/base/utc_text.h"
#include "shoal/cluster/listen.h"
#include "shoal/cluster/task_status.h"

namespace shoal::cluster {
namespace {

using transport::Connection;
using transport::Message;

constexpr auto kJoinTimeout = std::chrono::seconds(10);  // The longest wait for a guest's join message.
// The longest wait for a guest to listen on its host name: the name may not resolve yet.
constexpr auto kListenTimeout = std::chrono::seconds(120);
constexpr auto kHostNoteEvery = std::chrono::seconds(10);
// How long the host waits for guests before it asks whether the launch that started all tasks is over.
constexpr auto kHostAsksEndedAfter = std::chrono::seconds(15);
constexpr auto kHostLook = std::chrono::milliseconds(20);
// A process may have died, and bytes that it sent before may still be under way for this long. So only bytes that arrive
// later prove that the process is alive.
constexpr auto kHostUnderWay = std::chrono::milliseconds(100);
constexpr auto kHostClosing = std::chrono::seconds(1);

/// The host's record of one rank.
struct Guest {
  Connection* connection = nullptr;  ///< Null while the rank has no connection.
  uint64_t incarnation = 0;
  std::string peer;
  WallTime since;
  std::string host_name;
  std::optional<std::string> address;  ///< Set once the rank has joined; empty text for an evaluator.
  bool had_joined = false;             ///< True if the rank has once joined completely; it may have left since.
};

class RendezvousHost final : public Rendezvous::Part {
 public:
  RendezvousHost(Environment& env, RendezvousOptions options, uint64_t incarnation)
      : env_(env),
        options_(std::move(options)),
        incarnation_(incarnation),
        guests_(size_t(options_.place.size)),
        changed_(env),
        group_(env),
        refusals_(env),
        arrivals_(env) {}

  Task<Result<Gathering>> meet() override;
  Task<Result<void>> close() override;

 private:
  const ClusterSize& plan() const { return options_.place.plan; }
  Guest& guest(int32_t rank) { return guests_[size_t(rank)]; }
  Task<Result<void>> open(Deadline deadline);
  Task<Result<bool>> wait_for_all(Deadline deadline);
  Task<bool> start_has_ended();
  Task<Result<void>> take_own_port(Deadline deadline);
  Missing missing() const;
  Missing missing(bool had_joined) const;
  Missing awaited() const;
  Error time_is_up() const;
  void tell_who_is_missing();
  void assign_addresses();
  void send_addresses();
  Task<Result<void>> serve(std::unique_ptr<Connection> connection);
  Task<Result<void>> converse(Connection& connection);
  TaskStatus status() const;
  Result<void> check(const Join& join, const Connection& connection) const;
  Task<Result<void>> claim_rank(Join join, uint64_t incarnation);
  Result<void> adopt_known(const Join& join);
  Task<Result<void>> assign_port(Connection& connection, Join join);
  Task<Result<void>> say(Connection& connection, std::string_view verb, std::string text);
  Task<Result<void>> refuse(Connection& connection, int32_t rank, Error why, uint8_t status = kRefusalFinal);

  Environment& env_;
  const RendezvousOptions options_;
  const uint64_t incarnation_;
  std::vector<Guest> guests_;  // By rank.
  std::optional<Gathering> gathering_;
  bool closed_ = false;
  std::optional<Error> gave_up_;  // The error for waiting guests once the host's own time-out has passed.
  std::unique_ptr<transport::Listener> listener_;
  std::string address_;  // The address of the rendezvous.
  OwnPort own_;
  Event changed_;
  TaskGroup group_;
  std::vector<Connection*> connections_;
  BoundedLines refusals_;
  BoundedLines arrivals_;
};

/// Listens at the first address that is free.
Task<Result<void>> RendezvousHost::open(Deadline deadline) {
  const std::vector<std::string>& all = options_.place.rendezvous;
  for (size_t i = 0;; ++i) {
    SHOAL_CO_TRY(std::string at, bound_address(options_, all[i]));
    auto listening = listen(env_, {options_.meeting_scheme, std::move(at)}, options_.link, deadline);
    auto listener = co_await std::move(listening);
    if (listener) {
      listener_ = std::move(*listener);
      address_ = all[i];
      co_return Result<void>{};
    }
    const bool taken = listener.error().kind() == ErrorKind::kUnavailable;
    if (taken && i + 1 < all.size()) continue;
    if (!taken) co_return std::move(listener).error().with_context("the rendezvous of this job");
    co_return std::move(listener).error().with_context(
        "the rendezvous of this job (is another job's there, or is rank 0 running twice? SHOAL_RENDEZVOUS gives a job an "
        "address of its own)");
  }
}

Task<Result<Gathering>> RendezvousHost::meet() {
  const Deadline deadline = env_.after(options_.timeout);
  SHOAL_CO_TRY_VOID(co_await open(deadline));
  env_.log().info("rendezvous at " + to_string(listener_->endpoint()) + ", waiting for " +
                  std::to_string(options_.place.size - 1) + " other ranks (" + to_string(plan()) + ")");
  const auto serve_guest = [this](std::unique_ptr<Connection> connection) { group_.spawn(serve(std::move(connection))); };
  group_.spawn(accept_each(env_, *listener_, "rendezvous: ", serve_guest));
  do {  // Waits again if a guest has left while the host looked for its own port.
    SHOAL_CO_TRY(const bool ended, co_await wait_for_all(deadline));
    if (ended) co_return Gathering{.ended = true};
    SHOAL_CO_TRY_VOID(co_await take_own_port(deadline));
  } while (!gathering_ && missing().count > 0);
  if (!gathering_) assign_addresses();
  own_.listener.reset();
  co_return *gathering_;
}

Task<bool> RendezvousHost::start_has_ended() {
  if (!options_.has_ended) co_return false;
  const Result<bool> ended = co_await compute(env_, options_.has_ended);
  co_return ended&&* ended;
}

/// Waits until all guests have joined, or a guest sends the address list of an earlier rendezvous. Returns true if the
/// launch that started this task and the others is over meanwhile.
Task<Result<bool>> RendezvousHost::wait_for_all(Deadline deadline) {
  SteadyTime next_note = env_.after(kHostNoteEvery), next_question = env_.after(kHostAsksEndedAfter);
  for (;;) {
    const Missing now = missing();
    if (gathering_ || now.count == 0) co_return false;
    if (env_.now() >= next_question) {
      if (co_await start_has_ended()) co_return true;
      next_question = env_.after(kHostNoteEvery);
    }
    if (env_.now() >= deadline) {
      gave_up_ = time_is_up();
      tell_who_is_missing();
      co_return *gave_up_;
    }
    if (env_.now() >= next_note) {
      tell_who_is_missing();
      next_note = env_.after(kHostNoteEvery);
    }
    const Deadline look = std::min<Deadline>({deadline, next_note, next_question});
    auto waiting = changed_.wait("the other ranks", look, env_.interrupted());
    const Result<void> woken = co_await std::move(waiting);
    if (!woken && woken.error().kind() == ErrorKind::kCancelled) co_return woken.error();
  }
}

Missing RendezvousHost::missing() const {
  Missing all = missing(false);
  all.count += missing(true).count;
  return all;
}

/// The ranks that are absent: those that never joined or, with `had_joined`, those that joined and have left.
Missing RendezvousHost::missing(bool had_joined) const {
  Missing missing;
  for (int32_t rank = 1; rank < options_.place.size; ++rank) {
    const Guest& guest = guests_[size_t(rank)];
    if (guest.address || guest.had_joined != had_joined) continue;
    ++missing.count;
    if (missing.ranks.size() < kMissingShown) missing.ranks.push_back(rank);
  }
  return missing;
}

/// The ranks that all others wait for: the ranks that never joined or, if there are none, the ranks that have left.
/// (A rank that joined and left may have given up waiting for one that never joined.)
Missing RendezvousHost::awaited() const {
  Missing never = missing(false);
  return never.count > 0 ? never : missing(true);
}

Error RendezvousHost::time_is_up() const {
  const Missing left = missing(true);
  const bool all_had_come = missing(false).count == 0;
  std::string sentence =
      "rendezvous at " + address_ + ": waiting for " + missing_text(plan(), awaited()) + " of " +
      std::to_string(options_.place.size) + " ranks: " +
      (all_had_come ? "had come, and left again, and not all were there at once within " : "not there within ") +
      std::to_string(int64_t(to_seconds(options_.timeout))) + " s";
  if (!all_had_come && left.count > 0) sentence += " (" + missing_text(plan(), left) + " had come, and left again)";
  return deadline_exceeded(std::move(sentence));
}

void RendezvousHost::tell_who_is_missing() {
  const Missing now = awaited();
  env_.log().info("rendezvous at " + address_ + ": waiting for " + missing_text(plan(), now));
  const std::string text = to_json(now);
  for (const Guest& guest : guests_) {
    if (!guest.connection || !guest.address) continue;
    Message word = make_word(env_, incarnation_, "waiting", text);
    static_cast<void>(guest.connection->try_send(word));  // A lost message does no harm: guests only log what it says.
  }
}

/// Takes the port that this task will listen on: a free one, or the one that its former process had.
Task<Result<void>> RendezvousHost::take_own_port(Deadline deadline) {
  SeatOffer offer{.host = options_.place.own_host.empty() ? host_part(address_) : options_.place.own_host, .address = {}};
  for (;;) {
    if (gathering_) offer.address = gathering_->addresses[0];
    if (own_.listener && (offer.address.empty() || offer.address == own_.address)) break;
    own_.listener.reset();
    SHOAL_CO_TRY(own_, co_await take_port(env_, options_, offer, deadline));
  }
  guest(0).address = own_.address;
  guest(0).host_name = env_.process().host_name;
  co_return Result<void>{};
}

void RendezvousHost::assign_addresses() {
  gathering_ = Gathering{.id = env_.entropy() | 1, .addresses = {}, .host_names = {}};
  for (const Guest& guest : guests_) {
    gathering_->addresses.push_back(guest.address.value_or(""));
    gathering_->host_names.push_back(guest.host_name);
  }
  send_addresses();
}

/// Sends the address list to all waiting guests. Disconnects a guest that listens at another address than the list says,
/// so that it joins again (the list may come from a rank that got it before this host was restarted).
void RendezvousHost::send_addresses() {
  // Made once for all guests: the copies below share the message's bytes.
  const Message list = make_word(env_, incarnation_, "cluster", to_json(*gathering_));
  for (int32_t rank = 1; rank < options_.place.size; ++rank) {
    Guest& waiting = guest(rank);
    if (!waiting.connection || !waiting.address) continue;
    Message word = list;
    const bool as_listed = *waiting.address == gathering_->addresses[size_t(rank)];
    if (!as_listed || !waiting.connection->try_send(word)) {
      waiting.connection->close(unavailable("the address list of this job has another address for this rank; join again"));
    }
  }
  changed_.notify_all();
}

Task<Result<void>> RendezvousHost::serve(std::unique_ptr<Connection> connection) {
  Connection* const listed = connection.get();
  connections_.push_back(listed);
  const Result<void> served = co_await converse(*connection);
  if (!served && !closed_ && served.error().kind() != ErrorKind::kCancelled) {
    arrivals_.log(LogLevel::kDebug, "rendezvous: " + to_string(connection->peer()) + ": " + served.error().message());
  }
  for (Guest& guest : guests_) {
    if (guest.connection != listed) continue;
    guest.connection = nullptr;
    if (!gathering_) guest.address.reset();  // No task was told this address yet: the rank may join with another one.
  }
  connection->close(Error(ErrorKind::kCancelled, "the host has answered"));
  std::erase(connections_, listed);
  changed_.notify_all();
  co_return Result<void>{};  // After one peer's error the host still serves the others.
}

Task<Result<void>> RendezvousHost::converse(Connection& connection) {
  SHOAL_CO_TRY(const Message first, co_await connection.receive(env_.after(kJoinTimeout)));
  if (asks_status(first)) co_return co_await say(connection, kStatusVerb, to_json(status()));
  const Result<transport::Control> word = transport::read_control(first);
  Result<Join> join =
      word && word->verb == "join"
          ? parse_join(word->text)
          : Result<Join>(invalid_argument("this is the rendezvous of a job, and the message is no request to join"));
  if (!join) co_return co_await refuse(connection, -1, join.error());
  const int32_t rank = join->rank;
  if (const Result<void> fits = check(*join, connection); !fits) {
    const uint8_t status = join->run == options_.place.run ? kRefusalFinal : kRefusalOtherRun;
    co_return co_await refuse(connection, rank, fits.error(), status);
  }
  const Result<void> claimed = co_await claim_rank(*join, first.head.incarnation);
  if (closed_) co_return Result<void>{};
  if (!claimed && claimed.error().kind() == ErrorKind::kCancelled) co_return claimed;
  if (!claimed) co_return co_await refuse(connection, rank, claimed.error());
  if (const Result<void> adopted = adopt_known(*join); !adopted)
    co_return co_await refuse(connection, rank, adopted.error());
  Guest& guest = this->guest(rank);
  const bool had_joined = guest.had_joined;
  guest = {.connection = &connection,
           .incarnation = first.head.incarnation,
           .peer = to_string(connection.peer()),
           .since = env_.wall_now(),
           .host_name = join->host_name,
           .address = {},
           .had_joined = had_joined};
  if (gathering_) guest.address = gathering_->addresses[size_t(rank)];
  arrivals_.log(LogLevel::kDebug, rank_name(plan(), rank) + " is at the rendezvous, from " + guest.peer);
  if (!join->known) {
    const Result<void> assigned = co_await assign_port(connection, *join);
    if (!assigned && assigned.error().kind() != ErrorKind::kUnavailable)
      co_return co_await refuse(connection, rank, assigned.error());
    SHOAL_CO_TRY_VOID(assigned);
  }
  changed_.notify_all();
  if (gathering_) SHOAL_CO_TRY_VOID(co_await say(connection, "cluster", to_json(*gathering_)));
  for (;;) {
    // If heartbeats are missing, the connection ends, and so does this loop. A guest sends a message only when its time-out
    // has passed, to ask which ranks are missing.
    SHOAL_CO_TRY(const Message last, co_await connection.receive(kNoDeadline));
    const Result<transport::Control> asks = transport::read_control(last);
    if (!asks || asks->verb != kMissingVerb || gathering_) continue;
    SHOAL_CO_TRY_VOID(co_await say(connection, "waiting", to_json(awaited())));
  }
}

/// The answer to `shoal status`: which ranks are connected, and where they listen. Does not cover the task of rank 0,
/// which runs on another thread and answers for itself.
TaskStatus RendezvousHost::status() const {
  const Seat own = seat_of(plan(), 0);
  TaskStatus status{.role = std::string(own.role),
                    .index = own.index,
                    .phase = gathering_ ? "met" : "meeting",
                    .global_step = {},
                    .run = options_.place.run,
                    .peers = {}};
  for (int32_t rank = 0; rank < options_.place.size; ++rank) {
    const Guest& guest = guests_[size_t(rank)];
    status.peers.push_back(
        {.task = to_string(seat_of(plan(), rank)),
         .connected = rank == 0 || guest.connection,
         .address = gathering_ ? gathering_->addresses[size_t(rank)] : guest.address.value_or(std::string())});
  }
  return status;
}

/// Checks that a join message comes from a task of this job.
Result<void> RendezvousHost::check(const Join& join, const Connection& connection) const {
  const Place& place = options_.place;
  const auto differs = [&](const std::string& what, const std::string& theirs, const std::string& ours) {
    return failed_precondition("rank " + std::to_string(join.rank) + " has " + what + " " + theirs + ", and rank 0 has " +
                               ours);
  };
  if (join.run != place.run) {
    const std::string advice = ": two jobs at one address; give each a SHOAL_RENDEZVOUS of its own, or end the other one";
    return differs("the run", "\"" + join.run + "\"", "\"" + place.run + "\"" + advice);
  }
  if (join.size != place.size) {
    return differs("a job of", std::to_string(join.size) + " ranks",
                   "one of " + std::to_string(place.size) + ": two jobs at one address, or a wrong number");
  }
  if (join.plan != to_string(plan())) {
    const std::string advice = "; give SHOAL_PS (--ps) and SHOAL_EVALUATOR (--evaluator) to all tasks alike";
    return differs("the plan", join.plan, to_string(plan()) + advice);
  }
  if (join.rank == 0) {
    return failed_precondition("rank 0 is the task that answers here; two tasks have this rank");
  }
  if (const auto identity = connection.identity()) {
    const Seat seat = seat_of(plan(), join.rank);
    if (identity->role != seat.role || identity->index != seat.index) {
      return failed_precondition(rank_name(plan(), join.rank) + " has come with the certificate of " +
                                 to_string(*identity));
    }
  }
  return {};
}

/// Waits until it is known whether the process that now holds the joining task's rank is alive. If so, returns an error.
Task<Result<void>> RendezvousHost::claim_rank(Join join, uint64_t incarnation) {
  const SteadyTime asked = env_.now();
  const Duration patience = 3 * options_.link.heartbeat_interval + kHostClosing;
  for (;;) {
    Guest& holder = guest(join.rank);
    if (closed_ || !holder.connection) co_return Result<void>{};
    if (holder.incarnation == incarnation) {  // The process has joined again before its old connection was seen to end.
      holder.connection->close(unavailable("this task has another connection"));
      holder.connection = nullptr;
      co_return Result<void>{};
    }
    const std::string whose = rank_name(plan(), join.rank) + " is here already, from " + holder.peer + " (host " +
                              holder.host_name + ") since " + utc_text(holder.since);
    if (holder.connection->heard() >= asked + kHostUnderWay) {
      co_return failed_precondition(whose + ", and alive; two tasks have one rank: end one of them, or give each its own");
    }
    if (env_.now() >= asked + patience) co_return unavailable(whose + "; it is not known yet whether that one is alive");
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kHostLook));
  }
}

/// Adopts the list of addresses that a guest sends along. The guest got this list before rank 0 was restarted.
Result<void> RendezvousHost::adopt_known(const Join& join) {
  if (!join.known) return {};
  if (gathering_ && gathering_->id != join.known->id) {
    return failed_precondition(rank_name(plan(), join.rank) +
                               " is of an earlier start of this job, whose ranks have met anew since; end it");
  }
  if (gathering_) return {};
  const auto is_empty = [](const std::string& address) { return address.empty(); };
  const auto empty = std::ranges::count_if(join.known->addresses, is_empty);
  if (empty != (plan().evaluator ? 1 : 0))
    return invalid_argument("the address list that the guest brought lacks addresses");
  gathering_ = join.known;
  env_.log().info("rendezvous: " + rank_name(plan(), join.rank) + " knows this job; everybody's address is as before");
  send_addresses();
  return {};
}

/// Tells a guest where to listen, and waits until the guest listens there.
Task<Result<void>> RendezvousHost::assign_port(Connection& connection, Join join) {
  const bool listens = seat_of(plan(), join.rank).role != kEvaluatorRole;
  SeatOffer offer{.host = join.own_host.empty() ? host_part(connection.peer().address) : join.own_host, .address = {}};
  if (gathering_) offer.address = gathering_->addresses[size_t(join.rank)];
  if (listens && gathering_ && host_part(offer.address) != offer.host) {
    co_return failed_precondition(rank_name(plan(), join.rank) + " was at " + offer.address + ", and has come back from " +
                                  offer.host +
                                  ", where the others do not look for it; start it on its old host, or give "
                                  "tasks names that move with them, in SHOAL_HOST");
  }
  SHOAL_CO_TRY_VOID(co_await say(connection, "seat", to_json(offer)));
  SHOAL_CO_TRY(const Message answer, co_await connection.receive(env_.after(kListenTimeout)));
  SHOAL_CO_TRY(const transport::Control word, transport::read_control(answer));
  if (word.verb != "here") co_return invalid_argument("expected \"here\", got something else");
  SHOAL_CO_TRY(const SeatTaken taken, parse_seat_taken(word.text));
  Guest& guest = this->guest(join.rank);
  if (guest.connection != &connection) co_return unavailable("another process has taken this rank");
  if (gathering_ && gathering_->addresses[size_t(join.rank)] != taken.address) {
    co_return unavailable("the address of this rank has become known just now; join again");
  }
  if (listens == taken.address.empty())
    co_return invalid_argument("the guest gives an address and needs none, or gives none and needs one");
  guest.address = taken.address;
  guest.had_joined = true;
  co_return Result<void>{};
}

Task<Result<void>> RendezvousHost::say(Connection& connection, std::string_view verb, std::string text) {
  Message word = make_word(env_, incarnation_, verb, text);
  co_return co_await connection.send(std::move(word), env_.after(kJoinTimeout));
}

/// Sends `why` to the peer, and closes the connection. `rank` is -1 if it is not known.
Task<Result<void>> RendezvousHost::refuse(Connection& connection, int32_t rank, Error why, uint8_t status) {
  const std::string who = rank < 0 ? "a peer" : rank_name(plan(), rank);
  refusals_.log(LogLevel::kWarning,
                "rendezvous: refused " + who + ", from " + to_string(connection.peer()) + ": " + why.message());
  Message refusal = transport::make_error(env_.buffers(), why);
  refusal.head.incarnation = incarnation_;
  refusal.head.status = why.kind() == ErrorKind::kUnavailable ? kRefusalPasses : status;
  static_cast<void>(co_await connection.send(std::move(refusal), env_.after(kJoinTimeout)));
  connection.close(std::move(why));
  co_return Result<void>{};
}

Task<Result<void>> RendezvousHost::close() {
  closed_ = true;
  if (listener_) listener_->close();
  // close() resumes the coroutine that receives from the connection, which may remove connections from the list.
  while (!connections_.empty()) {
    Connection* const connection = connections_.back();
    connections_.pop_back();
    connection->close(gave_up_ ? *gave_up_ : unavailable("rank 0 has ended"));
  }
  changed_.notify_all();
  co_return co_await group_.join();
}

}  // namespace

std::unique_ptr<Rendezvous::Part> make_host(Environment& env, const RendezvousOptions& options, uint64_t incarnation) {
  return std::make_unique<RendezvousHost>(env, options, incarnation);
}

}  // namespace shoal::cluster
