// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The core of a parameter server: its state, the lock of the state, computations on other threads, and replies.
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "server/fifo_lock.h"
#include "server/session.h"
#include "shoal/cluster/parameter_server.h"
#include "shoal/cluster/server_memory.h"

namespace shoal::cluster {

class ServerCore {
 public:
  using Work = UniqueFunction<void(const ParallelFor&)>;

  /// `options` outlive this object.
  ServerCore(Environment& env, const ParameterServerOptions& options);

  Environment& env() { return env_; }
  const ParameterServerOptions& options() const { return options_; }
  /// The most memory that this server takes for the model that the chief told it to prepare.
  const ServerMemory& memory() const { return memory_; }
  /// FailedPrecondition if the shard `spec` needs more memory than this process can have, or may have
  /// (ParameterServerOptions::memory_limit).
  Result<void> check_memory(const ShardSpec& spec, transport::Encoding gradients) const;
  /// Computes memory() for the state's model, and limits trainers' pushes accordingly.
  void plan_memory(transport::Encoding gradients);
  /// Waits until the session's trainer may use `bytes` more bytes of memory for a push, and adds them to `credit`, the
  /// push's bytes. Earlier pushes use the memory until the sequencer has them committed or dropped. Also returns, without
  /// adding, if the model of `epoch` is gone, or no push is committed any more. During the wait the server reads nothing
  /// from that trainer. Cancelled if the server ends, or the trainer has connected again. Unavailable if the trainer has
  /// been silent for three heartbeats. DeadlineExceeded if the memory is not free within ready_timeout.
  Task<Result<void>> take_credit(Session& session, PushCredit& credit, uint64_t epoch, uint64_t bytes, bool encoded);
  /// Called after orders that may have freed memory of pushes: wakes the sessions that wait in take_credit().
  void look_for_credit() {
    if (wait_for_credit_ > 0) changed_->notify_all();
  }
  /// The number of this shard. Shard 0 has the sequencer, which decides which pushes are applied.
  size_t shard() const { return shard_; }
  ServerState& state() { return state_; }
  /// Notified whenever something in the state changes that a coroutine may wait for.
  const std::shared_ptr<Event>& changed() const { return changed_; }

  /// Locks the state, as every request that changes it does. After fail(): the error that fail() got.
  Task<Result<FifoLock::Guard>> lock_state() { return state_lock_.acquire(env_.after(options_.ready_timeout)); }
  bool state_is_locked() const { return state_lock_.is_locked(); }
  /// Runs `work`, which reads or writes about `bytes` bytes of memory: on the strand where that is quick, else on other
  /// threads. The caller has locked the state, unless `work` uses only memory of the caller. If memory or threads run out,
  /// returns that error, and this server ends with it (fail()).
  Task<Result<void>> compute(uint64_t bytes, Work work);
  /// Ends this server with `why`, since it has failed while it changed its state: the state may be half changed, so nobody
  /// gets its lock any more. Trainers then wait for a server that is started again in this one's place.
  void fail(const Error& why);
  /// Passes on the outcome of a change of the state that has begun. If it is an error, calls fail() with it.
  Result<void> whole(Result<void> change);
  /// The error that fail() got first; empty if there was none.
  const std::optional<Error>& failure() const { return state_lock_.broken_off(); }
  /// From now on every reply asks the chief for a checkpoint, since this server was asked to end.
  void ask_to_save() { asks_to_save_ = true; }
  /// Notes that a checkpoint has the model's state of this global step in the present epoch.
  void note_saved(uint64_t global_step) { saved_ = {state_.epoch(), global_step}; }
  /// True if nothing has been heard of the session's peer for three heartbeats: it may be cut off or frozen, and come back.
  bool is_silent(const Session& session) const;
  /// True if a checkpoint of the present epoch (since the model was loaded last) has all updates up to this global step.
  bool is_saved(uint64_t global_step) const { return saved_.epoch == state_.epoch() && saved_.global_step >= global_step; }
  /// The newest weights. The caller has locked the state.
  Task<Result<std::vector<transport::Message>>> newest(transport::Encoding encoding, uint64_t has);

  Task<Result<void>> reply(Session& session, const transport::MessageHead& request, transport::Message answer,
                           uint8_t status = kStatusOk);
  /// Sends `parts`, the messages with one version of the weights. A later update does not change these messages while they
  /// are sent. Closes the connection if a message cannot be sent.
  Task<Result<void>> reply_parts(Session& session, transport::MessageHead request, std::vector<transport::Message> parts,
                                 uint8_t status = kStatusOk);
  transport::Message control(std::string_view verb, std::string_view text = {}) {
    return transport::make_control(env_.buffers(), verb, text);
  }
  /// The message that says how the job ended.
  transport::Message finished() { return control("finished", to_json(state_.end())); }

  /// Called when the server ends: coroutines that wait within a request return Cancelled.
  void close();
  bool closed() const { return closed_; }

 private:
  static Task<Result<void>> on_strand(Work& work);
  ServerMemory memory_of(const ShardSpec& spec, transport::Encoding gradients) const;

  Environment& env_;
  const ParameterServerOptions& options_;
  const size_t shard_;
  ServerState state_;
  FifoLock state_lock_;
  const std::shared_ptr<Event> changed_;
  const uint64_t held_bytes_;  // The process's memory before any model was loaded; 0 if there is no memory_limit.
  bool closed_ = false;
  bool asks_to_save_ = false;
  struct Saved {
    uint64_t epoch = 0;
    uint64_t global_step = 0;
  } saved_;  // The newest state that is in a checkpoint.
  ServerMemory memory_;
  int wait_for_credit_ = 0;  // The number of sessions that wait in take_credit().
};

}  // namespace shoal::cluster
