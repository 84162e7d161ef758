// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The disks that one host sees: its own, and folders that it shares with others.
#include <map>
#include <memory>
#include <string>

#include "shoal/testing/simulated_disk.h"

namespace shoal::testing {

/// Each call goes to the disk whose folder the path is in. A shared disk has the same paths on every host ("/shared/m"), so
/// mount it at the same folder everywhere. A folder where a disk is mounted can
/// neither be renamed nor removed. Tasks of one host share one of these; it outlives restarts of the tasks.
class MountedStorage final : public Storage {
 public:
  explicit MountedStorage(std::shared_ptr<SimulatedDisk> local);

  /// Puts `folder` ("/shared"; made, durably, if it is missing) and all in it on `disk` from now on. Returns this
  /// host's connection, which it can lose or see late by.
  DiskConnection& mount(const std::string& folder, const std::shared_ptr<SimulatedDisk>& disk);
  /// The connection to the disk that `path` is on; anything outside the shared folders: the local disk.
  DiskConnection& connection(const std::string& path);
  /// The time by which calls of this host were delayed on all disks since this was asked last.
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
  std::string unique_name() override;  ///< A name of the local disk: its seed makes it this host's.

 private:
  struct Mount {
    std::shared_ptr<SimulatedDisk> disk;
    std::unique_ptr<DiskConnection> connection;
  };
  Mount& mount_of(const std::string& path);
  bool is_mount(const std::string& path) const;

  std::map<std::string, Mount> mounts_;  // Keyed by "/shared/"; "/" is the local disk.
};

}  // namespace shoal::testing
