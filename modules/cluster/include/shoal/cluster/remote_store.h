// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parameters on servers: pulls versions, pushes gradients, without copying either.
#include "shoal/cluster/compression.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/store.h"
#include "shoal/cluster/update_observer.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

struct RemoteStoreOptions {
  TaskIdentity identity;
  std::vector<transport::Endpoint> servers;  ///< Where ps 0, 1, ... listen.
  transport::LinkOptions link;
  Duration ready_timeout = std::chrono::seconds(7200);
  /// Asked between attempts to reach a server: true ends the wait with Cancelled (the job is over, CONTRACT WO-4).
  /// Called through offload().
  std::function<bool()> job_ended;
  Compression compression = {};
  /// Variables with lazy rows travel as the rows that changed, both ways, if nothing is compressed. Default: unless servers
  /// share memory with this process (Transport::shares_memory()).
  std::optional<bool> by_rows = {};
  bool allow_non_finite = false;  ///< Of a chief: for the servers, with the model.
  std::shared_ptr<UpdateObserver> observer = nullptr;
};

/// A store over servers, with what only a chief or a leaving trainer does.
class RemoteStore : public Store {
 public:
  /// The run that hellos from now on say this task is of; empty: not known. Servers refuse a trainer of another run than that of
  /// the model that they hold.
  virtual void know_run(std::string id) = 0;
  /// Reaches all servers, without looking at their state. prepare() and attach() do it by themselves.
  virtual Task<Result<void>> connect(Deadline deadline) = 0;
  /// Tells the servers that this trainer makes no more pushes. Bounded by `deadline`; best effort.
  virtual Task<Result<void>> leave(Deadline deadline) = 0;
  /// This process of the trainer goes, and another one will come in its place: what compression has kept back is handed in,
  /// and connections end. Nobody takes the trainer for done. Bounded by `deadline`; best effort.
  virtual Task<void> give_way(Deadline deadline) = 0;
  /// Tells shard 0 that this trainer has failed for good, connecting again if it has to, until `deadline`; leave() follows.
  virtual Task<Result<void>> tell_failure(Error why, Deadline deadline) = 0;
  /// This trainer makes no more pushes, but stays: where trainers wait for each other, the others go on without it.
  /// `rest`: all but newest_push. With `waits` the answer comes after a second, or once there is something to tell, and a
  /// connection that broke is made again until `deadline`; otherwise only those that are connected hear of it. Cancelled: the
  /// job has ended, or an interrupt. Unavailable: the state that it rests in is gone, or what stopped it is (attach() again).
  virtual Task<Result<RestNews>> rest(Rest rest, Deadline deadline) = 0;
  /// Chief: asks all trainers to stop after their current step.
  virtual Task<Result<void>> request_stop(Deadline deadline) = 0;
  /// Chief: from now on no push counts, until the model is prepared anew or another process is the chief.
  virtual Task<Result<void>> seal(Deadline deadline) = 0;
  /// Chief: shard 0's account of the trainers; Unavailable if a server has lost the state that we follow. With `seen`, the
  /// changes of the one before: once there are others, or a moment later (a quarter of a second).
  virtual Task<Result<ServerStatus>> status(Deadline deadline, std::optional<uint64_t> seen = {}) = 0;
  /// The same in the middle of training, for who can do without: a failure is no reason to take a server for lost().
  virtual Task<Result<ServerStatus>> look(Deadline deadline) = 0;
  /// Chief: the job has ended, and how; servers return. Reaches each server by itself, until `deadline`: the error names
  /// the first that could not be told, when all others were.
  virtual Task<Result<void>> finish(JobEnd end, Deadline deadline) = 0;
  /// How the job ended, once a server said that it has.
  virtual std::optional<JobEnd> job_end() const = 0;
};

/// `plan`: one shard per server.
std::unique_ptr<RemoteStore> make_remote_store(Environment& env, ShardPlan plan, RemoteStoreOptions options);

}  // namespace shoal::cluster
