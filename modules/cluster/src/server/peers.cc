// SPDX-License-Identifier: Apache-2.0
#include "server/peers.h"

namespace shoal::cluster {

void Peers::join(Session& session) {
  Peer& peer = peers_[size_t(session.shard)];
  Session* const before = std::exchange(peer.session, &session);
  peer.epoch = 0;
  if (before) before->connection->close(unavailable("a newer connection of this server has taken its place"));
}

void Peers::leave(const Session& session) {
  Peer& peer = peers_[size_t(session.shard)];
  if (peer.session == &session) peer = {};
}

void Peers::in_step(const Session& session, uint64_t epoch) {
  Peer& peer = peers_[size_t(session.shard)];
  if (peer.session == &session) peer.epoch = epoch;
}

bool Peers::is_in_step(const Session& session, uint64_t epoch) const {
  const Peer& peer = peers_[size_t(session.shard)];
  return peer.session == &session && peer.epoch == epoch;
}

void Peers::send(const transport::Order& order, uint64_t epoch) {
  for (const Peer& peer : peers_) {
    if (peer.session && peer.epoch != 0 && peer.epoch == epoch) send_to(*peer.session, order, epoch);
  }
}

/// Sends an order. If the connection's queue is full (which is rare, since orders are small), closes the connection. The
/// peer then connects again, and reports the newest order that it has received.
void Peers::send_to(Session& session, const transport::Order& order, uint64_t epoch) {
  transport::Message message = transport::make_order(pool_, order);
  message.head.epoch = epoch;
  if (session.connection->try_send(message)) return;
  peers_[size_t(session.shard)].epoch = 0;
  session.connection->close(unavailable("the connection takes no more orders"));
}

}  // namespace shoal::cluster
