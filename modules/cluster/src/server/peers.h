// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The other servers, as shard 0 sees them: which of them are connected, and which have received all orders since the model
/// was last loaded (these are "in step").
#include <vector>

#include "server/session.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

class Peers {
 public:
  Peers(BufferPool& pool, size_t shards) : pool_(pool), peers_(shards) {}

  /// Adds a connection of a shard, and closes the shard's former connection, if there is one.
  void join(Session& session);
  void leave(const Session& session);
  bool is_here(size_t shard) const { return peers_[shard].session != nullptr; }
  /// Records that the shard at the other end of `session` has received all orders of `epoch` so far, and is to get the
  /// later ones. Each loading of the model begins a new epoch of orders.
  void in_step(const Session& session, uint64_t epoch);
  bool is_in_step(const Session& session, uint64_t epoch) const;

  /// Sends an order of `epoch` to all shards that have received all earlier orders of this epoch.
  void send(const transport::Order& order, uint64_t epoch);
  void send_to(Session& session, const transport::Order& order, uint64_t epoch);

 private:
  struct Peer {
    Session* session = nullptr;
    uint64_t epoch = 0;  // Orders of this epoch go to this peer; 0: none. Each loading of the model begins an epoch.
  };
  BufferPool& pool_;
  std::vector<Peer> peers_;  // One entry for each shard.
};

}  // namespace shoal::cluster
