// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parameter server: holds one shard, applies what trainers push, hands out versions, until the job has ended.
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
  TaskIdentity identity;  ///< Who the server is: job, role "ps", index, strategy.
  transport::Endpoint listen_at;
  transport::LinkOptions link;
  /// All parameter servers of the job, in the order of shards; the first decides what becomes of pushes, and the others
  /// keep a connection to it. With one or none this server is alone.
  std::vector<transport::Endpoint> servers = {};
  /// The most memory of this process in bytes: a model that needs more by server_memory() is refused. Empty: one that the machine could
  /// never hold.
  std::optional<uint64_t> memory_limit = {};
  int trainers = 1;  ///< The number of the job's trainers: the chief and the workers.
  /// Without chief and workers for longer, it ends with DeadlineExceeded.
  Duration ready_timeout = std::chrono::seconds(7200);
  /// Work on more bytes than these of an arena is done beside the strand, so that hellos and heartbeats are answered
  /// meanwhile; on fewer it would wait longer for the other thread than it takes.
  uint64_t bytes_on_strand = uint64_t(1) << 20;
  /// Where trainers wait for each other (synchronous updates): for how long a lost one stalls them. Then the others
  /// make its share of each step, until it is back.
  Duration lost_grace = std::chrono::seconds(60);
  std::shared_ptr<UpdateObserver> observer = nullptr;
  /// Asked every second once nobody has been connected for a minute, or for half of ready_timeout: true ends the server in
  /// good order, since the job is over (CONTRACT JE-2). Called through offload(). Null: only the chief knows.
  std::function<bool()> job_ended = nullptr;
};

/// Serves until the chief says that the job has finished, or `job_ended` does. Errors: Unavailable (address taken; or
/// interrupted and the job did not end within 20 s), DeadlineExceeded (nobody there for ready_timeout), Cancelled (it gave
/// way: after a checkpoint of what it holds, for which it asks the chief, or after 20 s).
Task<Result<void>> run_parameter_server(Environment& env, ParameterServerOptions options);

}  // namespace shoal::cluster
