// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sends the chunks of a trainer's push: some while the step is still computed, the others after it.
///
/// On the compute thread, where the program runs, PushSender is told which updates are made, and posts the parts that
/// are complete to the strand. On the strand each server has a queue, and a coroutine that empties the queue until the
/// program has ended.
#include <deque>
#include <vector>

#include "shoal/backends/backend.h"
#include "trainer/bindings.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

class PushSender final : public backends::UpdateListener {
 public:
  /// `traffic` has an entry for each server. All references outlive this object.
  PushSender(Environment& env, ServerLinks& servers, std::vector<ServerTraffic>& traffic)
      : env_(env), servers_(servers), traffic_(traffic), made_(env) {}

  /// `parts` are all parts of all servers, as `bindings` number them. With `early`, a part is sent while the program
  /// runs, if it consists of updates alone and does not close its push.
  void bind(const ShardPlan& parts, const Bindings& bindings, bool early);
  /// True if some part can be sent while the program runs.
  bool sends_during_run() const { return any_; }

  /// Called on the strand: a step begins, and nothing of its push is sent yet.
  void begin();
  /// Called on the compute thread: the memory for the step's gradients is ready.
  void start();
  /// Called on the compute thread: the gradient `index` is made.
  void update_made(size_t index) override;
  /// Called on the strand during the program: sends the complete parts to one server, until `stop`; send_rest() sends
  /// those that are still queued then. A lost connection is no error here: send_rest() will report it.
  Task<Result<void>> send_made(size_t server, StopToken stop);
  /// Sends the parts that were not sent, the closing chunk last.
  Task<Result<void>> send_rest(size_t server);
  /// Sends all chunks again, over a new connection.
  Task<Result<void>> send_again(size_t server);
  /// Gives up the step: closes each connection over which some of the push's parts were sent, but not all.
  void leave_step();
  /// The number of the push's chunks to a server, and of the server's answer.
  uint64_t sequence(size_t server) const { return sequences_[server]; }

 private:
  struct Part {
    size_t server = 0, index = 0;  // The part is number `index` among the server's parts.
    uint32_t updates = 0;          // The number of updates in the part; 0 if it is not sent early.
    uint32_t missing = 0;          // The number of these updates that are not made yet. Used on the compute thread.
    bool sent = false;             // Used on the strand, as are the queues.
  };
  Task<Result<void>> send(Part& part);

  Environment& env_;
  ServerLinks& servers_;
  std::vector<ServerTraffic>& traffic_;
  bool any_ = false;
  std::vector<Part> parts_;                            // By part number (ServerTraffic::number).
  std::vector<std::vector<size_t>> parts_of_updates_;  // By update: the part number of each piece.
  std::vector<std::deque<size_t>> queues_;             // By server: the numbers of complete parts that are to be sent.
  std::vector<uint64_t> sequences_;
  Event made_;
};

}  // namespace shoal::cluster
