// SPDX-License-Identifier: Apache-2.0
#include "shoal/testing/simulated_disk.h"

#include "disk_state.h"

namespace shoal::testing {

SimulatedDisk::SimulatedDisk(SimulatedDiskOptions options)
    : DiskConnection(std::make_shared<DiskState>(std::move(options))) {}

std::unique_ptr<DiskConnection> SimulatedDisk::connect() const { return std::make_unique<DiskConnection>(disk_); }

void SimulatedDisk::arm(Fault fault, int64_t call) {
  disk_->fault = fault;
  disk_->fault_call = disk_->calls + call;
}

void SimulatedDisk::disarm() { disk_->fault = Fault::kNone; }
int64_t SimulatedDisk::calls() const { return disk_->calls; }
void SimulatedDisk::set_faults(DiskFaults faults) { disk_->set_faults(std::move(faults)); }
const DiskFaults& SimulatedDisk::faults() const { return disk_->faults; }
const DiskFaultCounts& SimulatedDisk::fault_counts() const { return disk_->counts; }

const std::set<std::string>& SimulatedDisk::flipped() const { return disk_->flipped; }
void SimulatedDisk::set_capacity(uint64_t bytes) { disk_->options.capacity_bytes = bytes; }
uint64_t SimulatedDisk::used_bytes() const { return disk_->tree.used_bytes(); }

void SimulatedDisk::lose_power(uint64_t seed) {
  ++disk_->counts.power_lost;
  disk_->tree.lose_power(seed);
}

void SimulatedDisk::add_folder(const std::string& path) { disk_->add_folder(path); }
std::vector<std::string> SimulatedDisk::paths() const { return disk_->tree.files(); }

std::vector<std::string> SimulatedDisk::locked() const {
  std::vector<std::string> locked = paths();
  std::erase_if(locked, [this](const std::string& path) { return !disk_->tree.find(path).node->held; });
  return locked;
}

std::string& SimulatedDisk::contents(const std::string& path) {
  const FileTree::Found found = disk_->tree.find(path);
  SHOAL_CHECK(found.as_file() == 0);
  return found.node->contents;
}

}  // namespace shoal::testing
