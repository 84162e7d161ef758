// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sends the chunks of a trainer's push: those that are made while the step is still computed, the others after it.
///
/// Where the program runs (the compute thread) it learns which updates are made, and posts what that completes to the
/// strand; on the strand each server has a queue, and a coroutine that empties it until the program has ended.
#include <deque>
#include <vector>

#include "shoal/backends/backend.h"
#include "trainer/bindings.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

class PushSender final : public backends::UpdateListener {
 public:
  /// `traffic` has an entry for each server. All outlive it.
  PushSender(Environment& env, ServerLinks& servers, std::vector<ServerTraffic>& traffic)
      : env_(env), servers_(servers), traffic_(traffic), made_(env) {}

  /// `parts`: all parts of all servers, as `bindings` knows them. If `early`, a part leaves while the program runs, provided
  /// that all of it is updates, and that it does not close its push.
  void bind(const ShardPlan& parts, const Bindings& bindings, bool early);
  /// True if something can leave while the program runs.
  bool sends_during_run() const { return any_; }

  /// Strand: a step begins, of whose push nothing is sent.
  void begin();
  /// Compute thread: the memory for its gradients is there.
  void start();
  /// Compute thread.
  void update_made(size_t index) override;
  /// Strand, beside the program: sends what is made to a server, until `stop`; what then is still queued is left to
  /// send_rest(). A lost connection is no error here: send_rest() meets it.
  Task<Result<void>> send_made(size_t server, StopToken stop);
  /// Sends what has not been sent, the closing chunk last.
  Task<Result<void>> send_rest(size_t server);
  /// Sends all chunks, over a new connection.
  Task<Result<void>> send_again(size_t server);
  /// The step is left: ends the connections over which some parts of its push went, but not all.
  void leave_step();
  /// The number under which a server gets its chunks, and answers them.
  uint64_t sequence(size_t server) const { return sequences_[server]; }

 private:
  struct Part {
    size_t server = 0, index = 0;  // Part `index` of the server's.
    uint32_t updates = 0;          // How many updates lie in it; 0 if it does not leave early.
    uint32_t missing = 0;          // How many are not made. Compute thread.
    bool sent = false;             // Strand, as are the queues.
  };
  Task<Result<void>> send(Part& part);

  Environment& env_;
  ServerLinks& servers_;
  std::vector<ServerTraffic>& traffic_;
  bool any_ = false;
  std::vector<Part> parts_;                            // By number (ServerTraffic::number).
  std::vector<std::vector<size_t>> parts_of_updates_;  // By update, a number for each piece.
  std::vector<std::deque<size_t>> queues_;             // By server, the numbers of parts that are made.
  std::vector<uint64_t> sequences_;
  Event made_;
};

}  // namespace shoal::cluster
