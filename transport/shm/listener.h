#pragma once
/// A listening socket and the handshakes of the peers that connect.
#include <deque>

#include "link.h"

namespace shoal::transport::shm {

class Handshake;

/// Of the strand. Shared by its Listener and its handlers.
class Acceptance final : public Holder, public std::enable_shared_from_this<Acceptance> {
 public:
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options);

  /// Takes the name, and listens. Unavailable naming the address if somebody has it.
  Result<void> open();
  const Endpoint& endpoint() const { return endpoint_; }
  const LinkOptions& options() const { return options_; }
  Core& core() { return *core_; }
  std::shared_ptr<Core> shared_core() { return core_; }

  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline);
  void close();
  void shut_down(SteadyTime) override { close(); }

  /// A place for one more connection, given back by the last copy; null if all are taken.
  std::shared_ptr<void> take_slot();
  void finished(Handshake& handshake, std::shared_ptr<Link> link);

 private:
  static Task<Result<std::unique_ptr<Connection>>> accept_on(std::shared_ptr<Acceptance> self, Deadline deadline);
  Result<File> listening_socket();
  void wait_for_peers();
  void accept_peers();
  void begin_handshake(File socket);
  void rest();

  const std::shared_ptr<Core> core_;
  Endpoint endpoint_;
  const LinkOptions options_;
  std::optional<Watched> socket_;
  std::optional<asio::steady_timer> rest_timer_;
  std::shared_ptr<WaitQueue> waits_;
  std::deque<std::shared_ptr<Handshake>> handshakes_;  // Those under way, the oldest first.
  std::deque<std::shared_ptr<Link>> ready_;    // through, and not yet accepted
  std::shared_ptr<int> slots_taken_ = std::make_shared<int>(0);
};

}  // namespace shoal::transport::shm
