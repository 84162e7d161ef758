#pragma once
/// A listening socket and the handshakes of the peers that connect.
#include <deque>

#include "link.h"

namespace shoal::transport::tcp {

class Handshake;

/// Of the strand. Shared by its Listener and its handlers.
class Acceptance final : public Holder, public std::enable_shared_from_this<Acceptance> {
 public:
  /// With `tls`, which belongs to the options' credential, everybody has to come by TLS.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, std::shared_ptr<TlsContext> tls);

  /// Binds to the first of `addresses` that can be had, and listens. Unavailable naming the address if none can.
  Result<void> open(const std::vector<SocketAddress>& addresses);
  const Endpoint& endpoint() const { return endpoint_; }
  const LinkOptions& options() const { return options_; }
  TlsContext* tls() const { return tls_.get(); }
  Core& core() { return *core_; }
  std::shared_ptr<Core> shared_core() { return core_; }

  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline);
  void close();
  void shut_down(SteadyTime deadline) override;

  /// A place for one more connection, given back by the last copy; null if all are taken.
  std::shared_ptr<void> take_slot();
  void finished(Handshake& handshake, std::shared_ptr<Link> link);

 private:
  static Task<Result<std::unique_ptr<Connection>>> accept_on(std::shared_ptr<Acceptance> self, Deadline deadline);
  void accept_next();
  void begin_handshake(Socket socket);
  void rest();

  const std::shared_ptr<Core> core_;
  Endpoint endpoint_;
  const LinkOptions options_;
  const std::shared_ptr<TlsContext> tls_;
  std::optional<Acceptor> acceptor_;
  std::optional<asio::steady_timer> rest_timer_;
  std::shared_ptr<WaitQueue> waits_;
  std::deque<std::shared_ptr<Handshake>> handshakes_;  // Those under way, the oldest first.
  std::deque<std::shared_ptr<Link>> ready_;    // through, and not yet accepted
  std::shared_ptr<int> slots_taken_ = std::make_shared<int>(0);
};

}  // namespace shoal::transport::tcp
