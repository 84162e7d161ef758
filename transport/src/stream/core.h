// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects that the connections, listeners and attempts of one environment share. This folder contains what transports over
/// a socket of the event loop have in common; tcp and shm add only how two peers connect, and how bytes are moved.
#include <utility>  // Boost 1.74's Asio needs it without including it.

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

/// The owner of sockets or timers of the event loop, which have to be closed before the loop is destroyed.
class Holder {
 public:
  virtual ~Holder() = default;
  /// Sends the queued messages, until `deadline` at the latest, then closes everything. Called once the event loop has
  /// stopped.
  virtual void shut_down(SteadyTime deadline) = 0;
};

/// Used on the strand, except for postbox and counters. Connections and listeners keep this object alive, and may outlive
/// the transport and its environment. If the environment has ended, open() is false.
class Core {
 public:
  /// `environment` must not be virtual, since virtual ones have no sockets.
  explicit Core(Environment& environment);

  bool open() const { return open_; }
  /// Keeps a weak reference to `holder` until forget(), for shut_down().
  void remember(const std::shared_ptr<Holder>& holder) { holders_[holder.get()] = holder; }
  void forget(const Holder* holder) { holders_.erase(holder); }
  /// Called when the environment is about to end.
  void shut_down();

  Environment& env;      // Valid while open().
  asio::io_context& io;  // Valid while open().
  const std::shared_ptr<Postbox> postbox;
  Counters counters;

 private:
  bool open_ = true;
  std::map<const Holder*, std::weak_ptr<Holder>> holders_;
};

/// shared_from_this() with the derived type of `object`, for handlers that keep it alive.
template <class Derived>
std::shared_ptr<Derived> self_of(Derived* object) {
  return std::static_pointer_cast<Derived>(object->shared_from_this());
}

}  // namespace shoal::transport::stream
