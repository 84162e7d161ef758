#pragma once
#include "listener.h"

namespace shoal::transport::shm {

/// The handshake with one peer that has connected, on the side of the listener. Holds a socket and a timer.
class Handshake final : public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(std::weak_ptr<Acceptance> owner, Core& core);
  void start(File socket, Duration timeout);
  /// The handlers end without a word.
  void drop();

 private:
  void read_preamble();
  std::shared_ptr<Link> admit(Acceptance& owner);
  void end(std::shared_ptr<Link> link);

  std::weak_ptr<Acceptance> owner_;
  std::optional<Watched> socket_;
  std::optional<asio::steady_timer> timer_;
};

}  // namespace shoal::transport::shm
