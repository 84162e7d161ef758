// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The store over parameter servers: pulls weights and pushes gradients. Without compression, neither is copied.
#include "shoal/cluster/compression.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/store.h"
#include "shoal/cluster/update_observer.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

struct RemoteStoreOptions {
  TaskIdentity identity;
  std::vector<transport::Endpoint> servers;  ///< The addresses of ps 0, 1, ...
  transport::LinkOptions link;
  Duration ready_timeout = std::chrono::seconds(7200);
  /// Called through offload() between attempts to reach a server. If it returns true, the job is over, and the attempts
  /// end with Cancelled.
  std::function<bool()> job_ended;
  Compression compression = {};
  /// True: pulls and pushes contain only the changed rows of variables with lazy rows (VariableSpec::lazy_rows). Ignored if
  /// gradients or weights are compressed. Default: true, unless servers share memory with this process
  /// (Transport::shares_memory()).
  std::optional<bool> by_rows = {};
  bool allow_non_finite = false;  ///< For a chief: tells the servers that updates may write values that are not finite.
  std::shared_ptr<UpdateObserver> observer = nullptr;
};

/// A store over servers, with the calls that only a chief or a leaving trainer makes.
class RemoteStore : public Store {
 public:
  /// Sets the id of the training run that this task states whenever it connects to a server; empty: not known. A server
  /// refuses a trainer that states another run than the one of the server's model.
  virtual void know_run(std::string id) = 0;
  /// Connects to all servers, whether or not they hold a model. prepare() and attach() also connect.
  virtual Task<Result<void>> connect(Deadline deadline) = 0;
  /// Tells the servers that this trainer makes no more pushes. Best effort, until `deadline`.
  virtual Task<Result<void>> leave(Deadline deadline) = 0;
  /// Ends the connections of a process that another process will replace: sends the residual of compression to the
  /// servers, and does not mark the trainer as done. Best effort, until `deadline`.
  virtual Task<void> give_way(Deadline deadline) = 0;
  /// Tells shard 0 that this trainer has failed for good, connecting again if it has to, until `deadline`. The
  /// caller then calls leave().
  virtual Task<Result<void>> tell_failure(Error why, Deadline deadline) = 0;
  /// Tells servers that this trainer makes no more pushes, but stays. In synchronous training the others go on without it.
  /// The store sets newest_push of `rest` itself. If rest.waits is false, tells only those servers that are connected. If
  /// it is true, connects again where a connection breaks, until `deadline`, and the answer comes after a second, or
  /// earlier if the job ends or the trainer has to go on.
  /// Cancelled if the job has ended, or on an interrupt. Unavailable if the trainer has to call attach() again: the model
  /// was loaded anew, or the job has cancelled its request to stop.
  virtual Task<Result<RestNews>> rest(Rest rest, Deadline deadline) = 0;
  /// Called by the chief: asks all trainers to stop after their current step.
  virtual Task<Result<void>> request_stop(Deadline deadline) = 0;
  /// Called by the chief: from now on no push is committed, until the model is prepared anew or another process is the
  /// chief.
  virtual Task<Result<void>> seal(Deadline deadline) = 0;
  /// Called by the chief: returns the trainers' states as shard 0 knows them. Unavailable if a server has lost the model.
  /// With `seen` (ServerStatus::changes of an earlier answer) shard 0 waits for a change, at most a quarter of a second.
  virtual Task<Result<ServerStatus>> status(Deadline deadline, std::optional<uint64_t> seen = {}) = 0;
  /// Like status(), but called during training by code that can do without an answer: a failure does not make lost()
  /// true.
  virtual Task<Result<ServerStatus>> look(Deadline deadline) = 0;
  /// Called by the chief: tells every server how the job has ended, so that the server returns. Tries until `deadline`,
  /// each server on its own; the error names the first server that could not be told.
  virtual Task<Result<void>> finish(JobEnd end, Deadline deadline) = 0;
  /// How the job ended; empty until a server has said so.
  virtual std::optional<JobEnd> job_end() const = 0;
  /// True once this trainer knows that the job has ended: a server has said so, or RemoteStoreOptions::job_ended has
  /// returned true.
  virtual bool job_is_over() const = 0;
};

/// `plan` has one shard per server.
std::unique_ptr<RemoteStore> make_remote_store(Environment& env, ShardPlan plan, RemoteStoreOptions options);

}  // namespace shoal::cluster
