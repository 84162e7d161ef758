// SPDX-License-Identifier: Apache-2.0
/// sim: the transport, with its listeners and its attempts to connect.
#include "sim_connection.h"

namespace shoal::transport {
namespace sim {
namespace {

constexpr std::string_view kScheme = "sim";
constexpr size_t kAddressBytesMax = 512;
// The time after which an attempt to connect sends its first packet again.
constexpr Duration kLookAgain = std::chrono::milliseconds(200);

using Link = std::unique_ptr<Connection>;

Result<void> check_address(const Endpoint& endpoint) {
  if (endpoint.scheme == kScheme && !endpoint.address.empty() && endpoint.address.size() <= kAddressBytesMax) return {};
  return invalid_argument(to_string(endpoint) + ": an address in a simulation is written sim://name");
}

/// A process of a task, with its environment and its network.
struct Home {
  Environment& env;
  std::shared_ptr<SimNetwork> network;
  std::shared_ptr<Process> process;

  SimNetwork::State& state() const { return network->state(); }
};

class SimListener final : public Listener {
 public:
  SimListener(std::shared_ptr<Home> home, std::shared_ptr<Backlog> backlog)
      : home_(std::move(home)), backlog_(std::move(backlog)), endpoint_{std::string(kScheme), backlog_->address} {}
  ~SimListener() override { close(); }

  const Endpoint& endpoint() const override { return endpoint_; }
  Task<Result<Link>> accept(Deadline deadline) override { return accept_on(home_, backlog_, deadline); }
  void close() override {
    if (!std::exchange(backlog_->open, false)) return;
    SimNetwork::State& state = home_->state();
    const auto found = state.listeners.find(backlog_->address);
    if (found != state.listeners.end() && found->second == backlog_) state.listeners.erase(found);
    for (const auto& wire : std::exchange(backlog_->waiting, {}))
      wire->close(1, state.now(), unavailable(to_string(endpoint_) + ": stopped listening"));
    home_->process->postbox->post([backlog = backlog_] {
      backlog->acceptor->wake_all();
      backlog->acceptor->stop();
    });
  }

 private:
  // Static, with parameters by value: the listener may be destroyed while this coroutine waits.
  static Task<Result<Link>> accept_on(std::shared_ptr<Home> home, std::shared_ptr<Backlog> backlog, Deadline deadline) {
    while (backlog->open && home->process->alive) {
      if (!backlog->waiting.empty()) {
        auto wire = std::move(backlog->waiting.front());
        backlog->waiting.pop_front();
        co_return make_connection(home->env, home->network, std::move(wire), 1);
      }
      auto wait = backlog->acceptor->wait(deadline);
      const WaitEnd how = co_await wait;
      if (how == WaitEnd::kCancelled) co_return cancelled();
      if (how == WaitEnd::kDeadline) {
        co_return deadline_exceeded(to_string({std::string(kScheme), backlog->address}) + ": nobody connected in time");
      }
    }
    co_return cancelled();
  }

  const std::shared_ptr<Home> home_;
  const std::shared_ptr<Backlog> backlog_;
  const Endpoint endpoint_;
};

/// What an attempt to connect finds at an address after one round trip. In the order of the values: no answer, no listener,
/// a listener whose process is frozen, one with too many connections, or one that takes a connection.
enum class Found : uint8_t { kNothing, kRefusal, kSleeper, kCrowd, kListener };

Found look(SimNetwork::State& state, const std::string& from, const std::string& address) {
  const auto home = state.homes.find(address);
  if (home != state.homes.end() && (state.is_cut(from, home->second) || state.hosts_gone.contains(home->second)))
    return Found::kNothing;
  const auto listener = state.listeners.find(address);
  if (listener == state.listeners.end()) return Found::kRefusal;
  const Backlog& backlog = *listener->second;
  if (backlog.process->frozen_since) return Found::kSleeper;
  return *backlog.slots_taken >= backlog.options.connections_max ? Found::kCrowd : Found::kListener;
}

/// Makes a connection to the listener at `to.address`. Call it only if look() has found a listener there.
Link meet(Home& home, const Endpoint& to, const LinkOptions& options) {
  SimNetwork::State& state = home.state();
  const std::shared_ptr<Backlog> backlog = state.listeners.find(to.address)->second;
  Wire::End connecting{home.process, to, options};
  Wire::End accepting{backlog->process,
                      {std::string(kScheme), to.address + "#" + std::to_string(++backlog->connection_count)},
                      backlog->options};
  *backlog->slots_taken += 1;
  accepting.slot =
      std::shared_ptr<void>(backlog->slots_taken.get(), [taken = backlog->slots_taken](void*) { *taken -= 1; });
  const RandomKey key = fold_in(RandomKey(state.seed), ++state.wire_count);
  auto wire = std::make_shared<Wire>(state, key, std::move(connecting), std::move(accepting));
  std::erase_if(state.wires, [](const auto& weak) { return weak.expired(); });
  state.wires.push_back(wire);
  backlog->waiting.push_back(wire);
  backlog->process->postbox->post([backlog] { backlog->acceptor->wake_first(); });
  return make_connection(home.env, home.network, std::move(wire), 0);
}

Task<Result<Link>> connect_from(std::shared_ptr<Home> home, Endpoint to, LinkOptions options, Deadline deadline) {
  SHOAL_CO_TRY_VOID(check_address(to));
  SimNetwork::State& state = home->state();
  const std::string& here = home->process->task;
  const Error late = deadline_exceeded(to_string(to) + ": not connected in time");
  SteadyTime woken_by = kNoDeadline;  // If the process of the listener is frozen: the time by which it must answer.
  for (;;) {
    const Found now_there = look(state, here, to.address);
    const auto known = state.homes.find(to.address);
    const std::string there = known == state.homes.end() ? std::string() : known->second;
    const bool answers = now_there != Found::kNothing && now_there != Found::kSleeper;
    const Duration there_and_back = state.link({here, there}).latency + state.link({there, here}).latency;
    // A listener's process that is frozen has until woken_by to answer. This loop looks at the process more often, since
    // the network may cut it off meanwhile. The process then counts as unreachable, and woken_by does not end the attempt.
    const SteadyTime again = home->env.after(kLookAgain);
    const SteadyTime look_again = now_there == Found::kSleeper ? std::min(again, woken_by) : again;
    const SteadyTime then = answers ? home->env.after(there_and_back) : look_again;
    auto waiting = home->env.sleep_until(std::min(then, deadline));
    SHOAL_CO_TRY_VOID(co_await std::move(waiting));
    if (!home->process->alive) co_return cancelled();
    if (then > deadline) co_return late;
    const SteadyTime now = home->env.now();
    switch (answers ? look(state, here, to.address) : now_there) {
      case Found::kNothing: break;
      case Found::kSleeper:
        if (now >= woken_by) co_return unavailable(to_string(to) + ": a process listens there but does not answer in time");
        if (woken_by == kNoDeadline) woken_by = now + options.handshake_timeout;
        break;
      case Found::kRefusal: state.stats.refusals += 1; co_return unavailable(to_string(to) + ": connection refused");
      case Found::kCrowd: co_return unavailable(to_string(to) + ": has reached its limit of connections");
      case Found::kListener: co_return meet(*home, to, options);
    }
  }
}

class SimTransport final : public Transport {
 public:
  SimTransport(Environment& env, std::shared_ptr<SimNetwork> network, const std::string& task)
      : home_(std::make_shared<Home>(Home{env, network, network->state().add_process(task, env)})) {}
  ~SimTransport() override { home_->process->postbox->close(); }
  // Simulated tasks count as tasks on different machines, although their addresses are plain names.
  Reach reach() const override { return Reach::kNetwork; }
  bool shares_memory() const override { return false; }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY_VOID(check_address(at));
    SimNetwork::State& state = home_->state();
    const std::string address = with_port(at.address);
    if (!home_->process->alive) return cancelled();
    if (state.listeners.contains(address)) return unavailable(to_string(at) + ": another task listens there already");
    auto backlog = std::make_shared<Backlog>(
        Backlog{home_->process, address, std::move(options), std::make_shared<WaitQueue>(home_->env)});
    state.listeners.emplace(address, backlog);
    state.homes.insert_or_assign(address, home_->process->task);
    return std::make_unique<SimListener>(home_, std::move(backlog));
  }
  Task<Result<Link>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_from(home_, std::move(to), std::move(options), deadline);
  }
  TransportStats stats() const override { return home_->process->counters.stats(); }

 private:
  std::string with_port(const std::string& address) {
    if (!address.ends_with(":0")) return address;
    return address.substr(0, address.size() - 1) + std::to_string(home_->state().next_port++);
  }

  const std::shared_ptr<Home> home_;
};

}  // namespace
}  // namespace sim

TransportFactory sim_factory(std::shared_ptr<SimNetwork> network, std::string task) {
  return [network = std::move(network), task = std::move(task)](Environment& env) -> std::unique_ptr<Transport> {
    return std::make_unique<sim::SimTransport>(env, network, task);
  };
}

}  // namespace shoal::transport
