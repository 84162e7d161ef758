#pragma once
#include "listener.h"

namespace shoal::transport::shm {

/// One peer that has connected and not yet introduced itself. Holds a socket and a timer.
class Knock final : public std::enable_shared_from_this<Knock> {
 public:
  Knock(std::weak_ptr<Acceptance> owner, Core& core);
  void start(File socket, Duration timeout);
  /// The handlers end without a word.
  void drop();

 private:
  void introduced();
  std::shared_ptr<Link> let_in(Acceptance& owner);
  void end(std::shared_ptr<Link> link);

  std::weak_ptr<Acceptance> owner_;
  std::optional<Watched> socket_;
  std::optional<asio::steady_timer> timer_;
};

}  // namespace shoal::transport::shm
