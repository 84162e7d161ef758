/// sim: connections of the process (inproc), with the time that a network takes.
#include "shoal/transport/inproc.h"
#include "sim_connection.h"

namespace shoal::transport {
namespace sim {
namespace {

constexpr std::string_view kScheme = "sim";
constexpr std::string_view kWire = "wire";  // verb of the first message of a connection: which wire it is

Endpoint inside(const Endpoint& endpoint) { return {"inproc", endpoint.address}; }
Endpoint outside(const Endpoint& endpoint) { return {std::string(kScheme), endpoint.address}; }

Result<void> check_scheme(const Endpoint& endpoint) {
  if (endpoint.scheme == kScheme) return {};
  return invalid_argument(to_string(endpoint) + ": an address in a simulation is written sim://name");
}

/// One task in the network.
struct Home {
  Environment& env;
  std::shared_ptr<SimNetwork> network;
  std::string task;
  std::shared_ptr<Postbox> postbox;
  std::shared_ptr<Transport> inner;

  SimNetwork::State& state() const { return network->state(); }
};

/// The wire that a connection said it is.
Task<Result<std::unique_ptr<Connection>>> welcome(std::shared_ptr<Home> home, std::unique_ptr<Connection> inner,
                                                  Deadline deadline) {
  auto receiving = inner->receive(deadline);
  SHOAL_CO_TRY(const Message first, co_await std::move(receiving));
  SHOAL_CO_TRY(const Control control, read_control(first));
  SHOAL_CHECK(control.verb == kWire);
  const auto found = home->state().knocking.find(first.head.sequence);
  SHOAL_CHECK(found != home->state().knocking.end());
  std::shared_ptr<Wire> wire = std::move(found->second.second);
  home->state().knocking.erase(found);
  wire->ends[1].postbox = home->postbox;
  Endpoint peer = outside(inner->peer());
  co_return make_connection(home->env, home->network, std::move(wire), 1, std::move(peer), std::move(inner));
}

class SimListener final : public Listener {
 public:
  SimListener(std::shared_ptr<Home> home, std::unique_ptr<Listener> inner)
      : home_(std::move(home)), inner_(std::move(inner)), endpoint_(outside(inner_->endpoint())) {
    home_->state().listeners[endpoint_.address] = home_->task;
  }
  ~SimListener() override { close(); }

  const Endpoint& endpoint() const override { return endpoint_; }
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) override {
    return accept_on(home_, inner_->accept(deadline), deadline);
  }
  void close() override {
    home_->state().listeners.erase(endpoint_.address);
    std::erase_if(home_->state().knocking, [this](const auto& entry) { return entry.second.first == endpoint_.address; });
    inner_->close();
  }

 private:
  static Task<Result<std::unique_ptr<Connection>>> accept_on(std::shared_ptr<Home> home,
                                                             Task<Result<std::unique_ptr<Connection>>> accepting,
                                                             Deadline deadline) {
    SHOAL_CO_TRY(auto inner, co_await std::move(accepting));
    auto welcoming = welcome(std::move(home), std::move(inner), deadline);
    co_return co_await std::move(welcoming);
  }

  const std::shared_ptr<Home> home_;
  const std::unique_ptr<Listener> inner_;
  const Endpoint endpoint_;
};

/// There and back once, as a handshake travels; not while the link is cut.
Task<Result<void>> knock(std::shared_ptr<Home> home, std::string there, Endpoint to, Deadline deadline) {
  constexpr Duration kLookAgain = std::chrono::milliseconds(200);  // a packet that opens a connection is sent again
  while (home->state().cut_since(home->task, there)) {
    if (home->env.now() >= deadline) co_return deadline_exceeded(to_string(to) + ": not connected in time");
    auto pause = home->env.sleep_until(std::min(deadline, home->env.after(kLookAgain)));
    SHOAL_CO_TRY_VOID(co_await std::move(pause));
  }
  const Duration there_and_back = 2 * home->state().link(names_of(home->task, there)).latency;
  const bool in_time = home->env.after(there_and_back) <= deadline;
  auto travel = home->env.sleep_until(std::min(deadline, home->env.after(there_and_back)));
  SHOAL_CO_TRY_VOID(co_await std::move(travel));
  if (!in_time) co_return deadline_exceeded(to_string(to) + ": not connected in time");
  co_return Result<void>();
}

Task<Result<std::unique_ptr<Connection>>> connect_from(std::shared_ptr<Home> home, Endpoint to, LinkOptions options,
                                                       Deadline deadline) {
  SHOAL_CO_TRY_VOID(check_scheme(to));
  const auto listener = home->state().listeners.find(to.address);
  const std::string there = listener == home->state().listeners.end() ? std::string() : listener->second;
  auto knocking = knock(home, there, to, deadline);
  SHOAL_CO_TRY_VOID(co_await std::move(knocking));
  auto connecting = home->inner->connect(inside(to), options, deadline);
  SHOAL_CO_TRY(auto inner, co_await std::move(connecting));
  SimNetwork::State& state = home->state();
  const uint64_t id = state.next_wire++;
  auto wire = std::make_shared<Wire>(id, fold_in(RandomKey(state.seed), id), home->task, there);
  wire->ends[0].postbox = home->postbox;
  std::erase_if(state.wires, [](const auto& entry) { return entry.second.expired(); });
  state.wires.emplace(id, wire);
  state.knocking.emplace(id, std::pair(to.address, wire));
  Message first = make_control(home->env.buffers(), kWire);
  first.head.sequence = id;
  if (!inner->try_send(first)) {
    state.knocking.erase(id);
    co_return unavailable(to_string(to) + ": closed at once");
  }
  co_return make_connection(home->env, home->network, std::move(wire), 0, std::move(to), std::move(inner));
}

class SimTransport final : public Transport {
 public:
  SimTransport(Environment& env, std::shared_ptr<SimNetwork> network, std::string task)
      : home_(std::make_shared<Home>(Home{env, network, std::move(task), std::make_shared<Postbox>(env),
                                          std::shared_ptr<Transport>(inproc_factory(network->state().hub)(env))})) {
    network->state().tasks.push_back(home_->postbox);
  }
  ~SimTransport() override { home_->postbox->close(); }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY_VOID(check_scheme(at));
    SHOAL_TRY(auto inner, home_->inner->listen(inside(at), options));
    return std::make_unique<SimListener>(home_, std::move(inner));
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_from(home_, std::move(to), options, deadline);
  }
  TransportStats stats() const override { return home_->inner->stats(); }

 private:
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
