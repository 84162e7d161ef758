// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's connections to all servers of its job, in the epoch that the trainer follows. Sends control messages to
/// one or all servers.
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
  /// The deadline for the answer to a request that is sent now. No wait is longer than ready_timeout.
  SteadyTime answer_by() const { return env_.after(std::min<Duration>(kRequestTimeout, options_.ready_timeout)); }
  /// The epoch of the servers' state, which every message names; 0 if it is not known yet.
  uint64_t epoch() const { return epoch_; }
  void set_epoch(uint64_t epoch) { epoch_ = epoch; }
  /// From now on this trainer follows the state of the server process `incarnation`.
  void follow(size_t shard, uint64_t incarnation) { followed_[shard] = incarnation; }

  /// True if a server was lost since the last clear_lost(), as noted() found.
  bool lost() const { return lost_; }
  void clear_lost() { lost_ = false; }
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && result.error().kind() == ErrorKind::kUnavailable) note_lost();
    return result;
  }

  /// Connects to the servers that are not connected.
  Task<Result<void>> connect(Deadline deadline);
  /// Connects to one server whose connection broke. Unavailable if the server has lost its state of this epoch;
  /// Cancelled if the job has ended, or on `stop`. After an error there is no connection.
  Task<Result<void>> reconnect(size_t shard, Deadline deadline, StopToken stop);
  /// Sends `message` under a new number, and waits for the answer.
  Task<Result<transport::Message>> request(size_t shard, transport::Message message, Deadline deadline);
  Task<Result<transport::Message>> control(size_t shard, std::string_view verb, std::string text, Deadline deadline);
  /// Sends the request to all connected servers, one after another. Returns the first error.
  Task<Result<void>> tell_all(std::string_view verb, Deadline deadline, std::string text = {});
  /// True if the newest message of some server says that the server was asked to end, and waits for a checkpoint.
  bool asked_to_save() const;

  /// Chief: checks that no other process has become the chief (shard 0 would then have closed this connection).
  Task<Result<void>> check_lease(Deadline deadline);
  /// Until `stop`, shows each server that this trainer is alive whenever it has sent nothing for a few seconds. Makes a
  /// new connection where one broke, but sends nothing to a server that does not hold the state that this trainer
  /// follows. Does not pass failures to noted(). False if `stop` came before anything was sent.
  Task<bool> stay(StopToken stop);
  /// Asks for the status. With `seen` the server answers once its number of changes differs from `seen`, or after
  /// a moment.
  Task<Result<ServerStatus>> status(size_t shard, Deadline deadline, std::optional<uint64_t> seen = {});
  /// The status of shard 0, once all servers are ready; includes a value that is not finite on another server.
  /// Unavailable if a server has lost the state that this trainer follows.
  Task<Result<ServerStatus>> status_of_all(Deadline deadline, std::optional<uint64_t> seen);
  /// Asks for the status, and does not pass a failure to noted().
  Task<Result<ServerStatus>> look(size_t shard, Deadline deadline, std::optional<uint64_t> seen = {});
  /// Asks for the welcome as it is now: the one after the hello may date from before the chief restored the server, or
  /// from many steps ago. The trainer gives up the push `newest_push` and those before it, as far as they are not
  /// committed; 0 for none.
  Task<Result<Welcome>> welcome(size_t shard, uint64_t newest_push, Deadline deadline);
  /// Tells all servers at once of the end, so that an absent server delays no other.
  Task<Result<void>> finish(JobEnd end, Deadline deadline);
  /// Tells shard 0 of the failure; the chief learns of the failure from shard 0.
  Task<Result<void>> tell_failure(JobFailure failure, Deadline deadline);
  std::optional<JobEnd> job_end() const;

  /// Notes that a reply of `shard` has kStatusPoisonBit. If several shards send the bit, look_for_poison() asks the first
  /// one, so that all trainers report the same.
  void note_poison(size_t shard) { poisoned_ = std::min(shard, poisoned_.value_or(shard)); }
  void forget_poison() { poisoned_.reset(); }
  /// Asks the server that note_poison() named for the reason, and returns it as NanLoss, unless the server has begun a
  /// new epoch meanwhile.
  Task<Result<void>> look_for_poison();

 private:
  void note_lost();
  void tell_connected() const;
  Task<Deadline> after_late(Deadline deadline);
  Task<void> show_up(size_t shard);
  bool is_followed(size_t shard) const;
  Task<Result<void>> finish_one(size_t shard, std::string end, Deadline deadline);

  Environment& env_;
  const RemoteStoreOptions& options_;
  std::vector<std::unique_ptr<ServerLink>> links_;
  uint64_t epoch_ = 0;
  std::vector<uint64_t> followed_;  // By shard: the incarnation of the server process whose state is followed.
  bool lost_ = false;
  std::optional<size_t> poisoned_;
};

}  // namespace shoal::cluster
