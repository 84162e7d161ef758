// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Listens for connections of the transport shm (shared memory), and accepts them.
#include "link.h"
#include "stream/acceptance.h"

namespace shoal::transport::shm {

class Acceptance final : public stream::Acceptance {
 public:
  /// `socket` has to listen at `endpoint` already.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, Watched socket);

 private:
  void accept_next() override;
  void close_socket() override { socket_.reset(); }
  void accept_peers();

  const std::shared_ptr<Core> shm_core_;
  std::optional<Watched> socket_;
};

/// Makes a socket that listens at `endpoint`. If its address ends in ":0", a number chosen at random replaces the 0.
/// Unavailable, with the address, if another process listens there.
Result<Watched> listen_on(Core& core, Endpoint& endpoint);

}  // namespace shoal::transport::shm
