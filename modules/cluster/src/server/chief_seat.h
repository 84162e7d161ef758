// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which chief may lead a server: one process at a time.
#include <functional>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

/// The seat is the right to lead this server. One process holds it, over any number of connections, until the last of them
/// has ended. If the process is killed, its connections end; if its connections stay but no heartbeats come, the server
/// closes them. Used on the strand only.
class ChiefSeat {
 public:
  /// `heard` returns when the leading process last sent a message. `patience` is how long that process may be silent before
  /// its connections are closed.
  ChiefSeat(Environment& env, Duration patience, std::function<SteadyTime()> heard)
      : env_(env), patience_(patience), heard_(std::move(heard)), left_(env) {}

  enum class Asked : uint8_t {
    kFree,     ///< No process leads this server, or the asking process itself does.
    kHeld,     ///< Another process leads this server. It is alive: it has sent a message since this process asked.
    kUnclear,  ///< Another process leads. Nobody knows whether it is alive: it sends nothing, not even heartbeats.
  };
  /// Waits until it is known whether process `incarnation` may lead. Cancelled when this object is destroyed.
  Task<Result<Asked>> ask(uint64_t incarnation);
  /// Makes process `incarnation` the one that leads this server; called right after ask() returned kFree. `peer` is the
  /// process's endpoint; `whose` names its run and program.
  void take(uint64_t incarnation, const transport::Endpoint& peer, std::string whose);
  void leave();
  /// The incarnation (id) of the process that leads this server; 0 if none does.
  uint64_t holder() const { return holder_ ? holder_->incarnation : 0; }
  /// The error for a process that asked to lead this server and may not; `whose` names the run and the program of the
  /// asking process. The error is always Unavailable, although asking again does not help while the other chief is alive.
  Error refusal(Asked asked, std::string_view whose) const;

 private:
  struct Holder {
    uint64_t incarnation;
    std::string peer;
    std::string whose;
    WallTime since;
  };
  bool is_taken_from(uint64_t incarnation) const { return holder_ && holder_->incarnation != incarnation; }

  Environment& env_;
  const Duration patience_;
  const std::function<SteadyTime()> heard_;
  std::optional<Holder> holder_;
  Event left_;
};

}  // namespace shoal::cluster
