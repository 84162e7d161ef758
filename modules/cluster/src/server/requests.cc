// SPDX-License-Identifier: Apache-2.0
#include "server/requests.h"

#include <algorithm>

#include "shoal/base/number_text.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

using transport::Message;
using transport::MessageHead;
using transport::MessageKind;

namespace {

// A pull (request for weights) that cannot be answered within this time is answered with "not_ready", so that the trainer
// can log that and give up.
constexpr auto kPullParked = std::chrono::seconds(5);
// How many answers with weights may wait to be sent to one trainer. A trainer that works properly has no more, since it
// reads the answer to a push before it makes the next push.
constexpr int64_t kAnswersMax = 2;
// How long the chief's request for residuals waits while no part of any residual arrives.
constexpr auto kResidualPatience = std::chrono::seconds(10);
// A "residuals" request that still waits after this time is answered with "more" (the chief has to ask again), so that the
// chief does not consider the server dead.
constexpr auto kResidualsParked = std::chrono::seconds(20);
// How long a "rest" request (of a trainer that makes no more pushes for now) waits for the job's end before it is answered.
// The time is short, so that a trainer that is interrupted meanwhile need not wait long.
constexpr auto kRestParked = std::chrono::seconds(1);
constexpr auto kChangeParked = std::chrono::milliseconds(250);
constexpr uint64_t kControlBytesMax = uint64_t(64) << 20;
constexpr uint64_t kMessageOverhead = uint64_t(1) << 20;

}  // namespace

Requests::Requests(ServerCore& core, Commits& commits)
    : core_(core), commits_(commits), env_(core.env()), state_(core.state()) {}

Message Requests::welcome(const Session& session) {
  const Welcome text{state_.phase(), state_.epoch(), state_.global_step(), state_.position_of(session.trainer),
                     state_.end(),   state_.run()};
  return core_.control("welcome", to_json(text));
}

Task<Result<void>> Requests::handle(Session& session, Message request) {
  switch (request.head.kind) {
    case MessageKind::kPull: co_return co_await handle_pull(session, std::move(request));
    case MessageKind::kChunk: {
      Result<void> taken = co_await handle_chunk(session, std::move(request));
      core_.look_for_credit();
      co_return taken;
    }
    case MessageKind::kControl: co_return co_await handle_control(session, std::move(request));
    case MessageKind::kSnapshot: {
      Result<void> taken = co_await take_part(session, request);
      Message answer = taken ? core_.control("ok") : transport::make_error(env_.buffers(), taken.error());
      co_return co_await core_.reply(session, request.head, std::move(answer));
    }
    default: co_return invalid_argument("unexpected message kind from a trainer");
  }
}

/// Stores a part of the state that the chief restores, or of a residual that a trainer sends. `request` outlives this
/// coroutine.
Task<Result<void>> Requests::take_part(Session& session, const Message& request) {
  SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(request));
  const Result<ArenaIndex> arena = parse_arena_name(part.name);
  if (session.chief && arena && residual_trainer(*arena) >= core_.options().trainers)
    co_return Result<void>{};  // The checkpoint is of a job with more trainers; this residual has no owner here.
  if (session.chief) {
    SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
    SHOAL_CO_TRY(const std::span<std::byte> place, state_.place_to_restore(part));
    ServerCore::Work copy = [&part, place](const ParallelFor&) { std::ranges::copy(part.payload, place.begin()); };
    co_return co_await core_.compute(place.size(), std::move(copy));
  }
  if (!part.name.starts_with("residual/")) co_return failed_precondition("only the chief restores");
  SHOAL_CO_TRY_VOID(state_.take_residual(session.trainer, request.head, part));
  core_.changed()->notify_all();
  co_return Result<void>{};
}

Task<Result<void>> Requests::handle_pull(Session& session, Message request) {
  const SteadyTime give_up = env_.after(kPullParked);
  std::vector<Message> weights;
  while (weights.empty()) {
    if (state_.phase() == Phase::kFinished) {
      co_return co_await core_.reply(session, request.head, core_.finished(), kStatusStopBit);
    }
    if (state_.phase() != Phase::kReady) {
      Result<void> woken = co_await core_.changed()->wait("the model to become ready", give_up);
      if (core_.closed()) co_return cancelled();
      if (woken) continue;
      if (woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return std::move(woken).error();
      co_return co_await core_.reply(session, request.head, core_.control("not_ready"));
    }
    if (Result<void> same = check_model(session, state_, core_.options().identity); !same) {
      co_return co_await core_.reply(session, request.head, transport::make_error(env_.buffers(), same.error()));
    }
    set_receive_limit(session);
    weights = state_.weights_at_hand(session.hello.weights);
    if (!weights.empty() && core_.state_is_locked()) env_.sometimes("server.pull_beside_update");
    if (!weights.empty()) break;
    env_.sometimes("server.pull_waits");
    SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
    if (state_.phase() != Phase::kReady) continue;
    SHOAL_CO_TRY(weights, co_await core_.newest(session.hello.weights, 0));
  }
  co_return co_await core_.reply_parts(session, request.head, std::move(weights));
}

/// Receives a chunk of a push. The push is answered once all its chunks are here, and an order commits or drops it.
Task<Result<void>> Requests::handle_chunk(Session& session, Message request) {
  const transport::MessageHead head = request.head;
  SHOAL_CO_TRY(const transport::Chunk chunk, transport::read_chunk(request));
  const bool encoded = chunk.encoding != transport::Encoding::kDense;
  uint64_t bytes = std::min<uint64_t>(chunk.payload.size(), state_.part_bytes());
  if (chunk.closing) bytes += kPushOverhead;
  SHOAL_CO_TRY_VOID(co_await core_.take_credit(session, session.push.credit(), head.epoch, bytes, encoded));
  if (chunk.closing && session.replies.running() > kAnswersMax)
    co_return failed_precondition(name_of(session.hello) + " makes pushes and does not read the answers");
  SHOAL_CO_TRY(const bool complete, session.push.add(std::move(request), chunk, state_.part_count()));
  if (!complete) co_return Result<void>{};
  HeldPush push = session.push.take();
  push.save_follows = session.chief && (head.status & kStatusSaveBit) != 0;
  const bool late = state_.phase() == Phase::kFinished || state_.sealed();  // True if no push is committed any more.
  if (late) {
    env_.sometimes("server.push_too_late");
    // A variable is needed here: in an operand of co_await, g++ 12 would destroy the result of the conditional expression
    // twice.
    Message answer = state_.phase() == Phase::kFinished ? core_.finished() : core_.control("sealed");
    co_return co_await core_.reply(session, head, std::move(answer), kStatusStopBit);
  }
  Result<void> taken = co_await commits_.take(session, head, std::move(push));
  const bool refused = !taken && taken.error().kind() == ErrorKind::kInvalidArgument;
  if (!refused) co_return taken;
  co_return co_await core_.reply(session, head, transport::make_error(env_.buffers(), taken.error()));
}

Task<Result<void>> Requests::handle_control(Session& session, Message request) {
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(request));
  if (control.verb == "done") {
    const bool leaves = is_newest(session);
    if (leaves) state_.note_rest(session.trainer, /*leaves=*/true);
    core_.changed()->notify_all();
    if (leaves) SHOAL_CO_TRY_VOID(co_await commits_.leave(session));
    Message answer = state_.phase() == Phase::kFinished ? core_.finished() : core_.control("ok");
    co_return co_await core_.reply(session, request.head, std::move(answer));
  }
  if (control.verb == "rest") co_return co_await handle_rest(session, std::move(request));
  if (control.verb == "failure") {
    const auto& poison = state_.poison();
    Message answer = poison ? transport::make_error(env_.buffers(), poison->error()) : core_.control("ok");
    co_return co_await core_.reply(session, request.head, std::move(answer));
  }
  if (control.verb == "failed") {
    SHOAL_CO_TRY(JobFailure failure, parse_job_failure(control.text));
    failure.trainer = session.trainer;
    // Ignores the failure of a trainer that belongs to another run.
    if (!is_of_another_run(session, state_)) state_.note_failure(std::move(failure));
    core_.changed()->notify_all();
    co_return co_await core_.reply(session, request.head, core_.control("ok"));
  }
  // "welcome": the trainer asks from which push to continue. Its earlier pushes that are not committed are dropped.
  if (control.verb == "welcome") {
    const std::optional<uint64_t> newest = control.text.empty() ? 0 : number_from<uint64_t>(control.text);
    if (!newest) co_return invalid_argument("welcome: '" + std::string(control.text.substr(0, 32)) + "' is no push");
    const transport::PushId given_up{session.trainer, session.hello.incarnation, *newest};
    SHOAL_CO_TRY_VOID(co_await commits_.abandon(given_up));
    co_return co_await core_.reply(session, request.head, welcome(session));
  }
  if (control.verb == "residuals" && session.chief) co_return co_await handle_residuals(session, std::move(request));
  if (control.verb == "residual") {
    Result<ArenaRead> asked = read_residual(state_, session.trainer, control.text);
    Result<Message> own = co_await read(std::move(asked));
    if (!own) own = transport::make_error(env_.buffers(), own.error());
    co_return co_await core_.reply(session, request.head, std::move(own).value());
  }
  Result<Message> answer = failed_precondition("only the chief may ask for that");
  if (session.chief) answer = co_await chief_control(session, control);
  if (!answer) answer = transport::make_error(env_.buffers(), answer.error());
  co_return co_await core_.reply(session, request.head, std::move(answer).value());
}

bool Requests::is_newest(const Session& session) const {
  return state_.trainers()[session.trainer].incarnation == session.hello.incarnation;
}

/// Handles "rest": a trainer tells that it makes no more pushes for now. The trainer repeats this request, so that the
/// server is told even if an earlier request was lost with its connection.
Task<Result<void>> Requests::handle_rest(Session& session, Message request) {
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(request));
  SHOAL_CO_TRY(const Rest rest, parse_rest(control.text));
  const SteadyTime give_up = env_.after(rest.waits ? Duration(kRestParked) : Duration{});
  const auto gone = [&] { return state_.phase() != Phase::kReady || state_.epoch() != request.head.epoch; };
  const auto goes_on = [&] { return rest.stopped_by_job && !state_.stop_requested() && !state_.sealed(); };
  if (!gone() && is_newest(session)) {
    const bool ends = rest.input_ended && state_.note_end_of_input(session.trainer);
    if (ends && core_.options().observer) core_.options().observer->ended(session.trainer, state_.global_step());
    if (state_.note_rest(session.trainer, /*leaves=*/false)) core_.changed()->notify_all();
    const transport::PushId newest{session.trainer, session.hello.incarnation, rest.newest_push};
    Task<Result<void>> settled = rest.stopped_by_job ? commits_.abandon(newest) : commits_.rest(newest);
    SHOAL_CO_TRY_VOID(co_await std::move(settled));
  }
  while (!gone() && !goes_on() && env_.now() < give_up) {
    Result<void> woken = co_await core_.changed()->wait("the end of the job", give_up);
    if (core_.closed()) co_return cancelled();
    if (!woken && woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return woken;
  }
  if (state_.phase() == Phase::kFinished) {
    co_return co_await core_.reply(session, request.head, core_.finished(), kStatusStopBit);
  }
  Message answer = gone() || goes_on() ? core_.control("again") : core_.control("rest", to_json(rest_news(session)));
  co_return co_await core_.reply(session, request.head, std::move(answer));
}

RestNews Requests::rest_news(const Session& session) const {
  constexpr int kNamesMax = 8;
  RestNews news;
  int others = 0;
  for (int trainer = 0; trainer < core_.options().trainers; ++trainer) {
    const auto known = state_.trainers().find(trainer);
    const bool connected = known != state_.trainers().end() && known->second.connections > 0;
    if (trainer == 0) news.chief_connected = connected;
    if (trainer == session.trainer || (known != state_.trainers().end() && known->second.done)) continue;
    if (++others > kNamesMax) continue;
    news.at_work += (news.at_work.empty() ? "" : ", ") + trainer_name(trainer, core_.options().identity);
    if (!connected) news.at_work += " (away)";
  }
  if (others > kNamesMax) news.at_work += " and " + std::to_string(others - kNamesMax) + " more";
  return news;
}

/// Begins to load a model, which starts a new epoch. The caller has locked the state.
Task<Result<void>> Requests::prepare(Session& session, std::string_view text) {
  SHOAL_CO_TRY(Prepare prepare, parse_prepare(text));
  SHOAL_CO_TRY_VOID(core_.check_memory(prepare.spec, prepare.gradients));
  const transport::Encoding gradients = prepare.gradients;
  SHOAL_CO_TRY_VOID(state_.prepare(std::move(prepare)));
  Result<void> built = co_await build(session, gradients);
  SHOAL_CO_TRY_VOID(core_.whole(std::move(built)));
  co_return state_.built();
}

/// The part of prepare() after which there is no way back to the former model.
Task<Result<void>> Requests::build(Session& session, transport::Encoding gradients) {
  core_.plan_memory(gradients);
  env_.log().info("memory: " + to_string(core_.memory()));
  core_.look_for_credit();
  commits_.restart();
  set_receive_limit(session);
  ServerCore::Work build = [this](const ParallelFor& each) { state_.build(each); };
  co_return co_await core_.compute(state_.arena_bytes(), std::move(build));
}

/// Starts to serve the model that was loaded. The caller has locked the state.
Task<Result<void>> Requests::activate(std::string_view text) {
  SHOAL_CO_TRY(StateText state, parse_state(text));
  ServerCore::Work look = [this](const ParallelFor&) { state_.look_at_start(); };
  SHOAL_CO_TRY_VOID(co_await core_.compute(state_.arena_bytes(), std::move(look)));
  SHOAL_CO_TRY_VOID(state_.activate(std::move(state)));
  Result<void> begun = co_await begin();
  co_return core_.whole(std::move(begun));
}

/// The part of activate() that begins to take trainers' pushes.
Task<Result<void>> Requests::begin() {
  commits_.begin();
  const ParameterServerOptions& options = core_.options();
  if (options.observer) {
    options.observer->activated(options.identity.index, options.identity.incarnation, state_.epoch(), state_.global_step());
  }
  env_.log().info("model ready at global step " + std::to_string(state_.global_step()));
  co_return Result<void>{};
}

/// Takes a snapshot. The chief asks shard 0 first. The answer of shard 0 says after which commit each other shard has to
/// take its snapshot.
Task<Result<Message>> Requests::hold(Session& session, std::string_view text) {
  SHOAL_CO_TRY(const HoldRequest asked, parse_hold_request(text));
  SHOAL_CO_TRY(std::optional<HeldState> held,
               co_await commits_.hold(session.hello.incarnation, asked.residuals, asked.version));
  if (!held) co_return core_.control("more");
  session.held = std::move(held);
  co_return core_.control("held", to_json(session.held->text));
}

/// Answers a request of the chief. `control` points into the caller's message, which outlives this coroutine.
Task<Result<Message>> Requests::chief_control(Session& session, transport::Control control) {
  if (control.verb == "read") {  // Reads from the snapshot that this session holds.
    Result<ArenaRead> asked = read_held(state_, session.held ? &*session.held : nullptr, control.text);
    co_return co_await read(std::move(asked));
  }
  // "lease": the chief asks whether it still leads. It does, since a chief that was replaced has no connection any more.
  if (control.verb == "lease") co_return core_.control("ok");
  if (control.verb == "hold") co_return co_await hold(session, control.text);
  if (control.verb == "seal") {
    SHOAL_CO_TRY_VOID(co_await commits_.seal());
    co_return core_.control("ok");
  }
  if (control.verb == "stop") {
    state_.request_stop();
    core_.changed()->notify_all();
    SHOAL_CO_TRY_VOID(co_await commits_.stop());
    co_return core_.control("ok");
  }
  if (control.verb == "status" && !control.text.empty()) SHOAL_CO_TRY_VOID(co_await await_change(control.text));
  SHOAL_CO_TRY(const FifoLock::Guard guard, co_await core_.lock_state());
  if (control.verb == "status") co_return core_.control("status", to_json(state_.status()));
  if (control.verb == "prepare") {
    SHOAL_CO_TRY_VOID(co_await prepare(session, control.text));
  } else if (control.verb == "ready") {
    SHOAL_CO_TRY_VOID(co_await activate(control.text));
  } else if (control.verb == "release") {
    if (session.held && control.text == kReleaseSaved && session.held->text.epoch == state_.epoch()) {
      core_.note_saved(session.held->text.global_step);
    }
    if (session.held) state_.release(*session.held);
    session.held.reset();
    commits_.release(session.hello.incarnation);
  } else if (control.verb == "finish") {
    SHOAL_CO_TRY(JobEnd end, parse_job_end(control.text));
    state_.finish(std::move(end));
    commits_.finish();
  } else {
    co_return invalid_argument("unknown request " + std::string(control.verb.substr(0, 64)));
  }
  core_.changed()->notify_all();
  co_return core_.control("ok");
}

/// Waits until the number of changes (trainers that connected, disconnected or ended) differs from `seen`, which the chief
/// sent. Waits at most kChangeParked, since the chief also wants to know the global step.
Task<Result<void>> Requests::await_change(std::string_view seen) {
  const std::optional<uint64_t> changes = number_from<uint64_t>(seen);
  if (!changes) co_return invalid_argument("status: '" + std::string(seen.substr(0, 32)) + "' is no number of changes");
  const SteadyTime give_up = env_.after(kChangeParked);
  while (state_.changes() == *changes && env_.now() < give_up) {
    Result<void> woken = co_await core_.changed()->wait("trainers to come or go", give_up);
    if (core_.closed()) co_return cancelled();
    if (!woken && woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return woken;
  }
  co_return Result<void>{};
}

/// Copies the range of an arena that `what` names into a message.
Task<Result<Message>> Requests::read(Result<ArenaRead> what) {
  SHOAL_CO_TRY_VOID(what);
  Message message;
  ServerCore::Work copy = [this, &what, &message](const ParallelFor&) { message = what->to_message(env_.buffers()); };
  SHOAL_CO_TRY_VOID(co_await core_.compute(what->range.bytes, std::move(copy)));
  co_return message;
}

/// Handles the chief's request to wait until trainers have sent their residuals. A trainer sends its residual when the
/// reply to its next push asks for it. This takes the time of a step, and time to send as much as a dense gradient. A
/// server that was interrupted does not wait.
Task<Result<void>> Requests::handle_residuals(Session& session, Message request) {
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
    Result<void> woken = co_await core_.changed()->wait("residuals of trainers", std::min(parked, patience));
    if (core_.closed()) co_return cancelled();
    if (!woken && woken.error().kind() != ErrorKind::kDeadlineExceeded) co_return std::move(woken).error();
    if (state_.residuals().bytes_taken() != taken) patience = env_.after(kResidualPatience);
    taken = state_.residuals().bytes_taken();
    awaited = state_.awaited_residuals();
  }
  const bool more = may_come();
  if (!more && !awaited.empty()) {
    const std::string trainer = std::to_string(awaited.front());
    env_.log().warning_once("residual of " + trainer, "the next checkpoint is without the residual of trainer " + trainer +
                                                          "'s compression, which did not come in time");
  }
  const std::string held = more ? std::string() : to_json(state_.residuals().held());
  Message answer = core_.control(more ? "more" : "residuals", held);
  co_return co_await core_.reply(session, request.head, std::move(answer));
}

/// Sets the size limit for messages from this session. An encoded part may be larger than a dense one: sparse rows and
/// top-k also send the position of each value.
void Requests::set_receive_limit(Session& session) {
  session.connection->set_receive_limit((session.chief ? kControlBytesMax : kMessageOverhead) + 2 * state_.part_bytes());
}

}  // namespace shoal::cluster
