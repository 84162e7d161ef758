#include "shoal/cluster/parameter_server.h"

#include <algorithm>

#include "server/bounded_lines.h"
#include "server/chief_seat.h"
#include "server/reads.h"
#include "server/session.h"
#include "server/turns.h"
#include "shoal/cluster/listen.h"
#include "shoal/cluster/server_memory.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {
namespace {

using transport::Connection;
using transport::Message;
using transport::MessageHead;
using transport::MessageKind;

constexpr auto kHelloTimeout = std::chrono::seconds(10);
constexpr auto kPullParked = std::chrono::seconds(5);   // then "not_ready", so that the asker can log and give up
constexpr auto kReplyTimeout = std::chrono::seconds(60);
constexpr auto kFarewell = std::chrono::seconds(20);    // for the last messages after the end (CONTRACT FA-12)
constexpr auto kDeserted = std::chrono::seconds(2);     // interrupted, and nobody is connected: nobody will end the job
constexpr auto kOrphaned = std::chrono::seconds(60);    // a chief that was killed is back by then, where one comes back
constexpr auto kAskForTheEnd = std::chrono::seconds(1);
constexpr auto kResidualPatience = std::chrono::seconds(10);  // without any part of one
constexpr auto kResidualsParked = std::chrono::seconds(20);   // then "more", so that the chief does not take us for dead
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr uint64_t kControlBytesMax = uint64_t(64) << 20;
constexpr uint64_t kMessageOverhead = uint64_t(1) << 20;

class Server {
 public:
  Server(Environment& env, ParameterServerOptions options)
      : env_(env),
        options_(std::move(options)),
        state_(position_in(options_.identity.sparse.servers, options_.identity.index) == 0, env.buffers(), env.log()),
        turns_(env),
        changed_(std::make_shared<Event>(env)),
        group_(env),
        chief_(env, 3 * options_.link.heartbeat_interval, [this] { return chief_heard(); }),
        lonely_since_(env.now()),
        nonsense_(env),
        refusals_(env),
        peers_(env) {}

  Task<Result<void>> run();

 private:
  Task<Result<void>> accept_loop();
  Task<Result<void>> serve(std::unique_ptr<Connection> connection);
  Task<Result<void>> serve_session(std::unique_ptr<Connection> connection);
  Task<Result<void>> converse(Session& session);
  Task<Result<void>> supervise();
  Duration orphaned_after() const;
  bool orphaned() const;
  Task<bool> asks_job_ended();
  Result<void> check(Session& session);
  SteadyTime chief_heard() const;
  Result<void> admit(Session& session);
  Task<Result<void>> refuse(Session& session, MessageHead hello, Error why, uint8_t status = kStatusOk);
  void part_from_older(const Session& session);
  void dismiss(Session& session);
  Message welcome(const Session& session);
  void end_connections(const Result<void>& outcome);

  Task<Result<Turns::Turn>> turn() { return turns_.take(env_.after(options_.ready_timeout)); }
  Task<Result<void>> compute(uint64_t bytes, UniqueFunction<void(const ParallelFor&)> work);

  Task<Result<void>> handle(Session& session, Message request);
  Task<Result<void>> handle_pull(Session& session, Message request);
  Task<Result<void>> handle_chunk(Session& session, Message request);
  Task<Result<void>> handle_control(Session& session, Message request);
  Task<Result<Message>> chief_control(Session& session, transport::Control control);
  Task<Result<void>> prepare(Session& session, std::string_view text);
  Task<Result<Message>> read(Result<ArenaRead> what);
  Task<Result<void>> handle_residuals(Session& session, Message request);
  Task<Result<void>> take_part(Session& session, const Message& request);
  Task<Result<bool>> take_push(Session& session, MessageHead head);
  void tell_witness(const Session& session, const MessageHead& head);
  Task<Result<std::vector<Message>>> newest(transport::Encoding encoding, uint64_t has);

  Task<Result<void>> reply(Session& session, const MessageHead& request, Message answer, uint8_t status = kStatusOk);
  Task<Result<void>> reply_parts(Session& session, MessageHead request, std::vector<Message> parts,
                                 uint8_t status = kStatusOk);
  void set_receive_limit(Session& session);
  Message ok() { return transport::make_control(env_.buffers(), "ok"); }
  Message finished() { return transport::make_control(env_.buffers(), "finished", to_json(state_.end())); }

  Environment& env_;
  ParameterServerOptions options_;
  ServerState state_;
  Turns turns_;  // to change state_
  std::shared_ptr<Event> changed_;  // shared: a signal's post may come after the server is gone
  TaskGroup group_;
  std::unique_ptr<transport::Listener> listener_;
  std::vector<Connection*> connections_;  // all, those before their hello too
  std::vector<Session*> sessions_;
  bool closing_ = false;
  ChiefSeat chief_;
  bool ended_before_ = false;  // by job_ended: nobody came to say so
  int trainer_connections_ = 0;
  uint64_t accepted_ = 0;  // connections
  SteadyTime lonely_since_;
  bool numerics_differ_logged_ = false;
  std::string numerics_;
  // Apart, so that none drowns the others.
  BoundedLines nonsense_;
  BoundedLines refusals_;
  BoundedLines peers_;  // come and go
};

Task<Result<void>> Server::run() {
  SHOAL_CO_TRY(listener_, co_await listen(env_, options_.listen_at, options_.link, env_.after(options_.ready_timeout)));
  env_.log().info("parameter server at " + to_string(listener_->endpoint()) + ", waiting for the chief");
  StopCallback on_interrupt(env_.interrupted(), [env = &env_, changed = std::weak_ptr<Event>(changed_)] {
    env->post([changed] {
      if (const auto event = changed.lock()) event->notify_all();
    });
  });
  group_.spawn(accept_loop());
  Result<void> outcome = co_await supervise();
  listener_->close();
  end_connections(outcome);
  Result<void> joined = co_await group_.join();
  static_cast<void>(joined);  // connections end with errors of their own, which are logged there
  if (outcome) {
    const LogLevel level = state_.end().failed ? LogLevel::kWarning : LogLevel::kInfo;
    const std::string end = ended_before_ ? "the job has ended, and nobody is here" : sentence(state_.end());
    env_.log().log(level, end + "; the parameter server returns");
  }
  co_return outcome;
}

/// Who is still there after the farewell (a trainer in a long step) is told why nobody will answer.
void Server::end_connections(const Result<void>& outcome) {
  closing_ = true;
  changed_->notify_all();
  for (Session* session : sessions_) {
    if (!outcome) break;
    Message last = finished();
    last.head.status = kStatusStopBit;
    last.head.epoch = state_.epoch();
    last.head.global_step = state_.global_step();
    static_cast<void>(session->connection->try_send(last));  // no credit: the connection's end must do
  }
  // Closing resumes who receives there, inside the call, and that takes it (or others) out of the list.
  while (!connections_.empty()) {
    Connection* const connection = connections_.back();
    connections_.pop_back();
    connection->close(outcome ? Error(ErrorKind::kCancelled, "the job has ended") : outcome.error());
  }
}

Task<Result<void>> Server::accept_loop() {
  for (;;) {
    auto connection = co_await listener_->accept(kNoDeadline);
    if (connection) {
      group_.spawn(serve(std::move(connection).value()));
    } else if (connection.error().kind() == ErrorKind::kCancelled) {
      co_return Result<void>{};
    } else {
      env_.log().warning_once("accept", "a connection could not be accepted: " + connection.error().message());
      SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kAcceptPause));
    }
  }
}

/// Until the job has ended, everybody has been gone for too long, or an interrupt was not followed by the end.
Task<Result<void>> Server::supervise() {
  std::optional<SteadyTime> farewell, interrupted;  // until when
  for (;;) {
    ended_before_ = co_await asks_job_ended();
    if (ended_before_) co_return Result<void>{};
    const SteadyTime now = env_.now();
    const bool lonely = trainer_connections_ == 0;
    SteadyTime next = lonely ? lonely_since_ + options_.ready_timeout : now + options_.ready_timeout;
    if (state_.phase() == Phase::kFinished) {
      if (!farewell) farewell = now + kFarewell;
      // A chief whose connection broke before it heard of this end, or that was started again, comes back to ask.
      const bool chief_heard = state_.trainers()[0].done;
      if ((sessions_.empty() && chief_heard) || now >= *farewell) co_return Result<void>{};
      next = *farewell;
    } else if (env_.interrupted().stop_requested()) {
      if (!interrupted) interrupted = now + kFarewell;
      next = lonely ? std::min(*interrupted, std::max(lonely_since_, *interrupted - kFarewell) + kDeserted) : *interrupted;
      if (now >= next) {
        co_return unavailable(lonely ? "interrupted, and no chief or worker is there to end the job; this server's state is lost"
                                     : "interrupted, and the job did not end within 20 s; this server's state is lost");
      }
    } else if (lonely && now >= next) {
      co_return deadline_exceeded("waiting for chief or workers: none was connected for " +
                                  std::to_string(int64_t(to_seconds(options_.ready_timeout))) + " s");
    }
    if (lonely && options_.job_ended) {
      const SteadyTime ask = std::max(lonely_since_ + orphaned_after(), env_.after(kAskForTheEnd));
      next = std::min(next, ask);
    }
    Result<void> woken = co_await changed_->wait("the end of the job", next);
    if (!woken && woken.error().kind() == ErrorKind::kCancelled) co_return std::move(woken).error();
  }
}

Duration Server::orphaned_after() const { return std::min<Duration>(kOrphaned, options_.ready_timeout / 2); }

bool Server::orphaned() const {
  if (!options_.job_ended || state_.phase() == Phase::kFinished || env_.interrupted().stop_requested()) return false;
  return trainer_connections_ == 0 && env_.now() >= lonely_since_ + orphaned_after();
}

/// False also where somebody connects while we ask.
Task<bool> Server::asks_job_ended() {
  if (!orphaned()) co_return false;
  bool ended = false;
  Work ask = [this, &ended] { ended = options_.job_ended(); };
  const Result<void> asked = co_await env_.offload(std::move(ask));
  if (!asked || !ended) co_return false;
  co_return orphaned();
}

Task<Result<void>> Server::serve(std::unique_ptr<Connection> connection) {
  connections_.push_back(connection.get());
  Connection* const listed = connection.get();
  Result<void> served = co_await serve_session(std::move(connection));
  std::erase(connections_, listed);  // only compared: it is gone
  co_return served;
}

Task<Result<void>> Server::serve_session(std::unique_ptr<Connection> connection) {
  Session session;
  session.number = ++accepted_;
  session.connection = std::move(connection);
  auto first = co_await session.connection->receive(env_.after(kHelloTimeout));
  if (!first) {
    const ErrorKind kind = first.error().kind();  // Unavailable: a port scanner, or a peer that changed its mind
    if (kind == ErrorKind::kDataLoss || kind == ErrorKind::kInvalidArgument)
      nonsense_.log(LogLevel::kWarning, "refused " + first.error().message());
    co_return Result<void>{};
  }
  auto hello = transport::read_hello(*first);
  if (!hello) {
    nonsense_.log(LogLevel::kWarning, "refused " + to_string(session.connection->peer()) + ": " + hello.error().message());
    session.connection->close(hello.error());
    co_return Result<void>{};
  }
  session.hello = std::move(hello).value();
  Result<void> checked = check(session);
  if (!checked) co_return co_await refuse(session, first->head, checked.error());
  if (session.chief) {
    SHOAL_CO_TRY(const ChiefSeat::Asked seat, co_await chief_.ask(session.hello.incarnation));
    if (closing_) co_return Result<void>{};
    const uint8_t status = seat == ChiefSeat::Asked::kHeld ? kStatusFinal : kStatusOk;
    if (seat != ChiefSeat::Asked::kFree) co_return co_await refuse(session, first->head, chief_.refusal(seat), status);
  }
  Result<void> admitted = admit(session);
  if (!admitted) co_return co_await refuse(session, first->head, admitted.error());
  sessions_.push_back(&session);
  peers_.log(LogLevel::kInfo, name_of(session.hello) + " is connected, from " + to_string(session.connection->peer()));
  Result<void> outcome = co_await reply(session, first->head, welcome(session));
  if (outcome) outcome = co_await converse(session);
  if (!outcome && outcome.error().kind() != ErrorKind::kCancelled && state_.phase() != Phase::kFinished) {
    peers_.log(LogLevel::kInfo, "connection of " + name_of(session.hello) + " ended: " + outcome.error().message());
  }
  std::erase(sessions_, &session);
  dismiss(session);
  co_return Result<void>{};
}

Message Server::welcome(const Session& session) {
  const Welcome text{state_.phase(), state_.epoch(), state_.global_step(), state_.position_of(session.trainer),
                     state_.end()};
  return transport::make_control(env_.buffers(), "welcome", to_json(text));
}

/// A task that was started again takes the place of its former process, whose connections may linger.
void Server::part_from_older(const Session& session) {
  const auto is_older = [&session](const Session* other) {
    return other->trainer == session.trainer && other->hello.incarnation != session.hello.incarnation && !other->replaced;
  };
  for (;;) {  // closing ends sessions inside the call, so the list may be another one after it
    const auto older = std::ranges::find_if(sessions_, is_older);
    if (older == sessions_.end()) return;
    env_.sometimes("server.process_replaced");
    (*older)->replaced = true;
    (*older)->connection->close(unavailable("a newer process has taken this task's place"));
  }
}

Result<void> Server::check(Session& session) {
  const transport::Hello& hello = session.hello;
  session.chief = hello.role == "chief" || hello.role == "master";
  session.trainer = trainer_of(hello, options_.identity);
  SHOAL_TRY_VOID(check_hello(session, options_.identity));
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
  refusals_.log(LogLevel::kWarning, "refused " + name_of(session.hello) + ": " + why.message());
  Message refusal = transport::make_error(env_.buffers(), why);
  Result<void> sent = co_await reply(session, hello, std::move(refusal), status);
  static_cast<void>(sent);
  session.connection->close(std::move(why));
  co_return Result<void>{};
}

Result<void> Server::admit(Session& session) {
  const transport::Hello& hello = session.hello;
  SHOAL_TRY_VOID(state_.admit(session.trainer, hello.incarnation, session.number));
  part_from_older(session);
  if (numerics_.empty()) numerics_ = hello.numerics;
  if (!hello.numerics.empty() && hello.numerics != numerics_ && !numerics_differ_logged_) {  // empty: it only says goodbye
    numerics_differ_logged_ = true;
    env_.log().warning("trainers compute differently (" + numerics_ + " and " + hello.numerics +
                       "): equal bits from run to run are not promised");
  }
  if (session.chief) chief_.take(hello.incarnation, session.connection->peer());
  ++state_.trainers()[session.trainer].connections;
  ++trainer_connections_;
  set_receive_limit(session);
  changed_->notify_all();
  return {};
}

void Server::dismiss(Session& session) {
  if (session.held) state_.release(*session.held);
  if (--state_.trainers()[session.trainer].connections == 0) state_.forget_parts(session.trainer);
  if (--trainer_connections_ == 0) lonely_since_ = env_.now();
  const auto other_chief = std::find_if(sessions_.begin(), sessions_.end(), [](Session* s) { return s->chief; });
  if (session.chief && other_chief == sessions_.end()) chief_.leave();
  changed_->notify_all();
}

Task<Result<void>> Server::converse(Session& session) {
  for (;;) {
    SHOAL_CO_TRY(Message request, co_await session.connection->receive(env_.after(options_.ready_timeout)));
    Result<void> handled = co_await handle(session, std::move(request));
    if (!handled) {
      session.connection->close(handled.error());
      co_return handled;
    }
  }
}

Task<Result<void>> Server::handle(Session& session, Message request) {
  switch (request.head.kind) {
    case MessageKind::kPull: co_return co_await handle_pull(session, std::move(request));
    case MessageKind::kChunk: co_return co_await handle_chunk(session, std::move(request));
    case MessageKind::kControl: co_return co_await handle_control(session, std::move(request));
    case MessageKind::kSnapshot: {
      Result<void> taken = co_await take_part(session, request);
      Message answer = taken ? ok() : transport::make_error(env_.buffers(), taken.error());
      co_return co_await reply(session, request.head, std::move(answer));
    }
    default: co_return invalid_argument("unexpected message kind from a trainer");
  }
}

/// Runs `work`, which touches about so many bytes of an arena. If that is long, beside the strand: whoever calls has a turn,
/// or what the work touches is its own.
Task<Result<void>> Server::compute(uint64_t bytes, UniqueFunction<void(const ParallelFor&)> work) {
  if (bytes <= options_.bytes_on_strand) {
    work(nullptr);
    co_return Result<void>{};
  }
  env_.sometimes("server.computes_beside_strand");
  Work beside = [this, &work] {
    work([this](int64_t count, const UniqueFunction<void(int64_t, int64_t)>& body) { env_.parallel_for(count, 1, body); });
  };
  Result<void> done = co_await env_.offload(std::move(beside));
  if (!done) turns_.end();  // the process is dying, and what it holds is torn
  co_return done;
}

/// Of the chief's restore, or of a trainer's residual. `request` is the caller's, who waits.
Task<Result<void>> Server::take_part(Session& session, const Message& request) {
  SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(request));
  const Result<ArenaIndex> arena = parse_arena_name(part.name);
  if (session.chief && arena && residual_trainer(*arena) >= options_.trainers) co_return Result<void>{};  // of a larger job
  if (session.chief) {
    SHOAL_CO_TRY(const Turns::Turn own, co_await turn());
    SHOAL_CO_TRY(const std::span<std::byte> place, state_.place_to_restore(part));
    UniqueFunction<void(const ParallelFor&)> copy = [&part, place](const ParallelFor&) {
      std::ranges::copy(part.payload, place.begin());
    };
    co_return co_await compute(place.size(), std::move(copy));
  }
  if (!part.name.starts_with("residual/")) co_return failed_precondition("only the chief restores");
  SHOAL_CO_TRY_VOID(state_.take_residual(session.trainer, request.head, part));
  changed_->notify_all();
  co_return Result<void>{};
}

Task<Result<void>> Server::handle_pull(Session& session, Message request) {
  const SteadyTime give_up = env_.after(kPullParked);
  std::vector<Message> weights;
  while (weights.empty()) {
    if (state_.phase() == Phase::kFinished) {
      co_return co_await reply(session, request.head, finished(), kStatusStopBit);
    }
    if (state_.phase() != Phase::kReady) {
      Result<void> woken = co_await changed_->wait("the model to become ready", give_up);
      if (closing_) co_return cancelled();
      if (woken) continue;
      if (woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return std::move(woken).error();
      co_return co_await reply(session, request.head, transport::make_control(env_.buffers(), "not_ready"));
    }
    if (Result<void> same = check_model(session, state_, options_.identity); !same) {
      co_return co_await reply(session, request.head, transport::make_error(env_.buffers(), same.error()));
    }
    set_receive_limit(session);
    weights = state_.weights_at_hand(session.hello.weights);
    if (!weights.empty() && turns_.taken()) env_.sometimes("server.pull_beside_update");
    if (!weights.empty()) break;
    env_.sometimes("server.pull_waits");
    SHOAL_CO_TRY(const Turns::Turn own, co_await turn());
    if (state_.phase() != Phase::kReady) continue;
    SHOAL_CO_TRY(weights, co_await newest(session.hello.weights, 0));
  }
  co_return co_await reply_parts(session, request.head, std::move(weights));
}

/// With a turn.
Task<Result<std::vector<Message>>> Server::newest(transport::Encoding encoding, uint64_t has) {
  std::vector<Message> weights = state_.weights_at_hand(encoding, has);
  if (!weights.empty()) co_return weights;
  UniqueFunction<void(const ParallelFor&)> make = [this, encoding, has, &weights](const ParallelFor&) {
    weights = state_.make_weights(encoding, has);
  };
  SHOAL_CO_TRY_VOID(co_await compute(state_.bytes_of_weights(encoding, has), std::move(make)));
  state_.keep_weights(encoding, weights);
  co_return weights;
}

/// With a turn. True if the push counts, by now or before.
Task<Result<bool>> Server::take_push(Session& session, MessageHead head) {
  const std::span<const transport::Chunk> chunks = session.push.chunks();
  SHOAL_CO_TRY(ServerState::Push push, state_.look_at(session.trainer, head, chunks));
  if (push == ServerState::Push::kNew) {
    Result<void> taken;
    UniqueFunction<void(const ParallelFor&)> take = [this, chunks, &taken](const ParallelFor&) { taken = state_.take(chunks); };
    const bool dense = chunks.front().encoding == transport::Encoding::kDense;
    SHOAL_CO_TRY_VOID(co_await compute(dense ? 0 : state_.arena_bytes(), std::move(take)));
    SHOAL_CO_TRY_VOID(std::move(taken));
    SHOAL_CO_TRY(push, state_.look_at(session.trainer, head, chunks));  // its process may have been replaced meanwhile
    if (push != ServerState::Push::kNew) env_.sometimes("server.push_of_process_replaced_meanwhile");
    if (push != ServerState::Push::kNew) state_.forget_push();
  }
  if (push == ServerState::Push::kFenced) env_.sometimes("server.push_fenced");
  if (push == ServerState::Push::kCounts) env_.sometimes("server.push_repeated");
  if (push != ServerState::Push::kNew) co_return push == ServerState::Push::kCounts;
  state_.count(session.trainer, head, chunks);
  if (options_.witness) tell_witness(session, head);
  UniqueFunction<void(const ParallelFor&)> apply = [this, chunks](const ParallelFor& each) { state_.apply(chunks, each); };
  SHOAL_CO_TRY_VOID(co_await compute(state_.bytes_of_push(chunks), std::move(apply)));
  state_.applied();
  co_return true;
}

void Server::tell_witness(const Session& session, const MessageHead& head) {
  options_.witness->holds(options_.identity.index, env_.buffers().stats().in_use_bytes,
                          server_memory(state_.spec(), options_.trainers).total());
  options_.witness->applied({.shard = options_.identity.index,
                             .server = options_.identity.incarnation,
                             .epoch = head.epoch,
                             .trainer = session.trainer,
                             .process = head.incarnation,
                             .sequence = head.sequence,
                             .ordinal = session.push.chunks().back().ordinal,
                             .global_step = state_.global_step()});
}

/// Answered when the push is complete, and applied. Nobody waits for the answer's way but who asked.
Task<Result<void>> Server::handle_chunk(Session& session, Message request) {
  const transport::MessageHead head = request.head;
  SHOAL_CO_TRY(const bool complete, session.push.add(std::move(request), state_.part_count()));
  if (!complete) co_return Result<void>{};
  const uint64_t has = session.push.chunks().back().base_version;
  bool late = false;
  Result<bool> pushed = false;
  Result<std::vector<Message>> weights = std::vector<Message>();
  {
    SHOAL_CO_TRY(const Turns::Turn own, co_await turn());
    late = state_.phase() == Phase::kFinished || state_.sealed();  // the last checkpoint is taken
    if (late) env_.sometimes("server.push_too_late");
    if (!late) pushed = co_await take_push(session, head);
    session.push.clear();  // its memory goes back to its pool before the reply travels
    if (pushed && *pushed) weights = co_await newest(session.hello.weights, has);
  }
  if (late) co_return co_await reply(session, head, finished(), kStatusStopBit);
  if (!pushed) co_return co_await reply(session, head, transport::make_error(env_.buffers(), pushed.error()));
  if (!*pushed) co_return co_await reply(session, head, transport::make_control(env_.buffers(), "fenced"), kStatusFenced);
  SHOAL_CO_TRY(std::vector<Message> parts, std::move(weights));
  const uint8_t status = state_.asks_residual(session.trainer) ? kStatusResidualBit : kStatusOk;
  if (state_.residuals().wanted()) changed_->notify_all();  // one that has pushed on is not waited for
  co_return co_await reply_parts(session, head, std::move(parts), status);
}

Task<Result<void>> Server::handle_control(Session& session, Message request) {
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(request));
  if (control.verb == "done") {
    TrainerRecord& record = state_.trainers()[session.trainer];
    if (record.incarnation == session.hello.incarnation) record.done = true;
    changed_->notify_all();
    Message answer = state_.phase() == Phase::kFinished ? finished() : ok();
    co_return co_await reply(session, request.head, std::move(answer));
  }
  if (control.verb == "welcome") co_return co_await reply(session, request.head, welcome(session));
  if (control.verb == "residuals" && session.chief) co_return co_await handle_residuals(session, std::move(request));
  if (control.verb == "residual") {
    Result<ArenaRead> asked = read_residual(state_, session.trainer, control.text);
    Result<Message> own = co_await read(std::move(asked));
    if (!own) own = transport::make_error(env_.buffers(), own.error());
    co_return co_await reply(session, request.head, std::move(own).value());
  }
  Result<Message> answer = failed_precondition("only the chief may ask for that");
  if (session.chief) answer = co_await chief_control(session, control);
  if (!answer) answer = transport::make_error(env_.buffers(), answer.error());
  co_return co_await reply(session, request.head, std::move(answer).value());
}

/// With a turn.
Task<Result<void>> Server::prepare(Session& session, std::string_view text) {
  SHOAL_CO_TRY(Prepare prepare, parse_prepare(text));
  if (prepare.epoch > state_.epoch()) {  // or it will be refused
    env_.log().info("memory: " + to_string(server_memory(prepare.spec, options_.trainers)));
  }
  SHOAL_CO_TRY_VOID(fits_into_memory(prepare.spec, env_.process().memory_bytes));
  SHOAL_CO_TRY_VOID(state_.prepare(std::move(prepare)));
  set_receive_limit(session);
  UniqueFunction<void(const ParallelFor&)> build = [this](const ParallelFor& each) { state_.build(each); };
  SHOAL_CO_TRY_VOID(co_await compute(state_.arena_bytes(), std::move(build)));
  co_return state_.built();
}

/// What `control` refers to is the caller's, who waits.
Task<Result<Message>> Server::chief_control(Session& session, transport::Control control) {
  BufferPool& pool = env_.buffers();
  if (control.verb == "read") {  // of what the session holds
    Result<ArenaRead> asked = read_held(state_, session.held ? &*session.held : nullptr, control.text);
    co_return co_await read(std::move(asked));
  }
  SHOAL_CO_TRY(const Turns::Turn own, co_await turn());
  if (control.verb == "status") co_return transport::make_control(pool, "status", to_json(state_.status()));
  if (control.verb == "prepare") {
    SHOAL_CO_TRY_VOID(co_await prepare(session, control.text));
  } else if (control.verb == "ready") {
    SHOAL_CO_TRY(StateText text, parse_state(control.text));
    SHOAL_CO_TRY_VOID(state_.activate(std::move(text)));
    if (options_.witness) {
      options_.witness->activated(options_.identity.index, options_.identity.incarnation, state_.epoch(),
                                  state_.global_step());
    }
    env_.log().info("model ready at global step " + std::to_string(state_.global_step()));
  } else if (control.verb == "hold") {
    SHOAL_CO_TRY(session.held, state_.hold(control.text == "residuals"));
    co_return transport::make_control(pool, "held", to_json(session.held->text));
  } else if (control.verb == "release") {
    if (session.held) state_.release(*session.held);
    session.held.reset();
  } else if (control.verb == "seal") {
    state_.seal();
  } else if (control.verb == "stop") {
    state_.request_stop();
  } else if (control.verb == "finish") {
    SHOAL_CO_TRY(JobEnd end, parse_job_end(control.text));
    state_.finish(std::move(end));
  } else {
    co_return invalid_argument("unknown request " + std::string(control.verb.substr(0, 64)));
  }
  changed_->notify_all();
  co_return ok();
}

/// A copy of what was asked for.
Task<Result<Message>> Server::read(Result<ArenaRead> what) {
  SHOAL_CO_TRY_VOID(what);
  Message message;
  UniqueFunction<void(const ParallelFor&)> copy = [this, &what, &message](const ParallelFor&) {
    message = what->to_message(env_.buffers());
  };
  SHOAL_CO_TRY_VOID(co_await compute(what->range.bytes, std::move(copy)));
  co_return message;
}

/// Trainers that are asked with the reply to their next push need time: for the step, and for a dense gradient's bytes.
/// Those of a job that was interrupted get none.
Task<Result<void>> Server::handle_residuals(Session& session, Message request) {
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(request));
  const bool now = control.text == "now";
  const SteadyTime parked = env_.after(kResidualsParked);
  SteadyTime patience = env_.after(kResidualPatience);
  uint64_t taken = state_.residuals().bytes_taken();
  std::vector<int> awaited = state_.awaited_residuals();
  const auto may_come = [&] {
    return !now && !awaited.empty() && env_.now() < patience && !env_.interrupted().stop_requested();
  };
  while (may_come() && session.held && env_.now() < parked) {
    Result<void> woken = co_await changed_->wait("residuals of trainers", std::min(parked, patience));
    if (closing_) co_return cancelled();
    if (!woken && woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return std::move(woken).error();
    if (state_.residuals().bytes_taken() != taken) patience = env_.after(kResidualPatience);
    taken = state_.residuals().bytes_taken();
    awaited = state_.awaited_residuals();
  }
  const bool more = may_come();
  if (!more && !awaited.empty()) {
    const std::string trainer = std::to_string(awaited.front());
    env_.log().warning_once("residual of " + trainer, "a checkpoint goes without what the compression of trainer " +
                                                          trainer + " has kept back: it did not come in time");
  }
  std::string trainers = more ? std::string() : to_json(state_.residuals().held());
  Message answer = transport::make_control(env_.buffers(), more ? "more" : "residuals", std::move(trainers));
  co_return co_await reply(session, request.head, std::move(answer));
}

Task<Result<void>> Server::reply(Session& session, const MessageHead& request, Message answer, uint8_t status) {
  answer.head.status = uint8_t(status | (state_.stop_requested() ? kStatusStopBit : 0));
  answer.head.job = request.job;
  answer.head.epoch = state_.epoch();
  answer.head.sender = options_.identity.global_id;
  answer.head.incarnation = options_.identity.incarnation;
  answer.head.reply_to = request.sequence;
  answer.head.global_step = state_.global_step();
  return session.connection->send(std::move(answer), env_.after(kReplyTimeout));
}

/// They are of one version, also where another push comes in between.
Task<Result<void>> Server::reply_parts(Session& session, MessageHead request, std::vector<Message> parts, uint8_t status) {
  for (Message& part : parts) SHOAL_CO_TRY_VOID(co_await reply(session, request, std::move(part), status));
  co_return Result<void>{};
}

void Server::set_receive_limit(Session& session) {
  session.connection->set_receive_limit((session.chief ? kControlBytesMax : kMessageOverhead) + state_.part_bytes());
}

}  // namespace

Task<Result<void>> run_parameter_server(Environment& env, ParameterServerOptions options) {
  Server server(env, std::move(options));
  co_return co_await server.run();
}

}  // namespace shoal::cluster
