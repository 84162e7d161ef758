// SPDX-License-Identifier: Apache-2.0
#include "sim_connection.h"

namespace shoal::transport::sim {
namespace {

/// The state that a SimConnection and its coroutines share.
struct Side {
  Environment& env;
  std::shared_ptr<SimNetwork> network;
  std::shared_ptr<Wire> wire;
  int index;

  Wire::End& end() { return wire->end(index); }
  Way& outgoing() { return wire->way(index); }
  Way& incoming() { return wire->way(1 - index); }
  bool alive() { return end().process->alive; }
};

/// Counts one coroutine that waits for room to send, until it resumes or is destroyed.
class WaitingSender {
 public:
  explicit WaitingSender(std::shared_ptr<Side> side)
      : side_(std::move(side)), number_(*side_->end().waiting_senders.insert(side_->end().next_waiting_number++).first) {}
  ~WaitingSender() {
    side_->end().waiting_senders.erase(number_);
    side_->wire->wake(side_->index);  // Gives the next waiting sender its turn.
  }
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;
  bool is_first() const { return *side_->end().waiting_senders.begin() == number_; }

 private:
  const std::shared_ptr<Side> side_;
  const uint64_t number_;
};

Task<Result<void>> send_on(std::shared_ptr<Side> side, Message message, Deadline deadline) {
  std::optional<WaitingSender> waiting;
  for (;;) {
    if (!side->alive()) co_return cancelled();
    const SteadyTime now = side->env.now();
    const bool may_send = waiting ? waiting->is_first() : side->end().waiting_senders.empty();
    if (may_send && side->wire->send(side->index, now, message)) co_return Result<void>();
    side->wire->settle(now);
    if (side->end().closed) co_return *side->end().closed;
    if (deadline <= now) {
      co_return deadline_exceeded(to_string(side->end().peer) + ": the peer does not accept messages");
    }
    if (!waiting) waiting.emplace(side);
    const SteadyTime credit = waiting->is_first() ? side->incoming().next_acknowledgement() : kNoDeadline;
    auto wait = side->end().waits->wait(std::min({deadline, side->wire->next_end(), credit}));
    const WaitEnd how = co_await wait;
    if (how == WaitEnd::kCancelled) co_return cancelled();
  }
}

Task<Result<Message>> receive_on(std::shared_ptr<Side> side, Deadline deadline) {
  for (;;) {
    if (!side->alive()) co_return cancelled();
    const SteadyTime now = side->env.now();
    std::optional<Message> message = side->wire->receive(side->index, now);
    if (message) co_return std::move(*message);
    if (side->end().closed) co_return *side->end().closed;
    if (deadline <= now) co_return deadline_exceeded(to_string(side->end().peer) + ": no message came in time");
    auto wait = side->end().waits->wait(std::min({deadline, side->wire->next_end(), side->incoming().next_message()}));
    const WaitEnd how = co_await wait;
    if (how == WaitEnd::kCancelled) co_return cancelled();
  }
}

class SimConnection final : public Connection {
 public:
  explicit SimConnection(std::shared_ptr<Side> side) : side_(std::move(side)) {}
  ~SimConnection() override {
    close(unavailable(to_string(peer()) + ": the connection was closed"));
    side_->end().slot.reset();
    // Stops the timer of `waits`, the queue of waiting coroutines, only if the queue is empty. Otherwise close() wakes the
    // coroutines, or, if the task was killed, the timer cancels their waits.
    if (side_->end().waits->empty()) side_->end().waits->stop();
  }

  const Endpoint& peer() const override { return side_->end().peer; }
  std::optional<PeerIdentity> identity() const override { return std::nullopt; }
  SteadyTime heard() const override { return side_->wire->heard(side_->index, side_->network->state().now()); }
  bool try_send(Message& message) override {
    return side_->end().waiting_senders.empty() && side_->wire->send(side_->index, side_->network->state().now(), message);
  }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    return send_on(side_, std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override { return receive_on(side_, deadline); }
  void close(Error reason) override {
    // The network's clock, since the task and its clock may have ended.
    const SteadyTime now = side_->network->state().now();
    side_->wire->settle(now);
    side_->wire->close(side_->index, now, std::move(reason));
  }
  void set_receive_limit(uint64_t bytes) override { side_->end().options.receive_bytes_max = bytes; }

 private:
  const std::shared_ptr<Side> side_;
};

}  // namespace

std::unique_ptr<Connection> make_connection(Environment& env, std::shared_ptr<SimNetwork> network,
                                            std::shared_ptr<Wire> wire, int index) {
  wire->end(index).waits = std::make_shared<WaitQueue>(env);
  return std::make_unique<SimConnection>(std::make_shared<Side>(Side{env, std::move(network), std::move(wire), index}));
}

}  // namespace shoal::transport::sim
