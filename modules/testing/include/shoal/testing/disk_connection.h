// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated disk as one host sees it.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal::testing {

struct DiskLink;
struct DiskState;

/// Errors have the kinds and sentences of the real file system. Paths without a slash in front begin at the root. Not
/// thread-safe: only one thread at a time may use the disks of a virtual world.
class DiskConnection : public Storage {
 public:
  explicit DiskConnection(std::shared_ptr<DiskState> disk);

  /// Cuts this host off, or connects it again. While cut off, every call fails with Unavailable (input/output error), even
  /// on open files, and exists() is false. Locks of this host stay held until their holders release them.
  void cut_off(bool cut);
  bool is_cut_off() const;
  /// Delays what this host sees of changes by others, as clients of network file systems do: after it has looked at a
  /// folder, it takes the folder as unchanged for up to `delay`. Meanwhile new names are missing, sizes and contents are
  /// the old ones, and removed names are listed (opening one gives NotFound, since the bytes are on the server). A change
  /// by this host refreshes the folders of its path. `now` returns virtual time. A `delay` of 0 ends this.
  void see_late(Duration delay, std::function<SteadyTime()> now);
  /// Returns the sum of the delays of all calls since the last take_delay(), for VirtualTaskOptions::before_storage_call.
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
  std::string unique_name() override;

 protected:
  std::shared_ptr<DiskState> disk_;
  std::shared_ptr<DiskLink> link_;  // Open files share it.

 private:
  Result<std::unique_ptr<WritableFile>> open_writable(const std::string& path, bool truncate);
  using Effect = std::function<int(bool half)>;
  Result<void> change(const std::string& verb, const std::string& path, const Effect& effect);
};

}  // namespace shoal::testing
