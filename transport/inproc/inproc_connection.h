// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A pipe: the two channels and the two ends of a connection inside of one process.
#include <array>
#include <atomic>
#include <memory>

#include "shoal/transport/channel.h"
#include "shoal/transport/counters.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/transport.h"

namespace shoal::transport::inproc {

/// The part of a pipe that belongs to the task at one end. The queues are used on its strand only.
struct Side {
  Side(std::shared_ptr<Postbox> box, std::shared_ptr<Counters> count, Endpoint other, const LinkOptions& link)
      : postbox(std::move(box)),
        counters(std::move(count)),
        peer(std::move(other)),
        name(std::make_shared<const std::string>(to_string(peer))),
        options(link) {}
  std::shared_ptr<Postbox> postbox;
  std::shared_ptr<Counters> counters;
  Endpoint peer;
  std::shared_ptr<const std::string> name;  // The name of the peer.
  LinkOptions options;
  std::shared_ptr<WaitQueue> receiver;  // Wakes receive(). Made with the side's Connection, on its strand.
  std::shared_ptr<WaitQueue> senders;
};

/// Side 0 is the task that connected, side 1 the task that accepted. Thread-safe, except for the queues of the sides. The
/// destructor posts no work to the tasks' strands.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Side connecting, Side accepting);
  Side& side(int index) { return sides_[size_t(index)]; }
  /// The channel that side `index` sends to, or receives from.
  std::shared_ptr<Channel> outgoing(int index) { return {shared_from_this(), &channels_[size_t(index)]}; }
  std::shared_ptr<Channel> incoming(int index) { return outgoing(1 - index); }
  /// Ends both directions. All waits on both sides return `reason`. The first reason counts.
  void close(int closer, const Error& reason);

 private:
  Channel make_channel(int from);
  std::array<Side, 2> sides_;
  std::array<Channel, 2> channels_;  // Channel i has the messages that side i sends.
};

/// Makes the Connection of side `index` of `pipe`. Call it on that side's strand. The connection holds `slot` as long as it
/// exists: a listener has connections_max slots, which limits its connections. Null on the side that connects.
std::unique_ptr<Connection> make_connection(std::shared_ptr<Pipe> pipe, int index, std::shared_ptr<void> slot);

}  // namespace shoal::transport::inproc
