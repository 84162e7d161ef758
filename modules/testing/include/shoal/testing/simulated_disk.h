// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A disk in memory that fails where a test wants it to, and that forgets what was not synced when its power goes.
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
  std::function<WallTime()> clock{};  ///< Tells modification times. Empty: always the Unix epoch.
  /// Room for all files with a name; more is "No space left on device".
  uint64_t capacity_bytes = ~uint64_t(0);
  uint64_t seed = 1;                   ///< The seed of unique_name(): disks of other seeds give other names.
  std::vector<std::string> folders{};  ///< Folders that are there from the start (add_folder).
};

/// The disk itself, and the view of it that its own host has.
class SimulatedDisk final : public DiskConnection {
 public:
  explicit SimulatedDisk(SimulatedDiskOptions options = {});
  /// Connects one more host to the disk; the connection can be cut off, or see changes late, by itself.
  std::unique_ptr<DiskConnection> connect() const;

  /// The `call`-th changing call from now on (from 0) meets `fault`.
  void arm(Fault fault, int64_t call);
  void disarm();
  /// Changing calls so far: create, write (what is flushed, or goes over 64 KiB), sync, close, rename, link, remove,
  /// making a folder that is not there, sync_folder, lock.
  int64_t calls() const;

  /// Draws these from now on; the default ends all of them.
  void set_faults(DiskFaults faults);
  const DiskFaults& faults() const;
  const DiskFaultCounts& fault_counts() const;
  /// Files in which a bit was turned over, by the names that they had then.
  const std::set<std::string>& flipped() const;
  void set_capacity(uint64_t bytes);
  uint64_t used_bytes() const;

  /// Name changes not synced may be forgotten, bytes not synced may be cut, by `seed`. Odd seeds forget the latest changes
  /// (journaling file systems); even seeds forget any of them, since POSIX promises no order. Files being written then
  /// fail.
  void lose_power(uint64_t seed);

  /// Makes `path` with its parents if it is missing, durably, as an administrator does before the job. It meets no
  /// fault.
  void add_folder(const std::string& path);
  /// The paths of all files, without a leading slash, sorted by bytes.
  std::vector<std::string> paths() const;
  /// Files that somebody holds a lock of.
  std::vector<std::string> locked() const;
  /// The contents of a file that exists; changing it is damage that no clock and no sync has noticed.
  std::string& contents(const std::string& path);
};

}  // namespace shoal::testing
