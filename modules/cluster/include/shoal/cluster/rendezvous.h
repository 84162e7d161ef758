// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How tasks that know no more than their rank, their number and one address get to know each other's addresses.
///
/// Rank 0 answers at that address. The others come, over a connection that a token or certificate protects like all others,
/// say who they are and where they will listen, and wait; once all are there, rank 0 gives everyone the same list. The list
/// is kept by all: who loses its connection comes again and shows it, so that a rank 0 that was started again learns the
/// list from whoever comes first, and every task that was started again gets its old port back. docs/decisions/0092 says
/// why.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/cluster/place.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

struct RendezvousOptions {
  Place place;  ///< It passes check_rendezvous(), and has at least two tasks.
  /// The scheme over which they meet ("tcp"), and the one over which the task will listen.
  std::string meeting_scheme = "tcp";
  std::string task_scheme = "tcp";
  /// The host or host:port to listen on, instead of the one by which others find this task.
  std::optional<std::string> bind = {};
  transport::LinkOptions link = {};
  Duration timeout = std::chrono::seconds(7200);  ///< The longest wait for the others.
  /// Asked now and then while others are waited for, through offload(): true where the start that this task is part of has
  /// ended, so that the others have gone (CONTRACT WO-4). Null: nobody knows.
  std::function<bool()> has_ended = {};
};

/// What everyone is given. Lists are in the order of ranks.
struct Gathering {
  uint64_t id = 0;                      ///< Not 0; tells this job from another one at the same address.
  std::vector<std::string> addresses;   ///< "host:port"; "" for an evaluator.
  std::vector<std::string> host_names;  ///< What each task's host calls itself.
  bool ended = false;                   ///< The start has ended, and nobody is there: all else is empty.
  friend bool operator==(const Gathering&, const Gathering&) = default;
};

/// One task's part in it. It belongs to the strand of `env`, which somebody has to turn: a program by its own run(), or
/// attend() on a thread for that.
class Rendezvous {
 public:
  Rendezvous(Environment& env, RendezvousOptions options);
  ~Rendezvous();  ///< close() has ended, or meet() was never called.
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Waits for the others; from then on the task's port is free to be listened on, and this goes on in the background.
  /// DeadlineExceeded naming who is missing; FailedPrecondition for a job, size, rank or credential that does not fit;
  /// Unavailable if the address of rank 0 is taken; Cancelled on an interrupt. Once.
  Task<Result<Gathering>> meet();
  /// Waits until `stop`, then closes.
  Task<Result<void>> attend(StopToken stop);
  /// Ends what goes on in the background.
  Task<Result<void>> close();

  class Part;  // For the implementation: rank 0's, or that of the others.

 private:
  Environment& env_;
  std::unique_ptr<Part> part_;
};

}  // namespace shoal::cluster
