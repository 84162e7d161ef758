// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One attempt to connect: finds the listener, sends it the descriptor of the shared memory through which the two sides
/// will exchange messages, and reads its answer.
#include "link.h"
#include "stream/attempt.h"

namespace shoal::transport::shm {

class Attempt final : public stream::Attempt {
 public:
  Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options);

 private:
  void begin() override;
  void close_sockets() override { socket_.reset(); }

  Result<void> send_preamble();
  void wait_answer();
  Result<std::shared_ptr<Link>> read_answer();

  const std::shared_ptr<Core> shm_core_;
  Mapping rings_;
  std::optional<Watched> socket_;
};

}  // namespace shoal::transport::shm
