// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A listening socket.
#include "link.h"
#include "stream/acceptance.h"

namespace shoal::transport::shm {

class Acceptance final : public stream::Acceptance {
 public:
  /// `socket` listens at `endpoint`.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, Watched socket);

 private:
  void accept_next() override;
  void close_socket() override { socket_.reset(); }
  void accept_peers();

  const std::shared_ptr<Core> shm_core_;
  std::optional<Watched> socket_;
};

/// Takes the name, and listens; `endpoint` then has the number that was chosen if it asked for any. Unavailable naming the
/// address if somebody has it.
Result<Watched> listen_on(Core& core, Endpoint& endpoint);

}  // namespace shoal::transport::shm
