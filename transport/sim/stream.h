// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One direction of a connection in the simulated network: computes when the data that are sent there arrive.
#include "shoal/base/random.h"
#include "shoal/transport/sim.h"

namespace shoal::transport::sim {

class Stream {
 public:
  explicit Stream(RandomKey key) : random_(key) {}

  struct Sent {
    SteadyTime left;  ///< When the last byte had left the sender.
    SteadyTime arrival;
    uint64_t packets_lost = 0;
  };
  /// Sends `bytes` over `link` at `now`. They arrive after everything that was sent earlier.
  Sent send(SteadyTime now, uint64_t bytes, const SimLink& link);
  /// Sends a packet without bytes, after everything that was sent.
  Sent send_last(SteadyTime now, const SimLink& link);
  /// Lets nothing arrive before `when`.
  void hold_until(SteadyTime when) { last_arrival_ = std::max(last_arrival_, when); }

 private:
  RandomStream random_;
  // When the sender is done with all bytes that were passed to send() so far. Further bytes leave after this time.
  SteadyTime free_{};
  SteadyTime last_arrival_{};
};

}  // namespace shoal::transport::sim
