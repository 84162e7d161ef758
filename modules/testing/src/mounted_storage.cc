// SPDX-License-Identifier: Apache-2.0
#include "shoal/testing/mounted_storage.h"

#include <cerrno>

#include "file_tree.h"
#include "shoal/base/path_error.h"

namespace shoal::testing {

MountedStorage::MountedStorage(std::shared_ptr<SimulatedDisk> local) {
  Mount& mount = mounts_["/"];
  mount.connection = local->connect();
  mount.disk = std::move(local);
}

DiskConnection& MountedStorage::mount(const std::string& folder, const std::shared_ptr<SimulatedDisk>& disk) {
  const std::string key = FileTree::key_of(folder);
  SHOAL_CHECK(!mounts_.contains(key));
  mount_of(folder).disk->add_folder(folder);
  disk->add_folder(folder);
  return *mounts_.emplace(key, Mount{disk, disk->connect()}).first->second.connection;
}

MountedStorage::Mount& MountedStorage::mount_of(const std::string& path) {
  const std::string key = FileTree::key_of(path);
  // Mounts are sorted by path: an inner folder comes after the outer one, so the last match is the innermost.
  for (auto mount = mounts_.rbegin(); mount != mounts_.rend(); ++mount) {
    if (key.starts_with(mount->first)) return mount->second;
  }
  return mounts_.at("/");
}

DiskConnection& MountedStorage::connection(const std::string& path) { return *mount_of(path).connection; }

bool MountedStorage::is_mount(const std::string& path) const { return mounts_.contains(FileTree::key_of(path)); }

Duration MountedStorage::take_delay() {
  Duration delay{};
  for (auto& [key, mount] : mounts_) delay += mount.connection->take_delay();
  return delay;
}

Result<std::unique_ptr<WritableFile>> MountedStorage::create(const std::string& path) {
  return connection(path).create(path);
}
Result<std::unique_ptr<WritableFile>> MountedStorage::append(const std::string& path) {
  return connection(path).append(path);
}
Result<std::unique_ptr<ReadableFile>> MountedStorage::open(const std::string& path) { return connection(path).open(path); }

Result<void> MountedStorage::rename(const std::string& from, const std::string& to) {
  if (is_mount(from) || is_mount(to)) return path_error("rename " + from + " to", to, EBUSY);
  if (&connection(from) != &connection(to)) return path_error("rename " + from + " to", to, EXDEV);
  return connection(from).rename(from, to);
}

Result<void> MountedStorage::link(const std::string& from, const std::string& to) {
  if (&connection(from) != &connection(to)) return path_error("link " + from + " as", to, EXDEV);
  return connection(from).link(from, to);
}

Result<void> MountedStorage::remove(const std::string& path) {
  if (is_mount(path)) return path_error("remove", path, EBUSY);
  return connection(path).remove(path);
}

Result<void> MountedStorage::remove_all(const std::string& path) {
  if (is_mount(path)) return path_error("remove", path, EBUSY);
  return connection(path).remove_all(path);
}

Result<void> MountedStorage::make_folders(const std::string& path) { return connection(path).make_folders(path); }
Result<void> MountedStorage::sync_folder(const std::string& path) { return connection(path).sync_folder(path); }
Result<std::vector<FileInfo>> MountedStorage::list(const std::string& path) { return connection(path).list(path); }
bool MountedStorage::exists(const std::string& path) { return connection(path).exists(path); }

Result<std::unique_ptr<StorageLock>> MountedStorage::lock(const std::string& path, std::string_view note) {
  return connection(path).lock(path, note);
}

Result<std::string> MountedStorage::make_temporary_folder(const std::string& prefix) {
  return connection(prefix).make_temporary_folder(prefix);
}

std::string MountedStorage::unique_name() { return connection("/").unique_name(); }

}  // namespace shoal::testing
