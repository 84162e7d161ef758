// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When what is sent in one direction arrives.
#include "shoal/base/random.h"
#include "shoal/transport/sim.h"

namespace shoal::transport::sim {

class Stream {
 public:
  explicit Stream(RandomKey key) : random_(key) {}

  struct Sent {
    SteadyTime left;  ///< When the last of it was on its way.
    SteadyTime arrival;
    uint64_t packets_lost = 0;
  };
  /// `bytes` are handed to `link` at `now`: never before what was sent earlier.
  Sent send(SteadyTime now, uint64_t bytes, const SimLink& link);
  /// Something of no size, behind all that was sent.
  Sent send_last(SteadyTime now, const SimLink& link);
  /// Nothing arrives before this any more.
  void hold_until(SteadyTime when) { last_arrival_ = std::max(last_arrival_, when); }

 private:
  RandomStream random_;
  SteadyTime free_{};  // When the link has taken all that was sent.
  SteadyTime last_arrival_{};
};

}  // namespace shoal::transport::sim
