// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One attempt to connect.
#include "stream/link.h"

namespace shoal::transport::stream {

/// Lives on the strand. The result is there once done() is. A transport says how the peer is found and what is said to
/// it.
class Attempt : public Holder, public std::enable_shared_from_this<Attempt> {
 public:
  void start();
  /// Lets go of everything; a link that nobody took is closed.
  void cancel();
  void shut_down(SteadyTime) override { cancel(); }

  bool done() const { return result_.has_value(); }
  Result<std::shared_ptr<Link>> take() { return std::move(*std::exchange(result_, std::nullopt)); }
  const std::shared_ptr<WaitQueue>& waits() const { return waits_; }

 protected:
  Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options);

  /// Ends, then or later, in connected() or fail().
  virtual void begin() = 0;
  virtual void close_sockets() = 0;

  /// The peer is reached: from now on the time for the handshake passes.
  void limit_handshake();
  void connected(std::shared_ptr<Link> link);
  void fail(Error reason) { finish(std::move(reason)); }
  /// `what` with the address before it.
  std::string sentence(std::string_view what) const { return to_string(to_) + ": " + std::string(what); }

  const std::shared_ptr<Core> core_;
  const Endpoint to_;
  const LinkOptions options_;

 private:
  void finish(Result<std::shared_ptr<Link>> result);
  void release();

  std::shared_ptr<WaitQueue> waits_;
  std::optional<asio::steady_timer> timer_;
  std::optional<Result<std::shared_ptr<Link>>> result_;
};

/// Transport::connect() by an attempt that was not started yet.
Task<Result<std::unique_ptr<Connection>>> connect_by(std::shared_ptr<Attempt> attempt, Endpoint to, Deadline deadline);

}  // namespace shoal::transport::stream
