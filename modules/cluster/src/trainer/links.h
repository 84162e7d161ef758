// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's connections to all servers of its job, and the epoch (one loading of the model) that their messages
/// name. Sends control messages to one or all servers.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/remote_store.h"
#include "trainer/link.h"

namespace shoal::cluster {

/// The longest wait for one answer of a server.
inline constexpr auto kRequestTimeout = std::chrono::seconds(60);

class ServerLinks {
 public:
  /// Makes one link per server of `options`, which outlives this object.
  ServerLinks(Environment& env, const RemoteStoreOptions& options);

  size_t size() const { return links_.size(); }
  ServerLink& operator[](size_t shard) { return *links_[shard]; }
  const ServerLink& operator[](size_t shard) const { return *links_[shard]; }

  /// Sets the encoding in which servers shall send weights. Called before connect().
  void ask_for(transport::Encoding weights) {
    for (auto& link : links_) link->ask_for(weights);
  }
  /// The deadline for the answer to a request that is sent now: kRequestTimeout or, if that is less, ready_timeout.
  SteadyTime answer_by() const { return env_.after(std::min<Duration>(kRequestTimeout, options_.ready_timeout)); }
  /// The epoch, which every message names: the number of the model's last loading; 0 if it is not known yet.
  uint64_t epoch() const { return epoch_; }
  void set_epoch(uint64_t epoch) { epoch_ = epoch; }
  /// Notes that this trainer trains with the model in the server process `incarnation`.
  void follow(size_t shard, uint64_t incarnation) { followed_[shard] = incarnation; }

  /// True if noted() has seen the loss of a server since the last clear_lost().
  bool lost() const { return lost_; }
  void clear_lost() { lost_ = false; }
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && result.error().kind() == ErrorKind::kUnavailable) note_lost();
    return result;
  }

  /// Connects to the servers that are not connected.
  Task<Result<void>> connect(Deadline deadline);
  /// Connects to one server whose connection broke. Unavailable if the server has lost its model or loaded it anew;
  /// Cancelled if the job has ended, or on `stop`. After an error there is no connection.
  Task<Result<void>> reconnect(size_t shard, Deadline deadline, StopToken stop);
  /// Sends `message` under a new number, and waits for the answer.
  Task<Result<transport::Message>> request(size_t shard, transport::Message message, Deadline deadline);
  Task<Result<transport::Message>> control(size_t shard, std::string_view verb, std::string text, Deadline deadline);
  /// Sends the request to all connected servers, one after another. Returns the first error.
  Task<Result<void>> tell_all(std::string_view verb, Deadline deadline, std::string text = {});
  /// True if the newest message of some server says that the server was asked to end, and waits for a checkpoint.
  bool asked_to_save() const;

  /// Called by the chief: checks that no other process has become the chief (shard 0 then closes this connection).
  Task<Result<void>> check_lease(Deadline deadline);
  /// Keeps showing the servers that this trainer is alive, until `stop` stops: sends a message to each server that has got
  /// none for a few seconds.
  /// Connects again if a connection broke, but sends nothing to a server that has lost the model, or loaded it anew.
  /// Failures do not make lost() true. Returns false if `stop` came before anything was sent.
  Task<bool> stay(StopToken stop);
  /// Asks a server for its status. If `seen` is the number of changes in the last status that the caller has seen
  /// (ServerStatus::changes), the server waits a moment for a further change before it answers.
  Task<Result<ServerStatus>> status(size_t shard, Deadline deadline, std::optional<uint64_t> seen = {});
  /// Returns the status of shard 0, if all servers are ready. If another server has a NaN or an infinity, the status
  /// contains this as its failure. Unavailable if a server has lost the model that this trainer trains.
  Task<Result<ServerStatus>> status_of_all(Deadline deadline, std::optional<uint64_t> seen);
  /// Like status(), but a failure does not make lost() true.
  Task<Result<ServerStatus>> look(size_t shard, Deadline deadline, std::optional<uint64_t> seen = {});
  /// Asks a server for a new Welcome. The Welcome that followed the hello may be out of date: it may date from before the
  /// chief restored the server, or from many steps ago. The server drops this trainer's pushes up to `newest_push` (0:
  /// there are none), unless they are committed.
  Task<Result<Welcome>> welcome(size_t shard, uint64_t newest_push, Deadline deadline);
  /// Tells all servers that the job has ended, all at the same time, so that an absent server delays no other.
  Task<Result<void>> finish(JobEnd end, Deadline deadline);
  /// Reports this trainer's failure to shard 0, which tells the chief.
  Task<Result<void>> tell_failure(JobFailure failure, Deadline deadline);
  std::optional<JobEnd> job_end() const;

  /// Notes that a reply of `shard` has kStatusPoisonBit. If several shards send the bit, look_for_poison() asks the first
  /// one, so that all trainers report the same.
  void note_poison(size_t shard) { poisoned_ = std::min(shard, poisoned_.value_or(shard)); }
  void forget_poison() { poisoned_.reset(); }
  /// If note_poison() was called for a server, some value of its model is NaN or infinite. Asks the server which one, and
  /// returns the answer, the error NanLoss. Success if the server has loaded the model anew (a new epoch) meanwhile.
  Task<Result<void>> look_for_poison();

 private:
  void note_lost();
  void tell_connected() const;
  Task<Deadline> after_late(Deadline deadline);
  Task<void> show_up(size_t shard);
  bool is_followed(size_t shard) const;
  bool may_tell_again(const Error& error, Deadline deadline) const;
  Task<Result<void>> finish_one(size_t shard, std::string end, Deadline deadline);

  Environment& env_;
  const RemoteStoreOptions& options_;
  std::vector<std::unique_ptr<ServerLink>> links_;
  uint64_t epoch_ = 0;
  std::vector<uint64_t> followed_;  // By shard: the incarnation of the server process with this trainer's model.
  bool lost_ = false;
  std::optional<size_t> poisoned_;
};

}  // namespace shoal::cluster
