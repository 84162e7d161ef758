// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/parameter_server.h"

#include <algorithm>
#include <set>

#include "job/bounded_lines.h"
#include "server/chief_seat.h"
#include "server/commits.h"
#include "server/core.h"
#include "server/requests.h"
#include "server/session.h"
#include "shoal/base/compute.h"
#include "shoal/cluster/listen.h"
#include "shoal/cluster/task_status.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {
namespace {

using transport::Connection;
using transport::Message;
using transport::MessageHead;

constexpr auto kHelloTimeout = std::chrono::seconds(10);
constexpr auto kFarewell = std::chrono::seconds(20);  // How long to wait for the last messages after the job's end.
// After an interrupt: if no trainer is connected for this long, and each has closed its last connection itself, this
// server no longer expects a chief to end the job.
constexpr auto kDeserted = std::chrono::seconds(2);
// If no trainer is connected for this long, asks job_ended(): a killed chief that is started again would be back by then.
constexpr auto kOrphaned = std::chrono::seconds(60);
constexpr auto kAskForTheEnd = std::chrono::seconds(1);

class Server {
 public:
  Server(Environment& env, ParameterServerOptions options)
      : env_(env),
        options_(std::move(options)),
        core_(env, options_),
        commits_(core_),
        requests_(core_, commits_),
        group_(env),
        chief_(env, 3 * options_.link.heartbeat_interval, [this] { return chief_heard(); }),
        lonely_since_(env.now()),
        nonsense_(env),
        refusals_(env),
        peers_(env) {}

  Task<Result<void>> run();

 private:
  Task<Result<void>> serve(std::unique_ptr<Connection> connection);
  Task<Result<void>> serve_session(Session& session);
  Task<Result<void>> serve_peer(Session& session, MessageHead hello);
  Task<Result<void>> take_reports(Session& session, MessageHead hello);
  TaskStatus status();
  Task<Result<void>> welcome(Session& session, MessageHead hello, uint64_t replaced);
  Task<Result<void>> converse(Session& session);
  Task<Result<void>> supervise();
  SteadyTime interrupted_until(SteadyTime end, bool lonely) const;
  std::string interrupted_text(bool lonely) const;
  bool may_give_way();
  Duration orphaned_after() const;
  bool orphaned() const;
  Task<bool> asks_job_ended();
  Result<void> check(Session& session);
  SteadyTime chief_heard() const;
  Result<uint64_t> admit(Session& session);
  Task<Result<void>> refuse(Session& session, MessageHead hello, Error why, uint8_t status = kStatusOk);
  void part_from_older(const Session& session);
  void dismiss(Session& session);
  void tell_connected();
  Task<Result<void>> tell_end();
  void end_connections(const Result<void>& outcome);

  Environment& env_;
  ParameterServerOptions options_;
  ServerCore core_;
  ServerState& state_ = core_.state();
  // Shared, since the callback of a signal may run after the server is gone.
  const std::shared_ptr<Event> changed_ = core_.changed();
  Commits commits_;
  Requests requests_;
  TaskGroup group_;
  std::unique_ptr<transport::Listener> listener_;
  std::vector<Connection*> connections_;  // All connections, even if the peer has not yet said which task it is.
  std::vector<Session*> sessions_;
  ChiefSeat chief_;
  // Set once this server was told to give way (to end early): the global step that a checkpoint has to reach first.
  std::optional<uint64_t> step_to_save_;
  // True if this server learned of the job's end from job_ended(), since the chief was lost before it announced the end.
  bool ended_before_ = false;
  int trainer_connections_ = 0, peer_connections_ = 0;
  uint64_t accepted_ = 0;  // The number of accepted connections.
  SteadyTime lonely_since_;
  // The trainers that had fallen silent when their last connection ended. Such a trainer may be cut off or frozen.
  std::set<int> silent_trainers_;
  bool numerics_differ_logged_ = false;
  std::string numerics_;
  std::optional<std::string> last_refusal_;  // The peer that was refused last, and the reason.
  // Three kinds of log lines. Each has its own limit, so that a frequent kind does not suppress the others. `nonsense_` is
  // for connections whose first message is invalid.
  BoundedLines nonsense_;
  BoundedLines refusals_;
  BoundedLines peers_;  // Log lines about tasks that connect and disconnect.
};

Task<Result<void>> Server::run() {
  transport::LinkOptions link = options_.link;
  // Twice the trainers, since a trainer that connects again may have two connections for a while; 64 more are spare.
  const int all = 2 * options_.trainers + int(options_.servers.size()) + 64;
  link.connections_max = std::max(link.connections_max, all);
  SHOAL_CO_TRY(listener_, co_await listen(env_, options_.listen_at, link, env_.after(options_.ready_timeout)));
  env_.log().info("parameter server at " + to_string(listener_->endpoint()) + ", waiting for the chief");
  StopCallback on_interrupt(env_.interrupted(), [env = &env_, changed = std::weak_ptr<Event>(changed_)] {
    env->post([changed] {
      if (const auto event = changed.lock()) event->notify_all();
    });
  });
  const auto serve_it = [this](std::unique_ptr<Connection> connection) { group_.spawn(serve(std::move(connection))); };
  group_.spawn(accept_each(env_, *listener_, "", serve_it));
  group_.spawn(commits_.follow());
  Result<void> outcome = co_await supervise();
  listener_->close();
  core_.close();
  commits_.close();
  if (outcome) {
    // An error is ignored: a trainer that is not told learns of the end when its connection is closed.
    Result<void> told = co_await tell_end();
    static_cast<void>(told);
  }
  end_connections(outcome);
  Result<void> joined = co_await group_.join();
  static_cast<void>(joined);  // The error is ignored: the coroutine of each connection has logged its own error.
  if (!outcome && outcome.error().kind() == ErrorKind::kCancelled) env_.log().info(outcome.error().message());
  if (outcome) {
    const LogLevel level = state_.end().failed ? LogLevel::kWarning : LogLevel::kInfo;
    const std::string end = ended_before_ ? "the job has ended, and nobody is here" : sentence(state_.end());
    env_.log().log(level, end + "; the parameter server returns");
  }
  co_return outcome;
}

/// Tells the job's end to the trainers that are still connected: a trainer that computes a long step may have sent no
/// request since then.
Task<Result<void>> Server::tell_end() {
  for (Session* session : sessions_) {
    Message last = core_.finished();
    last.head.status = kStatusStopBit;
    last.head.epoch = state_.epoch();
    last.head.global_step = state_.global_step();
    static_cast<void>(session->connection->try_send(last));
  }
  co_return Result<void>{};
}

void Server::end_connections(const Result<void>& outcome) {
  // Takes connections from the list one by one, since close() may change the list: it resumes the coroutine that serves the
  // connection, and this coroutine removes its connection from the list when it ends.
  while (!connections_.empty()) {
    Connection* const connection = connections_.back();
    connections_.pop_back();
    connection->close(outcome ? Error(ErrorKind::kCancelled, "the job has ended") : outcome.error());
  }
}

/// Returns when this server ends after an interrupt: at `end`, or earlier if all trainers are gone. A trainer that has fallen
/// silent does not count as gone: it may come back, and the chief may save what this server holds.
SteadyTime Server::interrupted_until(SteadyTime end, bool lonely) const {
  if (!lonely || !silent_trainers_.empty()) return end;
  return std::min(end, std::max(lonely_since_, end - kFarewell) + kDeserted);
}

/// The error text if an interrupt came and the job did not end in time: says whether this server's state is lost.
std::string Server::interrupted_text(bool lonely) const {
  const std::string why = lonely ? "interrupted, and no chief or worker is there to end the job"
                                 : "interrupted, and the job did not end within 20 s";
  if (state_.phase() == Phase::kReady) return why + "; this server's state is lost";
  return why + "; no model was here yet, so nothing is lost (status 1 says that the job, too, has not ended)";
}

/// Runs until the job has ended, no trainer was connected for ready_timeout, this server gives way (was asked to end
/// early), the job goes on too long after an interrupt, or this server has failed (ServerCore::fail()). Once the job has
/// ended, nobody needs the state any more, so a failure then does not count.
Task<Result<void>> Server::supervise() {
  // Each is set when its case below first occurs (the job has ended, this server gives way, an interrupt came): the time
  // when the server then ends at the latest.
  std::optional<SteadyTime> farewell, leaving, interrupted;
  for (;;) {
    ended_before_ = co_await asks_job_ended();
    if (ended_before_) co_return Result<void>{};
    SHOAL_CO_TRY(const std::optional<SteadyTime> lost, co_await commits_.look_for_lost());
    if (core_.failure() && state_.phase() != Phase::kFinished) co_return *core_.failure();
    const SteadyTime now = env_.now();
    const bool lonely = trainer_connections_ == 0;
    SteadyTime next = lonely ? lonely_since_ + options_.ready_timeout : now + options_.ready_timeout;
    if (state_.phase() == Phase::kFinished) {
      if (!farewell) farewell = now + kFarewell;
      // The chief leaves once this server has confirmed that it knows how the job ended. If the connection breaks before
      // the confirmation, or the chief restarts, the chief sends its message again, so this server must still run.
      const bool chief_heard = state_.trainers()[0].left;
      if ((sessions_.empty() && chief_heard) || now >= *farewell) co_return Result<void>{};
      next = *farewell;
    } else if (env_.leaving().stop_requested()) {
      if (!leaving) leaving = now + kFarewell;
      const bool saved = may_give_way();
      if (!saved && now >= *leaving) {
        env_.log().warning("this server gives way without a checkpoint of what it holds: none came within 20 s");
      }
      if (saved || now >= *leaving) co_return Error(ErrorKind::kCancelled, "this server gives way");
      next = *leaving;
    } else if (env_.interrupted().stop_requested()) {
      if (!interrupted) interrupted = now + kFarewell;
      next = interrupted_until(*interrupted, lonely);
      if (now >= next) co_return unavailable(interrupted_text(lonely));
    } else if (lonely && now >= next) {
      co_return deadline_exceeded("waiting for chief or workers: none was connected for " +
                                  std::to_string(int64_t(to_seconds(options_.ready_timeout))) + " s" +
                                  (last_refusal_ ? "; the last one that came was refused: " + *last_refusal_ : ""));
    }
    if (lost) next = std::min(next, *lost);
    if (lonely && options_.job_ended) {
      const SteadyTime ask = std::max(lonely_since_ + orphaned_after(), env_.after(kAskForTheEnd));
      next = std::min(next, ask);
    }
    Result<void> woken = co_await changed_->wait("the end of the job", next);
    if (!woken && woken.error().kind() == ErrorKind::kCancelled) co_return std::move(woken).error();
  }
}

/// True if this server, which was told to end early, can end without loss. That is so if it holds no model, or if a
/// checkpoint has the state that the server had when it was told to end. Also asks the chief for such a checkpoint.
bool Server::may_give_way() {
  if (state_.phase() != Phase::kReady) return true;
  const uint64_t step = state_.global_step();
  if (!step_to_save_) {
    step_to_save_ = step;
    if (!core_.is_saved(step)) {
      env_.sometimes("server.asks_to_save");
      env_.log().info("this server is to give way, and waits for a checkpoint of what it holds, 20 s at most");
    }
  }
  core_.ask_to_save();
  // The present step may be lower than step_to_save_, since a restore may have set the step back. Then a checkpoint of the
  // present step is enough.
  return core_.is_saved(std::min(*step_to_save_, step));
}

Duration Server::orphaned_after() const { return std::min<Duration>(kOrphaned, options_.ready_timeout / 2); }

bool Server::orphaned() const {
  if (!options_.job_ended || state_.phase() == Phase::kFinished || env_.interrupted().stop_requested()) return false;
  return trainer_connections_ == 0 && env_.now() >= lonely_since_ + orphaned_after();
}

/// Asks job_ended() whether the job has ended. Also returns false if a trainer connects meanwhile.
Task<bool> Server::asks_job_ended() {
  if (!orphaned()) co_return false;
  const Result<bool> ended = co_await compute(env_, options_.job_ended);
  if (!ended || !*ended) co_return false;
  co_return orphaned();
}

Task<Result<void>> Server::serve(std::unique_ptr<Connection> connection) {
  connections_.push_back(connection.get());
  Connection* const listed = connection.get();
  auto session = std::make_shared<Session>(env_, std::move(connection), ++accepted_);
  Result<void> served = co_await serve_session(*session);
  session->ended = true;
  session->connection->close(Error(ErrorKind::kCancelled, "the server has answered"));
  commits_.forget(*session);
  Result<void> replied = co_await session->replies.join();
  static_cast<void>(replied);  // If a reply could not be sent, its receiver is gone: no error.
  std::erase(connections_, listed);
  co_return served;
}

Task<Result<void>> Server::serve_session(Session& session) {
  auto first = co_await session.connection->receive(env_.after(kHelloTimeout));
  if (!first) {
    // Other kinds, such as Unavailable, are not logged: a port scanner, say, has connected and closed without a message.
    const ErrorKind kind = first.error().kind();
    if (kind == ErrorKind::kDataLoss || kind == ErrorKind::kInvalidArgument)
      nonsense_.log(LogLevel::kWarning, "refused " + first.error().message());
    co_return Result<void>{};
  }
  if (asks_status(*first)) {  // The peer only asks for the status, so its session is not listed in sessions_.
    transport::Message answer = core_.control(kStatusVerb, to_json(status()));
    co_return co_await core_.reply(session, first->head, std::move(answer));
  }
  auto hello = transport::read_hello(*first);
  if (!hello) {
    // A likely cause, added to the error: the first message of a task with --transport auto is not a hello.
    const std::string hint = "; is it a task of this job with another --transport than this one?";
    last_refusal_ = to_string(session.connection->peer()) + ": " + hello.error().message() + hint;
    nonsense_.log(LogLevel::kWarning, "refused " + *last_refusal_);
    session.connection->close(hello.error());
    co_return Result<void>{};
  }
  session.hello = std::move(hello).value();
  Result<void> checked = check(session);
  if (!checked) co_return co_await refuse(session, first->head, checked.error());
  if (session.shard >= 0) co_return co_await serve_peer(session, first->head);
  if (session.chief) {
    SHOAL_CO_TRY(const ChiefSeat::Asked seat, co_await chief_.ask(session.hello.incarnation));
    if (core_.closed()) co_return Result<void>{};
    const uint8_t status = seat == ChiefSeat::Asked::kHeld ? kStatusFinal : kStatusOk;
    if (seat != ChiefSeat::Asked::kFree)
      co_return co_await refuse(session, first->head, chief_.refusal(seat, whose_of(session.hello)), status);
  }
  Result<uint64_t> admitted = admit(session);
  if (!admitted) co_return co_await refuse(session, first->head, admitted.error());
  sessions_.push_back(&session);
  // A chief without a model asks to lead, or says that the job has ended. It connects once more when it has its model, so
  // only that connection is worth a line.
  const bool has_model = !session.chief || session.hello.fingerprint != 0;
  if (has_model) {
    peers_.log(LogLevel::kInfo, name_of(session.hello) + " is connected, from " + to_string(session.connection->peer()));
  }
  Result<void> outcome = co_await welcome(session, first->head, *admitted);
  if (outcome) outcome = co_await converse(session);
  if (has_model && !outcome && outcome.error().kind() != ErrorKind::kCancelled && state_.phase() != Phase::kFinished) {
    peers_.log(LogLevel::kInfo, "connection of " + name_of(session.hello) + " ended: " + outcome.error().message());
  }
  if (!outcome) session.connection->close(outcome.error());  // Sends the reason to the trainer.
  std::erase(sessions_, &session);
  dismiss(session);
  co_return Result<void>{};
}

/// Welcomes a trainer. Fences (shuts out) its former process first, so that the new process continues where the updates
/// of the former one end.
Task<Result<void>> Server::welcome(Session& session, MessageHead hello, uint64_t replaced) {
  if (replaced != 0) SHOAL_CO_TRY_VOID(co_await commits_.fence(session.trainer, replaced));
  co_return co_await core_.reply(session, hello, requests_.welcome(session));
}

/// Serves another server of the job, which reports the pushes that it has. Sends it orders: which pushes to commit or drop.
Task<Result<void>> Server::serve_peer(Session& session, MessageHead hello) {
  peers_.log(LogLevel::kInfo, name_of(session.hello) + " is connected, from " + to_string(session.connection->peer()));
  commits_.peers().join(session);
  ++peer_connections_;
  tell_connected();
  Result<void> outcome = co_await take_reports(session, hello);
  commits_.peers().leave(session);
  --peer_connections_;
  tell_connected();
  if (!outcome && !core_.closed()) {
    peers_.log(LogLevel::kInfo, "connection of " + name_of(session.hello) + " ended: " + outcome.error().message());
  }
  co_return Result<void>{};
}

Task<Result<void>> Server::take_reports(Session& session, MessageHead hello) {
  SHOAL_CO_TRY_VOID(co_await core_.reply(session, hello, requests_.welcome(session)));
  for (;;) {
    // Missing heartbeats end the connection, and so this loop.
    SHOAL_CO_TRY(const Message report, co_await session.connection->receive(kNoDeadline));
    SHOAL_CO_TRY_VOID(co_await commits_.take_report(session, report));
  }
}

TaskStatus Server::status() {
  const TaskIdentity& own = options_.identity;
  const bool has_model = state_.phase() == Phase::kReady || state_.phase() == Phase::kFinished;
  TaskStatus status{.role = own.role,
                    .index = own.index,
                    .phase = std::string(to_string(state_.phase())),
                    .global_step = has_model ? std::optional(state_.global_step()) : std::nullopt,
                    .run = {},
                    .peers = {}};
  for (int trainer = 0; trainer < options_.trainers; ++trainer) {
    const auto known = state_.trainers().find(trainer);
    const bool done = known != state_.trainers().end() && known->second.done;
    status.peers.push_back({.task = trainer_name(trainer, own), .connected = false, .address = {}, .done = done});
  }
  for (const Session* session : sessions_) {
    if (session->trainer >= options_.trainers) continue;
    PeerStatus& peer = status.peers[size_t(session->trainer)];
    peer.connected = true;
    const auto known = state_.trainers().find(session->trainer);
    if (known != state_.trainers().end() && !peer.done) peer.input_wait = known->second.input_wait;
  }
  for (size_t shard = 1; shard < options_.servers.size() && core_.shard() == 0; ++shard) {
    status.peers.push_back({.task = "ps " + std::to_string(index_at(own.sparse.servers, int32_t(shard))),
                            .connected = commits_.peers().is_here(shard),
                            .address = options_.servers[shard].address});
  }
  return status;
}

/// Closes connections that the former process of a restarted task still has.
void Server::part_from_older(const Session& session) {
  const auto is_older = [&session](const Session* other) {
    return other->trainer == session.trainer && other->hello.incarnation != session.hello.incarnation && !other->replaced;
  };
  for (;;) {  // Searches from the start each time, since close() ends sessions and so changes sessions_.
    const auto older = std::ranges::find_if(sessions_, is_older);
    if (older == sessions_.end()) return;
    env_.sometimes("server.process_replaced");
    (*older)->replaced = true;
    (*older)->connection->close(unavailable("a newer process has taken this task's place"));
  }
}

Result<void> Server::check(Session& session) {
  const transport::Hello& hello = session.hello;
  session.chief = leads(hello);
  session.trainer = trainer_of(hello, options_.identity);
  session.shard = shard_of(hello, options_.identity);
  if (session.shard >= int(options_.servers.size())) session.shard = -1;
  SHOAL_TRY_VOID(check_hello(session, options_.identity));
  if (session.shard >= 0) return {};  // The peer is a server. It gets its model from the chief, so there is none to check.
  return check_model(session, state_, options_.identity);
}

SteadyTime Server::chief_heard() const {
  SteadyTime heard;
  for (const Session* other : sessions_) {
    if (other->chief && other->hello.incarnation == chief_.holder()) heard = std::max(heard, other->connection->heard());
  }
  return heard;
}

Task<Result<void>> Server::refuse(Session& session, MessageHead hello, Error why, uint8_t status) {
  last_refusal_ = name_of(session.hello) + ": " + why.message();
  refusals_.log(LogLevel::kWarning, "refused " + *last_refusal_);
  Message refusal = transport::make_error(env_.buffers(), why);
  Result<void> sent = co_await core_.reply(session, hello, std::move(refusal), status);
  static_cast<void>(sent);
  session.connection->close(std::move(why));
  co_return Result<void>{};
}

/// Admits a trainer's process. Returns the incarnation (the random number that a process draws at its start) of the
/// trainer's former process, which the new one replaces; 0 if there is none.
Result<uint64_t> Server::admit(Session& session) {
  const transport::Hello& hello = session.hello;
  SHOAL_TRY(const uint64_t replaced, state_.admit(session.trainer, hello.incarnation, session.number, hello.run));
  part_from_older(session);
  if (numerics_.empty()) numerics_ = hello.numerics;
  // A trainer whose hello has no numerics connects only to say that it leaves, so no warning is due.
  if (!hello.numerics.empty() && hello.numerics != numerics_ && !numerics_differ_logged_) {
    numerics_differ_logged_ = true;
    env_.log().warning("trainers compute differently (" + numerics_ + " and " + hello.numerics +
                       "): equal bits from run to run are not promised");
  }
  if (session.chief) chief_.take(hello.incarnation, session.connection->peer(), whose_of(hello));
  ++state_.trainers()[session.trainer].connections;
  silent_trainers_.erase(session.trainer);
  commits_.set_connected(session.trainer, true);
  ++trainer_connections_;
  tell_connected();
  state_.note_change();
  requests_.set_receive_limit(session);
  changed_->notify_all();
  return replaced;
}

void Server::tell_connected() {
  if (options_.observer) options_.observer->connected(trainer_connections_ + peer_connections_);
}

void Server::dismiss(Session& session) {
  if (session.held) state_.release(*session.held);
  session.push = {};
  if (--state_.trainers()[session.trainer].connections == 0) {
    state_.forget_parts(session.trainer);
    commits_.set_connected(session.trainer, false);
    if (core_.is_silent(session)) silent_trainers_.insert(session.trainer);
  }
  if (--trainer_connections_ == 0) lonely_since_ = env_.now();
  tell_connected();
  state_.note_change();
  const auto other_chief = std::find_if(sessions_.begin(), sessions_.end(), [](Session* s) { return s->chief; });
  if (session.chief && other_chief == sessions_.end()) {
    chief_.leave();
    commits_.release(session.hello.incarnation);
  }
  changed_->notify_all();
}

Task<Result<void>> Server::converse(Session& session) {
  for (;;) {
    const SteadyTime next = env_.after(options_.ready_timeout);
    Result<Message> request = co_await session.connection->receive(next);
    const bool silent = !request && request.error().kind() == ErrorKind::kDeadlineExceeded;
    // The trainer is silent because it waits for the answer to its push, which needs the pushes of other trainers. So its
    // silence is no error. If the trainer dies, missing heartbeats end the connection.
    if (silent && commits_.is_awaited_by(session)) continue;
    if (silent) {
      co_return unavailable(name_of(session.hello) + " sent nothing for " +
                            std::to_string(int64_t(to_seconds(options_.ready_timeout))) +
                            " s (ready_timeout_secs), so the parameter server closed the connection");
    }
    SHOAL_CO_TRY_VOID(request);
    SHOAL_CO_TRY_VOID(co_await requests_.handle(session, std::move(request).value()));
  }
}

}  // namespace

Task<Result<void>> run_parameter_server(Environment& env, ParameterServerOptions options) {
  Server server(env, std::move(options));
  co_return co_await server.run();
}

}  // namespace shoal::cluster
