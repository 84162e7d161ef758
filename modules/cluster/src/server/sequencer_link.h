// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A server's connection to the sequencer: reports the pushes that the server holds, and takes the sequencer's orders.
/// Connects again when the connection has broken.
#include <functional>
#include <memory>

#include "shoal/cluster/parameter_server.h"
#include "state/server_state.h"

namespace shoal::cluster {

class SequencerLink {
 public:
  /// Carries out an order for the model that is loaded now. The next call waits until this one is done.
  using Obey = std::function<Task<Result<void>>(transport::Order)>;

  /// All references outlive this object.
  SequencerLink(Environment& env, const ParameterServerOptions& options, const ServerState& state, Obey obey)
      : env_(env), options_(options), state_(state), obey_(std::move(obey)), closed_event_(env) {}

  /// Until close(), keeps a connection to the sequencer, and calls `obey` with each order that the sequencer sends.
  Task<Result<void>> run();
  /// Reports a push that the server holds. Sends nothing while disconnected: the next connection begins with a report
  /// of all held pushes.
  void held(const HeldPush& push);
  /// Reports to the sequencer which of its orders was received last, and all pushes that the server holds. Called when a
  /// model was loaded, and when a connection begins.
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
  uint64_t epoch_ = 0;     // The epoch (one loading of the model) whose orders received_ counts.
  uint64_t received_ = 0;  // The index of the newest of the sequencer's orders that was received.
  bool closed_ = false;
  Event closed_event_;
};

}  // namespace shoal::cluster
