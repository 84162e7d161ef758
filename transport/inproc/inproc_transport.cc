// SPDX-License-Identifier: Apache-2.0
#include "hub.h"

namespace shoal::transport {
namespace inproc {
namespace {

constexpr std::string_view kScheme = "inproc";
constexpr size_t kAddressBytesMax = 512;

// Reserves one of a listener's connections until the last copy of the result is dropped.
std::shared_ptr<void> take_slot(Backlog& backlog) {
  auto taken = backlog.slots_taken;
  if (taken->fetch_add(1) >= backlog.options.connections_max) {
    taken->fetch_sub(1);
    return nullptr;
  }
  return {taken.get(), [taken](void*) { taken->fetch_sub(1); }};
}

Result<void> check_address(const Endpoint& endpoint) {
  if (endpoint.scheme == kScheme && !endpoint.address.empty() && endpoint.address.size() <= kAddressBytesMax) return {};
  return invalid_argument(to_string(endpoint) + ": an address in this process is written inproc://name");
}

class InprocListener final : public Listener {
 public:
  InprocListener(std::shared_ptr<InprocHub> hub, std::shared_ptr<Backlog> backlog)
      : hub_(std::move(hub)), backlog_(std::move(backlog)), endpoint_{std::string(kScheme), backlog_->address} {}
  ~InprocListener() override { close(); }

  const Endpoint& endpoint() const override { return endpoint_; }

  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) override { return accept_on(backlog_, deadline); }

  void close() override {
    {
      InprocHub::State& state = hub_->state();
      std::lock_guard lock(state.mutex);
      const auto found = state.listeners.find(backlog_->address);
      if (found != state.listeners.end() && found->second == backlog_) state.listeners.erase(found);
    }
    decltype(backlog_->waiting) refused;
    {
      std::lock_guard lock(backlog_->mutex);
      backlog_->open = false;
      std::swap(refused, backlog_->waiting);
    }
    for (auto& [pipe, slot] : refused) pipe->close(1, unavailable(to_string(endpoint_) + ": stopped listening"));
    backlog_->postbox->post([backlog = backlog_] {
      backlog->acceptor->wake_all();
      backlog->acceptor->stop();
    });
  }

 private:
  // Static, with parameters by value: the listener may be destroyed while this coroutine waits.
  static Task<Result<std::unique_ptr<Connection>>> accept_on(std::shared_ptr<Backlog> backlog, Deadline deadline) {
    const Endpoint here{std::string(kScheme), backlog->address};
    while (true) {
      {
        std::lock_guard lock(backlog->mutex);
        if (!backlog->waiting.empty()) {
          auto [pipe, slot] = std::move(backlog->waiting.front());
          backlog->waiting.pop_front();
          co_return make_connection(std::move(pipe), 1, std::move(slot));
        }
        if (!backlog->open) co_return cancelled();
        backlog->acceptor_waits = true;
      }
      auto wait = backlog->acceptor->wait(deadline);
      const WaitEnd end = co_await wait;
      if (end == WaitEnd::kCancelled) co_return cancelled();
      if (end == WaitEnd::kDeadline) co_return deadline_exceeded(to_string(here) + ": nobody connected in time");
    }
  }

  std::shared_ptr<InprocHub> hub_;
  std::shared_ptr<Backlog> backlog_;
  const Endpoint endpoint_;
};

class InprocTransport final : public Transport {
 public:
  InprocTransport(Environment& env, std::shared_ptr<InprocHub> hub)
      : env_(env),
        hub_(std::move(hub)),
        postbox_(std::make_shared<Postbox>(env)),
        counters_(std::make_shared<Counters>()) {}
  ~InprocTransport() override { postbox_->close(); }
  Reach reach() const override { return Reach::kProcess; }
  bool shares_memory() const override { return true; }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY_VOID(check_address(at));
    auto backlog = std::make_shared<Backlog>();
    backlog->options = options;
    backlog->postbox = postbox_;
    backlog->counters = counters_;
    backlog->acceptor = std::make_shared<WaitQueue>(env_);
    InprocHub::State& state = hub_->state();
    std::lock_guard lock(state.mutex);
    backlog->address = numbered(state, at.address);
    if (!state.listeners.emplace(backlog->address, backlog).second)
      return unavailable(to_string(at) + ": another task of this process listens there already");
    return std::make_unique<InprocListener>(hub_, std::move(backlog));
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline) override {
    co_return connect_now(to, options);
  }

  TransportStats stats() const override { return counters_->stats(); }

 private:
  static std::string numbered(InprocHub::State& state, const std::string& address) {
    if (!address.ends_with(":0")) return address;
    const std::string stem = address.substr(0, address.size() - 1);
    while (true) {
      std::string candidate = stem + std::to_string(state.next_number++);
      if (!state.listeners.contains(candidate)) return candidate;
    }
  }

  Result<std::unique_ptr<Connection>> connect_now(const Endpoint& to, const LinkOptions& options) {
    SHOAL_TRY_VOID(check_address(to));
    std::shared_ptr<Backlog> backlog;
    {
      InprocHub::State& state = hub_->state();
      std::lock_guard lock(state.mutex);
      const auto found = state.listeners.find(to.address);
      if (found != state.listeners.end()) backlog = found->second;
    }
    const Error nobody = unavailable(to_string(to) + ": no task of this process listens there");
    if (!backlog) return nobody;
    auto slot = take_slot(*backlog);
    if (!slot) return unavailable(to_string(to) + ": has reached its limit of connections");
    std::shared_ptr<Pipe> pipe;
    bool wake = false;
    {
      std::lock_guard lock(backlog->mutex);
      if (!backlog->open) return nobody;
      const Endpoint from{std::string(kScheme), to.address + "#" + std::to_string(++backlog->connection_count)};
      pipe = std::make_shared<Pipe>(Side(postbox_, counters_, to, options),
                                    Side(backlog->postbox, backlog->counters, from, backlog->options));
      backlog->waiting.emplace_back(pipe, std::move(slot));
      wake = std::exchange(backlog->acceptor_waits, false);
    }
    if (wake) backlog->postbox->post([backlog] { backlog->acceptor->wake_first(); });
    return make_connection(std::move(pipe), 0, nullptr);
  }

  Environment& env_;
  const std::shared_ptr<InprocHub> hub_;
  const std::shared_ptr<Postbox> postbox_;
  const std::shared_ptr<Counters> counters_;
};

}  // namespace
}  // namespace inproc

TransportFactory inproc_factory(std::shared_ptr<InprocHub> hub) {
  return [hub = std::move(hub)](Environment& env) -> std::unique_ptr<Transport> {
    return std::make_unique<inproc::InprocTransport>(env, hub);
  };
}

std::unique_ptr<Transport> make_inproc_transport(Environment& env) {
  return std::make_unique<inproc::InprocTransport>(env, std::make_shared<InprocHub>());
}

}  // namespace shoal::transport
