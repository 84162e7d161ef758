// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The disks that one host sees: its own, and folders that it shares with others.
#include <map>
#include <memory>
#include <string>

#include "shoal/testing/simulated_disk.h"

namespace shoal::testing {

/// Passes each call to the disk that is mounted at the folder of the path. A shared disk has the same paths on every host
/// ("/shared/m"), so mount it at the same folder everywhere. A folder where a disk is mounted can neither be renamed nor
/// removed. All tasks of a host share one MountedStorage, which outlives restarts of the tasks.
class MountedStorage final : public Storage {
 public:
  explicit MountedStorage(std::shared_ptr<SimulatedDisk> local);

  /// Mounts `disk` at `folder` ("/shared"), which is made durably if it is missing. Returns the connection of this host to
  /// the disk, by which a test can cut the host off or delay what the host sees.
  DiskConnection& mount(const std::string& folder, const std::shared_ptr<SimulatedDisk>& disk);
  /// Returns the connection to the disk that has `path`: a shared disk, or else the local disk.
  DiskConnection& connection(const std::string& path);
  /// Returns the sum of the delays of all calls of this host, on all disks, since the last take_delay().
  Duration take_delay();

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> link(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override;
  Result<std::string> make_temporary_folder(const std::string& prefix) override;
  std::string unique_name() override;  ///< A name from the local disk, whose seed makes it unique to this host.

 private:
  struct Mount {
    std::shared_ptr<SimulatedDisk> disk;
    std::unique_ptr<DiskConnection> connection;
  };
  Mount& mount_of(const std::string& path);
  bool is_mount(const std::string& path) const;

  std::map<std::string, Mount> mounts_;  // Keyed by folder, such as "/shared/"; "/" is the local disk.
};

}  // namespace shoal::testing
