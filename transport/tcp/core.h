#pragma once
/// What the connections, listeners and attempts of one environment share.
#include <atomic>
#include <map>
#include <memory>

#include "net.h"
#include "shoal/transport/postbox.h"
#include "tls.h"

namespace shoal::transport::tcp {

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
      : env(environment), io(context), postbox(std::make_shared<Postbox>(environment)) {}

  bool open() const { return open_; }
  /// Remembers `holder` until forget().
  void remember(const std::shared_ptr<Holder>& holder) { holders_[holder.get()] = holder; }
  void forget(const Holder* holder) { holders_.erase(holder); }
  /// What connections with `token` share; null without one. FailedPrecondition in a build that has no TLS.
  Result<std::shared_ptr<TlsContext>> tls(const std::shared_ptr<const Token>& token) {
    if (token && token != tls_token_) {
      SHOAL_TRY(tls_, make_tls_context(*token));
      tls_token_ = token;
    }
    return token ? tls_ : nullptr;
  }
  /// The environment is about to end.
  void shut_down() {
    const SteadyTime deadline = env.after(std::chrono::seconds(1));
    open_ = false;
    for (const auto& [key, weak] : std::exchange(holders_, {})) {
      if (const auto holder = weak.lock()) holder->shut_down(deadline);
    }
    postbox->close();
  }

  Environment& env;       // while open()
  asio::io_context& io;   // while open()
  const std::shared_ptr<Postbox> postbox;
  Counters counters;

 private:
  bool open_ = true;
  std::shared_ptr<const Token> tls_token_;  // a task has one
  std::shared_ptr<TlsContext> tls_;
  std::map<const Holder*, std::weak_ptr<Holder>> holders_;
};

}  // namespace shoal::transport::tcp
