#pragma once
/// What the connections, listeners and attempts of one environment share.
#include <utility>  // Boost 1.74's Asio forgets it

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <map>
#include <memory>

#include "shared_memory.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/transport.h"

namespace shoal::transport::shm {

namespace asio = boost::asio;
using boost::system::error_code;
/// A socket as the event loop sees it: something that becomes readable. All calls on it are our own.
using Watched = asio::posix::stream_descriptor;

struct Counters {
  std::atomic<uint64_t> messages_sent{0}, messages_received{0}, bytes_sent{0}, bytes_received{0}, bytes_copied{0};
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
class Core {
 public:
  Core(Environment& environment, asio::io_context& context)
      : env(environment),
        io(context),
        postbox(std::make_shared<Postbox>(environment)),
        memory(SharedMemory::of(environment.buffers())) {}

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

  Environment& env;      // while open()
  asio::io_context& io;  // while open()
  const std::shared_ptr<Postbox> postbox;
  const std::shared_ptr<SharedMemory> memory;  // null: the environment's buffers lie elsewhere
  Counters counters;

 private:
  bool open_ = true;
  std::map<const Holder*, std::weak_ptr<Holder>> holders_;
};

}  // namespace shoal::transport::shm
