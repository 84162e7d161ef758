#pragma once
/// One attempt to connect: resolve, connect, introduce ourselves.
#include "link.h"

namespace shoal::transport::tcp {

/// Of the strand. The result is there once done() is.
class Attempt final : public Holder, public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options);
  void start();
  /// Lets go of everything; a link that nobody took is closed.
  void cancel();
  void shut_down(SteadyTime) override { cancel(); }

  bool done() const { return result_.has_value(); }
  Result<std::shared_ptr<Link>> take() { return std::move(*std::exchange(result_, std::nullopt)); }
  const std::shared_ptr<WaitQueue>& waits() const { return waits_; }

 private:
  void resolved(std::vector<SocketAddress> addresses);
  void try_next();
  void start_handshake();
  void continue_handshake();
  bool exchange_preambles(error_code& error);
  void read_answer();
  Error refused(const error_code& error) const;
  void finish(Result<std::shared_ptr<Link>> result);
  void release();

  const std::shared_ptr<Core> core_;
  const Endpoint to_;
  const LinkOptions options_;
  std::shared_ptr<WaitQueue> waits_;
  std::vector<SocketAddress> addresses_;
  size_t next_ = 0;
  std::string failures_;
  std::optional<Resolver> resolver_;
  std::shared_ptr<TlsContext> tls_;
  std::optional<Socket> socket_;
  std::optional<Stream> stream_;  // of the socket, once it is connected
  std::optional<asio::steady_timer> timer_;
  Preamble ours_;
  bool sent_ = false;          // it has left
  size_t received_bytes_ = 0;  // of theirs
  PreambleBytes bytes_;
  std::optional<Result<std::shared_ptr<Link>>> result_;
};

}  // namespace shoal::transport::tcp
