// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which chief leads a server (CONTRACT FA-11): one at a time.
#include <functional>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

/// The seat is held by a process, over however many connections, until the last of them has ended. A process that was
/// killed ends its connections; one that falls silent loses them, by its heartbeats. It belongs to the strand.
class ChiefSeat {
 public:
  /// `heard`: when something of the holder last came. `patience`: how long a holder can be silent before it loses its
  /// connections.
  ChiefSeat(Environment& env, Duration patience, std::function<SteadyTime()> heard)
      : env_(env), patience_(patience), heard_(std::move(heard)), left_(env) {}

  enum class Asked : uint8_t {
    kFree,     ///< The seat is free, or already that process's own.
    kHeld,     ///< Another process holds it, and was heard after this one had asked.
    kUnclear,  ///< Neither has shown, as happens without heartbeats.
  };
  /// Answers once it shows. Cancelled when the seat goes.
  Task<Result<Asked>> ask(uint64_t incarnation);
  /// Takes the seat, at once after ask() said that it is free. `peer` is where that process is, `whose` which run and program it
  /// is of, in words.
  void take(uint64_t incarnation, const transport::Endpoint& peer, std::string whose);
  void leave();
  /// The incarnation of the holder; 0 if there is none.
  uint64_t holder() const { return holder_ ? holder_->incarnation : 0; }
  /// What to say to one that has asked in vain, which is of `whose`: Unavailable, and, if the seat is held, final all the same.
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
