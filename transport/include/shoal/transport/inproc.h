// SPDX-License-Identifier: Apache-2.0
#pragma once
/// inproc: between tasks of one process, by handing over the reference. No payload byte is copied. There are no heartbeats:
/// such tasks stop together.
#include <memory>

#include "shoal/base/production.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// Where the tasks of one process find each other. There is no global one: whoever starts the tasks makes it and gives
/// it to each. Thread-safe. Outlives its users (they share it).
///
///   auto hub = std::make_shared<InprocHub>();
///   options.transports["inproc"] = inproc_factory(hub);      // for every task of the cluster of threads
///
/// An address is any name; one that ends in ":0" gets a free number in place of the 0.
class InprocHub {
 public:
  InprocHub();
  ~InprocHub();
  InprocHub(const InprocHub&) = delete;
  InprocHub& operator=(const InprocHub&) = delete;

  struct State;  // For the implementation.
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Makes transports that meet in `hub`.
TransportFactory inproc_factory(std::shared_ptr<InprocHub> hub);

/// What the plug-in table has: a transport with a hub of its own, so it reaches only listeners of the same environment.
std::unique_ptr<Transport> make_inproc_transport(Environment& env);

}  // namespace shoal::transport
