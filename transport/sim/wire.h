// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One connection: what is under way on it, and what both of its ends know. One thread, so no locks. Nothing happens by
/// itself: whoever asks first brings it up to date.
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
  bool host_gone = false;  // The kernel, which would have told, is gone with it.
  std::optional<SteadyTime> frozen_since;
  Counters counters;
};

/// One direction of a connection.
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
  /// Goes behind all messages; the first one counts.
  void say_farewell(SteadyTime now, Error reason, const SimLink& link);

  /// The next message that has arrived.
  std::optional<Message> take(SteadyTime now);
  uint64_t take_acknowledged(SteadyTime now);
  const std::optional<Farewell>& farewell() const { return farewell_; }
  /// When the next of its kind arrives, as things are; kNoDeadline if nothing is on its way.
  SteadyTime next_message() const { return parcels_.empty() ? kNoDeadline : expected(parcels_.front().arrival); }
  SteadyTime next_acknowledgement() const { return acks_.empty() ? kNoDeadline : expected(acks_.front().arrival); }
  SteadyTime end() const { return farewell_ ? expected(farewell_->arrival) : kNoDeadline; }

  /// These return how many messages they lose.
  uint64_t lose_all();
  uint64_t lose_newest();
  uint64_t lose_what_has_not_arrived(SteadyTime now);
  uint64_t lose_what_has_not_left(SteadyTime now);

  /// Whether it is cut, and since when; once it is not any more, what the cut held back is under way again from `now`.
  void set_cut(std::optional<SteadyTime> since, SteadyTime now, const SimLink& link);
  /// The time since which nothing comes this way, heartbeats neither.
  std::optional<SteadyTime> silent_since;

 private:
  bool held(SteadyTime arrival) const { return cut_since_ && arrival > *cut_since_; }
  SteadyTime expected(SteadyTime arrival) const { return held(arrival) ? kNoDeadline : arrival; }

  Stream stream_;
  std::deque<Parcel> parcels_;  // What was sent and is not received yet.
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
    std::shared_ptr<void> slot = nullptr;        // The place that it takes at the listener.
    std::shared_ptr<WaitQueue> waits = nullptr;  // Null while it is not accepted yet.
    std::optional<Error> closed = std::nullopt;
    uint64_t unacknowledged_bytes = 0;        // What it has sent and the other end has not acknowledged.
    std::set<uint64_t> waiting_senders = {};  // Those who wait for credit, by the number drawn.
    uint64_t next_waiting_number = 0;
    bool waking = false;  // Somebody was asked to wake those who wait.
  };
  /// End 0 connected, end 1 accepts. Nothing is silent between them.
  Wire(SimNetwork::State& state, RandomKey key, End connecting, End accepting);

  End& end(int index) { return ends_[size_t(index)]; }
  /// What end `index` sends.
  Way& way(int index) { return ways_[size_t(index)]; }
  const SimLink& link(int from) const;
  /// Whether that end takes nothing any more and says nothing any more, in the eyes of its own side.
  bool over(int index) const { return ends_[size_t(index)].closed || !ends_[size_t(index)].process->alive; }

  /// Brings about all that happened by `now`, in order.
  void settle(SteadyTime now);
  /// When something of the other end last came to this one.
  SteadyTime heard(int index, SteadyTime now) const {
    const Way& way = ways_[size_t(1 - index)];
    const SteadyTime spoken = way.farewell() ? std::min(now, way.farewell()->left) : now;
    return way.silent_since ? std::min(*way.silent_since, spoken) : spoken;
  }
  /// When something may happen next that ends this connection.
  SteadyTime next_end() const { return std::min(ends_at(0), ends_at(1)); }

  /// Takes `message` if there is credit, the connection is open and nobody decides that it is lost.
  bool send(int index, SteadyTime now, Message& message);
  /// The next message that has arrived. None if there is none, or if it ended the connection.
  std::optional<Message> receive(int index, SteadyTime now);
  void close(int index, SteadyTime now, Error reason);
  /// Ends both ends at once; what has not arrived is lost.
  void reset(SteadyTime now);
  /// A process of this connection has just died.
  void end_of_process(int index, SteadyTime now);
  /// Its kernel, up again, answers what it does not know.
  void refuse_stray(int index, SteadyTime now);
  /// Whoever waits at that end looks again, soon.
  void wake(int index);
  void wake_both() { wake(0), wake(1); }

 private:
  Duration silence_max(int index) const;
  /// When this end learns that the connection is over.
  SteadyTime ends_at(int index) const;
  SteadyTime silent_at(int index) const;
  bool lost_by(const SimNetwork::Choice& choice, int from, SteadyTime now, const Message& message);
  std::string name(int index) const { return to_string(ends_[size_t(index)].peer); }

  SimNetwork::State& state_;  // Belongs to the network that the ends hold.
  std::array<End, 2> ends_;
  std::array<Way, 2> ways_;
};

}  // namespace shoal::transport::sim
