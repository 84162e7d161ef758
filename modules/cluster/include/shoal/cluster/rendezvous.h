// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How tasks that know only their rank, the number of ranks and one address learn each other's addresses.
///
/// Rank 0 (the host of the rendezvous) listens at that address. The other ranks (the guests) connect, with the job's
/// token or certificate, say who they are and where they will listen, and wait. Once all have joined, rank 0 sends the
/// same list of addresses to everyone. Every rank keeps the list: a guest whose connection breaks connects again and
/// sends it. So a restarted rank 0 learns the list from the first guest that connects, and every restarted task gets
/// its old port back. docs/decisions/meeting-by-rank.md says why.
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
  Place place;  ///< Rank and job size, which check_rendezvous() has accepted. At least two tasks.
  /// The transport scheme of the rendezvous. task_scheme is the scheme of the address at which the task will listen later.
  std::string meeting_scheme = "tcp";
  std::string task_scheme = "tcp";
  /// The host or host:port to listen on, if it differs from the address by which other tasks find this one.
  std::optional<std::string> bind = {};
  transport::LinkOptions link = {};
  Duration timeout = std::chrono::seconds(7200);  ///< The longest wait for the other ranks.
  /// Called now and then during the wait, through offload(): true if the launch (one start of all tasks) is over, so
  /// that the other ranks are gone. Null: not known.
  std::function<bool()> has_ended = {};
};

/// The result of a rendezvous, the same on every rank. Lists are in the order of ranks.
struct Gathering {
  uint64_t id = 0;                      ///< Tells this job from another one at the same address; not 0.
  std::vector<std::string> addresses;   ///< "host:port"; "" for an evaluator.
  std::vector<std::string> host_names;  ///< The name that each task's host has for itself.
  bool ended = false;  ///< True if the launch is over, and the other tasks are gone: no other field is set.
  friend bool operator==(const Gathering&, const Gathering&) = default;
};

/// One task's part in a rendezvous. Used on the strand of `env`. It makes progress only while a thread of the caller runs
/// the event loop of `env`. After meet(), a separate thread may do so by attend().
class Rendezvous {
 public:
  Rendezvous(Environment& env, RendezvousOptions options);
  ~Rendezvous();  ///< Requires that close() has ended, or meet() was never called.
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Waits until all ranks have joined. Call it once. Afterwards the task's port is free for the task to listen on, and the
  /// rendezvous goes on in the background. DeadlineExceeded naming the missing ranks; FailedPrecondition if the job, size,
  /// rank or credential of a rank contradicts rank 0; Unavailable if rank 0's address is taken; Cancelled on an interrupt.
  Task<Result<Gathering>> meet();
  /// Runs the rendezvous until `stop`, then closes it.
  Task<Result<void>> attend(StopToken stop);
  /// Ends the rendezvous, which goes on in the background after meet().
  Task<Result<void>> close();

  class Part;  // The implementation: for rank 0, or for another rank.

 private:
  Environment& env_;
  std::unique_ptr<Part> part_;
};

}  // namespace shoal::cluster
