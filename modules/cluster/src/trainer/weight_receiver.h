// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Takes the weights that servers send.
///
/// An answer is a message for each part of a shard. The first says all that a trainer has to know of it; the others may
/// come while the next step is computed already ("late" parts), as long as no kernel reads them. They are of the same
/// version, so that a step never sees two.
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
  /// What the head of a part says is for the owner: an error refuses the part.
  using OnHead = std::function<Result<void>(size_t shard, size_t part, const transport::MessageHead& head)>;

  /// `traffic` has an entry for each server, `bindings` know all parts of all servers. All outlive it.
  WeightReceiver(Environment& env, ServerLinks& servers, std::vector<ServerTraffic>& traffic, Bindings& bindings,
                 OnHead on_head)
      : env_(env), servers_(servers), traffic_(traffic), bindings_(bindings), on_head_(std::move(on_head)), arrival_(env) {}

  /// Once, when `bindings` are bound. `recodes`: what travels is not what kernels read, but decoded on the compute thread;
  /// then nothing is late.
  void bind(bool recodes);

  /// Takes the answer that begins with `first`, and waits for all of it.
  Task<Result<void>> accept(size_t shard, transport::Message first);
  /// The same, but what is not there yet is late.
  Task<Result<void>> accept_first(size_t shard, transport::Message first);
  /// Asks for the newest weights. Unavailable "not ready" while the chief is not through; Cancelled: the job is over.
  Task<Result<void>> pull(size_t shard, Deadline deadline);
  /// The same after they were dropped, or did not all come before their connection broke: over a new one, by `deadline`.
  Task<Result<void>> pull_again(size_t shard, Deadline deadline, StopToken stop);
  /// Lets go of the weights of a server, and of those that are late.
  void drop(size_t shard);
  /// True if all of them are there, or late.
  bool has_weights(size_t shard) const;

  /// A step begins: points its bindings at the weights. True if all are there.
  bool begin();
  /// Any thread.
  bool has_come(size_t variable) const override;
  /// Strand, beside the program: takes what is late, to the last, over a new connection, by `deadline`, where one breaks.
  /// Unavailable if the server lost its state, or has gone on to another version meanwhile; Cancelled some seconds after
  /// `stop`: nobody waits for it any more.
  Task<Result<void>> receive_late(size_t shard, Deadline deadline, StopToken stop);
  /// Strand: waits until it has_come(), or receive_late() has failed, whose error it gives.
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
  std::vector<std::vector<size_t>> parts_of_variables_;  // By variable, a number for each piece.
  std::vector<std::atomic<bool>> arrived_;               // By number (ServerTraffic::number): may it be read?
  Event arrival_;
  std::optional<Error> failed_;  // Why late weights of this step will not come.
};

}  // namespace shoal::cluster
