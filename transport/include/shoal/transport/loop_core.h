#pragma once
/// For those who implement a transport on the event loop of its task: what the connections, listeners and attempts of one
/// environment share.
#include <atomic>
#include <map>
#include <memory>
#include <utility>

#include "shoal/base/environment.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// TransportStats, as they are counted.
struct Counters {
  std::atomic<uint64_t> messages_sent{0}, messages_received{0}, bytes_sent{0}, bytes_received{0}, bytes_copied{0};
  TransportStats stats() const { return {messages_sent, messages_received, bytes_sent, bytes_received, bytes_copied}; }
};

/// Something that owns sockets or timers of the event loop and so has to let go of them before the loop goes.
class Holder {
 public:
  virtual ~Holder() = default;
  /// Lets go of everything, sending what is queued until `deadline`. The loop does not run any more.
  virtual void shut_down(SteadyTime deadline) = 0;
};

/// Of the strand, but for postbox and counters. Users of the transport may outlive it and its environment: they find
/// open() false then.
class LoopCore {
 public:
  explicit LoopCore(Environment& environment) : env(environment), postbox(std::make_shared<Postbox>(environment)) {}

  bool open() const { return open_; }
  /// Remembers `holder` until forget().
  void remember(const std::shared_ptr<Holder>& holder) { holders_[holder.get()] = holder; }
  void forget(const Holder* holder) { holders_.erase(holder); }
  /// The environment is about to end.
  void shut_down() {
    const SteadyTime deadline = env.after(std::chrono::seconds(1));
    open_ = false;
    for (const auto& [key, weak] : std::exchange(holders_, {})) {
      if (const auto holder = weak.lock()) holder->shut_down(deadline);
    }
    postbox->close();
  }

  Environment& env;  // while open()
  const std::shared_ptr<Postbox> postbox;
  Counters counters;

 private:
  bool open_ = true;
  std::map<const Holder*, std::weak_ptr<Holder>> holders_;
};

}  // namespace shoal::transport
