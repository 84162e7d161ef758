// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two channels and the two ends that share them.
#include <array>
#include <atomic>
#include <memory>

#include "shoal/transport/channel.h"
#include "shoal/transport/counters.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/transport.h"

namespace shoal::transport::inproc {

/// What the task at one end contributes. The queues are touched on its strand only.
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
  std::shared_ptr<const std::string> name;  // The peer's name.
  LinkOptions options;
  std::shared_ptr<WaitQueue> receiver;  // Made on the strand of the side, before its Connection.
  std::shared_ptr<WaitQueue> senders;
};

/// Side 0 connected, side 1 accepted. Thread-safe but for the queues of the sides. Its destructor posts nothing.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Side connecting, Side accepting);
  Side& side(int index) { return sides_[size_t(index)]; }
  /// What side `index` sends, or receives.
  std::shared_ptr<Channel> outgoing(int index) { return {shared_from_this(), &channels_[size_t(index)]}; }
  std::shared_ptr<Channel> incoming(int index) { return outgoing(1 - index); }
  /// Both directions end; everyone who waits on either side wakes with `reason`. The first reason counts.
  void close(int closer, const Error& reason);

 private:
  Channel make_channel(int from);
  std::array<Side, 2> sides_;
  std::array<Channel, 2> channels_;  // Number i is what side i sends.
};

/// The end of `pipe` at `index`, whose strand this is. `slot` is the place it takes at a listener, or null.
std::unique_ptr<Connection> make_connection(std::shared_ptr<Pipe> pipe, int index, std::shared_ptr<void> slot);

}  // namespace shoal::transport::inproc
