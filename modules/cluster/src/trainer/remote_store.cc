// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/remote_store.h"

#include <algorithm>
#include <atomic>

#include "shoal/base/compute.h"
#include "shoal/cluster/strategy_text.h"
#include "trainer/bindings.h"
#include "trainer/end_patience.h"
#include "trainer/links.h"
#include "trainer/model_delivery.h"
#include "trainer/push_sender.h"
#include "trainer/remote_snapshot.h"
#include "trainer/residual_exchange.h"
#include "trainer/resting.h"
#include "trainer/row_push.h"
#include "trainer/server_traffic.h"
#include "trainer/weight_receiver.h"

namespace shoal::cluster {
namespace {

using transport::Message;
using transport::MessageHead;
using transport::MessageKind;

constexpr auto kStoreNoteEvery = std::chrono::seconds(10);
constexpr auto kAttachPause = std::chrono::milliseconds(20);
// The pause between pulls while servers have different versions: about the time that an order takes to reach all servers.
constexpr auto kVersionPause = std::chrono::milliseconds(1);
constexpr uint64_t kPullOverhead = uint64_t(1) << 20;

class RemoteStoreImpl final : public RemoteStore {
 public:
  RemoteStoreImpl(Environment& env, ShardPlan plan, RemoteStoreOptions options)
      : env_(env),
        plan_(std::move(plan)),
        options_(std::move(options)),
        paced_(value_or_raise(parse_strategy(options_.identity.strategy)).sync),
        servers_(env_, options_),
        weights_(env_, servers_, traffic_, bindings_,
                 [this](size_t shard, size_t part, const MessageHead& head) { return take_head(shard, part, head); }),
        sender_(env_, servers_, traffic_),
        residuals_(make_residual_exchange(env_, options_, servers_, traffic_)) {
    SHOAL_CHECK(plan_.shards.size() == servers_.size());
    if (options_.job_ended) {
      options_.job_ended = [ended = ended_, ask = std::move(options_.job_ended)] {
        if (ask()) *ended = true;
        return bool(*ended);
      };
    }
    traffic_.reserve(servers_.size());
    for (size_t i = 0; i < servers_.size(); ++i) {
      traffic_.emplace_back(env_.buffers(), plan_.shards[i], options_.compression, parts_.shards.size());
      uint64_t largest = kSnapshotPartBytes;
      for (const ShardTraffic& part : traffic_[i].parts()) {
        parts_.shards.push_back(part.spec());
        // Twice the bytes of the values, since an encoded message may have the position of each value.
        largest = std::max(largest, 2 * part.spec().arena_bytes);
      }
      servers_[i].set_receive_limit(largest + kPullOverhead);
    }
  }

  Task<Result<Ready>> prepare(RestoreSource* restore, Deadline deadline) override;
  Task<Result<Ready>> attach(Deadline deadline) override;
  Result<void> bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                    const std::vector<std::string>& by_rows) override;
  Task<Result<Step>> begin(StopToken stop) override;
  Result<void> start(Step& step, uint64_t ordinal, std::string_view position) override;
  backends::UpdateListener* listener() override { return sender_.sends_during_run() ? &sender_ : nullptr; }
  Task<Result<void>> exchange(StopToken stop) override;
  Task<Result<void>> arrival(size_t variable) override;
  Result<void> add_rows(Step&, std::span<const RowGradients> gradients) override {
    return by_rows_ ? row_push_.sum(gradients) : row_push_.write(gradients);
  }
  Result<void> next_replica(std::span<const double>) override {
    return failed_precondition("a trainer of a cluster computes for itself alone");
  }
  Task<Result<Outcome>> commit(Step step, std::span<const double> scalars) override;
  bool wants_positions() const override { return true; }
  Task<Result<std::unique_ptr<Snapshot>>> snapshot(Positions) override {
    return hold_for_snapshot(env_, plan_, servers_, *residuals_);
  }
  Task<Result<void>> check_lease() override { return servers_.check_lease(servers_.answer_by()); }
  Task<Result<std::optional<JobFailure>>> failure() override {
    SHOAL_CO_TRY(ServerStatus status, co_await servers_.status(0, servers_.answer_by()));
    co_return std::move(status.failure);
  }
  Task<Result<void>> stay(StopToken stop) override;
  bool asked_to_save() const override { return servers_.asked_to_save(); }
  bool lost() const override { return servers_.lost(); }
  Task<Result<uint64_t>> global_step() override;
  const ShardPlan& plan() const override { return plan_; }

  Task<Result<void>> connect(Deadline deadline) override { return servers_.connect(deadline); }
  Task<Result<void>> leave(Deadline deadline) override;
  Task<void> give_way(Deadline deadline) override;
  Task<Result<void>> tell_failure(Error why, Deadline deadline) override {
    return servers_.tell_failure({why.kind(), why.message(), options_.identity.trainer_index}, deadline);
  }
  Task<Result<void>> request_stop(Deadline deadline) override { return servers_.tell_all("stop", deadline); }
  Task<Result<RestNews>> rest(Rest rest, Deadline deadline) override { return resting_.rest(rest, push_, deadline); }
  Task<Result<void>> seal(Deadline deadline) override { return servers_.tell_all("seal", deadline); }
  Task<Result<ServerStatus>> status(Deadline deadline, std::optional<uint64_t> seen) override {
    return servers_.status_of_all(deadline, seen);
  }
  bool hears_of_saves() const override { return paced_ && residuals_->on(); }
  Task<Result<ServerStatus>> look(Deadline deadline) override { return servers_.look(0, deadline); }
  Task<Result<void>> finish(JobEnd end, Deadline deadline) override { return servers_.finish(std::move(end), deadline); }
  void know_run(std::string id) override { options_.identity.run.id = std::move(id); }
  std::optional<JobEnd> job_end() const override { return servers_.job_end(); }
  bool job_is_over() const override { return *ended_ || servers_.job_end(); }

 private:
  Task<Result<Ready>> attach_once(Deadline deadline);
  Task<bool> asks_job_ended();
  Task<Result<void>> pull_one_version(Deadline deadline);
  Result<void> take_head(size_t shard, size_t part, const MessageHead& head);
  void restart();
  Task<Result<void>> exchange_with(size_t shard, StopToken stop);
  Task<Result<void>> deliver_all();
  Task<Result<void>> deliver_to(size_t shard, Result<void>& outcome, StopToken stop);
  Task<Result<void>> deliver(size_t shard, StopToken stop);
  Task<Result<void>> deliver_once(size_t shard, StopToken stop);
  Task<Result<void>> finish_pushes(std::span<const double> scalars, const Step& step);
  /// True if messages are encoded, or have only rows, so that kernels cannot read and write them in place.
  bool recodes() const { return by_rows_ || options_.compression.any(); }
  void log_traffic();
  bool all_lazy_rows_bound() const;
  bool servers_share_memory() const;

  Environment& env_;
  ShardPlan plan_;
  ShardPlan parts_;  // What bindings_ uses instead of plan_: a plan in which each part of a shard counts as a shard.
  RemoteStoreOptions options_;
  const bool paced_;  // True if trainers wait for each other (synchronous).
  // True once job_ended() has returned true. Shared, since job_ended() runs on another thread.
  const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
  ServerLinks servers_;
  Bindings bindings_;
  RowPush row_push_;
  bool by_rows_ = false;                // True if messages have only changed rows (of variables that are updated by rows).
  std::vector<ServerTraffic> traffic_;  // One entry for each server. If an entry has no weights, begin() pulls them.
  WeightReceiver weights_;
  PushSender sender_;
  const std::unique_ptr<ResidualExchange> residuals_;
  Resting resting_{env_, servers_, *residuals_};
  uint64_t global_step_ = 0;
  bool stop_ = false;
  uint64_t step_ordinal_ = 0;    // The ordinal of the present step's batch.
  uint64_t push_ = 0;            // The number of the present step's push.
  uint8_t verdict_ = kStatusOk;  // What shard 0 answered to the newest push: kStatusOk, kStatusStale or kStatusKept.
  Duration waited_{};            // How long the trainer waited for the reply to its newest push, and for the weights.
};

Task<Result<Ready>> RemoteStoreImpl::prepare(RestoreSource* restore, Deadline deadline) {
  servers_.clear_lost();
  sender_.leave_step();
  SHOAL_CO_TRY_VOID(co_await servers_.connect(deadline));
  std::vector<ServerStatus> statuses;
  uint64_t newest = servers_.epoch();
  for (size_t i = 0; i < servers_.size(); ++i) {
    SHOAL_CO_TRY(ServerStatus status, co_await servers_.status(i, deadline));
    newest = std::max(newest, status.epoch);
    statuses.push_back(std::move(status));
  }
  const ModelDelivery delivery{
      env_, plan_, servers_, options_.identity, options_.compression.gradients, options_.allow_non_finite};
  Ready ready;
  ready.attached = is_still_held(delivery, statuses, restore);
  if (ready.attached) env_.sometimes("chief.servers_hold_the_model");
  if (!ready.attached && newest != 0) env_.sometimes("chief.restores_again");
  servers_.set_epoch(ready.attached ? statuses[0].epoch : next_epoch(newest, options_.identity.incarnation));
  stop_ = false;
  restart();
  if (!ready.attached) SHOAL_CO_TRY_VOID(co_await bring_model(delivery, restore, deadline));
  for (size_t i = 0; i < servers_.size(); ++i) SHOAL_CO_TRY_VOID(co_await weights_.pull(i, deadline));
  SHOAL_CO_TRY_VOID(co_await pull_one_version(deadline));
  SHOAL_CO_TRY_VOID(co_await servers_.look_for_poison());
  SHOAL_CO_TRY_VOID(co_await residuals_->fetch());
  ready.epoch = servers_.epoch();
  ready.global_step = global_step_;
  ready.stop = stop_;
  if (ready.attached) {
    SHOAL_CO_TRY(Welcome welcome, co_await servers_.welcome(0, push_, deadline));
    if (!welcome.position.empty()) ready.position = std::move(welcome.position);
  } else if (restore) {
    const auto& positions = restore->info().positions;
    if (auto found = positions.find(0); found != positions.end()) ready.position = found->second;
  }
  co_return ready;
}

Task<Result<Ready>> RemoteStoreImpl::attach(Deadline deadline) {
  SteadyTime note = env_.after(kStoreNoteEvery);
  sender_.leave_step();
  for (;;) {
    SHOAL_CO_TRY_VOID(co_await servers_.connect(deadline));
    auto ready = co_await attach_once(deadline);
    if (ready || ready.error().kind() != ErrorKind::kUnavailable) co_return ready;
    const bool ended = co_await asks_job_ended();
    if (ended || env_.interrupted().stop_requested()) co_return cancelled();
    if (env_.now() >= deadline) {
      co_return deadline_exceeded("waiting for the chief to make the model ready: " + ready.error().message());
    }
    if (env_.now() >= note) {
      env_.log().info("waiting for the chief to make the model ready: " + ready.error().message());
      note = env_.after(kStoreNoteEvery);
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kAttachPause, env_.interrupted()));
  }
}

/// Attaches to the model that the servers have. Unavailable unless all servers have the same loading (epoch): while the
/// chief restores servers one after another, some may still have the former model.
Task<Result<Ready>> RemoteStoreImpl::attach_once(Deadline deadline) {
  servers_.set_epoch(0);
  stop_ = false;
  servers_.clear_lost();
  restart();
  for (size_t i = 0; i < servers_.size(); ++i) {
    SHOAL_CO_TRY_VOID(co_await weights_.pull(i, std::min(deadline, servers_.answer_by())));
  }
  SHOAL_CO_TRY_VOID(co_await pull_one_version(deadline));
  SHOAL_CO_TRY_VOID(co_await servers_.look_for_poison());
  SHOAL_CO_TRY(Welcome welcome, co_await servers_.welcome(0, push_, servers_.answer_by()));
  if (welcome.epoch != servers_.epoch() || welcome.phase != Phase::kReady)
    co_return unavailable("the servers are being restored");
  Ready ready{.global_step = global_step_, .epoch = servers_.epoch(), .attached = true, .position = {}, .stop = stop_};
  if (!welcome.position.empty()) ready.position = std::move(welcome.position);
  ready.run = std::move(welcome.run);
  SHOAL_CO_TRY_VOID(co_await residuals_->fetch());
  co_return ready;
}

Task<bool> RemoteStoreImpl::asks_job_ended() {
  if (!options_.job_ended) co_return false;
  const Result<bool> ended = co_await compute(env_, options_.job_ended);
  if (!ended) co_return false;
  co_return *ended;
}

/// Tells the servers from time to time, until `stop`, that this trainer is alive. If it had to tell them at least once, and
/// updates are asynchronous, drops the weights. The next step then pulls new ones with the updates of other trainers.
Task<Result<void>> RemoteStoreImpl::stay(StopToken stop) {
  const bool long_away = co_await servers_.stay(std::move(stop));
  if (!long_away || paced_) co_return Result<void>{};
  for (size_t i = 0; i < servers_.size(); ++i) weights_.drop(i);
  co_return Result<void>{};
}

/// Pulls until the weights of all servers have one version, which synchronous updates need. Other trainers may make an
/// update meanwhile, but then wait for this trainer, so the loop ends soon.
Task<Result<void>> RemoteStoreImpl::pull_one_version(Deadline deadline) {
  SteadyTime note = env_.after(kStoreNoteEvery);
  while (paced_ && env_.now() < deadline) {
    if (env_.now() >= note) {
      env_.log().info("waiting for weights of one version on all servers");
      note = env_.after(kStoreNoteEvery);
    }
    uint64_t newest = 0;
    for (const ServerTraffic& traffic : traffic_) newest = std::max(newest, traffic.version());
    bool same = true;
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (traffic_[i].version() == newest) continue;
      env_.sometimes("trainer.weights_of_two_versions");
      same = false;
      SHOAL_CO_TRY_VOID(co_await weights_.pull(i, deadline));
    }
    if (same) break;
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kVersionPause, env_.interrupted()));
  }
  co_return Result<void>{};
}

/// Takes step, epoch and status bits from a weights message. The first message after loading the model sets the epoch.
Result<void> RemoteStoreImpl::take_head(size_t shard, size_t part, const MessageHead& head) {
  if (servers_.epoch() == 0) servers_.set_epoch(head.epoch);
  if (head.epoch != servers_.epoch()) {
    env_.sometimes("trainer.weights_of_another_epoch");
    return unavailable("the servers are being restored");
  }
  servers_.follow(shard, head.incarnation);
  if (shard == 0 && part == 0) global_step_ = head.global_step;
  if (head.status & kStatusStopBit) stop_ = true;
  if (head.status & kStatusPoisonBit) servers_.note_poison(shard);
  residuals_->note(shard, head.status);
  return {};
}

void RemoteStoreImpl::restart() {
  servers_.forget_poison();
  for (size_t i = 0; i < servers_.size(); ++i) {
    weights_.drop(i);
    traffic_[i].restart();
  }
  resting_.restart();
  // With asynchronous updates the other trainers go on pushing while the chief saves a checkpoint. So servers can ask them
  // for residuals in the replies to these pushes.
  residuals_->set_others_asked(!paced_);
}

Task<Result<Step>> RemoteStoreImpl::begin(StopToken stop) {
  if (stop.stop_requested()) co_return cancelled();
  backends::VersionId version{servers_.epoch(), 0};
  bool pulled = false;
  for (size_t i = 0; i < servers_.size(); ++i) {
    Result<void> received = co_await servers_[i].receive_late_so_far();
    static_cast<void>(received);  // An error may be ignored: the next receive then fails, too.
    if (weights_.has_weights(i)) continue;
    SHOAL_CO_TRY_VOID(co_await weights_.pull_again(i, env_.after(options_.ready_timeout), stop));
    pulled = true;
  }
  if (pulled) SHOAL_CO_TRY_VOID(co_await pull_one_version(servers_.answer_by()));
  SHOAL_CO_TRY_VOID(co_await servers_.look_for_poison());
  // The version of a step is the sum of the servers' versions. None of them ever gets smaller, so if two steps have equal
  // sums, each server had the same version in both.
  for (const ServerTraffic& traffic : traffic_) version.version += traffic.version();
  const bool all = weights_.begin();
  sender_.begin();
  co_return Step{.global_step = global_step_,
                 .weights = version,
                 .variables = bindings_.variables(),
                 .arrivals = all ? nullptr : &weights_,
                 .updates = {}};
}

Result<void> RemoteStoreImpl::start(Step& step, uint64_t ordinal, std::string_view position) {
  step_ordinal_ = ordinal;
  ++push_;
  for (size_t i = 0; i < servers_.size(); ++i) {
    const transport::Chunk fields{.base_version = traffic_[i].version(),
                                  .ordinal = ordinal,
                                  .push = push_,
                                  .position = i == 0 ? position : std::string_view()};
    for (size_t part = 0; part < traffic_[i].parts().size(); ++part) {
      std::byte* const arena = traffic_[i].parts()[part].begin_push(fields).data();
      bindings_.set_updates(traffic_[i].number(part), arena);
      row_push_.set_updates(traffic_[i].number(part), arena);
    }
  }
  sender_.start();
  step.updates = bindings_.updates();
  return {};
}

Result<void> RemoteStoreImpl::bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                                   const std::vector<std::string>& by_rows) {
  SHOAL_TRY_VOID(row_push_.bind(parts_, by_rows));
  SHOAL_TRY_VOID(bindings_.bind(parts_, variables, updates));
  by_rows_ = !by_rows.empty() && all_lazy_rows_bound() && !options_.compression.any() &&
             options_.by_rows.value_or(!servers_share_memory());
  if (by_rows_) {
    servers_.ask_for(transport::Encoding::kSparseRows);
    for (ServerTraffic& traffic : traffic_) {
      for (ShardTraffic& part : traffic.parts()) part.go_by_rows();
    }
  }
  weights_.bind(recodes());
  // Parts of a push are sent while the program still computes others. This is not done if parts are encoded, which happens
  // after the program has ended, or if sending takes no time (shared memory).
  sender_.bind(parts_, bindings_, !recodes() && !servers_share_memory());
  return {};
}

bool RemoteStoreImpl::all_lazy_rows_bound() const {
  for (const ShardSpec& shard : plan_.shards) {
    for (const Segment& segment : shard.segments) {
      if (segment.variable.lazy_rows && !row_push_.sums_of(segment.variable.name)) return false;
    }
  }
  return true;
}

/// True if servers share memory with this process: sending all weights and gradients then costs nothing.
bool RemoteStoreImpl::servers_share_memory() const {
  const Result<transport::Transport*> transport = env_.transport(options_.servers.front().scheme);
  return transport && (*transport)->shares_memory();
}

/// Receives from each server the weights that have not arrived yet. Then sends the server its gradients, which the program
/// computes from those weights.
Task<Result<void>> RemoteStoreImpl::exchange(StopToken stop) {
  TaskGroup group(env_, std::move(stop));
  for (size_t i = 0; i < servers_.size(); ++i) group.spawn(exchange_with(i, group.token()));
  co_return co_await group.join();
}

Task<Result<void>> RemoteStoreImpl::exchange_with(size_t shard, StopToken stop) {
  SHOAL_CO_TRY_VOID(co_await weights_.receive_late(shard, env_.after(options_.ready_timeout), stop));
  co_return co_await sender_.send_made(shard, std::move(stop));
}

Task<Result<void>> RemoteStoreImpl::arrival(size_t variable) {
  const SteadyTime missed_at = env_.now();
  auto arrived = co_await weights_.arrival(variable);
  waited_ += env_.now() - missed_at;
  co_return servers_.noted(std::move(arrived));
}

Task<Result<Outcome>> RemoteStoreImpl::commit(Step step, std::span<const double> scalars) {
  SHOAL_CO_TRY_VOID(co_await finish_pushes(scalars, step));
  residuals_->set_others_asked(!paced_ || step.save_follows);
  for (ServerTraffic& to : traffic_) to.parts().front().set_push_status(step.save_follows ? kStatusSaveBit : kStatusOk);
  const uint64_t epoch = servers_.epoch();
  for (size_t i = 0; i < servers_.size(); ++i) {
    weights_.drop(i);
    Result<void> sent = co_await sender_.send_rest(i);
    static_cast<void>(sent);  // The error is ignored: if the connection is lost, deliver_all() sends the push again.
  }
  const SteadyTime sent_at = env_.now();
  Result<void> outcome = co_await deliver_all();
  waited_ = env_.now() - sent_at;
  const PushEnd end = !outcome ? PushEnd::kUnknown : verdict_ == kStatusStale ? PushEnd::kDropped : PushEnd::kCounts;
  for (ServerTraffic& traffic : traffic_) {
    for (ShardTraffic& part : traffic.parts()) part.end_push(end);
  }
  SHOAL_CO_TRY_VOID(std::move(outcome));
  if (options_.observer && verdict_ == kStatusOk) {
    options_.observer->counted({.epoch = epoch,
                                .trainer = options_.identity.trainer_index,
                                .process = options_.identity.incarnation,
                                .ordinal = step_ordinal_,
                                .global_step = global_step_});
  }
  SHOAL_CO_TRY_VOID(co_await servers_.look_for_poison());
  SHOAL_CO_TRY_VOID(co_await residuals_->hand_in_asked());
  co_return Outcome{.global_step = global_step_, .applied = verdict_ == kStatusOk, .stop = stop_};
}

Task<Result<void>> RemoteStoreImpl::finish_pushes(std::span<const double> scalars, const Step& step) {
  const transport::StepMetrics metrics{
      .loss = step.loss, .waited_secs = to_seconds(waited_), .input_wait = step.input_wait};
  Work work = [this, scalars, metrics] {
    for (ServerTraffic& traffic : traffic_) {
      for (ShardTraffic& part : traffic.parts()) part.finish_push(scalars, metrics, row_push_);
    }
  };
  if (recodes()) co_return co_await env_.offload(std::move(work));
  work();
  co_return Result<void>{};
}

/// Waits for the replies of all servers, which come once all servers have the push. Waits for all at the same time,
/// since any server whose connection broke needs the push again. If one server cannot answer, no other server will.
Task<Result<void>> RemoteStoreImpl::deliver_all() {
  if (servers_.size() == 1) co_return co_await deliver(0, {});
  Result<void> outcome;
  TaskGroup group(env_);
  const StopCallback on_lost(group.token(), [this] {
    for (size_t i = 0; i < servers_.size(); ++i) servers_[i].end_waits(unavailable("another server was lost"));
  });
  for (size_t i = 0; i < servers_.size(); ++i) group.spawn(deliver_to(i, outcome, group.token()));
  Result<void> joined = co_await group.join();
  for (size_t i = 0; i < servers_.size() && !joined; ++i) servers_[i].close(unavailable("another server was lost"));
  co_return outcome;
}

/// Waits for one server's reply. Stores an error in `outcome` if that has none yet; an error ends the other waits.
Task<Result<void>> RemoteStoreImpl::deliver_to(size_t shard, Result<void>& outcome, StopToken stop) {
  Result<void> delivered = co_await deliver(shard, std::move(stop));
  const bool finished = !delivered && delivered.error().kind() == ErrorKind::kCancelled && servers_[shard].connected();
  if (!delivered && outcome) outcome = delivered;
  co_return finished ? Result<void>() : std::move(delivered);  // The job's end is no error here.
}

/// Waits for the reply to a push. If the connection breaks, sends the push again over a new one, with the same number.
Task<Result<void>> RemoteStoreImpl::deliver(size_t shard, StopToken stop) {
  auto delivered = co_await deliver_once(shard, std::move(stop));
  co_return servers_.noted(std::move(delivered));
}

/// Waits until the server answers a push, or until a lost connection cannot be restored. With synchronous updates the
/// server answers only after the slowest trainer's push, so this may take as long as an evaluation there. Servers do not
/// wait for a trainer that has fallen silent.
Task<Result<void>> RemoteStoreImpl::deliver_once(size_t shard, StopToken stop) {
  Deadline deadline = env_.after(options_.ready_timeout);
  ServerLink& link = servers_[shard];
  // Ends the wait some time after a server has announced the job's end. Another server may not have heard of the end: it
  // would go on waiting for trainers that have left.
  const std::function<bool()> over = [patience = EndPatience(env_), this]() mutable {
    return patience.is_over(env_.interrupted().stop_requested() || servers_.job_end());
  };
  for (;;) {
    if (stop.stop_requested()) co_return unavailable("another server was lost");
    if (!link.connected()) {
      Result<void> again = co_await servers_.reconnect(shard, deadline, stop);
      if (stop.stop_requested()) continue;
      SHOAL_CO_TRY_VOID(std::move(again));
      env_.sometimes("trainer.push_sent_again");
      Result<void> sent = co_await sender_.send_again(shard);
      if (!sent && sent.error().kind() != ErrorKind::kUnavailable) co_return sent;
      if (!sent) continue;  // The new connection broke, too. All servers wait for this push, so tries once more.
    }
    const SteadyTime connected_at = env_.now();
    auto answer = co_await link.receive_unless(over, sender_.sequence(shard), paced_ ? kNoDeadline : deadline);
    if (paced_) deadline += env_.now() - connected_at;
    if (!answer) {
      if (answer.error().kind() == ErrorKind::kUnavailable && !link.connected()) continue;
      co_return std::move(answer).error();
    }
    const uint8_t status = answer->head.status & kStatusStateMask;
    if (status == kStatusFenced) {
      env_.sometimes("trainer.push_fenced");
      co_return unavailable(to_string(link.server()) + " is in another epoch");
    }
    // An answer without weights is a control message: "finished" (the job has ended) or "sealed" (no push is committed any
    // more). Either way this push has no effect.
    if (answer->head.kind == MessageKind::kControl) co_return cancelled();
    Result<void> accepted = co_await weights_.accept_first(shard, std::move(answer).value());
    if (!accepted && accepted.error().kind() == ErrorKind::kUnavailable && !link.connected()) continue;
    if (shard == 0) verdict_ = status;
    co_return accepted;
  }
}

Task<Result<uint64_t>> RemoteStoreImpl::global_step() {
  SHOAL_CO_TRY(const ServerStatus status, co_await servers_.status(0, servers_.answer_by()));
  global_step_ = status.global_step;
  co_return global_step_;
}

Task<Result<void>> RemoteStoreImpl::leave(Deadline deadline) {
  log_traffic();
  const SteadyTime now = env_.now();
  Result<void> handed_in = co_await residuals_->hand_in_last(now + (deadline - now) / 2, deadline);
  static_cast<void>(handed_in);  // An error is ignored: even if the residual is lost, "done" is sent next.
  Result<void> told = co_await servers_.tell_all("done", deadline);
  for (size_t i = 0; i < servers_.size(); ++i) weights_.drop(i);
  for (size_t i = 0; i < servers_.size(); ++i) servers_[i].close(Error(ErrorKind::kCancelled, "the trainer is done"));
  co_return told;
}

Task<void> RemoteStoreImpl::give_way(Deadline deadline) {
  log_traffic();
  Result<void> handed_in = co_await residuals_->hand_in_last(env_.after((deadline - env_.now()) / 2), deadline);
  static_cast<void>(handed_in);  // An error is ignored: this process leaves even if its residual is lost.
  for (size_t i = 0; i < servers_.size(); ++i) weights_.drop(i);
  for (size_t i = 0; i < servers_.size(); ++i) servers_[i].close(Error(ErrorKind::kCancelled, "this process gives way"));
}

void RemoteStoreImpl::log_traffic() {
  if (!recodes()) return;
  TrafficBytes sum;
  for (const ServerTraffic& traffic : traffic_) sum += traffic.bytes();
  const std::string how = by_rows_ ? "tables by rows" : "compression (" + to_string(options_.compression) + ")";
  env_.log().info(how + ": " + to_string(sum));
}

}  // namespace

std::unique_ptr<RemoteStore> make_remote_store(Environment& env, ShardPlan plan, RemoteStoreOptions options) {
  return std::make_unique<RemoteStoreImpl>(env, std::move(plan), std::move(options));
}

}  // namespace shoal::cluster
