// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A disk in memory. A test chooses its faults, and can cut its power, which loses changes that were not synced.
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shoal/testing/disk_connection.h"
#include "shoal/testing/disk_faults.h"

namespace shoal::testing {

struct SimulatedDiskOptions {
  std::function<WallTime()> clock{};  ///< The clock of modification times. Empty: always the Unix epoch.
  /// The room for all files that have a name. Writing more fails with "No space left on device".
  uint64_t capacity_bytes = ~uint64_t(0);
  uint64_t seed = 1;                   ///< The seed of unique_name(): each seed gives different names.
  std::vector<std::string> folders{};  ///< Folders that are there from the start (add_folder).
};

/// The disk itself, and the view of it that its own host has.
class SimulatedDisk final : public DiskConnection {
 public:
  explicit SimulatedDisk(SimulatedDiskOptions options = {});
  /// Connects one more host to the disk. Each connection can be cut off or see changes late by itself.
  std::unique_ptr<DiskConnection> connect() const;

  /// Plans `fault` for one later call that changes the disk. `call` counts such calls from now on; 0 is the next one.
  void arm(Fault fault, int64_t call);
  void disarm();
  /// The number of changing calls so far: create, write (a flush, or an append beyond 64 KiB), sync, close, rename, link,
  /// remove, make_folders for a missing folder, sync_folder, lock.
  int64_t calls() const;

  /// Lets calls meet random faults with these probabilities from now on. The default, DiskFaults(), ends all random faults.
  void set_faults(DiskFaults faults);
  const DiskFaults& faults() const;
  const DiskFaultCounts& fault_counts() const;
  /// The files in which a bit was flipped, by the names that they had at that time.
  const std::set<std::string>& flipped() const;
  void set_capacity(uint64_t bytes);
  uint64_t used_bytes() const;

  /// Cuts the power. `seed` decides which name changes that were not synced are forgotten, and which bytes that were not
  /// synced are lost. Odd seeds forget the latest name changes (as journaling file systems do); even seeds forget any of
  /// them, since POSIX promises no order. Further writes to files that are open fail.
  void lose_power(uint64_t seed);

  /// Makes `path` and its parents durably if they are missing, as an administrator does before the job. This call meets no
  /// fault.
  void add_folder(const std::string& path);
  /// The paths of all files, without a leading slash, sorted by bytes.
  std::vector<std::string> paths() const;
  /// The paths of all files that are locked at the moment.
  std::vector<std::string> locked() const;
  /// The contents of an existing file. Changing them simulates damage: the modification time and synced state stay.
  std::string& contents(const std::string& path);
};

}  // namespace shoal::testing
