// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The role of a parameter server: holds one shard of the model, applies the gradients that trainers push, and sends
/// the weights to trainers, until the job has ended.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/update_observer.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

struct ParameterServerOptions {
  TaskIdentity identity;  ///< Who the server is: its job, role "ps", index and strategy.
  transport::Endpoint listen_at;
  transport::LinkOptions link;
  /// All parameter servers of the job, in the order of shards. The first one has the sequencer, which decides which pushes
  /// are applied, and the others connect to it. With one entry or none this server is alone.
  std::vector<transport::Endpoint> servers = {};
  /// The most memory that this process may take, in bytes: a model that needs more by server_memory() is refused.
  /// Empty: a model is refused only if the machine could never hold it.
  std::optional<uint64_t> memory_limit = {};
  int trainers = 1;  ///< The number of the job's trainers: the chief and the workers.
  /// The longest time without a connection from chief or workers; then the server ends with DeadlineExceeded.
  Duration ready_timeout = std::chrono::seconds(7200);
  /// Work that reads or writes more bytes of memory than this number runs on other threads. Meanwhile the strand, which
  /// runs the server's coroutines one at a time, can answer new connections and heartbeats. Smaller work would take less
  /// time than passing it to a thread.
  uint64_t bytes_on_strand = uint64_t(1) << 20;
  /// Synchronous updates: how long the other trainers wait for a lost trainer. After that they compute its share of each
  /// step too, until it comes back.
  Duration lost_grace = std::chrono::seconds(60);
  std::shared_ptr<UpdateObserver> observer = nullptr;
  /// If no task has been connected for a minute (or for half of ready_timeout, if that is less), the server calls this
  /// function every second (through offload()). The result true means that the job is over: the server then ends with
  /// success. Null: the server learns of the job's end from the chief only.
  std::function<bool()> job_ended = nullptr;
};

/// Serves until the chief says that the job has finished, or `job_ended` returns true. Errors: Unavailable (the address
/// is taken; or an interrupt came, and the job did not end within 20 s), Unavailable or FailedPrecondition (memory or threads
/// ran out while the server changed its state, which is lost then), DeadlineExceeded (no task connected for ready_timeout),
/// Cancelled (the server was asked to end early: it asked the chief for a checkpoint, and ended when
/// there was one, or after 20 s).
Task<Result<void>> run_parameter_server(Environment& env, ParameterServerOptions options);

}  // namespace shoal::cluster
