#include "sim_connection.h"

#include "shoal/transport/message_queue.h"

namespace shoal::transport::sim {
namespace {

/// What the handle and its coroutines share. Messages are with the other end at once, through the process; what takes time
/// is when that end may see them.
struct End {
  Environment& env;
  std::shared_ptr<SimNetwork> network;
  std::shared_ptr<Wire> wire;
  int index;
  Endpoint peer;
  std::shared_ptr<Connection> inner;
  std::shared_ptr<WaitList> waits;

  Wire::End& here() { return wire->ends[size_t(index)]; }
  Wire::End& there() { return wire->ends[size_t(1 - index)]; }
  Names names() { return names_of(here().task, there().task); }
  SimNetwork::State& state() { return network->state(); }

  void sent(uint64_t bytes) {
    const Stream::Sent on_its_way = wire->streams[size_t(index)].send(env.now(), bytes, state().link(names()));
    there().arrivals.push_back(on_its_way.arrival);
    SimNetwork::Stats& stats = state().stats;
    stats.messages += 1, stats.bytes += bytes, stats.packets_lost += on_its_way.packets_lost;
    Wire::wake(wire, 1 - index);
  }

  /// When the next thing is to be seen: a message, or that the other end closed; nothing is on its way: kNoDeadline.
  SteadyTime due() {
    if (here().closed) return env.now();
    if (!here().arrivals.empty()) return here().arrivals.front();
    if (!there().closed) return kNoDeadline;
    return std::max(wire->streams[size_t(1 - index)].last_arrival(), *there().closed + state().link(names()).latency);
  }

  /// Nothing is seen until then, and if it comes to that, nothing ever: the link is cut.
  std::optional<SteadyTime> silent_until() {
    const auto since = state().cut_since(here().task, there().task);
    return since && !here().closed ? std::optional(*since + SimNetwork::kSilenceMax) : std::nullopt;
  }

  void close(Error reason) {
    if (!here().closed) here().closed = state().now();
    inner->close(std::move(reason));
    Wire::wake(wire, 1 - index);
  }
};

Task<Result<void>> send_on(std::shared_ptr<End> end, Message message, Deadline deadline) {
  const uint64_t bytes = MessageQueue::cost(message);
  auto sending = end->inner->send(std::move(message), deadline);
  const Result<void> sent = co_await std::move(sending);
  if (sent) end->sent(bytes);
  co_return sent;
}

Task<Result<Message>> receive_on(std::shared_ptr<End> end, Deadline deadline) {
  for (;;) {
    const SteadyTime now = end->env.now();
    const auto silent_until = end->silent_until();
    if (end->wire->broken || (silent_until && *silent_until <= now)) {
      end->wire->broken = true;
      const Error reason = unavailable(to_string(end->peer) + ": has been silent for 15 s");
      end->close(reason);
      co_return reason;
    }
    const SteadyTime due = end->due();
    if (!silent_until && due <= now) {  // so it is there
      if (!end->here().arrivals.empty()) end->here().arrivals.pop_front();
      auto receiving = end->inner->receive(deadline);
      co_return co_await std::move(receiving);
    }
    if (deadline <= now) co_return deadline_exceeded(to_string(end->peer) + ": no message in time");
    auto wait = end->waits->wait(std::min(deadline, silent_until ? *silent_until : due));
    const WaitEnd how = co_await wait;
    if (how == WaitEnd::kCancelled) co_return cancelled();
  }
}

class SimConnection final : public Connection {
 public:
  explicit SimConnection(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~SimConnection() override {
    close(unavailable(to_string(end_->peer) + ": the connection was closed"));
    end_->here().waits.reset();
    if (alive()) end_->waits->stop();
  }

  const Endpoint& peer() const override { return end_->peer; }
  std::optional<PeerIdentity> identity() const override { return end_->inner->identity(); }
  bool try_send(Message& message) override {
    const uint64_t bytes = MessageQueue::cost(message);
    if (!end_->inner->try_send(message)) return false;
    end_->sent(bytes);
    return true;
  }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    return send_on(end_, std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override { return receive_on(end_, deadline); }
  void close(Error reason) override {
    end_->close(std::move(reason));
    const auto waits = end_->waits;  // who wakes may drop this
    if (alive()) waits->wake_all();
  }
  void set_receive_limit(uint64_t bytes) override { end_->inner->set_receive_limit(bytes); }

 private:
  bool alive() const { return end_->here().postbox->environment() != nullptr; }
  std::shared_ptr<End> end_;
};

}  // namespace

std::unique_ptr<Connection> make_connection(Environment& env, std::shared_ptr<SimNetwork> network,
                                            std::shared_ptr<Wire> wire, int index, Endpoint peer,
                                            std::unique_ptr<Connection> inner) {
  auto waits = std::make_shared<WaitList>(env);
  wire->ends[size_t(index)].waits = waits;
  return std::make_unique<SimConnection>(std::make_shared<End>(
      End{env, std::move(network), std::move(wire), index, std::move(peer), std::move(inner), std::move(waits)}));
}

}  // namespace shoal::transport::sim
