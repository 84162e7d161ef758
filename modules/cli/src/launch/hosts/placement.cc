// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/placement.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace shoal::cli::launch {
namespace {

bool is_loopback(const Host& host) { return cluster::is_loopback_address(host.address + ":1"); }

/// Refuses a loopback address if other hosts have tasks: on each host a loopback address means this host itself.
Result<void> check_addresses(const std::vector<size_t>& places, std::span<const Host> hosts) {
  const std::set<size_t> used(places.begin(), places.end());
  const auto local = std::find_if(used.begin(), used.end(), [&](size_t host) { return is_loopback(hosts[host]); });
  const auto remote = std::find_if(used.begin(), used.end(), [&](size_t host) { return !is_loopback(hosts[host]); });
  if (local == used.end() || remote == used.end()) return {};
  return invalid_argument(hosts[*remote].name + " cannot reach " + hosts[*local].address +
                          ", which means each machine itself; write address=NAME into the line of " + hosts[*local].name +
                          ", by which the others reach it");
}

}  // namespace

int32_t slots_of(std::span<const Host> hosts) {
  int32_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return slots;
}

Result<std::vector<size_t>> place_tasks(std::span<const JobTask> tasks, std::span<const Host> hosts) {
  const auto trains = [](const JobTask& task) { return task.role == Role::kChief || task.role == Role::kWorker; };
  const auto trainer_count = int32_t(std::count_if(tasks.begin(), tasks.end(), trains));
  if (trainer_count > slots_of(hosts)) {
    return invalid_argument(std::to_string(trainer_count) +
                            " tasks would train (the chief and the workers), but the hosts have " +
                            std::to_string(slots_of(hosts)) + (slots_of(hosts) == 1 ? " slot" : " slots") +
                            "; slots=N behind a host lets more train there");
  }
  std::vector<size_t> places(tasks.size());
  std::vector<int32_t> trainers(hosts.size()), servers(hosts.size());
  size_t next = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!trains(tasks[i])) continue;
    while (trainers[next % hosts.size()] == hosts[next % hosts.size()].slots) ++next;
    places[i] = next++ % hosts.size();
    ++trainers[places[i]];
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].role != Role::kServer) continue;
    const auto load = [&](size_t host) { return std::tuple(servers[host], trainers[host], host); };
    for (size_t host = 1; host < hosts.size(); ++host) {
      if (load(host) < load(places[i])) places[i] = host;
    }
    ++servers[places[i]];
  }
  SHOAL_TRY_VOID(check_addresses(places, hosts));
  return places;
}

}  // namespace shoal::cli::launch
