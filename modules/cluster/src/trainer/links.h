// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's lines to all servers of its job, in the epoch that it follows: control messages to one or to all of them.
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

/// How long one answer of a server is waited for.
inline constexpr auto kRequestTimeout = std::chrono::seconds(60);

class ServerLinks {
 public:
  /// One per server of `options`, which outlives them.
  ServerLinks(Environment& env, const RemoteStoreOptions& options);

  size_t size() const { return links_.size(); }
  ServerLink& operator[](size_t shard) { return *links_[shard]; }
  const ServerLink& operator[](size_t shard) const { return *links_[shard]; }

  /// Says in which encoding servers shall send weights. Called before connect().
  void ask_for(transport::Encoding weights) {
    for (auto& link : links_) link->ask_for(weights);
  }
  /// When an answer that begins to be waited for now is late: nothing is waited for longer than ready_timeout.
  SteadyTime answer_by() const { return env_.after(std::min<Duration>(kRequestTimeout, options_.ready_timeout)); }
  /// The epoch of the servers' state, which every message names; 0 if it is not known yet.
  uint64_t epoch() const { return epoch_; }
  void set_epoch(uint64_t epoch) { epoch_ = epoch; }
  /// The server's state that we follow is that of its process `incarnation`.
  void follow(size_t shard, uint64_t incarnation) { followed_[shard] = incarnation; }

  /// Whether a server was lost since the last clear_lost(). Every failure of a server passes noted().
  bool lost() const { return lost_; }
  void clear_lost() { lost_ = false; }
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && result.error().kind() == ErrorKind::kUnavailable) lost_ = true;
    return result;
  }

  /// Reaches those that are not connected.
  Task<Result<void>> connect(Deadline deadline);
  /// Reaches one whose connection broke. Unavailable if what it held, of this epoch, is gone; Cancelled: the job has ended,
  /// or `stop`. Without success there is no connection.
  Task<Result<void>> reconnect(size_t shard, Deadline deadline, StopToken stop);
  /// Sends `message` under a number of its own and waits for the answer.
  Task<Result<transport::Message>> request(size_t shard, transport::Message message, Deadline deadline);
  Task<Result<transport::Message>> control(size_t shard, std::string_view verb, std::string text, Deadline deadline);
  /// Tells all that are connected, one after another, and gives the first error.
  Task<Result<void>> tell_all(std::string_view verb, Deadline deadline, std::string text = {});
  /// Whether a server has said last that it gives way, and waits for a checkpoint.
  bool asked_to_save() const;

  /// Chief: no other process has taken its place, which would have ended its connection to shard 0.
  Task<Result<void>> check_lease(Deadline deadline);
  /// Until `stop`, tells each server that this trainer is still here whenever it has sent nothing for a few seconds. Makes
  /// a new connection where one broke, but tells nothing to a server that does not hold the state that we follow. Failures
  /// are not noted(). False if `stop` came before the trainer had told anything.
  Task<bool> stay(StopToken stop);
  /// Asks for the status. With `seen` it is answered once there is another number of changes than that, or a moment
  /// later.
  Task<Result<ServerStatus>> status(size_t shard, Deadline deadline, std::optional<uint64_t> seen = {});
  /// The status of shard 0, once all are ready, with a failure of values that another one knows. Unavailable: one of them
  /// has lost the state that we follow.
  Task<Result<ServerStatus>> status_of_all(Deadline deadline, std::optional<uint64_t> seen);
  /// Asks for the status, too; a failure is not noted().
  Task<Result<ServerStatus>> look(size_t shard, Deadline deadline, std::optional<uint64_t> seen = {});
  /// Asks for the welcome as it is now: the hello may have come before the chief restored the server, or many steps
  /// ago. `newest_push` is given up, with what came before it, where it has not been committed; 0 for none.
  Task<Result<Welcome>> welcome(size_t shard, uint64_t newest_push, Deadline deadline);
  /// Tells all at once: a server that is gone keeps no other waiting.
  Task<Result<void>> finish(JobEnd end, Deadline deadline);
  /// Tells shard 0 of the failure. The chief asks shard 0 first.
  Task<Result<void>> tell_failure(JobFailure failure, Deadline deadline);
  std::optional<JobEnd> job_end() const;

  /// A reply of `shard` has kStatusPoisonBit. Of several the first shard is asked, so that all trainers say the same.
  void note_poison(size_t shard) { poisoned_ = std::min(shard, poisoned_.value_or(shard)); }
  void forget_poison() { poisoned_.reset(); }
  /// Asks what there is to tell, where one has: NanLoss, unless that server has begun anew meanwhile.
  Task<Result<void>> look_for_poison();

 private:
  Task<Deadline> after_late(Deadline deadline);
  Task<void> show_up(size_t shard);
  bool is_followed(size_t shard) const;
  Task<Result<void>> finish_one(size_t shard, std::string end, Deadline deadline);

  Environment& env_;
  const RemoteStoreOptions& options_;
  std::vector<std::unique_ptr<ServerLink>> links_;
  uint64_t epoch_ = 0;
  std::vector<uint64_t> followed_;  // Incarnations of the servers.
  bool lost_ = false;
  std::optional<size_t> poisoned_;
};

}  // namespace shoal::cluster
