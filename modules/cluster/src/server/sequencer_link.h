// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A server's line to the sequencer: tells it what is held here, and takes its orders, over as many connections as it
/// takes.
#include <functional>
#include <memory>

#include "shoal/cluster/parameter_server.h"
#include "state/server_state.h"

namespace shoal::cluster {

class SequencerLink {
 public:
  /// Carries out an order of the present epoch. Orders come in order, one after another.
  using Obey = std::function<Task<Result<void>>(transport::Order)>;

  /// All outlive this.
  SequencerLink(Environment& env, const ParameterServerOptions& options, const ServerState& state, Obey obey)
      : env_(env), options_(options), state_(state), obey_(std::move(obey)), closed_event_(env) {}

  /// Runs until close().
  Task<Result<void>> run();
  /// A push is held. Without a connection, the next one begins with all that are.
  void held(const HeldPush& push);
  /// A new epoch has begun here, or the connection has: what was received of it, and all that is held.
  void tell_all();
  void close();

 private:
  Task<Result<void>> meet();
  Task<Result<void>> follow();
  Result<bool> is_next(const transport::Message& message, const transport::Order& order);
  void report(transport::ReportKind kind, const transport::PushId& push = {}, uint64_t base_version = 0);

  Environment& env_;
  const ParameterServerOptions& options_;
  const ServerState& state_;
  const Obey obey_;
  std::unique_ptr<transport::Connection> connection_;
  bool welcomed_ = false;
  uint64_t epoch_ = 0;     // The epoch of received_.
  uint64_t received_ = 0;  // The index of the newest order that has come.
  bool closed_ = false;
  Event closed_event_;
};

}  // namespace shoal::cluster
