#include "shoal/cluster/remote_store.h"

#include <algorithm>

#include "row_push.h"
#include "server_link.h"
#include "shoal/cluster/shard.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::MessageKind;

constexpr auto kRequestTimeout = std::chrono::seconds(60);
constexpr auto kNoteEvery = std::chrono::seconds(10);
constexpr auto kAttachPause = std::chrono::milliseconds(20);
constexpr uint64_t kPartBytes = uint64_t(16) << 20;
constexpr uint64_t kMessageOverhead = uint64_t(1) << 20;

/// Messages of one step, one per server.
struct Outgoing {
  transport::OutgoingChunk chunk;
  uint64_t sequence = 0;
};

class RemoteStoreImpl final : public RemoteStore {
 public:
  RemoteStoreImpl(Environment& env, ShardPlan plan, RemoteStoreOptions options)
      : env_(env), plan_(std::move(plan)), options_(std::move(options)) {
    SHOAL_CHECK(plan_.shards.size() == options_.servers.size());
    for (const transport::Endpoint& server : options_.servers) {
      links_.push_back(std::make_unique<ServerLink>(env_, options_.identity, server, options_.link));
    }
    for (size_t i = 0; i < links_.size(); ++i) {
      links_[i]->set_receive_limit(std::max(plan_.shards[i].arena_bytes, kPartBytes) + kMessageOverhead);
    }
    weights_.resize(links_.size());
    incarnations_.resize(links_.size());
    outgoing_.resize(links_.size());
  }

  Task<Result<Ready>> prepare(RestoreSource* restore, Deadline deadline) override;
  Task<Result<Ready>> attach(Deadline deadline) override;
  Result<void> bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                    const std::vector<std::string>& by_rows) override;
  Task<Result<Step>> begin(StopToken stop) override;
  Result<void> start(Step& step, uint64_t ordinal, std::string_view position) override;
  Result<void> add_rows(Step&, std::span<const RowGradients> gradients) override { return row_push_.write(gradients); }
  Task<Result<Outcome>> commit(Step step, std::span<const double> scalars) override;
  bool wants_positions() const override { return true; }
  Task<Result<std::unique_ptr<Snapshot>>> snapshot(std::string own_position) override;
  bool lost() const override { return lost_; }
  Task<Result<uint64_t>> global_step() override;
  const ShardPlan& plan() const override { return plan_; }

  Task<Result<void>> connect(Deadline deadline) override { return connect_all(deadline); }
  Task<Result<void>> leave(Deadline deadline) override;
  Task<Result<void>> request_stop(Deadline deadline) override { return tell_all("stop", deadline); }
  Task<Result<ServerStatus>> status(Deadline deadline) override { return status_of(0, deadline); }
  Task<Result<void>> finish(JobEnd end, Deadline deadline) override;
  std::optional<JobEnd> job_end() const override;

  Task<Result<Message>> control(size_t shard, std::string_view verb, std::string text, Deadline deadline);
  Task<Result<void>> tell_all(std::string_view verb, Deadline deadline);

 private:
  Task<Result<void>> connect_all(Deadline deadline);
  Task<Result<void>> finish_server(size_t shard, std::string end, Deadline deadline);
  Task<Result<Ready>> attach_once(Deadline deadline);
  Task<bool> asks_job_ended();
  Task<Result<Welcome>> welcome_of(size_t shard, Deadline deadline);
  Task<Result<ServerStatus>> status_of(size_t shard, Deadline deadline);
  bool still_held(const std::vector<ServerStatus>& statuses, const RestoreSource* restore) const;
  Task<Result<void>> load_shard(size_t shard, RestoreSource* restore, Deadline deadline);
  Task<Result<void>> restore_arena(size_t shard, ArenaIndex arena, RestoreSource& restore, Deadline deadline);
  Task<Result<void>> activate(RestoreSource* restore, Deadline deadline);
  Task<Result<void>> pull(size_t shard, Deadline deadline);
  Task<Result<void>> pull_once(size_t shard, Deadline deadline);
  Task<Result<void>> deliver(size_t shard);
  Task<Result<void>> deliver_once(size_t shard);
  Result<void> accept_weights(size_t shard, Message message);

  Environment& env_;
  ShardPlan plan_;
  RemoteStoreOptions options_;
  std::vector<std::unique_ptr<ServerLink>> links_;
  Bindings bindings_;
  RowPush row_push_;
  std::vector<Message> weights_;  // newest per shard; null body: to be pulled
  std::vector<uint64_t> incarnations_;  // of the servers whose state we follow
  std::vector<Outgoing> outgoing_;
  uint64_t epoch_ = 0;
  uint64_t global_step_ = 0;
  bool stop_ = false;
  bool lost_ = false;

  /// Every failure of a server passes here.
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && result.error().kind() == ErrorKind::kUnavailable) lost_ = true;
    return result;
  }
};

/// The chief's view of a state that the servers hold for it; read over the chief's own connections.
class RemoteSnapshot final : public Snapshot {
 public:
  RemoteSnapshot(RemoteStoreImpl& store, Environment& env, StateInfo info) : store_(store), env_(env), info_(std::move(info)) {}
  const StateInfo& info() const override { return info_; }
  const ShardPlan& plan() const override { return store_.plan(); }
  Task<Result<Part>> read(int shard, ArenaIndex arena, uint64_t offset, uint64_t bytes) override {
    SHOAL_CHECK(bytes <= kPartBytes);
    std::string range = to_json(ReadRange{arena, offset, bytes});
    SHOAL_CO_TRY(Message message, co_await store_.control(size_t(shard), "read", std::move(range), env_.after(kRequestTimeout)));
    SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(message));
    if (part.offset != offset || part.payload.size() != bytes) co_return data_loss("a server sent another part than asked");
    co_return Part{part.payload, message.body};
  }
  Task<Result<void>> release() override { return store_.tell_all("release", env_.after(kRequestTimeout)); }

 private:
  RemoteStoreImpl& store_;
  Environment& env_;
  StateInfo info_;
};

Task<Result<Message>> RemoteStoreImpl::control(size_t shard, std::string_view verb, std::string text, Deadline deadline) {
  Message message = transport::make_control(env_.buffers(), verb, text);
  message.head.sequence = links_[shard]->next_sequence();
  auto answer = co_await links_[shard]->request(std::move(message), epoch_, deadline);
  co_return noted(std::move(answer));
}

Task<Result<void>> RemoteStoreImpl::connect_all(Deadline deadline) {
  for (auto& link : links_) {
    if (link->connected()) continue;
    std::function<bool()> give_up = options_.job_ended;
    SHOAL_CO_TRY_VOID(co_await link->connect(deadline, std::move(give_up)));
  }
  co_return Result<void>{};
}

Task<Result<ServerStatus>> RemoteStoreImpl::status_of(size_t shard, Deadline deadline) {
  SHOAL_CO_TRY(const Message answer, co_await control(shard, "status", {}, deadline));
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  co_return parse_server_status(text.text);
}

/// As it is now: the hello may have come before the chief restored it, or many steps ago.
Task<Result<Welcome>> RemoteStoreImpl::welcome_of(size_t shard, Deadline deadline) {
  SHOAL_CO_TRY(const Message answer, co_await control(shard, "welcome", {}, deadline));
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  co_return parse_welcome(text.text);
}

bool RemoteStoreImpl::still_held(const std::vector<ServerStatus>& statuses, const RestoreSource* restore) const {
  for (size_t i = 0; i < statuses.size(); ++i) {
    if (statuses[i].phase != Phase::kReady || statuses[i].epoch != statuses[0].epoch ||
        statuses[i].spec_hash != spec_hash(plan_.shards[i]) || statuses[i].fingerprint != options_.identity.fingerprint) {
      return false;
    }
  }
  return !restore || statuses[0].global_step >= restore->info().global_step;
}

Task<Result<Ready>> RemoteStoreImpl::prepare(RestoreSource* restore, Deadline deadline) {
  lost_ = false;
  SHOAL_CO_TRY_VOID(co_await connect_all(deadline));
  std::vector<ServerStatus> statuses;
  uint64_t newest = epoch_;  // servers that were restarted begin with 0 again; ours must not come twice
  for (size_t i = 0; i < links_.size(); ++i) {
    SHOAL_CO_TRY(ServerStatus status, co_await status_of(i, deadline));
    newest = std::max(newest, status.epoch);
    statuses.push_back(std::move(status));
  }
  Ready ready;
  ready.attached = still_held(statuses, restore);
  epoch_ = ready.attached ? statuses[0].epoch : newest + 1;
  stop_ = false;
  if (!ready.attached) {
    for (size_t i = 0; i < links_.size(); ++i) SHOAL_CO_TRY_VOID(co_await load_shard(i, restore, deadline));
    SHOAL_CO_TRY_VOID(co_await activate(restore, deadline));
  }
  for (size_t i = 0; i < links_.size(); ++i) SHOAL_CO_TRY_VOID(co_await pull(i, deadline));
  ready.epoch = epoch_;
  ready.global_step = global_step_;
  ready.stop = stop_;
  if (ready.attached) {
    SHOAL_CO_TRY(Welcome welcome, co_await welcome_of(0, deadline));
    if (!welcome.position.empty()) ready.position = std::move(welcome.position);
  } else if (restore) {
    const auto& positions = restore->info().positions;
    if (auto found = positions.find(0); found != positions.end()) ready.position = found->second;
  }
  co_return ready;
}

Task<Result<void>> RemoteStoreImpl::load_shard(size_t shard, RestoreSource* restore, Deadline deadline) {
  const Prepare prepare{epoch_, options_.identity.fingerprint, plan_.shards[shard]};
  SHOAL_CO_TRY_VOID((co_await control(shard, "prepare", to_json(prepare), deadline)));
  if (!restore) co_return Result<void>{};
  for (ArenaIndex arena = 0; arena <= plan_.shards[shard].slot_count; ++arena) {
    SHOAL_CO_TRY_VOID(co_await restore_arena(shard, arena, *restore, deadline));
  }
  co_return Result<void>{};
}

/// Segment by segment, in parts, so that memory stays bounded by one part.
Task<Result<void>> RemoteStoreImpl::restore_arena(size_t shard, ArenaIndex arena, RestoreSource& restore, Deadline deadline) {
  const std::string name = arena_name(arena);
  for (const Segment& segment : plan_.shards[shard].segments) {
    if (arena > nn::slot_count(segment.variable.rule)) continue;
    Ref<Buffer> buffer = env_.buffers().get(segment.bytes);
    Result<void> read;
    Work work = [&] { read = restore.read(segment, arena, buffer->bytes()); };
    SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(work)));
    SHOAL_CO_TRY_VOID(std::move(read));
    for (uint64_t done = 0; done < segment.bytes; done += kPartBytes) {
      const transport::SnapshotPart part{.name = name,
                                         .offset = segment.offset + done,
                                         .total_bytes = plan_.shards[shard].arena_bytes,
                                         .payload = buffer->bytes().subspan(done, std::min(kPartBytes, segment.bytes - done))};
      Message message = transport::make_snapshot_part(env_.buffers(), part);
      message.head.sequence = links_[shard]->next_sequence();
      auto stored = co_await links_[shard]->request(std::move(message), epoch_, deadline);
      SHOAL_CO_TRY_VOID(noted(std::move(stored)));
    }
  }
  co_return Result<void>{};
}

/// Shard 0 last: trainers wait for it, and find the others ready.
Task<Result<void>> RemoteStoreImpl::activate(RestoreSource* restore, Deadline deadline) {
  for (size_t i = links_.size(); i-- > 0;) {
    StateText state{.epoch = epoch_, .global_step = 0, .counters = {}, .positions = {}};
    if (restore) {
      const StateInfo& info = restore->info();
      state.global_step = info.global_step;
      for (size_t j = 0; j < info.shards.size(); ++j) {  // another number of shards than then: the furthest counts
        if (info.shards.size() == links_.size() && j != i) continue;
        state.counters.update_count = std::max(state.counters.update_count, info.shards[j].update_count);
      }
      if (i == 0) state.positions = info.positions;
    }
    SHOAL_CO_TRY_VOID((co_await control(i, "ready", to_json(state), deadline)));
  }
  co_return Result<void>{};
}

Task<Result<Ready>> RemoteStoreImpl::attach(Deadline deadline) {
  SteadyTime note = env_.after(kNoteEvery);
  for (;;) {
    SHOAL_CO_TRY_VOID(co_await connect_all(deadline));
    auto ready = co_await attach_once(deadline);
    if (ready || ready.error().kind() != ErrorKind::kUnavailable) co_return ready;
    const bool ended = co_await asks_job_ended();
    if (ended || env_.interrupted().stop_requested()) co_return cancelled();
    if (env_.now() >= deadline) {
      co_return deadline_exceeded("waiting for the chief to make the model ready: " + ready.error().message());
    }
    if (env_.now() >= note) {
      env_.log().info("waiting for the chief to make the model ready: " + ready.error().message());
      note = env_.after(kNoteEvery);
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kAttachPause, env_.interrupted()));
  }
}

/// The same epoch from every server, or Unavailable: while the chief restores them one after another, some may still be in
/// the epoch before.
Task<Result<Ready>> RemoteStoreImpl::attach_once(Deadline deadline) {
  epoch_ = 0;
  stop_ = lost_ = false;
  for (size_t i = 0; i < links_.size(); ++i) {
    SHOAL_CO_TRY_VOID(co_await pull(i, std::min(deadline, env_.after(kRequestTimeout))));
  }
  SHOAL_CO_TRY(Welcome welcome, co_await welcome_of(0, env_.after(kRequestTimeout)));
  if (welcome.epoch != epoch_ || welcome.phase != Phase::kReady) co_return unavailable("the servers are being restored");
  Ready ready{.global_step = global_step_, .epoch = epoch_, .attached = true, .position = {}, .stop = stop_};
  if (!welcome.position.empty()) ready.position = std::move(welcome.position);
  co_return ready;
}

Task<bool> RemoteStoreImpl::asks_job_ended() {
  if (!options_.job_ended) co_return false;
  bool ended = false;
  Work ask = [this, &ended] { ended = options_.job_ended(); };
  Result<void> asked = co_await env_.offload(std::move(ask));
  co_return asked && ended;
}

/// Unavailable "not ready" while the chief is not through; learns the epoch from the first server.
Task<Result<void>> RemoteStoreImpl::pull(size_t shard, Deadline deadline) {
  auto pulled = co_await pull_once(shard, deadline);
  co_return noted(std::move(pulled));
}

Task<Result<void>> RemoteStoreImpl::pull_once(size_t shard, Deadline deadline) {
  Message message;
  message.head.kind = MessageKind::kPull;
  message.head.sequence = links_[shard]->next_sequence();
  SHOAL_CO_TRY(Message answer, co_await links_[shard]->request(std::move(message), epoch_, deadline));
  if (answer.head.kind == MessageKind::kWeights) co_return accept_weights(shard, std::move(answer));
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  if (text.verb == "finished") stop_ = true;
  co_return text.verb == "finished" ? cancelled() : unavailable("the model is not ready");
}

Result<void> RemoteStoreImpl::accept_weights(size_t shard, Message message) {
  SHOAL_TRY(const transport::Weights weights, transport::read_weights(message));
  if (weights.payload.size() != plan_.shards[shard].arena_bytes) {
    return failed_precondition(to_string(links_[shard]->server()) + " holds another model: " +
                               std::to_string(weights.payload.size()) + " bytes of weights, expected " +
                               std::to_string(plan_.shards[shard].arena_bytes));
  }
  if (epoch_ == 0) epoch_ = message.head.epoch;
  if (message.head.epoch != epoch_) return unavailable("the servers are being restored");
  incarnations_[shard] = message.head.incarnation;
  if (shard == 0) global_step_ = message.head.global_step;
  if (message.head.status & kStatusStopBit) stop_ = true;
  weights_[shard] = std::move(message);
  return {};
}

Task<Result<Step>> RemoteStoreImpl::begin(StopToken stop) {
  if (stop.stop_requested()) co_return cancelled();
  backends::VersionId version{epoch_, 0};
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!weights_[i].body) SHOAL_CO_TRY_VOID(co_await pull(i, env_.after(kRequestTimeout)));
    bindings_.set_weights(i, weights_[i].payload().data());
    SHOAL_CO_TRY(const transport::Weights weights, transport::read_weights(weights_[i]));
    version.version += weights.version;  // each only grows, so equal sums are equal versions
  }
  co_return Step{.global_step = global_step_, .weights = version, .variables = bindings_.variables(), .updates = {}};
}

Result<void> RemoteStoreImpl::start(Step& step, uint64_t ordinal, std::string_view position) {
  for (size_t i = 0; i < links_.size(); ++i) {
    const ShardSpec& spec = plan_.shards[i];
    SHOAL_TRY(const transport::Weights weights, transport::read_weights(weights_[i]));
    const transport::Chunk fields{.base_version = weights.version,
                                  .base_step = step.global_step,
                                  .ordinal = ordinal,
                                  .range_begin = 0,
                                  .range_end = spec.arena_bytes,
                                  .closing = true,
                                  .position = i == 0 ? position : std::string_view()};
    outgoing_[i].chunk = transport::make_chunk(env_.buffers(), fields, spec.arena_bytes, size_t(spec.scalar_count));
    zero_padding(spec, outgoing_[i].chunk.payload);
    bindings_.set_updates(i, outgoing_[i].chunk.payload.data());
    row_push_.set_updates(i, outgoing_[i].chunk.payload.data());
  }
  step.updates = bindings_.updates();
  return {};
}

Result<void> RemoteStoreImpl::bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                                   const std::vector<std::string>& by_rows) {
  SHOAL_TRY_VOID(row_push_.bind(plan_, by_rows));
  return bindings_.bind(plan_, variables, updates);
}

Task<Result<Outcome>> RemoteStoreImpl::commit(Step step, std::span<const double> scalars) {
  static_cast<void>(step);
  for (Message& held : weights_) held.body = {};  // so that a server whose only reader we are updates in place
  for (size_t i = 0; i < links_.size(); ++i) {
    Outgoing& out = outgoing_[i];
    SHOAL_CHECK(scalars.size() == out.chunk.scalars.size());
    std::copy(scalars.begin(), scalars.end(), out.chunk.scalars.begin());
    out.sequence = links_[i]->next_sequence();
    out.chunk.message.head.sequence = out.sequence;
    Message message = out.chunk.message;  // kept until the reply, for a retry
    Result<void> sent = co_await links_[i]->send(std::move(message), epoch_, env_.after(kRequestTimeout));
    static_cast<void>(sent);  // a lost connection shows below, where the push is delivered again
  }
  Result<void> outcome;
  for (size_t i = 0; i < links_.size(); ++i) {
    Result<void> delivered = co_await deliver(i);
    if (!delivered && outcome) outcome = std::move(delivered);
    outgoing_[i].chunk = {};
  }
  SHOAL_CO_TRY_VOID(std::move(outcome));
  co_return Outcome{.global_step = global_step_, .applied = true, .stop = stop_};
}

/// The reply to a push; over a new connection, and with the push sent again under its number, if the old one broke.
Task<Result<void>> RemoteStoreImpl::deliver(size_t shard) {
  auto delivered = co_await deliver_once(shard);
  co_return noted(std::move(delivered));
}

Task<Result<void>> RemoteStoreImpl::deliver_once(size_t shard) {
  const Deadline deadline = env_.after(options_.ready_timeout);
  ServerLink& link = *links_[shard];
  for (;;) {
    if (!link.connected()) {
      SHOAL_CO_TRY_VOID(co_await link.connect(deadline, options_.job_ended));
      if (link.welcome().phase == Phase::kFinished) co_return cancelled();
      if (link.welcome().phase != Phase::kReady || link.welcome().epoch != epoch_ ||
          link.server_incarnation() != incarnations_[shard]) {
        co_return unavailable(to_string(link.server()) + " lost its state");
      }
      Message again = outgoing_[shard].chunk.message;
      Result<void> sent = co_await link.send(std::move(again), epoch_, env_.after(kRequestTimeout));
      if (!sent && sent.error().kind() != ErrorKind::kUnavailable) co_return sent;
      if (!sent) continue;  // broken again; the other servers may have applied their part, so this one must too
    }
    auto answer = co_await link.receive(outgoing_[shard].sequence, env_.after(kRequestTimeout));
    if (!answer) {
      if (answer.error().kind() == ErrorKind::kUnavailable && !link.connected()) continue;
      co_return std::move(answer).error();
    }
    if ((answer->head.status & kStatusStateMask) == kStatusFenced) {
      co_return unavailable(to_string(link.server()) + " is in another epoch");
    }
    if (answer->head.kind == MessageKind::kControl) co_return cancelled();  // "finished": too late to count
    co_return accept_weights(shard, std::move(answer).value());
  }
}

Task<Result<std::unique_ptr<Snapshot>>> RemoteStoreImpl::snapshot(std::string) {
  StateInfo info;
  for (size_t i = 0; i < links_.size(); ++i) {
    SHOAL_CO_TRY(const Message answer, co_await control(i, "hold", {}, env_.after(kRequestTimeout)));
    SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
    SHOAL_CO_TRY(StateText state, parse_state(text.text));
    if (state.epoch != epoch_) {
      lost_ = true;
      co_return unavailable(to_string(links_[i]->server()) + " is in another epoch");
    }
    if (i == 0) {
      info.global_step = state.global_step;
      info.positions = std::move(state.positions);
    }
    info.shards.push_back(state.counters);
  }
  co_return std::unique_ptr<Snapshot>(new RemoteSnapshot(*this, env_, std::move(info)));
}

Task<Result<uint64_t>> RemoteStoreImpl::global_step() {
  SHOAL_CO_TRY(const ServerStatus status, co_await status_of(0, env_.after(kRequestTimeout)));
  global_step_ = status.global_step;
  co_return global_step_;
}

Task<Result<void>> RemoteStoreImpl::leave(Deadline deadline) {
  for (Message& held : weights_) held.body = {};
  Result<void> told = co_await tell_all("done", deadline);
  for (auto& link : links_) link->close(Error(ErrorKind::kCancelled, "the trainer is done"));
  co_return told;
}

/// All at once: a server that is gone keeps no other waiting.
Task<Result<void>> RemoteStoreImpl::finish(JobEnd end, Deadline deadline) {
  TaskGroup group(env_);
  for (size_t i = 0; i < links_.size(); ++i) group.spawn(finish_server(i, to_json(end), deadline));
  co_return co_await group.join();
}

/// Over a new connection where there is none, or where it breaks before the answer.
Task<Result<void>> RemoteStoreImpl::finish_server(size_t shard, std::string end, Deadline deadline) {
  for (;;) {
    if (!links_[shard]->connected()) {
      std::function<bool()> give_up;
      SHOAL_CO_TRY_VOID(co_await links_[shard]->connect(deadline, std::move(give_up)));
      if (links_[shard]->welcome().phase == Phase::kFinished) co_return Result<void>{};
    }
    auto told = co_await control(shard, "finish", end, deadline);
    if (told) co_return Result<void>{};
    if (told.error().kind() != ErrorKind::kUnavailable) co_return std::move(told).error();
  }
}

std::optional<JobEnd> RemoteStoreImpl::job_end() const {
  for (const auto& link : links_) {
    if (link->job_end()) return link->job_end();
  }
  return std::nullopt;
}

Task<Result<void>> RemoteStoreImpl::tell_all(std::string_view verb, Deadline deadline) {
  Result<void> outcome;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i]->connected()) continue;
    auto told = co_await control(i, verb, {}, deadline);
    if (!told && outcome) outcome = std::move(told).error();
  }
  co_return outcome;
}

}  // namespace

std::unique_ptr<RemoteStore> make_remote_store(Environment& env, ShardPlan plan, RemoteStoreOptions options) {
  return std::make_unique<RemoteStoreImpl>(env, std::move(plan), std::move(options));
}

}  // namespace shoal::cluster
