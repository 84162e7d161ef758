// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One attempt to connect.
#include "stream/link.h"

namespace shoal::transport::stream {

/// Used on the strand. The result exists once done() is true. The derived class defines how the peer is found and what is
/// sent to it.
class Attempt : public Holder, public std::enable_shared_from_this<Attempt> {
 public:
  void start();
  /// Closes the connection, whether or not it is complete, unless take() has returned its link.
  void cancel();
  void shut_down(SteadyTime) override { cancel(); }

  bool done() const { return result_.has_value(); }
  Result<std::shared_ptr<Link>> take() { return std::move(*std::exchange(result_, std::nullopt)); }
  const std::shared_ptr<WaitQueue>& waits() const { return waits_; }

 protected:
  Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options);

  /// Starts the attempt. Sooner or later it calls connected() or fail().
  virtual void begin() = 0;
  virtual void close_sockets() = 0;

  /// Called when the peer is reached: starts the time limit of the handshake.
  void limit_handshake();
  void connected(std::shared_ptr<Link> link);
  void fail(Error reason) { finish(std::move(reason)); }
  /// Returns "<address of the listener>: <what>", for errors.
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

/// Implements Transport::connect() with an attempt that was not started yet.
Task<Result<std::unique_ptr<Connection>>> connect_by(std::shared_ptr<Attempt> attempt, Endpoint to, Deadline deadline);

}  // namespace shoal::transport::stream
