#pragma once
/// One attempt to connect: find the listener, send it the memory of the rings, hear what it says.
#include "link.h"

namespace shoal::transport::shm {

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
  Result<void> send_preamble();
  void wait_answer();
  Result<std::shared_ptr<Link>> read_answer();
  void finish(Result<std::shared_ptr<Link>> result);
  void release();

  const std::shared_ptr<Core> core_;
  const Endpoint to_;
  const LinkOptions options_;
  std::shared_ptr<WaitQueue> waits_;
  Mapping rings_;
  std::optional<Watched> socket_;
  std::optional<asio::steady_timer> timer_;
  std::optional<Result<std::shared_ptr<Link>>> result_;
};

}  // namespace shoal::transport::shm
