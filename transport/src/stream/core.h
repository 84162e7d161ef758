// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the connections, listeners and attempts of one environment share. This folder is what transports over a socket
/// of the event loop have in common: tcp and shm keep only how they meet, and how bytes travel.
#include <utility>  // Boost 1.74's Asio forgets it.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <memory>

#include "shoal/base/environment.h"
#include "shoal/transport/counters.h"
#include "shoal/transport/postbox.h"

namespace shoal::transport::stream {

namespace asio = boost::asio;
using boost::system::error_code;

/// Something that owns sockets or timers of the event loop and so has to let go of them before the loop goes.
class Holder {
 public:
  virtual ~Holder() = default;
  /// Lets go of everything, sending what is queued until `deadline`. The loop does not run any more.
  virtual void shut_down(SteadyTime deadline) = 0;
};

/// Lives on the strand, but for postbox and counters. Users of the transport may outlive it and its environment: they
/// find open() false then.
class Core {
 public:
  /// The event loop of `environment`, which is not a virtual one: those have no sockets.
  explicit Core(Environment& environment);

  bool open() const { return open_; }
  /// Remembers `holder` until forget().
  void remember(const std::shared_ptr<Holder>& holder) { holders_[holder.get()] = holder; }
  void forget(const Holder* holder) { holders_.erase(holder); }
  /// The environment is about to end.
  void shut_down();

  Environment& env;      // Valid while open().
  asio::io_context& io;  // Valid while open().
  const std::shared_ptr<Postbox> postbox;
  Counters counters;

 private:
  bool open_ = true;
  std::map<const Holder*, std::weak_ptr<Holder>> holders_;
};

/// What shared_from_this() gives, as the type that `object` has here, for handlers that keep it alive.
template <class Derived>
std::shared_ptr<Derived> self_of(Derived* object) {
  return std::static_pointer_cast<Derived>(object->shared_from_this());
}

}  // namespace shoal::transport::stream
