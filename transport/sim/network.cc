// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <algorithm>

namespace shoal::transport {

using sim::Names;
using sim::Process;
using sim::Wire;

const SimLink& SimNetwork::State::link(const Names& direction) const {
  const auto found = links.find(direction);
  return found == links.end() ? everywhere : found->second;
}

SteadyTime SimNetwork::State::now() const {
  for (const auto& weak : processes) {
    const auto process = weak.lock();
    if (Environment* const env = process ? process->postbox->environment() : nullptr) return env->now();
  }
  return SteadyTime{};
}

std::vector<std::shared_ptr<Wire>> SimNetwork::State::living_wires() {
  std::vector<std::shared_ptr<Wire>> living;
  for (const auto& weak : wires) {
    if (auto wire = weak.lock()) living.push_back(std::move(wire));
  }
  return living;
}

void SimNetwork::State::update(Wire& wire, SteadyTime now) const {
  for (const int from : {0, 1}) {
    const Process& sender = *wire.end(from).process;
    sim::Way& way = wire.way(from);
    const auto cut = cuts.find({sender.task, wire.end(1 - from).process->task});
    way.set_cut(cut == cuts.end() ? std::nullopt : std::optional(cut->second), now, wire.link(from));
    const bool silent = cut != cuts.end() || sender.frozen_since || sender.host_gone;
    way.silent_since = !silent ? std::nullopt : way.silent_since ? way.silent_since : std::optional(now);
  }
}

std::shared_ptr<Process> SimNetwork::State::add_process(const std::string& task, Environment& env) {
  auto process = std::make_shared<Process>(task, env);
  std::erase_if(processes, [](const auto& weak) { return weak.expired(); });
  processes.push_back(process);
  if (hosts_gone.erase(task) == 0) return process;
  for (const auto& wire : living_wires()) {
    for (const int index : {0, 1}) {
      const Process& old = *wire->end(index).process;
      if (old.task == task && old.host_gone) wire->refuse_stray(index, now());
    }
  }
  return process;
}

std::vector<std::shared_ptr<Process>> SimNetwork::State::processes_of(std::string_view task) const {
  std::vector<std::shared_ptr<Process>> found;
  for (const auto& weak : processes) {
    auto process = weak.lock();
    if (process && process->alive && process->task == task) found.push_back(std::move(process));
  }
  return found;
}

void SimNetwork::State::end_process(std::string_view task, bool host_gone) {
  change([&](SteadyTime now) {
    if (host_gone) hosts_gone.emplace(task);
    for (const auto& process : processes_of(task)) {
      process->alive = false;
      process->host_gone = host_gone;
      std::erase_if(listeners, [&](const auto& entry) { return entry.second->process == process; });
      for (const auto& wire : living_wires()) {
        for (const int index : {0, 1}) {
          if (wire->end(index).process == process) wire->end_of_process(index, now);
        }
      }
    }
  });
}

SimNetwork::SimNetwork(uint64_t seed, SimLink everywhere) : state_(std::make_unique<State>()) {
  state_->seed = seed;
  state_->everywhere = everywhere;
}
SimNetwork::~SimNetwork() = default;

void SimNetwork::set_link_one_way(std::string_view from, std::string_view to, SimLink link) {
  state_->links.insert_or_assign(Names(from, to), link);
}

void SimNetwork::set_link(std::string_view a, std::string_view b, SimLink link) {
  set_link_one_way(a, b, link);
  set_link_one_way(b, a, link);
}

void SimNetwork::cut_one_way(std::string_view from, std::string_view to) {
  state_->change([&](SteadyTime now) { state_->stats.cuts += state_->cuts.emplace(Names(from, to), now).second; });
}

void SimNetwork::cut(std::string_view a, std::string_view b) {
  cut_one_way(a, b);
  cut_one_way(b, a);
}

void SimNetwork::heal_one_way(std::string_view from, std::string_view to) {
  state_->change([&](SteadyTime) { state_->cuts.erase(Names(from, to)); });
}

void SimNetwork::heal(std::string_view a, std::string_view b) {
  heal_one_way(a, b);
  heal_one_way(b, a);
}

void SimNetwork::heal() {
  state_->change([this](SteadyTime) { state_->cuts.clear(); });
}

void SimNetwork::partition(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  for (const std::string& a : some) {
    for (const std::string& b : others) cut(a, b);
  }
}

void SimNetwork::reset(std::string_view a, std::string_view b) {
  const SteadyTime now = state_->now();
  for (const auto& wire : state_->living_wires()) {
    const std::string &one = wire->end(0).process->task, &other = wire->end(1).process->task;
    if ((one == a && other == b) || (one == b && other == a)) wire->reset(now);
  }
}

void SimNetwork::process_died(std::string_view task) {
  state_->stats.process_deaths += 1;
  state_->end_process(task, false);
}

void SimNetwork::host_died(std::string_view task) {
  state_->stats.host_deaths += 1;
  state_->end_process(task, true);
}

void SimNetwork::set_frozen(std::string_view task, bool frozen) {
  state_->change([&](SteadyTime now) {
    for (const auto& process : state_->processes_of(task)) {
      if (process->frozen_since.has_value() == frozen) continue;
      const auto since = std::exchange(process->frozen_since, frozen ? std::optional(now) : std::nullopt);
      state_->stats.freezes += frozen;
      if (frozen) continue;
      for (const auto& wire : state_->living_wires()) {
        for (const int index : {0, 1}) {
          // If the peer fell silent while this process was frozen, messages that the peer sent before may still be unread.
          // So the process counts the peer's silence only from now on.
          auto& silent_since = wire->way(1 - index).silent_since;
          if (wire->end(index).process == process && silent_since > since) silent_since = now;
        }
      }
    }
  });
}

void SimNetwork::lose_when_sent(Choice choice) { state_->lose_when_sent = std::move(choice); }
void SimNetwork::lose_when_received(Choice choice) { state_->lose_when_received = std::move(choice); }

std::vector<std::string> SimNetwork::listening() const {
  std::vector<std::string> addresses;
  for (const auto& [address, backlog] : state_->listeners) addresses.push_back(address);
  return addresses;
}

SimNetwork::Stats SimNetwork::stats() const { return state_->stats; }

}  // namespace shoal::transport
