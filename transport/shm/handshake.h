// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "link.h"
#include "stream/acceptance.h"

namespace shoal::transport::shm {

/// The handshake on one accepted socket, with a timer.
class Handshake final : public stream::Handshake {
 public:
  Handshake(std::weak_ptr<stream::Acceptance> owner, std::shared_ptr<Core> core, File socket);

 private:
  void begin() override;
  void close_socket() override { socket_.reset(); }

  void read_preamble();
  std::shared_ptr<Link> admit(stream::Acceptance& acceptance);

  const std::shared_ptr<Core> core_;
  File accepted_;  // The accepted socket. begin() moves it to socket_, which the event loop watches.
  std::optional<Watched> socket_;
};

}  // namespace shoal::transport::shm
