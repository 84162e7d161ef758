// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include <algorithm>

#include "network.h"
#include "shoal/transport/channel.h"
#include "shoal/transport/message_queue.h"

namespace shoal::transport::sim {
namespace {

/// Returns "15 s" or "150 ms".
std::string in_words(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

// ---- one direction --------------------------------------------------------------------------------------------------

uint64_t Way::send(SteadyTime now, Message message, const SimLink& link) {
  const Stream::Sent sent = stream_.send(now, MessageQueue::cost(message), link);
  parcels_.push_back({{sent.left, sent.arrival}, std::move(message)});
  return sent.packets_lost;
}

void Way::say_farewell(SteadyTime now, Error reason, const SimLink& link) {
  if (farewell_) return;
  const Stream::Sent sent = stream_.send_last(now, link);
  farewell_ = {{sent.left, sent.arrival}, std::move(reason)};
}

std::optional<Message> Way::take(SteadyTime now) {
  if (next_message() > now) return std::nullopt;
  std::optional<Message> message(std::move(parcels_.front().message));
  parcels_.pop_front();
  return message;
}

uint64_t Way::take_acknowledged(SteadyTime now) {
  uint64_t bytes = 0;
  for (; next_acknowledgement() <= now; acks_.pop_front()) bytes += acks_.front().bytes;
  return bytes;
}

uint64_t Way::lose_all() { return std::exchange(parcels_, {}).size(); }

uint64_t Way::lose_newest() {
  parcels_.pop_back();
  return 1;
}

uint64_t Way::lose_what_has_not_arrived(SteadyTime now) {
  return std::erase_if(parcels_, [&](const Parcel& parcel) { return expected(parcel.arrival) > now; });
}

uint64_t Way::lose_what_has_not_left(SteadyTime now) {
  const auto has_not_left = [&](const Sent& sent) {
    return sent.left > now || held(sent.arrival);
  };  // Messages that a cut of the network holds up are lost too: the sender is gone and cannot send them again.
  if (farewell_ && has_not_left(*farewell_)) farewell_.reset();
  return std::erase_if(parcels_, has_not_left);
}

void Way::set_cut(std::optional<SteadyTime> since, SteadyTime now, const SimLink& link) {
  if (cut_since_ && !since) {
    const SteadyTime again = now + link.latency;
    stream_.hold_until(again);
    const auto resend = [&](SteadyTime& arrival) {
      if (held(arrival)) arrival = std::max(arrival, again);
    };
    for (Parcel& parcel : parcels_) resend(parcel.arrival);
    for (Acknowledgement& ack : acks_) resend(ack.arrival);
    if (farewell_) resend(farewell_->arrival);
  }
  cut_since_ = since;
}

// ---- both directions ------------------------------------------------------------------------------------------------

Wire::Wire(SimNetwork::State& state, RandomKey key, End connecting, End accepting)
    : state_(state),
      ends_{std::move(connecting), std::move(accepting)},
      ways_{Way(fold_in(key, uint64_t(0))), Way(fold_in(key, uint64_t(1)))} {}

const SimLink& Wire::link(int from) const {
  return state_.link({ends_[size_t(from)].process->task, ends_[size_t(1 - from)].process->task});
}

Duration Wire::silence_max(int index) const {
  const Duration ours = ends_[size_t(index)].options.heartbeat_interval;
  const Duration theirs = ends_[size_t(1 - index)].options.heartbeat_interval;
  return ours > Duration::zero() ? 3 * theirs : Duration::zero();
}

SteadyTime Wire::silent_at(int index) const {
  const auto& since = ways_[size_t(1 - index)].silent_since;
  const Duration patience = silence_max(index);
  const bool judges = since && patience > Duration::zero() && !ends_[size_t(index)].process->frozen_since;
  return judges ? *since + patience : kNoDeadline;
}

SteadyTime Wire::ends_at(int index) const {
  if (over(index)) return kNoDeadline;
  return std::min(ways_[size_t(1 - index)].end(), silent_at(index));
}

void Wire::settle(SteadyTime now) {
  for (;;) {
    const int index = ends_at(1) < ends_at(0) ? 1 : 0;
    const SteadyTime at = ends_at(index);
    if (at > now) return;
    if (way(1 - index).end() <= at) {
      end(index).closed = way(1 - index).farewell()->reason;
    } else {
      state_.stats.silences += 1;
      close(index, at, unavailable(name(index) + ": the peer has been silent for " + in_words(silence_max(index))));
    }
    wake_both();
  }
}

bool Wire::lost_by(const SimNetwork::Choice& choice, int from, SteadyTime now, const Message& message) {
  if (!choice || !choice(end(from).process->task, end(1 - from).process->task, message)) return false;
  state_.stats.messages_lost += 1;
  reset(now);
  return true;
}

bool Wire::send(int index, SteadyTime now, Message& message) {
  settle(now);
  End& here = end(index);
  here.unacknowledged_bytes -= way(1 - index).take_acknowledged(now);
  if (over(index) || here.unacknowledged_bytes >= here.options.send_queue_bytes_max) return false;
  if (lost_by(state_.lose_when_sent, index, now, message) || over(index)) return false;
  const uint64_t cost = MessageQueue::cost(message), bytes = message.body_bytes();
  here.unacknowledged_bytes += cost;
  here.process->counters.messages_sent += 1;
  here.process->counters.bytes_sent += bytes;
  SimNetwork::Stats& stats = state_.stats;
  stats.messages += 1, stats.bytes += cost;
  stats.packets_lost += way(index).send(now, std::exchange(message, Message()), link(index));
  if (over(1 - index)) stats.messages_lost += way(index).lose_newest();
  wake(1 - index);
  return true;
}

std::optional<Message> Wire::receive(int index, SteadyTime now) {
  settle(now);
  End& here = end(index);
  std::optional<Message> message = way(1 - index).take(now);
  if (!message) return std::nullopt;
  if (lost_by(state_.lose_when_received, 1 - index, now, *message) || !here.process->alive) return std::nullopt;
  way(index).acknowledge(now, MessageQueue::cost(*message), link(index));
  if (!end(1 - index).waiting_senders.empty()) wake(1 - index);
  Result<void> verified = verify(*message);
  if (message->body_bytes() > here.options.receive_bytes_max) {
    verified = invalid_argument("sent a message of " + std::to_string(message->body_bytes()) + " bytes, but at most " +
                                std::to_string(here.options.receive_bytes_max) + " bytes are accepted");
  }
  if (!verified) {
    close(index, now, std::move(verified).error().with_context(name(index)));
    state_.stats.messages_lost += way(1 - index).lose_all() + 1;
    return std::nullopt;
  }
  here.process->counters.messages_received += 1;
  here.process->counters.bytes_received += message->body_bytes();
  return message;
}

void Wire::close(int index, SteadyTime now, Error reason) {
  End& here = end(index);
  if (over(index)) return;
  here.closed = closing_reason(std::move(reason));
  state_.stats.messages_lost += way(1 - index).lose_what_has_not_arrived(now);
  way(index).say_farewell(now, *here.closed, link(index));
  wake_both();
}

void Wire::reset(SteadyTime now) {
  settle(now);
  bool open = false;
  for (const int index : {0, 1}) {
    if (over(index)) continue;
    open = true;
    end(index).closed = unavailable(name(index) + ": connection lost: connection reset by peer");
    state_.stats.messages_lost += way(1 - index).lose_what_has_not_arrived(now);
  }
  state_.stats.resets += open;
  wake_both();
}

void Wire::end_of_process(int index, SteadyTime now) {
  state_.stats.messages_lost += way(1 - index).lose_all();
  if (end(index).process->host_gone) {
    state_.stats.messages_lost += way(index).lose_what_has_not_left(now);
  } else {
    way(index).say_farewell(now, unavailable(name(1 - index) + ": the peer is gone; it gave no reason"), link(index));
  }
  wake(1 - index);
}

void Wire::refuse_stray(int index, SteadyTime now) {
  // The time at which the restarted host of end `index` receives a packet that the other end sends now.
  const SteadyTime heard = now + link(1 - index).latency;
  way(index).say_farewell(heard, unavailable(name(1 - index) + ": connection lost: connection reset by peer"), link(index));
  wake(1 - index);
}

void Wire::wake(int index) {
  End& here = end(index);
  if (!here.waits || here.waits->empty() || here.waking) return;
  here.waking = here.process->postbox->post([wire = shared_from_this(), index] {
    wire->end(index).waking = false;
    // Keeps the queue alive: a coroutine that is woken may destroy the connection, which holds the other reference.
    const auto waits = wire->end(index).waits;
    waits->wake_all();
  });
}

}  // namespace shoal::transport::sim
