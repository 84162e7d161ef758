#include "server/requests.h"

#include <algorithm>

#include "shoal/cluster/server_memory.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

using transport::Message;
using transport::MessageHead;
using transport::MessageKind;

namespace {

constexpr auto kPullParked = std::chrono::seconds(5);  // then "not_ready", so that the asker can log and give up
constexpr auto kReplyTimeout = std::chrono::seconds(60);
constexpr auto kResidualPatience = std::chrono::seconds(10);  // without any part of one
constexpr auto kResidualsParked = std::chrono::seconds(20);   // then "more", so that the chief does not take us for dead
constexpr uint64_t kControlBytesMax = uint64_t(64) << 20;
constexpr uint64_t kMessageOverhead = uint64_t(1) << 20;

Message ok(Environment& env) { return transport::make_control(env.buffers(), "ok"); }

}  // namespace

Requests::Requests(Environment& env, const ParameterServerOptions& options)
    : env_(env),
      options_(options),
      state_(position_in(options.identity.sparse.servers, options.identity.index) == 0, env.buffers(), env.log()),
      turns_(env),
      changed_(std::make_shared<Event>(env)) {}

void Requests::close() {
  closed_ = true;
  changed_->notify_all();
}

Message Requests::finished() { return transport::make_control(env_.buffers(), "finished", to_json(state_.end())); }

Message Requests::welcome(const Session& session) {
  const Welcome text{state_.phase(), state_.epoch(), state_.global_step(), state_.position_of(session.trainer),
                     state_.end()};
  return transport::make_control(env_.buffers(), "welcome", to_json(text));
}

Task<Result<void>> Requests::handle(Session& session, Message request) {
  switch (request.head.kind) {
    case MessageKind::kPull: co_return co_await handle_pull(session, std::move(request));
    case MessageKind::kChunk: co_return co_await handle_chunk(session, std::move(request));
    case MessageKind::kControl: co_return co_await handle_control(session, std::move(request));
    case MessageKind::kSnapshot: {
      Result<void> taken = co_await take_part(session, request);
      Message answer = taken ? ok(env_) : transport::make_error(env_.buffers(), taken.error());
      co_return co_await reply(session, request.head, std::move(answer));
    }
    default: co_return invalid_argument("unexpected message kind from a trainer");
  }
}

/// Runs `work`, which touches about so many bytes of an arena. If that is long, beside the strand: whoever calls has a turn,
/// or what the work touches is its own.
Task<Result<void>> Requests::compute(uint64_t bytes, Work work) {
  if (bytes <= options_.bytes_on_strand) {
    work(nullptr);
    co_return Result<void>{};
  }
  env_.sometimes("server.computes_beside_strand");
  shoal::Work beside = [this, &work] {
    work([this](int64_t count, const UniqueFunction<void(int64_t, int64_t)>& body) { env_.parallel_for(count, 1, body); });
  };
  Result<void> done = co_await env_.offload(std::move(beside));
  if (!done) turns_.end();  // the process is dying, and what it holds is torn
  co_return done;
}

/// Of the chief's restore, or of a trainer's residual. `request` is the caller's, who waits.
Task<Result<void>> Requests::take_part(Session& session, const Message& request) {
  SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(request));
  const Result<ArenaIndex> arena = parse_arena_name(part.name);
  if (session.chief && arena && residual_trainer(*arena) >= options_.trainers) co_return Result<void>{};  // of a larger job
  if (session.chief) {
    SHOAL_CO_TRY(const Turns::Turn own, co_await turn());
    SHOAL_CO_TRY(const std::span<std::byte> place, state_.place_to_restore(part));
    Work copy = [&part, place](const ParallelFor&) {
      std::ranges::copy(part.payload, place.begin());
    };
    co_return co_await compute(place.size(), std::move(copy));
  }
  if (!part.name.starts_with("residual/")) co_return failed_precondition("only the chief restores");
  SHOAL_CO_TRY_VOID(state_.take_residual(session.trainer, request.head, part));
  changed_->notify_all();
  co_return Result<void>{};
}

Task<Result<void>> Requests::handle_pull(Session& session, Message request) {
  const SteadyTime give_up = env_.after(kPullParked);
  std::vector<Message> weights;
  while (weights.empty()) {
    if (state_.phase() == Phase::kFinished) {
      co_return co_await reply(session, request.head, finished(), kStatusStopBit);
    }
    if (state_.phase() != Phase::kReady) {
      Result<void> woken = co_await changed_->wait("the model to become ready", give_up);
      if (closed_) co_return cancelled();
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
Task<Result<std::vector<Message>>> Requests::newest(transport::Encoding encoding, uint64_t has) {
  std::vector<Message> weights = state_.weights_at_hand(encoding, has);
  if (!weights.empty()) co_return weights;
  Work make = [this, encoding, has, &weights](const ParallelFor&) {
    weights = state_.make_weights(encoding, has);
  };
  SHOAL_CO_TRY_VOID(co_await compute(state_.bytes_of_weights(encoding, has), std::move(make)));
  state_.keep_weights(encoding, weights);
  co_return weights;
}

/// With a turn. True if the push counts, by now or before.
Task<Result<bool>> Requests::take_push(Session& session, MessageHead head) {
  const std::span<const transport::Chunk> chunks = session.push.chunks();
  SHOAL_CO_TRY(ServerState::Push push, state_.look_at(session.trainer, head, chunks));
  if (push == ServerState::Push::kNew) {
    Result<void> taken;
    Work take = [this, chunks, &taken](const ParallelFor&) { taken = state_.take(chunks); };
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
  Work apply = [this, chunks](const ParallelFor& each) { state_.apply(chunks, each); };
  SHOAL_CO_TRY_VOID(co_await compute(state_.bytes_of_push(chunks), std::move(apply)));
  state_.applied();
  co_return true;
}

void Requests::tell_witness(const Session& session, const MessageHead& head) {
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
Task<Result<void>> Requests::handle_chunk(Session& session, Message request) {
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

Task<Result<void>> Requests::handle_control(Session& session, Message request) {
  SHOAL_CO_TRY(const transport::Control control, transport::read_control(request));
  if (control.verb == "done") {
    TrainerRecord& record = state_.trainers()[session.trainer];
    if (record.incarnation == session.hello.incarnation) record.done = true;
    changed_->notify_all();
    Message answer = state_.phase() == Phase::kFinished ? finished() : ok(env_);
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
Task<Result<void>> Requests::prepare(Session& session, std::string_view text) {
  SHOAL_CO_TRY(Prepare prepare, parse_prepare(text));
  if (prepare.epoch > state_.epoch()) {  // or it will be refused
    env_.log().info("memory: " + to_string(server_memory(prepare.spec, options_.trainers)));
  }
  SHOAL_CO_TRY_VOID(fits_into_memory(prepare.spec, env_.process().memory_bytes));
  SHOAL_CO_TRY_VOID(state_.prepare(std::move(prepare)));
  set_receive_limit(session);
  Work build = [this](const ParallelFor& each) { state_.build(each); };
  SHOAL_CO_TRY_VOID(co_await compute(state_.arena_bytes(), std::move(build)));
  co_return state_.built();
}

/// What `control` refers to is the caller's, who waits.
Task<Result<Message>> Requests::chief_control(Session& session, transport::Control control) {
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
  co_return ok(env_);
}

/// A copy of what was asked for.
Task<Result<Message>> Requests::read(Result<ArenaRead> what) {
  SHOAL_CO_TRY_VOID(what);
  Message message;
  Work copy = [this, &what, &message](const ParallelFor&) {
    message = what->to_message(env_.buffers());
  };
  SHOAL_CO_TRY_VOID(co_await compute(what->range.bytes, std::move(copy)));
  co_return message;
}

/// Trainers that are asked with the reply to their next push need time: for the step, and for a dense gradient's bytes.
/// Those of a job that was interrupted get none.
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
    Result<void> woken = co_await changed_->wait("residuals of trainers", std::min(parked, patience));
    if (closed_) co_return cancelled();
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

Task<Result<void>> Requests::reply(Session& session, const MessageHead& request, Message answer, uint8_t status) {
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
Task<Result<void>> Requests::reply_parts(Session& session, MessageHead request, std::vector<Message> parts, uint8_t status) {
  for (Message& part : parts) SHOAL_CO_TRY_VOID(co_await reply(session, request, std::move(part), status));
  co_return Result<void>{};
}

void Requests::set_receive_limit(Session& session) {
  session.connection->set_receive_limit((session.chief ? kControlBytesMax : kMessageOverhead) + state_.part_bytes());
}

}  // namespace shoal::cluster
