// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sends the chunks of a trainer's push: some while the step is still computed, the others after it.
///
/// On the compute thread, where the program runs, PushSender learns which gradients are computed, and posts complete
/// parts to the strand. There each server has a queue of parts, and a coroutine that sends queued parts until the
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

  /// `parts` are all parts (chunks) of the pushes to all servers, numbered as in `bindings`. If `early` is true, a part may
  /// be sent while the program still runs, once all its gradients are computed. Exceptions are the part of each server that
  /// ends the push and is sent last, and parts with gradients that do not come from the program.
  void bind(const ShardPlan& parts, const Bindings& bindings, bool early);
  /// True if some part of a push can be sent while the program still computes the step.
  bool sends_during_run() const { return any_; }

  /// Called on the strand when a step begins: no part of its push is sent yet.
  void begin();
  /// Called on the compute thread when the memory for the step's gradients is ready.
  void start();
  /// Called on the compute thread when the gradient `index` is computed.
  void update_made(size_t index) override;
  /// Called on the strand while the program runs, for one server: sends each part of the push as soon as its gradients are
  /// computed, until `stop`. Later, send_rest() sends the parts that are still queued. A lost connection is no error here:
  /// send_rest() will report it.
  Task<Result<void>> send_made(size_t server, StopToken stop);
  /// Sends the parts of the push that have not been sent. The part that is sent last ends the push, and also has its
  /// scalars.
  Task<Result<void>> send_rest(size_t server);
  /// Sends all chunks again, over a new connection.
  Task<Result<void>> send_again(size_t server);
  /// Abandons the step: closes each connection over which only some of the push's parts were sent.
  void leave_step();
  /// The sequence number that all chunks of the push to a server carry, and that the server's answer names.
  uint64_t sequence(size_t server) const { return sequences_[server]; }

 private:
  struct Part {
    size_t server = 0, index = 0;  // The receiving server, and the part's number among its parts.
    uint32_t updates = 0;          // How many gradients the part has; 0 if it is sent after the program has run.
    uint32_t missing = 0;          // How many gradients of the part are not computed yet. Used on the compute thread.
    bool sent = false;             // True once this step has sent the part. Used on the strand only.
  };
  Task<Result<void>> send(Part& part);

  Environment& env_;
  ServerLinks& servers_;
  std::vector<ServerTraffic>& traffic_;
  bool any_ = false;
  std::vector<Part> parts_;                            // Indexed by the part's number (ServerTraffic::number).
  std::vector<std::vector<size_t>> parts_of_updates_;  // For each update: the numbers of the parts that have its rows.
  std::vector<std::deque<size_t>> queues_;             // By server: the complete parts that wait to be sent.
  std::vector<uint64_t> sequences_;
  Event made_;
};

}  // namespace shoal::cluster
