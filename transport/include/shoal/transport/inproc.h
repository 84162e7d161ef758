// SPDX-License-Identifier: Apache-2.0
#pragma once
/// inproc: connects tasks of one process by passing references. No payload byte is copied. There are no heartbeats, since
/// such tasks stop together.
#include <memory>

#include "shoal/base/production.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// The place where the tasks of one process find each other. There is no global one: the code that starts the tasks
/// makes a hub and gives it to each task. Thread-safe. The transports share ownership of the hub.
///
///   auto hub = std::make_shared<InprocHub>();
///   options.transports["inproc"] = inproc_factory(hub);      // for every task of the cluster of threads
///
/// An address is any name. If it ends in ":0", the 0 is replaced by a free number.
class InprocHub {
 public:
  InprocHub();
  ~InprocHub();
  InprocHub(const InprocHub&) = delete;
  InprocHub& operator=(const InprocHub&) = delete;

  struct State;  // Defined in the implementation.
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// A factory of transports that meet in `hub`.
TransportFactory inproc_factory(std::shared_ptr<InprocHub> hub);

/// The entry in the plug-in table: a transport with a hub of its own, so it reaches only listeners of the same environment.
std::unique_ptr<Transport> make_inproc_transport(Environment& env);

}  // namespace shoal::transport
