// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Takes the weights that servers send.
///
/// An answer has one message for each part of a shard. The first message has all that the trainer must know of the
/// answer. The other parts may arrive while the next step is already computed ("late" parts), as long as no kernel
/// reads them. All parts are of one version, so that a step never sees two.
#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "shoal/backends/backend.h"
#include "trainer/bindings.h"
#include "trainer/links.h"
#include "trainer/server_traffic.h"

namespace shoal::cluster {

class WeightReceiver final : public backends::VariableArrivals {
 public:
  /// Called for each message with a part of the weights, with its head (kind, status, epoch and so on). If the function
  /// returns an error, the part is not accepted.
  using OnHead = std::function<Result<void>(size_t shard, size_t part, const transport::MessageHead& head)>;

  /// `traffic` has an entry for each server; `bindings` cover all parts of all servers. All references outlive this
  /// object.
  WeightReceiver(Environment& env, ServerLinks& servers, std::vector<ServerTraffic>& traffic, Bindings& bindings,
                 OnHead on_head)
      : env_(env), servers_(servers), traffic_(traffic), bindings_(bindings), on_head_(std::move(on_head)), arrival_(env) {}

  /// Called once, after `bindings` are bound. `recodes` is true if weights arrive encoded. The compute thread must then
  /// decode them before a kernel reads them, so a step begins only when all parts of the weights have arrived.
  void bind(bool recodes);

  /// Takes the weights of an answer, whose first message is `first`, and waits for all of its messages.
  Task<Result<void>> accept(size_t shard, transport::Message first);
  /// Takes the weights of an answer, whose first message is `first`, but does not wait for parts that have not arrived:
  /// receive_late() gets them while the program runs.
  Task<Result<void>> accept_first(size_t shard, transport::Message first);
  /// Pulls the newest weights. Unavailable ("not ready") as long as the chief has not made the model ready; Cancelled
  /// if the job has ended.
  Task<Result<void>> pull(size_t shard, Deadline deadline);
  /// Pulls weights anew after they were dropped, or after the connection broke before all parts had arrived. Connects
  /// again if needed, until `deadline`.
  Task<Result<void>> pull_again(size_t shard, Deadline deadline, StopToken stop);
  /// Drops the weights of a server, also the parts of them that have yet to arrive.
  void drop(size_t shard);
  /// True if each part of the server's weights has arrived, or is announced to follow (ServerLink::expect_late()).
  bool has_weights(size_t shard) const;

  /// Begins a step: gives the bindings the addresses of the weights. Returns true if all parts have arrived.
  bool begin();
  /// True if all parts of the variable have arrived. Called on any thread.
  bool has_come(size_t variable) const override;
  /// Called on the strand, while the program runs: receives the parts of the weights that a server has not sent yet. If the
  /// connection breaks, connects again until `deadline`. Unavailable if the server has lost its model, or has a newer
  /// version of the weights; Cancelled a few seconds after `stop`.
  Task<Result<void>> receive_late(size_t shard, Deadline deadline, StopToken stop);
  /// Called on the strand: waits until has_come(variable); returns the error of receive_late() if that fails first.
  Task<Result<void>> arrival(size_t variable);

 private:
  Task<Result<void>> receive_all_late(size_t shard, Deadline deadline, StopToken stop);
  Task<Result<void>> pull_late(size_t shard);
  Task<Result<transport::Message>> ask(size_t shard, Deadline deadline);
  Task<Result<void>> accept_part(size_t shard, size_t part, transport::Message message);
  Result<void> follow(size_t shard, size_t part, const transport::MessageHead& head, Result<void> taken);
  Result<void> take_late(size_t shard, transport::Message message);
  Result<void> check_version(size_t shard, size_t part, const transport::Message& message);

  Environment& env_;
  ServerLinks& servers_;
  std::vector<ServerTraffic>& traffic_;
  Bindings& bindings_;
  const OnHead on_head_;
  bool recodes_ = false;
  std::vector<std::vector<size_t>> parts_of_variables_;  // For each variable: the numbers of the parts that have its rows.
  // Indexed by the part's number (ServerTraffic::number): true if the part has arrived, so that kernels may read it.
  std::vector<std::atomic<bool>> arrived_;
  Event arrival_;
  std::optional<Error> failed_;  // The error because of which some weights of this step will not arrive.
};

}  // namespace shoal::cluster
