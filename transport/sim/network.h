// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state that all connections of a simulated network share. Used on one thread, so without locks.
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "wire.h"

namespace shoal::transport::sim {

/// The names of the tasks that send and receive in one direction.
using Names = std::pair<std::string, std::string>;

/// The queue of a listener: connecting tasks add wires, and accept() takes them out.
struct Backlog {
  std::shared_ptr<Process> process;
  std::string address;
  LinkOptions options;
  std::shared_ptr<WaitQueue> acceptor;
  std::deque<std::shared_ptr<Wire>> waiting = {};
  bool open = true;
  uint64_t connection_count = 0;  // The connections so far. A peer's name ends in the number of its connection.
  std::shared_ptr<int> slots_taken = std::make_shared<int>(0);
};

}  // namespace shoal::transport::sim

struct shoal::transport::SimNetwork::State {
  uint64_t seed = 1;
  SimLink everywhere;
  Stats stats;
  Choice lose_when_sent, lose_when_received;

  const SimLink& link(const sim::Names& direction) const;
  /// True if the direction from `a` to `b` or the opposite one is cut, so that no exchange between them succeeds.
  bool is_cut(const std::string& a, const std::string& b) const { return cuts.contains({a, b}) || cuts.contains({b, a}); }
  SteadyTime now() const;  // The time of the clock that all tasks share; 0 if no task lives.

  /// Applies a fault: first ends the connections whose end was due before the fault, then calls `change`, and wakes all
  /// waiting coroutines.
  template <class Change>
  void change(Change change) {
    const auto all = living_wires();
    const SteadyTime at = now();
    for (const auto& wire : all) wire->settle(at);
    change(at);
    for (const auto& wire : all) update(*wire, at), wire->wake_both();
  }
  /// Applies the present cuts, frozen tasks and dead hosts to this wire.
  void update(sim::Wire& wire, SteadyTime now) const;
  /// The wires (connections) that some object outside of this struct still uses, in the order in which they were made.
  std::vector<std::shared_ptr<sim::Wire>> living_wires();

  std::shared_ptr<sim::Process> add_process(const std::string& task, Environment& env);
  std::vector<std::shared_ptr<sim::Process>> processes_of(std::string_view task) const;
  void end_process(std::string_view task, bool host_gone);

  std::map<sim::Names, SimLink> links;
  std::map<sim::Names, SteadyTime> cuts;  // By sender and receiver: since when no message gets from one to the other.
  std::vector<std::weak_ptr<sim::Wire>> wires;
  uint64_t wire_count = 0;  // Counts all simulated connections (wires) so far.
  std::vector<std::weak_ptr<sim::Process>> processes;
  std::set<std::string, std::less<>> hosts_gone;                                // The tasks whose hosts lost power.
  std::map<std::string, std::shared_ptr<sim::Backlog>, std::less<>> listeners;  // By address.
  std::map<std::string, std::string, std::less<>> homes;  // By address: the task that listened there last.
  uint64_t next_port = 1;
};
