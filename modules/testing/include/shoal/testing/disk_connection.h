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

/// Errors have the kinds and sentences of the real file system. Paths without a slash in front begin at the root.
/// Not thread-safe: one virtual world, one thread at a time.
class DiskConnection : public Storage {
 public:
  explicit DiskConnection(std::shared_ptr<DiskState> disk);

  /// Cut off: every call is Unavailable (input/output error), also of files that are open, and exists() is false. Locks
  /// stay held, as others see it, until whoever holds them lets go.
  void cut_off(bool cut);
  bool is_cut_off() const;
  /// What others change is seen late: a folder that was looked at is taken to stay as it was for up to `delay`, as clients
  /// of network file systems do. So new names are missing, sizes and contents are those of then, and names that are gone
  /// are listed (opening one is NotFound: the bytes are on the server). Own changes are seen at once, with all else in
  /// those folders. `now` tells virtual time. A `delay` of 0 ends this.
  void see_late(Duration delay, std::function<SteadyTime()> now);
  /// The time by which calls were delayed since this was asked last (VirtualTaskOptions::before_storage_call).
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
