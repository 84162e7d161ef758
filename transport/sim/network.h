// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What all connections of a simulated network share. One thread, so no locks.
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "wire.h"

namespace shoal::transport::sim {

/// The two tasks of a direction: from, to.
using Names = std::pair<std::string, std::string>;

/// A listener's meeting point: connecting tasks put new wires here, accept() takes them out.
struct Backlog {
  std::shared_ptr<Process> process;
  std::string address;
  LinkOptions options;
  std::shared_ptr<WaitQueue> acceptor;
  std::deque<std::shared_ptr<Wire>> waiting = {};
  bool open = true;
  uint64_t connection_count = 0;  // Counts all there ever were; numbers the peers' names.
  std::shared_ptr<int> slots_taken = std::make_shared<int>(0);
};

}  // namespace shoal::transport::sim

struct shoal::transport::SimNetwork::State {
  uint64_t seed = 1;
  SimLink everywhere;
  Stats stats;
  Choice lose_when_sent, lose_when_received;

  const SimLink& link(const sim::Names& direction) const;
  /// Nothing gets from one to the other and back.
  bool is_cut(const std::string& a, const std::string& b) const { return cuts.contains({a, b}) || cuts.contains({b, a}); }
  SteadyTime now() const;  // The start of time if there is no task.

  /// A fault: what happened before it is settled as things were, and whoever waits looks again afterwards.
  template <class Change>
  void change(Change change) {
    const auto all = living_wires();
    const SteadyTime at = now();
    for (const auto& wire : all) wire->settle(at);
    change(at);
    for (const auto& wire : all) update(*wire, at), wire->wake_both();
  }
  /// What is cut, frozen or gone, as this wire feels it.
  void update(sim::Wire& wire, SteadyTime now) const;
  /// Those that somebody still holds, in the order of their making.
  std::vector<std::shared_ptr<sim::Wire>> living_wires();

  std::shared_ptr<sim::Process> add_process(const std::string& task, Environment& env);
  std::vector<std::shared_ptr<sim::Process>> processes_of(std::string_view task) const;
  void end_process(std::string_view task, bool host_gone);

  std::map<sim::Names, SimLink> links;
  std::map<sim::Names, SteadyTime> cuts;  // Says since when a direction is cut.
  std::vector<std::weak_ptr<sim::Wire>> wires;
  uint64_t wire_count = 0;  // Counts all there ever were.
  std::vector<std::weak_ptr<sim::Process>> processes;
  std::set<std::string, std::less<>> hosts_gone;                                // By task.
  std::map<std::string, std::shared_ptr<sim::Backlog>, std::less<>> listeners;  // By address.
  std::map<std::string, std::string, std::less<>> homes;  // The task that listened last at each address.
  uint64_t next_port = 1;
};
