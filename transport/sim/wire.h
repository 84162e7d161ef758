// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated connection: the messages on their way, and the state of both ends. Used on one thread, so without locks. The
/// state changes only in calls. Each call first ends the connection if its end was due earlier, for example because a peer
/// was silent for too long.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>

#include "shoal/transport/counters.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/wait_queue.h"
#include "stream.h"

namespace shoal::transport::sim {

/// A process of a task, as the network sees it.
struct Process {
  Process(std::string name, Environment& env) : task(std::move(name)), postbox(std::make_shared<Postbox>(env)) {}
  const std::string task;
  const std::shared_ptr<Postbox> postbox;
  bool alive = true;
  bool host_gone = false;  // True if the host lost its power, so its kernel cannot tell the peers.
  std::optional<SteadyTime> frozen_since;
  Counters counters;
};

/// One direction of a connection, with the messages on their way.
class Way {
 public:
  explicit Way(RandomKey key) : stream_(key) {}

  struct Sent {
    SteadyTime left;
    SteadyTime arrival;
  };
  struct Parcel : Sent {
    Message message;
  };
  struct Acknowledgement {
    SteadyTime arrival;
    uint64_t bytes = 0;
  };
  struct Farewell : Sent {
    Error reason;
  };

  /// Returns how many packets were lost on the way.
  uint64_t send(SteadyTime now, Message message, const SimLink& link);
  void acknowledge(SteadyTime now, uint64_t bytes, const SimLink& link) { acks_.push_back({now + link.latency, bytes}); }
  /// Sends the farewell, a last message with the reason why the sender closes. Further calls do nothing.
  void say_farewell(SteadyTime now, Error reason, const SimLink& link);

  /// Takes the next message that has arrived.
  std::optional<Message> take(SteadyTime now);
  uint64_t take_acknowledged(SteadyTime now);
  const std::optional<Farewell>& farewell() const { return farewell_; }
  /// The time at which the next message, acknowledgement or farewell arrives. kNoDeadline: none is on its way, or a cut
  /// stops it.
  SteadyTime next_message() const { return parcels_.empty() ? kNoDeadline : expected(parcels_.front().arrival); }
  SteadyTime next_acknowledgement() const { return acks_.empty() ? kNoDeadline : expected(acks_.front().arrival); }
  SteadyTime end() const { return farewell_ ? expected(farewell_->arrival) : kNoDeadline; }

  /// The four functions below return how many messages they lose.
  uint64_t lose_all();
  uint64_t lose_newest();
  uint64_t lose_what_has_not_arrived(SteadyTime now);
  uint64_t lose_what_has_not_left(SteadyTime now);

  /// Cuts this direction from the time `since` on; if `since` is empty, ends the cut. Messages that could not arrive during
  /// the cut are sent again at its end, at `now`.
  void set_cut(std::optional<SteadyTime> since, SteadyTime now, const SimLink& link);
  /// The time since which nothing arrives in this direction, not even heartbeats.
  std::optional<SteadyTime> silent_since;

 private:
  bool held(SteadyTime arrival) const { return cut_since_ && arrival > *cut_since_; }
  SteadyTime expected(SteadyTime arrival) const { return held(arrival) ? kNoDeadline : arrival; }

  Stream stream_;
  std::deque<Parcel> parcels_;  // Messages that were sent but not received yet.
  std::deque<Acknowledgement> acks_;
  std::optional<Farewell> farewell_;
  std::optional<SteadyTime> cut_since_;
};

class Wire : public std::enable_shared_from_this<Wire> {
 public:
  struct End {
    std::shared_ptr<Process> process;
    Endpoint peer;
    LinkOptions options;
    std::shared_ptr<void> slot = nullptr;        // Makes this end count against the listener's connections_max.
    std::shared_ptr<WaitQueue> waits = nullptr;  // Null until the connection is accepted.
    std::optional<Error> closed = std::nullopt;
    uint64_t unacknowledged_bytes = 0;        // Bytes that this end has sent and the other end has not acknowledged.
    std::set<uint64_t> waiting_senders = {};  // The coroutines that wait for room to send, by number.
    uint64_t next_waiting_number = 0;
    bool waking = false;  // True if a wake-up of this end's coroutines is posted.
  };
  /// End 0 connects, end 1 accepts.
  Wire(SimNetwork::State& state, RandomKey key, End connecting, End accepting);

  End& end(int index) { return ends_[size_t(index)]; }
  /// The direction in which end `index` sends.
  Way& way(int index) { return ways_[size_t(index)]; }
  const SimLink& link(int from) const;
  /// True if end `index` has closed the connection or its process has died.
  bool over(int index) const { return ends_[size_t(index)].closed || !ends_[size_t(index)].process->alive; }

  /// Ends the connection if that is due by `now`: a farewell has arrived, or the peer has been silent for too long.
  void settle(SteadyTime now);
  /// The time at which end `index` last received something from the other end.
  SteadyTime heard(int index, SteadyTime now) const {
    const Way& way = ways_[size_t(1 - index)];
    const SteadyTime spoken = way.farewell() ? std::min(now, way.farewell()->left) : now;
    return way.silent_since ? std::min(*way.silent_since, spoken) : spoken;
  }
  /// The next time at which something may end this connection.
  SteadyTime next_end() const { return std::min(ends_at(0), ends_at(1)); }

  /// Sends `message` if the connection is open and the unacknowledged bytes are fewer than the send queue's limit. A test's
  /// Choice may lose the message.
  bool send(int index, SteadyTime now, Message& message);
  /// Returns the next message that has arrived. Nothing: there is none, or a lost or invalid one ended the connection.
  std::optional<Message> receive(int index, SteadyTime now);
  void close(int index, SteadyTime now, Error reason);
  /// Closes both ends at once. Messages that have not arrived are lost.
  void reset(SteadyTime now);
  /// Called when the process at end `index` has just died.
  void end_of_process(int index, SteadyTime now);
  /// Answers traffic for a dead process of end `index` with a reset, as its host's kernel does after a restart.
  void refuse_stray(int index, SteadyTime now);
  /// Posts a wake-up of the coroutines that wait at end `index`.
  void wake(int index);
  void wake_both() { wake(0), wake(1); }

 private:
  Duration silence_max(int index) const;
  /// The time at which end `index` learns that the connection has ended.
  SteadyTime ends_at(int index) const;
  SteadyTime silent_at(int index) const;
  bool lost_by(const SimNetwork::Choice& choice, int from, SteadyTime now, const Message& message);
  std::string name(int index) const { return to_string(ends_[size_t(index)].peer); }

  SimNetwork::State& state_;  // Owned by the network, which the ends keep alive.
  std::array<End, 2> ends_;
  std::array<Way, 2> ways_;
};

}  // namespace shoal::transport::sim
